"""Sessions with SQL Server through pyodbc and an ODBC driver that the user installs.

Invariant: SQL Server has no read-only transactions, so only the guard and the role protect the data here. Each request
gets its own session, whose transaction is rolled back before the session ends, and the intent `ReadOnly` leads to a
read-only replica if there is one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, cast

import pyodbc  # pyright: ignore[reportMissingImports] - of the extra `sqlserver`

from thresher.connectors import mssql_catalog as catalog
from thresher.connectors.addresses import DatabaseAddress
from thresher.connectors.catalog import CatalogRows, assemble
from thresher.connectors.connector import ConnectorOptions, DatabaseSession
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, SessionTag
from thresher.connectors.statements import fill, known_functions, session_name, too_expensive
from thresher.core import InvalidInput
from thresher.sqlguard import Knowledge

_odbc: Final = cast("Any", pyodbc)
_odbc.pooling = False  # a pool below ours would keep sessions whose state is never reset
_OWN: Final = SessionTag("", "", 0)
_OWN_SECONDS: Final = 60.0
_DRIVER: Final = "ODBC Driver 18 for SQL Server"
_TAG_BYTES: Final = 120
_OFFSET_TYPE: Final = -155
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)


def open_mssql(address: DatabaseAddress, options: ConnectorOptions) -> MSSQLEngine:
    """Create the engine for an address.

    Raises:
        InvalidInput: The address does not name a user.
    """
    if not address.user:
        raise InvalidInput("The address does not name a user.", hint="Write mssql+pyodbc://user:password@host/database")
    return MSSQLEngine(address, options)


class MSSQLEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (_odbc.Error, OSError)

    def __init__(self, address: DatabaseAddress, options: ConnectorOptions) -> None:
        self._address = address
        self._options = options

    def open(self) -> DatabaseSession:
        """See `Engine`."""
        return MSSQLSession(self._address, self._options)

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""


class MSSQLSession:
    """See `DatabaseSession`."""

    def __init__(self, address: DatabaseAddress, options: ConnectorOptions) -> None:
        self._address = address
        self._options = options
        self._connection: Any = None
        self._cursor: Any = None

    def knowledge(self) -> Knowledge:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            functions = known_functions("mssql", self._rows, self._options)
        return Knowledge(functions, options={"quoted_identifier": "on"})

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, caps.seconds):
            return self._read(sql, caps, bind)

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, seconds):
            self._execute("set showplan_all on")  # nothing sent after this runs until the session ends
            return self._read(sql, _EXPLAINED, ())

    def reflect(self, limit: int) -> Schema:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version, _, _, default = self._rows(catalog.WHO)[0]
            stamp = self._stamp()
            statements = (catalog.TABLES, catalog.COLUMNS, catalog.KEYS, catalog.FOREIGN_KEYS)
            found = CatalogRows(*(self._rows(statement) for statement in statements))
        return replace(assemble("mssql", _first_line(version), str(default or ""), found, limit), stamp=stamp)

    def stamp(self) -> str:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, seconds):
            return profile("mssql", schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version, user, database, _ = self._rows(catalog.WHO)[0]
            writable = tuple(str(row[0]) for row in self._rows(catalog.WRITABLE))
        return Health(ok=True, version=_first_line(version), user=str(user), database=str(database), writable=writable)

    def describe(self, tag: SessionTag) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, _OWN_SECONDS):
            return self._read(catalog.SESSION, Caps(), ())

    def cancel(self) -> None:
        """See `DatabaseSession`."""
        if self._cursor is not None:
            self._cursor.cancel()

    def reset(self) -> bool:
        """See `DatabaseSession`; nothing to do, because each request opens its own connection."""
        return True

    def close(self) -> None:
        """See `DatabaseSession`."""
        if self._connection is not None:
            self._connection.close()

    @contextmanager
    def _transaction(self, tag: SessionTag, seconds: float) -> Generator[None]:
        name = session_name(tag, _TAG_BYTES)
        text = catalog.connection_text(parts(self._address, name))
        connection = _odbc.connect(text, autocommit=False, timeout=math.ceil(self._options.connect_seconds))
        self._connection = connection
        try:
            connection.add_output_converter(_OFFSET_TYPE, catalog.moment)
            connection.timeout = max(1, math.ceil(seconds))
            self._execute(catalog.beginning(name, self._options.lock_seconds, self._options.most_cost))
            yield
        except _odbc.Error as error:
            if catalog.TOO_EXPENSIVE in str(error):
                raise too_expensive("more than the connection allows") from None
            raise
        finally:
            self._connection = self._cursor = None
            try:
                connection.rollback()
            finally:
                connection.close()

    def _execute(self, statement: str) -> None:
        cursor = self._connection.cursor()
        cursor.execute(statement)
        cursor.close()

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        cursor.execute(statement)
        rows = [tuple(row) for row in cursor.fetchall()]
        cursor.close()
        return rows

    def _stamp(self) -> str:
        return str(self._rows(catalog.STAMP)[0][0])

    def _read(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        self._cursor = cursor = self._connection.cursor()
        cursor.execute(sql, *bind)
        columns = [ResultColumn(str(one[0]), getattr(one[1], "__name__", "")) for one in cursor.description or ()]
        rows = fill(columns, iter(cursor.fetchone, None) if columns else (), caps)
        if rows.more:
            cursor.cancel()
        return rows

    def _sample(self, statement: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        self._connection.timeout = max(1, math.ceil(seconds))
        try:
            return self._rows(statement)
        except _odbc.Error:
            return None


def parts(address: DatabaseAddress, program: str) -> dict[str, str]:
    """The options of the connection string."""
    named = {name: address.query[name] for name in sorted(address.query) if name != "driver"}
    return {
        "DRIVER": address.query.get("driver", _DRIVER),
        "SERVER": f"tcp:{address.hosts[0]},{address.ports[0]}",
        **({"DATABASE": address.database} if address.database else {}),
        "UID": address.user,
        "PWD": address.password,
        "APP": program,
        "ApplicationIntent": "ReadOnly",
        "MARS_Connection": "no",
        **named,
    }


def _first_line(text: Any) -> str:
    return str(text).strip().split("\n", 1)[0].strip()
