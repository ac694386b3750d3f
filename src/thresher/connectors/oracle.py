"""Sessions with Oracle, by python-oracledb in its thin form.

Invariant: a statement runs in a transaction that was set READ ONLY and is rolled back. `EXPLAIN PLAN` writes into a
table of the session's own, so plans are made in a transaction before it, which is rolled back too.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import oracledb

from thresher.connectors import oracle_catalog as catalog
from thresher.connectors.addresses import Address
from thresher.connectors.assembly import Catalog, assemble
from thresher.connectors.connector import ConnectorOptions, Session
from thresher.connectors.costs import Estimate, refuse_dear
from thresher.connectors.filling import fill
from thresher.connectors.knowing import known_functions
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, Tag
from thresher.connectors.tagging import PROGRAM, cleaned, session_name
from thresher.core import InvalidInput
from thresher.sqlguard import Knowledge

_OWN: Final = Tag("", "", 0)
_OWN_SECONDS: Final = 60.0
_CHUNK: Final = 64
_MODULE, _ACTION, _INFO = 48, 32, 64
"""Bytes that the server keeps of each."""
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)


def open_oracle(address: Address, options: ConnectorOptions) -> OracleEngine:
    """The engine of an address.

    Raises:
        InvalidInput: It names no user.
    """
    if not address.user:
        raise InvalidInput("The address names no user.", hint="Write oracle://user:password@host/?service_name=NAME")
    return OracleEngine(address, options)


class OracleEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (oracledb.Error, OSError)

    def __init__(self, address: Address, options: ConnectorOptions) -> None:
        self._address = address
        self._options = options

    def open(self) -> Session:
        """See `Engine`."""
        return OracleSession(oracledb.connect(**arguments(self._address, self._options)), self._options)

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""


class OracleSession:
    """See `Session`."""

    def __init__(self, connection: Any, options: ConnectorOptions) -> None:
        self._connection = connection
        self._options = options

    def knowledge(self) -> Knowledge:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            functions = known_functions("oracle", self._rows, self._options)
        digits = str(self._connection.version).split(".")
        return Knowledge(functions, tuple(int(part) for part in digits if part.isdigit()))

    def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session`."""
        statement = without_semicolon(sql)
        if not bind and (estimate := self._estimate(statement, tag, caps.seconds)) is not None:
            refuse_dear(estimate, self._options)
        with self._transaction(tag, caps.seconds):
            return self._read(statement, caps, bind)

    def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
        """See `Session`."""
        with self._transaction(tag, seconds, reads=False):
            name = self._plan(without_semicolon(sql), tag)
            return self._read(catalog.PLAN, _EXPLAINED, (name,))

    def reflect(self, limit: int) -> Schema:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            default, stamp = str(self._rows(catalog.DEFAULT_SCHEMA)[0][0]), self._stamp()
            statements = (catalog.TABLES, catalog.COLUMNS, catalog.KEYS, catalog.FOREIGN_KEYS)
            found = Catalog(*(self._rows(statement) for statement in statements))
        return replace(assemble("oracle", str(self._connection.version), default, found, limit), stamp=stamp)

    def stamp(self) -> str:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Session`."""
        with self._transaction(_OWN, seconds):
            return profile("oracle", schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            user, database = self._rows(catalog.WHO)[0]
            writable = tuple(str(row[0]) for row in self._rows(catalog.WRITABLE))
        version = f"Oracle {self._connection.version}"
        return Health(ok=True, version=version, user=str(user), database=str(database), writable=writable)

    def describe(self, tag: Tag) -> Rows:
        """See `Session`."""
        with self._transaction(tag, _OWN_SECONDS):
            return self._read(catalog.SESSION, Caps(), ())

    def cancel(self) -> None:
        """See `Session`."""
        self._connection.cancel()

    def reset(self) -> bool:
        """See `Session`."""
        self._connection.rollback()
        self._execute(catalog.FORGET)
        return True

    def close(self) -> None:
        """See `Session`."""
        self._connection.close()

    @contextmanager
    def _transaction(self, tag: Tag, seconds: float, *, reads: bool = True) -> Generator[None]:
        connection = self._connection
        connection.module = f"{PROGRAM} {cleaned(tag.client, _MODULE)}".strip()[:_MODULE]
        number = f"#{tag.audit_id}"
        connection.action = f"{cleaned(tag.thread, _ACTION - len(number) - 1)} {number}".strip()
        connection.clientinfo = session_name(tag, _INFO)
        connection.call_timeout = max(1, int(seconds * 1000))
        if reads:
            self._execute(catalog.READ_ONLY)
        try:
            yield
        finally:
            connection.rollback()

    def _execute(self, statement: str, bind: Sequence[Any] = ()) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, list(bind))

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _stamp(self) -> str:
        return str(self._rows(catalog.STAMP)[0][0])

    def _read(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = _CHUNK
            cursor.execute(sql, list(bind), fetch_lobs=False, fetch_decimals=True)
            columns = [
                ResultColumn(str(one[0]), str(getattr(one[1], "name", one[1])).removeprefix("DB_TYPE_").lower())
                for one in cursor.description or ()
            ]
            return fill(columns, iter(cursor.fetchone, None), caps)

    def _plan(self, sql: str, tag: Tag) -> str:
        name = f"{PROGRAM}_{tag.audit_id}"[:30]
        self._execute(catalog.EXPLAIN.format(name=name, sql=sql))
        return name

    def _estimate(self, sql: str, tag: Tag, seconds: float) -> Estimate | None:
        """None where no plan can be had: the statement is wrong, and will say so itself."""
        if self._options.most_cost is None and self._options.most_rows is None:
            return None
        try:
            with self._transaction(tag, seconds, reads=False), self._connection.cursor() as cursor:
                cursor.execute(catalog.ESTIMATE, [self._plan(sql, tag)])
                cost, rows = cursor.fetchone()
        except oracledb.DatabaseError:
            return None
        return Estimate(float(cost or 0), float(rows or 0))

    def _sample(self, statement: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        self._connection.call_timeout = max(1, int(seconds * 1000))
        try:
            return self._rows(statement)
        except oracledb.DatabaseError:
            if not self._connection.is_healthy():
                raise
            return None


def without_semicolon(sql: str) -> str:
    """Oracle takes no `;` behind a statement; the guard has seen that there is only one."""
    return sql.rstrip().removesuffix(";")


def arguments(address: Address, options: ConnectorOptions) -> dict[str, Any]:
    """What the driver is told."""
    query = address.query
    place = {"service_name": query["service_name"]} if "service_name" in query else {"sid": address.database}
    matching = query.get("ssl_server_dn_match", "true").lower() in ("1", "true", "yes")
    return {
        "user": address.user,
        "password": address.password,
        "host": address.hosts[0],
        "port": address.ports[0],
        **place,
        "protocol": query.get("protocol", "tcp"),
        "ssl_server_dn_match": matching,
        "tcp_connect_timeout": options.connect_seconds,
        "program": PROGRAM,
        "stmtcachesize": 0,
    }
