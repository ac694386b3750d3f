"""A session with a DuckDB file, opened read-only by an engine that can reach nothing else.

Invariant: no other file is opened, nothing is installed or loaded, and no setting can be changed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import duckdb

from thresher.connectors.addresses import real_file
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.duckdb.schema import STAMP, read_schema
from thresher.connectors.duckdb.types import ExactConversion, conversion_of
from thresher.connectors.failures import failed
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, SessionTag
from thresher.connectors.statements import fill, version_numbers
from thresher.core import DatabaseUnavailable, InvalidInput
from thresher.sqlguard import CATALOG_SQL, Knowledge, functions_of

_BATCH: Final = 256
_SQLITE: Final = b"SQLite format 3\0"
_QUERIES: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
"""MULTI is a PIVOT, which DuckDB runs as several steps of one query."""
_RUNS: Final = (*_QUERIES, duckdb.StatementType.EXPLAIN)
SPENDING: Final = (MemoryError, duckdb.OutOfMemoryException, duckdb.FatalException, duckdb.InternalException)
"""Errors after which a process is unreliable: memory is short or fragmented, or DuckDB has given up the file."""
_SETTINGS: Final = (
    "access_mode", "enable_external_access", "lock_configuration", "autoinstall_known_extensions",
    "autoload_known_extensions", "allow_community_extensions", "python_enable_replacements", "temp_directory",
    "memory_limit", "threads", "TimeZone",
)  # fmt: skip


class DuckdbSession:
    """One session with a DuckDB file.

    Args:
        file: The file.
        options: How the connector uses it.
        stamps: Digests of the definitions by the file's inode, size and time; shared by the sessions of a process.

    Raises:
        NotAllowed: The file is not below an allowed folder.
        DatabaseUnavailable: The file is missing, or a database of another kind.
    """

    def __init__(self, file: Path, options: ConnectorOptions, stamps: dict[tuple[int, int, int], str]) -> None:
        file = real_file(file, options.folders)
        if _begins_like_sqlite(file):
            message = f"The file {file.name} is a SQLite database."
            raise DatabaseUnavailable(message, hint="Write sqlite: in place of duckdb: in its address.")
        self._file = file
        self._stamps = stamps
        self._options = options
        self._database = _connect(file, options)

    def knowledge(self) -> Knowledge:
        """DuckDB's version, and functions of the file that have names of built-in ones."""
        with self._reading():
            statement = CATALOG_SQL.get("duckdb")
            rows = self._ask(statement) if statement else ()
        functions = functions_of("duckdb", rows, self._options.allow_functions) if statement else None
        return Knowledge(functions, version=version_numbers(duckdb.__version__))

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session.run`."""
        del tag
        kind = self._kind_of(sql)
        with self._reading():
            if kind not in _QUERIES:
                return self._plain(sql, caps, bind)
            columns = self._columns_of(sql, bind)
            readings = [conversion_of(self._database.sqltype(column.type)) for column in columns]
            # One extra row shows whether there are more; the engine need not produce the others.
            limit = f"LIMIT {caps.rows + 1} OFFSET {caps.skip}"
            places = ", ".join(
                f"CAST(#{number} AS {reading.cast})" if reading else f"#{number}"
                for number, reading in enumerate(readings, 1)
            )
            lead = f"SELECT {places} FROM (\n"  # noqa: S608 - around one statement, which the guard has allowed
            with _placed(sql, lead):
                rows = self._stream(f"{lead}{_bare(sql)}\n) {limit}", bind)
                return fill(columns, (_exact(row, readings) for row in rows), replace(caps, skip=0))

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """Return the plan, one line in each row."""
        del tag, seconds
        self._kind_of(sql)
        with self._reading(), _placed(sql, "EXPLAIN "):
            plans = self._ask(f"EXPLAIN {sql}")
        lines = [(line,) for plan in plans for line in str(plan[1]).splitlines()]
        return Rows((ResultColumn("plan", "VARCHAR"),), tuple(lines))

    def reflect(self, limit: int) -> Schema:
        """See `Session.reflect`."""
        with self._reading():
            return read_schema(self._ask, duckdb.__version__, self._stamp(), limit)

    def stamp(self) -> str:
        """See `Session.stamp`: a digest of all definitions, recomputed after writes: DuckDB has no change counter."""
        with self._reading():
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Session.profiles`."""

        def ask(sql: str, most: float) -> Sequence[Sequence[Any]] | None:
            timer = threading.Timer(most, self._database.interrupt)
            timer.start()
            try:
                with self._reading():
                    return self._ask(sql)
            except (duckdb.Error, MemoryError):
                return None
            finally:
                timer.cancel()

        return profile("duckdb", schema, wanted, ask, seconds)

    def health(self) -> Health:
        """See `Session.health`; the file is opened read-only, so the session can change nothing."""
        version, database = self._ask("SELECT version(), current_database()")[0]
        return Health(ok=True, version=f"DuckDB {str(version).removeprefix('v')}", database=str(database))

    def describe(self, tag: SessionTag) -> Rows:
        """Describe the session; DuckDB has no server that lists sessions."""
        names = ", ".join(f"current_setting('{name}')" for name in _SETTINGS)
        values = self._ask(f"SELECT {names}")[0]
        rows = [
            ("engine", f"DuckDB {duckdb.__version__}"),
            ("database", self._file.name),
            ("client", tag.client),
            ("thread", tag.thread),
            ("audit_id", str(tag.audit_id)),
            *((name, str(value)) for name, value in zip(_SETTINGS, values, strict=True)),
        ]
        return Rows((ResultColumn("name", "VARCHAR"), ResultColumn("value", "VARCHAR")), tuple(rows))

    def cancel(self) -> None:
        """See `Session.cancel`."""
        with suppress(duckdb.Error):
            self._database.interrupt()

    def close(self) -> None:
        """Close the file; must not be called while a statement runs."""
        with suppress(duckdb.Error):
            self._database.close()

    @contextmanager
    def _reading(self) -> Generator[None]:
        """A read-only transaction that is rolled back."""
        self._database.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield
        finally:
            with suppress(duckdb.Error):
                self._database.execute("ROLLBACK")

    def _kind_of(self, sql: str) -> duckdb.StatementType:
        """The kind of a statement according to DuckDB's own parser.

        Raises:
            InvalidInput: There are several statements, or it is of a kind that does more than read.
        """
        statements = self._database.extract_statements(sql)
        if len(statements) != 1 or statements[0].type not in _RUNS:
            raise InvalidInput("DuckDB does not read this as one query.", hint="Send one SELECT.")
        return statements[0].type

    def _columns_of(self, sql: str, bind: Sequence[Any]) -> tuple[ResultColumn, ...]:
        with _placed(sql, "DESCRIBE "):
            rows = self._ask(f"DESCRIBE {sql}", bind)
        return tuple(ResultColumn(str(row[0]), str(row[1])) for row in rows)

    def _plain(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        rows = self._stream(sql, bind)
        first = next(rows, None)
        columns = [ResultColumn(entry[0], str(entry[1])) for entry in self._database.description or ()]
        return fill(columns, () if first is None else (first, *rows), caps)

    def _stream(self, sql: str, bind: Sequence[Any]) -> Iterator[Sequence[Any]]:
        self._database.execute(sql, list(bind))
        while batch := self._database.fetchmany(_BATCH):
            yield from batch

    def _ask(self, sql: str, bind: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._database.execute(sql, list(bind)).fetchall()

    def _stamp(self) -> str:
        state = self._file.stat()  # it cannot be written to while it is open here
        look = (state.st_ino, state.st_size, state.st_mtime_ns)
        stamp = self._stamps.get(look)
        if stamp is None:
            stamp = str(self._ask(STAMP)[0][0] or "")
            self._stamps.clear()
            self._stamps[look] = stamp
        return stamp


def _configuration(options: ConnectorOptions) -> dict[str, str | bool | int | float | list[str]]:
    """The configuration of all sessions of a process: a file is opened with one configuration."""
    return {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
        "temp_directory": "",
        "memory_limit": f"{options.memory_mb}MB",
        "threads": "2",
    }


def _begins_like_sqlite(file: Path) -> bool:
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE
    return False


def _connect(file: Path, options: ConnectorOptions) -> duckdb.DuckDBPyConnection:
    """Open the file and lock its settings; the time zone can only be set in between."""
    database = duckdb.connect(str(file), read_only=True, config=_configuration(options))
    for setting in ("TimeZone = 'UTC'", "lock_configuration = true"):
        with suppress(duckdb.InvalidInputException):  # another session has locked them already
            database.execute(f"SET GLOBAL {setting}")
    locked = database.execute("SELECT current_setting('lock_configuration')").fetchone()
    if locked is None or locked[0] is not True:
        database.close()
        raise DatabaseUnavailable(
            "DuckDB does not lock its settings.", hint="Use the DuckDB version that is supported."
        )
    return database


@contextmanager
def _placed(sql: str, lead: str) -> Generator[None]:
    """Translate errors so that their positions refer to the user's statement, not to the text that was sent."""
    try:
        yield
    except SPENDING:
        raise
    except duckdb.Error as error:
        raise failed("duckdb", error, sql, lead=lead) from None


def _exact(row: Sequence[Any], readings: Sequence[ExactConversion | None]) -> list[Any]:
    return [
        reading.convert(value) if reading and value is not None else value
        for value, reading in zip(row, readings, strict=True)
    ]


def _bare(sql: str) -> str:
    """Remove a final semicolon, and a comment after it."""
    for start, kind in reversed(duckdb.tokenize(sql)):
        if kind == duckdb.token_type.operator and sql.encode()[start : start + 1] == b";":
            sql = sql.encode()[:start].decode()
        elif kind != duckdb.token_type.comment:
            break
    return sql
