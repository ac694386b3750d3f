"""Sessions with a SQLite file through the standard library's driver.

Invariant: the operating system opens the file read-only, nothing is created beside it, every statement is
prepared under an allow-list, and the time limit is checked from inside the engine. Actions and pragmas that later
versions of SQLite add are denied.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from thresher.connectors.addresses import DatabaseAddress, real_file
from thresher.connectors.connector import ConnectorOptions, DatabaseEngine
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, SessionTag
from thresher.connectors.sqlite.schema import read_schema
from thresher.connectors.statements import fill
from thresher.core import DatabaseUnavailable, QueryFailed
from thresher.sqlguard import Knowledge

_READS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})
_SCHEMA_TABLES: Final = frozenset({"sqlite_master", "sqlite_schema"})
_UNREADABLE: Final = frozenset({"sqlite_stmt", "bytecode", "tables_used", "fts3_tokenizer"})
"""Tables that show other statements of the session."""
PRAGMAS: Final = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
"""Pragmas that describe a table or an index."""
SETTINGS: Final = frozenset(
    {"application_id", "collation_list", "compile_options", "data_version", "encoding", "freelist_count",
     "foreign_keys", "function_list", "page_count", "page_size", "schema_version", "user_version"}
)  # fmt: skip
"""Pragmas that may be read; with a value, some of them would change a setting."""
FORBIDDEN_FUNCTIONS: Final = frozenset(
    {"edit", "fts3_tokenizer", "fsdir", "load_extension", "lsmode", "optimize", "readfile", "sqlite_log", "writefile",
     "zipfile"}
)  # fmt: skip
LENGTH: Final = 64 * 1024 * 1024
"""The longest text or blob, in bytes."""
_PATTERN: Final = 500
"""Characters of a pattern of LIKE or GLOB."""
_QUADRATIC: Final = (
    (re.compile(r"[lr]?trim\(2\)", re.IGNORECASE), 32 * 1024),
    (re.compile(r"(instr|replace|json_patch)\(", re.IGNORECASE), 256 * 1024),
    (re.compile(r"(like|glob)\(", re.IGNORECASE), 8 * 1024 * 1024),
)
"""The longest value in a statement that calls a function whose time grows with the product of two lengths and that
cannot be interrupted: up to four seconds with these lengths. `trim` with one argument takes linear time."""
LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, LENGTH),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _PATTERN),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
"""Maximum lengths of values and statements, maximum steps of a program, and features that reading does not need."""


def longest(calls: Collection[str]) -> int:
    """The longest text or blob, in bytes, that a statement may produce or read.

    Args:
        calls: The functions that its program calls, each with its number of arguments: `instr(2)`.
    """
    return next((length for called, length in _QUADRATIC if any(map(called.match, calls))), LENGTH)


class Authorizer:
    """The authorizer of a session.

    Attributes:
        functions: Names of allowed functions, in lower case.
        open: Whether our own statements run, which begin and end transactions and configure the session.
    """

    def __init__(self, functions: frozenset[str]) -> None:
        self.functions = functions
        self.open = False

    def judge(self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
        """Allow or deny an action; SQLite calls this for each action that a statement would take."""
        del inner
        return sqlite3.SQLITE_OK if self.open or self._may(action, first, second, database) else sqlite3.SQLITE_DENY

    def _may(self, action: int, first: str | None, second: str | None, database: str | None) -> bool:
        name = (first or "").lower()
        if action in _READS:
            return True
        if action == sqlite3.SQLITE_READ:
            return database != "temp" and name not in _UNREADABLE
        if action == sqlite3.SQLITE_FUNCTION:
            return (second or "").lower() in self.functions
        if action == sqlite3.SQLITE_PRAGMA:
            return name in PRAGMAS or (name in SETTINGS and second is None)
        # A virtual table declares its columns by what looks like an update of the catalog, but is not one: SQLite
        # itself refuses a real one.
        return action == sqlite3.SQLITE_UPDATE and name in _SCHEMA_TABLES and database == "main"


_EXPLAINED: Final = "EXPLAIN QUERY PLAN "
_OPCODE, _P4 = 1, 5
"""Columns of a step that `EXPLAIN` shows."""
_CALLS: Final = frozenset({"Function", "PureFunc"})
_STEPS: Final = 5_000
"""Steps of a statement's program between two checks of the clock: well below a millisecond."""
_CATALOG_SECONDS: Final = 60.0
_HEADER: Final = 20
_WAL: Final = 2
_STORAGE: Final[Mapping[type, str]] = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
_SETTINGS: Final = ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")


def open_sqlite(address: DatabaseAddress, options: ConnectorOptions) -> DatabaseEngine:
    """Create the engine for an address."""
    return SqliteEngine(Path(address.file or ""), options)


@dataclass(frozen=True, slots=True)
class SqliteEngine:
    """Opens sessions with a SQLite file."""

    file: Path
    options: ConnectorOptions

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions of the driver; a session translates MemoryError itself."""
        return (sqlite3.Error,)

    def open(self) -> SqliteSession:
        """Open the file.

        Raises:
            NotAllowed: It is not below an allowed folder.
            DatabaseUnavailable: It is missing, not a database, or not readable.
        """
        return SqliteSession(self.file, self.options)

    def close(self) -> None:
        """See `DatabaseEngine`: sessions share nothing."""


@dataclass(frozen=True, slots=True)
class _FileState:
    """The state of a file; while it is equal, the file was not written to."""

    inode: int
    size: int
    changed: int
    log: bool

    @classmethod
    def of(cls, file: Path) -> _FileState:
        state = file.stat()
        log = Path(f"{file.resolve()}-wal")
        return cls(state.st_ino, state.st_size, state.st_mtime_ns, log.exists() and log.stat().st_size > 0)


class SqliteSession:
    """One session with a SQLite file.

    A file in WAL mode without a writer is opened as immutable, because SQLite would otherwise create two files beside
    it; the file's state is checked before and after each statement, so that a writer is not missed.
    """

    def __init__(self, file: Path, options: ConnectorOptions) -> None:
        self._file = file
        self._options = options
        self._until = 0.0
        self._cancelled = False
        self._at_work = threading.Lock()
        self._rules = Authorizer(frozenset())
        self._seen, self._immutable, self._database = self._connect()

    def knowledge(self) -> Knowledge:
        """See `Session`; the functions are those of this process, which the guard knows."""
        return Knowledge(version=sqlite3.sqlite_version_info)

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session.run`."""
        del tag
        with self._reading(caps.seconds), self._cursor(sql, bind) as cursor:
            columns = tuple(ResultColumn(entry[0], "") for entry in cursor.description or ())
            kinds: dict[int, str] = {}
            rows = fill(columns, _noted(cursor, kinds, len(columns)), caps)
        typed = tuple(replace(column, type=kinds.get(place, "")) for place, column in enumerate(columns))
        return replace(rows, columns=typed)

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """Return the steps of the plan as an indented tree."""
        plan = self.run(f"{_EXPLAINED}{sql}", tag, Caps(seconds=seconds))
        depth = {0: -1}
        lines: list[tuple[Any, ...]] = []
        for step, parent, _, detail in plan.rows:
            depth[step] = depth.get(parent, -1) + 1
            lines.append((f"{'  ' * depth[step]}{detail}",))
        return replace(plan, columns=(ResultColumn("plan", "TEXT"),), rows=tuple(lines))

    def reflect(self, limit: int) -> Schema:
        """See `Session.reflect`."""
        with self._reading(_CATALOG_SECONDS):
            return replace(read_schema(self._database, limit), stamp=self._stamp())

    def stamp(self) -> str:
        """See `Session.stamp`: the file's inode and SQLite's counter of schema changes."""
        with self._reading(_CATALOG_SECONDS):
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Session.profiles`."""

        def ask(sql: str, most: float) -> Sequence[Sequence[Any]] | None:
            with suppress(sqlite3.Error, MemoryError):
                self._until = time.monotonic() + most
                return self._database.execute(sql).fetchall()
            return None

        with self._reading(seconds):
            return profile("sqlite", schema, wanted, ask, seconds)

    def health(self) -> Health:
        """See `Session.health`; the file is opened read-only, so the session can change nothing."""
        with self._reading(_CATALOG_SECONDS):
            self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return Health(ok=True, version=f"SQLite {sqlite3.sqlite_version}", database=self._file.name)

    def describe(self, tag: SessionTag) -> Rows:
        """Describe the session; SQLite has no server that lists sessions."""
        with self._own():
            settings = [
                (name, str(self._database.execute(f"PRAGMA {name}").fetchone()[0]))
                for name in ("query_only", "trusted_schema", "journal_mode", "encoding", "schema_version", "page_count")
            ]
        rows = [
            ("engine", f"SQLite {sqlite3.sqlite_version}"),
            ("database", self._file.name),
            ("opened", "read-only, immutable" if self._immutable else "read-only"),
            ("client", tag.client),
            ("thread", tag.thread),
            ("audit_id", str(tag.audit_id)),
            *settings,
        ]
        return Rows((ResultColumn("name", "TEXT"), ResultColumn("value", "TEXT")), tuple(rows))

    def cancel(self) -> None:
        """See `Session.cancel`."""
        self._cancelled = True
        with suppress(sqlite3.Error):
            self._database.interrupt()

    def reset(self) -> bool:
        """See `Session.reset`; statements cannot leave temporary tables, settings or attached files behind."""
        return not self._database.in_transaction

    def close(self) -> None:
        """See `Session.close`; a running statement is only cancelled: closing would free memory that it reads."""
        if not self._at_work.acquire(blocking=False):
            self.cancel()
            return
        try:
            self._shut()
        finally:
            self._at_work.release()

    def _shut(self) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    @contextmanager
    def _reading(self, seconds: float) -> Generator[None]:
        """Like `_transaction`, and prevents the file from being closed meanwhile."""
        with self._at_work, self._transaction(seconds):
            yield

    @contextmanager
    def _transaction(self, seconds: float) -> Generator[None]:
        """A read-only transaction with a time limit, rolled back at the end; the file must not change meanwhile."""
        self._refresh()
        self._cancelled = False
        self._until = time.monotonic() + seconds
        with self._own():
            self._database.execute("BEGIN")
        try:
            yield
            if self._immutable and _FileState.of(self._file) != self._seen:
                raise DatabaseUnavailable("The database was changed while it was read.", hint="Ask again.")
        except MemoryError:
            message = f"The statement needs more memory than {self._options.memory_mb} MB."
            raise QueryFailed(message, hint="Ask for less: filter, aggregate or limit it.") from None
        finally:
            self._until = time.monotonic() + seconds
            self._cancelled = False
            with self._own(), suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")

    @contextmanager
    def _cursor(self, sql: str, bind: Sequence[Any]) -> Generator[sqlite3.Cursor]:
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest(self._calls(sql, bind)))
        cursor = self._database.execute(sql, tuple(bind))
        try:
            yield cursor
        finally:
            cursor.close()

    def _calls(self, sql: str, bind: Sequence[Any]) -> set[str]:
        """The functions that a statement's program calls, including those in views and computed columns: `instr(2)`."""
        if sql.startswith(_EXPLAINED):
            return set()  # it is not run
        program = self._database.execute(f"EXPLAIN {sql}", tuple(bind))
        return {str(step[_P4]) for step in program if step[_OPCODE] in _CALLS}

    @contextmanager
    def _own(self) -> Generator[None]:
        self._rules.open = True
        try:
            yield
        finally:
            self._rules.open = False

    def _refresh(self) -> None:
        """Open the file again if it was replaced, or written to during an immutable session."""
        try:
            now = _FileState.of(self._file)
        except OSError:
            raise _gone(self._file) from None
        if now.inode != self._seen.inode or (self._immutable and now != self._seen):
            self._shut()
            self._seen, self._immutable, self._database = self._connect()

    def _connect(self) -> tuple[_FileState, bool, sqlite3.Connection]:
        try:
            file = real_file(self._file, self._options.folders)
            seen = _FileState.of(file)
            with open(file, "rb", opener=_at_once) as opened:
                header = opened.read(_HEADER)
        except OSError:
            raise _gone(self._file) from None
        immutable = len(header) == _HEADER and header[-1] == _WAL and not seen.log
        address = f"file:{quote(str(file))}?mode=ro{'&immutable=1' if immutable else ''}"
        database = sqlite3.connect(
            address,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=self._options.lock_seconds,
            cached_statements=0,
        )
        try:
            self._set_up(database)
        except sqlite3.Error:
            database.close()
            raise
        return seen, immutable, database

    def _set_up(self, database: sqlite3.Connection) -> None:
        for setting in _SETTINGS:
            database.execute(f"PRAGMA {setting}")
        # One limit for all SQLite sessions of the process: SQLite has no other, and only ever lowers it.
        database.execute(f"PRAGMA hard_heap_limit = {self._options.memory_mb * 1024 * 1024}")
        for limit, most in LIMITS:
            database.setlimit(limit, most)
        names = {str(row[0]).lower() for row in database.execute("SELECT name FROM pragma_function_list")}
        self._rules = Authorizer(frozenset(names - FORBIDDEN_FUNCTIONS))
        database.text_factory = _text
        database.set_authorizer(self._rules.judge)
        database.set_progress_handler(self._is_over, _STEPS)

    def _is_over(self) -> int:
        return int(self._cancelled or time.monotonic() > self._until)

    def _stamp(self) -> str:
        version = self._database.execute("PRAGMA schema_version").fetchone()[0]
        return f"{self._seen.inode}-{version}"


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, in case it has become a named pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _gone(file: Path) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"The file {file.name} of the database cannot be read.", hint="Check that it exists.")


def _text(raw: bytes) -> str | bytes:
    """Decode text; SQLite stores any bytes as text, and what is not UTF-8 stays bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def _noted(rows: Iterator[Sequence[Any]], kinds: dict[int, str], width: int) -> Iterator[Sequence[Any]]:
    """Pass rows through, and record the storage class of each column's first value."""
    for row in rows:
        if len(kinds) < width:
            for place, value in enumerate(row):
                if value is not None:
                    kinds.setdefault(place, _STORAGE[type(value)])
        yield row
