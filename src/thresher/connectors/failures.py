"""Translates driver errors into our own, with the database's message.

Invariant: pure, and imports no driver: errors are classified by their codes. Messages are one line, without
credentials, host addresses or tracebacks. An unlisted error counts as `failed`: the statement is wrong, and the
database's message says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from thresher.core import DatabaseUnavailable, QueryFailed, QueryTimeout, ThresherError, mask_text, shortened

FailureKind: TypeAlias = Literal[
    "timeout", "waited", "sign-in", "away", "full", "locked", "damaged", "memory", "failed"
]

POSTGRESQL: Final[tuple[tuple[str, FailureKind], ...]] = (
    ("57014", "timeout"), ("25P03", "timeout"), ("25P04", "timeout"), ("55P03", "waited"), ("28", "sign-in"),
    ("3D000", "sign-in"), ("53300", "full"), ("57P", "away"), ("08", "away"),
)  # fmt: skip
MYSQL: Final[Mapping[int, FailureKind]] = {
    1317: "timeout", 3024: "timeout", 1969: "timeout", 1028: "timeout", 1205: "waited", 3572: "waited",
    1044: "sign-in", 1045: "sign-in", 1049: "sign-in", 1698: "sign-in", 1130: "sign-in", 1129: "sign-in",
    1251: "sign-in", 1040: "full", 1203: "full", 1226: "full", 1053: "away", 1077: "away", 2002: "away", 2003: "away",
    2005: "away", 2006: "away", 2013: "away", 2026: "away", 2055: "away", 4031: "away", 1927: "away", 0: "away",
}  # fmt: skip
ORACLE: Final[Mapping[str, FailureKind]] = {
    "ORA-01013": "timeout", "ORA-03136": "away", "DPY-4024": "timeout", "ORA-30006": "waited", "ORA-00054": "waited",
    "ORA-01017": "sign-in", "ORA-28000": "sign-in", "ORA-28001": "sign-in", "ORA-01045": "sign-in",
    "ORA-01005": "sign-in", "DPY-4001": "sign-in", "DPY-3015": "sign-in", "ORA-12514": "sign-in",
    "DPY-6001": "sign-in", "DPY-6003": "sign-in", "ORA-00018": "full", "ORA-00020": "full", "ORA-12516": "full",
    "ORA-12541": "away", "ORA-12170": "away", "ORA-03113": "away", "ORA-03114": "away", "ORA-00028": "away",
    "ORA-01033": "away", "ORA-01034": "away", "ORA-01089": "away", "ORA-02396": "away",
    "DPY-1001": "away", "DPY-4011": "away", "DPY-6000": "away", "DPY-6005": "away",
}  # fmt: skip
SQLITE: Final[tuple[tuple[str, FailureKind], ...]] = (
    ("SQLITE_INTERRUPT", "timeout"), ("SQLITE_BUSY", "locked"), ("SQLITE_LOCKED", "locked"),
    ("SQLITE_CANTOPEN", "away"), ("SQLITE_NOTADB", "damaged"), ("SQLITE_IOERR", "away"), ("SQLITE_CORRUPT", "damaged"),
)  # fmt: skip
MSSQL: Final[tuple[tuple[str, FailureKind], ...]] = (
    ("HYT00", "timeout"), ("HY008", "timeout"), ("HYT01", "away"), ("28000", "sign-in"), ("08", "away"),
    ("IM002", "away"),
)  # fmt: skip
MSSQL_LOCK: Final = "(1222)"
"""The error number of a lock time-out, as the driver appends it."""


_SHOWN: Final = 600
_LESS: Final = "Ask for less: filter, aggregate or limit it; sql_explain shows what costs."
_ERRORS: Final[Mapping[FailureKind, tuple[type[ThresherError], str, str]]] = {
    "timeout": (QueryTimeout, "The statement took too long and was cancelled.", _LESS),
    "waited": (QueryTimeout, "The statement waited too long for a lock.", "Try again later."),
    "sign-in": (DatabaseUnavailable, "The database refuses the sign-in.", "Check user, password and database."),
    "full": (DatabaseUnavailable, "The database takes no further sessions.", "Try again later."),
    "locked": (DatabaseUnavailable, "The database is locked by a writer.", "Try again when it is done."),
    "away": (DatabaseUnavailable, "The database cannot be reached.", "Check host, port, TLS and whether it runs."),
    "damaged": (DatabaseUnavailable, "The file is damaged, or no database of this engine.", "Check its path and kind."),
    "memory": (
        QueryFailed,
        "The statement needs more memory than it may take.",
        "Filter, aggregate or limit it; read long values in parts (substr), and fewer rows at a time.",
    ),
}
UNREADABLE: Final = (ValueError, OverflowError, MemoryError)
"""Built-in exceptions that drivers raise: for text that is not UTF-8, dates beyond Python's range, large results."""
_FILE_AWAY: Final = ("The file of the database cannot be read.", "Check that it is there and may be read.")
_PREFIX: Final = re.compile(
    r"^(?:(?:ORA|DPY)-\d+:|(?:\[[^\]]*\])+|[A-Z]\w+(?: [A-Z]\w+)? Error:|INTERRUPT Error:|Not implemented Error:|"
    r"Out of (?:Range|Memory) Error:|ERROR:|FATAL:)\s*"
)
_TAIL: Final = re.compile(r"\s*(?:Help: https?://\S+|\(SQL\w+\)|;\s*nested exception.*)\s*$", re.S)
_SQLITE_NAMED: Final = re.compile(r'near "(.+)": |^(?:no such (?:column|table|function)|ambiguous column name): (.+)$')
_PLACE: Final = re.compile(r"\n\s*LINE (?P<line>\d+): (?P<shown>[^\n]*)\n(?P<blanks> *)\^", re.S)
_MARKER: Final = "LINE {}: "
_NEAR: Final = 40


@dataclass(frozen=True, slots=True)
class _ErrorParts:
    """The parts of a driver's error: code, message, the database's hint, and the offset in the SQL."""

    code: str
    message: str
    hint: str = ""
    offset: int | None = None


def failed(dialect: str, error: BaseException, sql: str = "", *, lead: str = "") -> ThresherError:
    """Translate a driver's error.

    Args:
        dialect: The engine's dialect.
        error: The exception; SQLAlchemy's wrappers are removed, and one of our own errors is returned unchanged.
        sql: The statement; error positions refer to it.
        lead: Text that was sent before the statement.

    Returns:
        `QueryFailed` with the database's message and the position, `QueryTimeout`, or `DatabaseUnavailable`.
    """
    if isinstance(error, ThresherError):
        return error
    bare = cast("BaseException", getattr(error, "orig", None) or error)
    if isinstance(bare, ValueError | OverflowError):
        return QueryFailed(
            f"The database's driver cannot read a value of the answer, or the statement: {type(bare).__name__}.",
            hint="Convert the column to text in the statement.",
        )
    parts = _READERS.get(dialect, _read_plain)(bare, lead + sql)
    failure = _classify(dialect, parts, bare)
    if failure != "failed":
        kind, message, hint = _ERRORS[failure]
        if failure == "away" and dialect in ("sqlite", "duckdb"):
            message, hint = _FILE_AWAY
        return kind(message, hint=hint)
    return QueryFailed(
        f"{_words(parts.message) or type(bare).__name__}{_where(sql, parts.offset, len(lead))}", hint=_words(parts.hint)
    )


def line_and_column(sql: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of a character offset."""
    before = sql[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def _where(sql: str, offset: int | None, before: int) -> str:
    if offset is None or not 0 <= offset - before <= len(sql):
        return ""
    line, column = line_and_column(sql, offset - before)
    return f" (line {line}, column {column})"


def _words(text: str) -> str:
    """One line without the driver's prefixes and suffixes, and without credentials."""
    text = _TAIL.sub("", text.strip())
    while (bare := _PREFIX.sub("", text, count=1)) != text:
        text = bare
    return mask_text(shortened(" ".join(text.split()), _SHOWN))


def _classify(dialect: str, parts: _ErrorParts, error: BaseException) -> FailureKind:
    if isinstance(error, ConnectionError | TimeoutError):
        return "away"
    if isinstance(error, MemoryError):
        return "memory"
    match dialect:
        case "postgresql":
            return _by_start(parts.code, POSTGRESQL) if parts.code else _by_message(parts.message)
        case "mysql" | "mariadb":
            return MYSQL.get(int(parts.code), "failed") if parts.code.isdigit() else "failed"
        case "oracle":
            return ORACLE.get(parts.code, "failed")
        case "mssql":
            return "waited" if MSSQL_LOCK in parts.message else _by_start(parts.code, MSSQL)
        case "sqlite":
            return _by_start(parts.code, SQLITE)
        case "duckdb":
            return _of_duckdb(parts)
        case _:
            return "failed"


def _by_start(code: str, prefixes: tuple[tuple[str, FailureKind], ...]) -> FailureKind:
    for start, failure in prefixes:
        if code.startswith(start):
            return failure
    return "failed"


def _by_message(message: str) -> FailureKind:
    """Classify by message: PostgreSQL's driver gives no code if the connection failed."""
    lowered = message.lower()
    if "authentication failed" in lowered or "does not exist" in lowered or "no pg_hba.conf entry" in lowered:
        return "sign-in"
    if "too many clients" in lowered or "remaining connection slots" in lowered:
        return "full"
    away = ("connection", "could not translate", "server closed", "timeout expired", "consuming input failed", "ssl")
    return "away" if any(part in lowered for part in away) else "failed"


def _of_duckdb(parts: _ErrorParts) -> FailureKind:
    lowered = parts.message.lower()
    if parts.code == "InterruptException":
        return "timeout"
    if parts.code == "OutOfMemoryException":
        return "memory"
    if "could not set lock" in lowered or "conflicting lock" in lowered or "different configuration" in lowered:
        return "locked"
    if parts.code != "IOException":
        return "failed"
    if "not a valid duckdb" in lowered or "corrupt" in lowered:
        return "damaged"
    gone = ("cannot open", "does not exist", "no such file", "different duckdb version")
    return "away" if any(part in lowered for part in gone) else "failed"


def _read_plain(error: BaseException, sql: str) -> _ErrorParts:
    del sql
    return _ErrorParts("", str(error))


def _read_postgresql(error: BaseException, sql: str) -> _ErrorParts:
    del sql
    diagnosis = getattr(error, "diag", None)
    code = str(getattr(error, "sqlstate", None) or "")
    primary = getattr(diagnosis, "message_primary", None)
    if not primary:
        return _ErrorParts(code, str(error))
    detail, hint = getattr(diagnosis, "message_detail", None), getattr(diagnosis, "message_hint", None)
    position = str(getattr(diagnosis, "statement_position", None) or "")
    offset = int(position) - 1 if position.isdigit() else None
    return _ErrorParts(code, f"{primary}. {detail}" if detail else str(primary), str(hint or ""), offset)


def _read_mysql(error: BaseException, sql: str) -> _ErrorParts:
    del sql
    code, message, *_ = (*error.args, "", "")
    return _ErrorParts(str(code), str(message)) if isinstance(code, int) else _ErrorParts("", str(error))


def _read_oracle(error: BaseException, sql: str) -> _ErrorParts:
    detail: Any = error.args[0] if error.args else error
    offset = getattr(detail, "offset", None)
    message = str(getattr(detail, "message", None) or detail).split("\n", 1)[0]
    return _ErrorParts(str(getattr(detail, "full_code", "")), message, "", offset if offset and sql else None)


def _read_mssql(error: BaseException, sql: str) -> _ErrorParts:
    del sql
    code, message, *_ = (*error.args, "", "")
    return _ErrorParts(str(code), str(message or code))


def _read_sqlite(error: BaseException, sql: str) -> _ErrorParts:
    """SQLite's driver reports no position: the named word is searched for, and counts if it occurs once."""
    message = str(error)
    named = _SQLITE_NAMED.search(message)
    word = re.escape(named[named.lastindex or 0]) if named else ""
    places = [found.start() for found in re.finditer(rf"(?<!\w){word}(?!\w)", sql)] if word else []
    code = str(getattr(error, "sqlite_errorname", ""))
    return _ErrorParts(code, message, "", places[0] if len(places) == 1 else None)


def _read_duckdb(error: BaseException, sql: str) -> _ErrorParts:
    """DuckDB prints the line with a caret below it; the text before that is the message."""
    text = str(error)
    if (cut := text.find("\nTraceback")) >= 0:
        text = text[:cut]
    found = _PLACE.search(text)
    message = text[: found.start()] if found else text
    return _ErrorParts(type(error).__name__, message, "", _caret(found, sql) if found else None)


def _caret(found: re.Match[str], sql: str) -> int | None:
    """The offset of the caret; in a line that DuckDB abbreviates (`...`) it is found by the text that is shown."""
    number, shown = int(found["line"]), found["shown"]
    column = len(found["blanks"]) - len(_MARKER.format(number))
    lines = sql.split("\n")
    if not 0 < number <= len(lines) or column < 0:
        return None
    before = sum(len(line) + 1 for line in lines[: number - 1])
    if not shown.startswith("..."):
        return before + column
    inside = lines[number - 1].find(shown.removesuffix("...")[column : column + _NEAR])
    return before + inside if inside >= 0 else None


_READERS: Final[Mapping[str, Callable[[BaseException, str], _ErrorParts]]] = {
    "postgresql": _read_postgresql,
    "mysql": _read_mysql,
    "mariadb": _read_mysql,
    "oracle": _read_oracle,
    "mssql": _read_mssql,
    "sqlite": _read_sqlite,
    "duckdb": _read_duckdb,
}
