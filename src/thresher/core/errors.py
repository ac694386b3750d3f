"""The one tree of errors that Thresher raises on purpose.

    ThresherError
    |-- InvalidInput          the caller's argument or file is wrong
    |   |-- BrokenFile        a file of a workspace cannot be read at a line and column
    |   `-- InvalidCursor     a cursor does not belong to the list and question that it is sent with
    |-- NotFound              a named tool, server or file does not exist
    |-- Conflict              the name or the resource is taken
    |   |-- HeldBack          a tool waits for a person's approval
    |   `-- Unconfirmed       somebody must say first that it shall be done
    |-- NotAllowed            it belongs to others
    |-- AccessDenied          a key is missing, unknown or revoked
    |-- ConfigurationError    a setting, file or environment variable must change
    |-- StoreError            the database cannot do what was asked
    |   |-- StoreUnavailable  it cannot be reached (worth a retry)
    |   |-- SchemaMismatch    its schema is older or newer than the code
    |   |-- UnsafeRole        the application role could bypass row-level security
    |   `-- AuditBroken       the audit log was tampered with: nothing is added to it
    |-- EncoderError          the embedding model cannot answer
    |-- ModelError            the chat model cannot answer
    |   |-- ModelTimeout      it did not answer in time
    |   |-- ModelBusy         its service takes no more requests for now (worth a retry)
    |   `-- ModelUnavailable  its service cannot be reached, or is left alone for a while (worth a retry)
    |-- SourceUnavailable     a source of documents cannot be reached (worth a retry)
    |-- DatabaseUnavailable   the database of a connection cannot be reached (worth a retry)
    |-- StatementRefused      the guard does not let a statement run
    |-- QueryFailed           the database of a connection answered a statement with an error
    |   `-- QueryTimeout      it did not answer in time, and the statement was cancelled there
    |-- UpstreamError         another MCP server failed
    |   |-- UpstreamTimeout   it did not answer in time
    |   `-- UpstreamRefused   it answered with a protocol error
    `-- DaemonError           the local daemon cannot be started or attached to

Every error carries a message (what happened), a hint (what to do about it) and a stable code.
"""

from __future__ import annotations

from typing import ClassVar, Final

from thresher.foreign import one_line

LONGEST: Final = 4_000
"""Characters of a message and of a hint."""


class ThresherError(Exception):
    """Base of every error raised on purpose.

    Args:
        message: What happened, in one sentence, without secrets.
        hint: What the reader can do about it; empty when nothing can be done.

    Both may quote names and errors of others: they become one line without control characters, for every face.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = one_line(message, LONGEST)
        self.hint = one_line(hint, LONGEST)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class InvalidInput(ThresherError):
    """The caller's argument or file is wrong."""

    code = "invalid_input"
    exit_code = 2


class BrokenFile(InvalidInput):
    """A file of a workspace cannot be read, so it is never written.

    Args:
        message: What happened.
        hint: What to do.
        line: From 1; 0 where unknown.
        column: From 1; 0 where unknown.
    """

    code = "broken_file"

    def __init__(self, message: str, *, hint: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


class InvalidCursor(InvalidInput):
    """A cursor does not belong to the list and question that it is sent with."""

    code = "invalid_cursor"

    def __init__(self) -> None:
        super().__init__(
            "The cursor is not valid here: it belongs to another list or question, the content has changed since, "
            "or a character of it is wrong.",
            hint="Copy it exactly and repeat the request that returned it, or ask again without a cursor.",
        )


class NotFound(ThresherError):
    """A named tool, server or file does not exist."""

    code = "not_found"
    exit_code = 3


class Conflict(ThresherError):
    """The name or the resource is taken."""

    code = "conflict"
    exit_code = 4


class HeldBack(Conflict):
    """A tool's definition waits for a person's approval."""

    code = "held_back"


class Unconfirmed(Conflict):
    """It would change something that somebody must agree to first: another solution, or what others refer to."""

    code = "unconfirmed"


class NotAllowed(ThresherError):
    """The caller may see it, but it belongs to others."""

    code = "not_allowed"
    exit_code = 10


class AccessDenied(ThresherError):
    """A key is missing, unknown or revoked."""

    code = "access_denied"
    exit_code = 10


class ConfigurationError(ThresherError):
    """A setting, file or environment variable must change before this can work."""

    code = "configuration"
    exit_code = 5


class StoreError(ThresherError):
    """The database cannot do what was asked."""

    code = "store"
    exit_code = 6


class StoreUnavailable(StoreError):
    """The database cannot be reached; a retry may help."""

    code = "store_unavailable"


class SchemaMismatch(StoreError):
    """The database's schema is older or newer than this code."""

    code = "schema_mismatch"


class UnsafeRole(StoreError):
    """The application role could bypass row-level security."""

    code = "unsafe_role"


class AuditBroken(StoreError):
    """The audit log was tampered with, or written with another key; nothing is added to it."""

    code = "audit_broken"


class EncoderError(ThresherError):
    """The embedding model cannot be loaded or cannot answer."""

    code = "encoder"
    exit_code = 7


class ModelError(ThresherError):
    """The chat model cannot be reached, refused, or gave an answer that cannot be used."""

    code = "model"
    exit_code = 11


class ModelTimeout(ModelError):
    """The chat model did not answer in the time that its caller allows."""

    code = "model_timeout"


class ModelBusy(ModelError):
    """The chat model's service takes no more requests for now; a retry may help."""

    code = "model_busy"


class ModelUnavailable(ModelError):
    """The chat model's service cannot be reached, or is left alone after failures; a retry may help."""

    code = "model_unavailable"


class SourceUnavailable(ThresherError):
    """A source of documents cannot be reached, or breaks off; a retry may help."""

    code = "source_unavailable"
    exit_code = 12


class DatabaseUnavailable(ThresherError):
    """The database of a connection cannot be reached, or is locked by others; a retry may help."""

    code = "database_unavailable"
    exit_code = 13


class StatementRefused(ThresherError):
    """The guard does not let a statement run: it is not known to only read.

    Args:
        message: What it broke, and where, in one sentence.
        hint: What to write instead; empty when nothing can be done.
        rule: Stable name of what it broke.
        line: Where in the SQL, counted from 1; 0 where the whole statement is meant.
        column: In characters, counted from 1; 0 likewise.
        text: What stands there.
        audit_id: Of the decision in the audit log.
    """

    code = "statement_refused"
    exit_code = 15

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        rule: str = "",
        line: int = 0,
        column: int = 0,
        text: str = "",
        audit_id: int = 0,
    ) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule
        self.line = line
        self.column = column
        self.text = text
        self.audit_id = audit_id


class QueryFailed(ThresherError):
    """The database of a connection answered a statement with an error: its own message, without credentials."""

    code = "query_failed"
    exit_code = 14


class QueryTimeout(QueryFailed):
    """A statement was cancelled on the server: it took longer than its caller allows."""

    code = "query_timeout"


class UpstreamError(ThresherError):
    """Another MCP server failed."""

    code = "upstream"
    exit_code = 8


class UpstreamTimeout(UpstreamError):
    """Another MCP server did not answer in time."""

    code = "upstream_timeout"


class UpstreamRefused(UpstreamError):
    """Another MCP server answered with a protocol error."""

    code = "upstream_refused"


class DaemonError(ThresherError):
    """The local daemon cannot be started, or attached to."""

    code = "daemon"
    exit_code = 9
