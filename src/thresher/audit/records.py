"""Entries of the audit log, and the result of its verification.

Invariant: frozen. Every field of an entry is covered by its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "error", "timeout", "cancelled", "truncated"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is recorded before a statement runs: the decision.

    Attributes:
        actor: The user, or the name of the key.
        client: The client's name and version, if known.
        model: The model, if known.
        thread: The conversation or session, if known.
        connection: Name of the connection or of the upstream server.
        dialect: The engine's dialect.
        sql: The whole statement.
        allowed: The verdict.
        rule: The violated rule; empty if it is allowed.
        tool: The called tool.
    """

    actor: str
    client: str
    model: str
    thread: str
    connection: str
    dialect: str
    sql: str
    allowed: bool
    rule: str
    tool: str


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """What is recorded after a statement ran.

    Attributes:
        outcome: How it ended.
        rows: Number of returned rows.
        ms: How long it took.
        error: The database's message, without credentials; else empty.
    """

    outcome: Outcome
    rows: int
    ms: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A decision and its outcome, as the log shows them.

    Attributes:
        id: The decision's position in the tenant's chain, counted from 1.
        at: When it was decided.
        attempt: The statement and the decision.
        ended: The outcome; None if it was refused, still runs, or its process died.
        trace_id: Of the request.
    """

    id: int
    at: datetime
    attempt: Attempt
    ended: StatementOutcome | None
    trace_id: str


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """The wanted entries; an attribute that is empty or None does not filter.

    Attributes:
        since: Decided at this moment or later; UTC without a zone.
        connection: Name of the connection.
        actor: The actor.
        allowed: Whether the statement was allowed.
        text: Part of the statement, whatever the case of its letters.
    """

    since: datetime | None = None
    connection: str = ""
    actor: str = ""
    allowed: bool | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of the log.

    Attributes:
        entries: Newest first.
        next: The cursor of the next page; empty on the last one.
    """

    entries: tuple[AuditEntry, ...]
    next: str


@dataclass(frozen=True, slots=True)
class AuditProblem:
    """A finding of a verification.

    Attributes:
        kind: `changed`, `gap`, `order`, `cut tail`, `added`, `head`, `foreign`, `anchor`, `expected`, `outcome`,
            `without outcome`, `restarted` or `pruned`.
        id: Of the link; 0 for the chain as a whole.
        text: One sentence.
        fatal: Whether the log was tampered with; a missing outcome is not fatal.
    """

    kind: str
    id: int
    text: str
    fatal: bool


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a verification.

    Attributes:
        links: Number of links in the chain: a decision is one, its outcome another.
        entries: Number of decisions among them.
        head: The position and hash of the last link, `position:hash`; `0:` without any. Kept elsewhere, it proves later
            that nothing up to here was changed or cut.
        anchored: The position of the last link that was also noted outside of the database; 0 if none was.
        problems: In the order of the chain, those of the whole first.
        sound: Whether nothing was tampered with.
    """

    links: int
    entries: int
    head: str
    anchored: int
    problems: tuple[AuditProblem, ...]
    sound: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sound", not any(problem.fatal for problem in self.problems))
