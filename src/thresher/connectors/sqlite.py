"""SQLite: a file that is opened for reading, by the standard library's driver.

Invariant: the file is opened read-only by the operating system, nothing is created beside it, every statement is
prepared under an allow-list, and its time is watched from inside the engine. Names of actions and pragmas that SQLite
may get in the future are denied.
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

from thresher.connectors.addresses import Address, real_file
from thresher.connectors.connector import ConnectorOptions, Engine
from thresher.connectors.filling import fill
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, Tag
from thresher.connectors.sqlite_schema import read_schema
from thresher.core import DatabaseUnavailable, QueryFailed
from thresher.sqlguard import Knowledge

_READS: Final = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE})
_SCHEMA_TABLES: Final = frozenset({"sqlite_master", "sqlite_schema"})
_UNREADABLE: Final = frozenset({"sqlite_stmt", "bytecode", "tables_used", "fts3_tokenizer"})
"""Tables that show what other questions ran in the session."""
PRAGMAS: Final = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
"""Those that take the name of a table or an index and tell about it."""
SETTINGS: Final = frozenset(
    {"application_id", "collation_list", "compile_options", "data_version", "encoding", "freelist_count",
     "foreign_keys", "function_list", "page_count", "page_size", "schema_version", "user_version"}
)  # fmt: skip
"""Those that may be read; with a value some would be set."""
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
"""The longest value in a statement whose program calls a function that takes the product of two lengths and cannot be
interrupted: up to four seconds with these lengths. `trim` with one argument takes linear time."""
LIMITS: Final = (
    (sqlite3.SQLITE_LIMIT_LENGTH, LENGTH),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
    (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
    (sqlite3.SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _PATTERN),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
)
"""The longest value; the longest statement; the steps of its program; and what no read needs."""


def longest(calls: Collection[str]) -> int:
    """The longest text or blob, in bytes, that a statement may make or read.

    Args:
        calls: The functions that its program calls, each with its number of arguments: `instr(2)`.
    """
    return next((length for called, length in _QUADRATIC if any(map(called.match, calls))), LENGTH)


class Rules:
    """The authorizer of a session.

    Attributes:
        functions: Names that may be called, lower case.
        open: Whether our own statements run, which begin and end transactions and set the session up.
    """

    def __init__(self, functions: frozenset[str]) -> None:
        self.functions = functions
        self.open = False

    def judge(self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None) -> int:
        """Called by SQLite for each thing that a statement would do."""
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
        # A virtual table declares its columns by what looks like an update of the catalog, and is none: a real one
        # is refused by SQLite itself, which opens the catalog to nobody.
        return action == sqlite3.SQLITE_UPDATE and name in _SCHEMA_TABLES and database == "main"


_EXPLAINED: Final = "EXPLAIN QUERY PLAN "
_OPCODE, _P4 = 1, 5
"""Columns of a step that `EXPLAIN` shows."""
_CALLS: Final = frozenset({"Function", "PureFunc"})
_STEPS: Final = 5_000
"""Steps of a statement's program between two looks at the clock: well below a millisecond."""
_CATALOG_SECONDS: Final = 60.0
_HEADER: Final = 20
_WAL: Final = 2
_STORAGE: Final[Mapping[type, str]] = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}
_SETTINGS: Final = ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")


def open_sqlite(address: Address, options: ConnectorOptions) -> Engine:
    """An engine that reads the address's file."""
    return SqliteEngine(Path(address.file or ""), options)


@dataclass(frozen=True, slots=True)
class SqliteEngine:
    """Opens sessions with a SQLite file."""

    file: Path
    options: ConnectorOptions

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises; a session turns MemoryError into an error of ours."""
        return (sqlite3.Error,)

    def open(self) -> SqliteSession:
        """Open the file.

        Raises:
            NotAllowed: It is below none of the folders that are allowed.
            DatabaseUnavailable: It is gone, no database, or cannot be read.
        """
        return SqliteSession(self.file, self.options)

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a file looked like: an unchanged one was not written to."""

    inode: int
    size: int
    changed: int
    log: bool

    @classmethod
    def of(cls, file: Path) -> _Seen:
        state = file.stat()
        log = Path(f"{file.resolve()}-wal")
        return cls(state.st_ino, state.st_size, state.st_mtime_ns, log.exists() and log.stat().st_size > 0)


class SqliteSession:
    """One session with a SQLite file.

    A file in WAL mode that nobody writes is opened as immutable, since SQLite would leave two files beside it
    otherwise; before and after each statement the file is looked at, so that a writer is not missed.
    """

    def __init__(self, file: Path, options: ConnectorOptions) -> None:
        self._file = file
        self._options = options
        self._until = 0.0
        self._cancelled = False
        self._at_work = threading.Lock()
        self._rules = Rules(frozenset())
        self._seen, self._immutable, self._database = self._connect()

    def knowledge(self) -> Knowledge:
        """SQLite's version; its functions are those of this process, which the guard knows."""
        return Knowledge(version=sqlite3.sqlite_version_info)

    def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session.run`."""
        del tag
        with self._reading(caps.seconds), self._cursor(sql, bind) as cursor:
            columns = tuple(ResultColumn(entry[0], "") for entry in cursor.description or ())
            kinds: dict[int, str] = {}
            rows = fill(columns, _noted(cursor, kinds, len(columns)), caps)
        typed = tuple(replace(column, type=kinds.get(place, "")) for place, column in enumerate(columns))
        return replace(rows, columns=typed)

    def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
        """The steps of the plan, indented below what they belong to."""
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
        """The file's identity and SQLite's own counter of changes to the schema."""
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
        """The file is opened for reading by the operating system: there is nothing that the session could change."""
        with self._reading(_CATALOG_SECONDS):
            self._database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return Health(ok=True, version=f"SQLite {sqlite3.sqlite_version}", database=self._file.name)

    def describe(self, tag: Tag) -> Rows:
        """What is known of the session; SQLite has no server that could show it to others."""
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
        """Nothing outlives a statement: no temporary table, setting or attached file can come to be."""
        return not self._database.in_transaction

    def close(self) -> None:
        """See `Session.close`; below a running statement it would free what that reads, so that is only cancelled."""
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
        """As `_transaction`; the file is not closed below it."""
        with self._at_work, self._transaction(seconds):
            yield

    @contextmanager
    def _transaction(self, seconds: float) -> Generator[None]:
        """A transaction that only reads, watched by the clock and rolled back; the file must not change below it."""
        self._refresh()
        self._cancelled = False
        self._until = time.monotonic() + seconds
        with self._own():
            self._database.execute("BEGIN")
        try:
            yield
            if self._immutable and _Seen.of(self._file) != self._seen:
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
        """The functions that a statement's program calls, those of views and computed columns too: `instr(2)`."""
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
        """Open the file again where it was replaced, or written to under an immutable session."""
        try:
            now = _Seen.of(self._file)
        except OSError:
            raise _gone(self._file) from None
        if now.inode != self._seen.inode or (self._immutable and now != self._seen):
            self._shut()
            self._seen, self._immutable, self._database = self._connect()

    def _connect(self) -> tuple[_Seen, bool, sqlite3.Connection]:
        try:
            file = real_file(self._file, self._options.folders)
            seen = _Seen.of(file)
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
        # One bound for all SQLite sessions of the process: SQLite has no other, and lowers it only.
        database.execute(f"PRAGMA hard_heap_limit = {self._options.memory_mb * 1024 * 1024}")
        for limit, most in LIMITS:
            database.setlimit(limit, most)
        names = {str(row[0]).lower() for row in database.execute("SELECT name FROM pragma_function_list")}
        self._rules = Rules(frozenset(names - FORBIDDEN_FUNCTIONS))
        database.text_factory = _text
        database.set_authorizer(self._rules.judge)
        database.set_progress_handler(self._is_over, _STEPS)

    def _is_over(self) -> int:
        return int(self._cancelled or time.monotonic() > self._until)

    def _stamp(self) -> str:
        version = self._database.execute("PRAGMA schema_version").fetchone()[0]
        return f"{self._seen.inode}-{version}"


def _at_once(path: str, flags: int) -> int:
    """Opens a file without waiting for somebody to write into it, should it be a named pipe by now."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _gone(file: Path) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"The file {file.name} of the database cannot be read.", hint="Check that it exists.")


def _text(raw: bytes) -> str | bytes:
    """SQLite keeps any bytes as text; those that are none are shown as bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def _noted(rows: Iterator[Sequence[Any]], kinds: dict[int, str], width: int) -> Iterator[Sequence[Any]]:
    """The rows as they are; of each column the storage class of its first value is noted."""
    for row in rows:
        if len(kinds) < width:
            for place, value in enumerate(row):
                if value is not None:
                    kinds.setdefault(place, _STORAGE[type(value)])
        yield row
