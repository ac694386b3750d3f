"""Sessions with PostgreSQL, by psycopg.

Invariant: everything runs in a transaction that was begun READ ONLY and is always rolled back; statements that are
not ours go by the extended protocol, which takes one statement; every setting that changes how a text is read is set
with the transaction; afterwards `DISCARD ALL` takes away what outlives a transaction (locks, LISTEN, prepared
statements). This process's own environment and files sign in for no one else, and no value is lost on its way into
Python's types.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Final, TypeAlias, cast

import psycopg
from psycopg import sql as text_of
from psycopg.abc import Query
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types import TypeInfo
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader

from thresher.connectors import postgresql_catalog as catalog
from thresher.connectors.addresses import Address
from thresher.connectors.assembly import Catalog, assemble
from thresher.connectors.connector import ConnectorOptions, Session
from thresher.connectors.costs import Estimate, postgresql_estimate, refuse_dear
from thresher.connectors.filling import fill
from thresher.connectors.knowing import known_functions
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, Tag
from thresher.connectors.tagging import PROGRAM, session_name
from thresher.connectors.values import iso_text, read_json
from thresher.connectors.wording import first_word
from thresher.sqlguard import Knowledge

_TIMES: Final = ("date", "time", "timetz", "timestamp", "timestamptz")
_TEXTS: Final = (
    "interval", "int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange", "int4multirange",
    "int8multirange", "nummultirange", "tsmultirange", "tstzmultirange", "datemultirange", "inet", "cidr",
)  # fmt: skip


class _TimeLoader(Loader):
    """Times in ISO 8601, whatever Python holds to be a date."""

    def load(self, data: Any) -> str:
        return iso_text(bytes(data).decode())


def arguments(address: Address, options: ConnectorOptions) -> dict[str, Any]:
    """What libpq is told; nothing of this process's own environment or files signs in for somebody else."""
    signing = {} if "sslcert" in address.query else {"sslcertmode": "disable"}
    return {
        "host": ",".join(address.hosts),
        "port": ",".join(str(port) for port in address.ports),
        "user": address.user or None,
        "password": address.password or None,
        "dbname": address.database or None,
        "connect_timeout": max(2, int(options.connect_seconds)),
        "application_name": PROGRAM,
        "client_encoding": "UTF8",
        "options": "",
        "passfile": f"{os.devnull}/none",  # the empty one would be the default
        "gssencmode": "disable",
        **signing,
        **address.query,
        "autocommit": True,
        "prepare_threshold": None,
    }


def register(connection: psycopg.Connection[Any]) -> None:
    """Values as text where Python's types would lose something."""
    set_json_loads(read_json, connection)
    for name in _TIMES:
        connection.adapters.register_loader(name, _TimeLoader)
    for name in _TEXTS:
        connection.adapters.register_loader(name, TextLoader)


_Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_NAME_BYTES: Final = 63
_OWN_SECONDS: Final = 60.0
_OWN: Final = Tag("", "", 0)
_CHUNK: Final = 16
"""Rows that are held at once besides those that are kept."""
_IDLE_SECONDS: Final = 60
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)
# What changes how a statement or a value is read, whatever the role or the database is set to.
_SETTINGS: Final = """
set local standard_conforming_strings = on; set local backslash_quote = safe_encoding;
set local transform_null_equals = off; set local datestyle = 'ISO, YMD'; set local intervalstyle = iso_8601;
set local bytea_output = hex; set local extra_float_digits = 1; set local row_security = on;
set local default_transaction_read_only = on; set local client_min_messages = error;
set local default_tablespace = ''; set local temp_tablespaces = '';
"""
_CHECK_CLIENT: Final = "set local client_connection_check_interval = '2s';"


def open_postgresql(address: Address, options: ConnectorOptions) -> PostgresEngine:
    """The engine of an address."""
    return PostgresEngine(address, options)


class PostgresEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, address: Address, options: ConnectorOptions) -> None:
        self._address = address
        self._options = options

    def open(self) -> Session:
        """See `Engine`."""
        connection: _Connection = psycopg.connect(**arguments(self._address, self._options))
        try:
            return PostgresSession(connection, self._options)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""


class PostgresSession:
    """See `Session`."""

    def __init__(self, connection: _Connection, options: ConnectorOptions) -> None:
        self._connection = connection
        self._options = options
        register(connection)
        found = connection.execute("select pg_catalog.current_schemas(false)").fetchone()
        schemas: list[str] = found[0] if found else []
        self._default = schemas[0] if schemas else ""
        self._path = [name for name in schemas if name not in ("pg_catalog", "pg_temp")]
        self._checks = _takes(connection, _CHECK_CLIENT)

    def knowledge(self) -> Knowledge:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):  # by the path of the statements to be judged
            functions = known_functions("postgresql", self._rows, self._options)
        return Knowledge(functions, self._version, {"standard_conforming_strings": "on"})

    def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session`."""
        with self._transaction(tag, caps.seconds):
            estimate = self._estimate(sql) if first_word(sql) not in ("show", "explain") and not bind else None
            if estimate is not None:
                refuse_dear(estimate, self._options)
            if estimate is None or not estimate.broken:
                return self._read(sql, caps, bind)
        with self._transaction(tag, caps.seconds):  # for the error's own place in the statement
            return self._read(sql, caps, bind)

    def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
        """See `Session`."""
        statement = sql if first_word(sql) == "explain" else f"explain (analyze false) {sql}"
        with self._transaction(tag, seconds):
            return self._read(statement, _EXPLAINED, ())

    def reflect(self, limit: int) -> Schema:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS, own=True):
            statements = (catalog.TABLES, catalog.COLUMNS, catalog.KEYS, catalog.FOREIGN_KEYS)
            stamp = str(self._rows(catalog.STAMP)[0][0])
            found = Catalog(*(self._rows(statement) for statement in statements))
        version = self._connection.info.parameter_status("server_version") or ""
        schema = assemble("postgresql", version, self._default, found, limit)
        return replace(schema, stamp=stamp)

    def stamp(self) -> str:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS, own=True):
            return str(self._rows(catalog.STAMP)[0][0])

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Session`."""
        with self._transaction(_OWN, seconds):
            return profile("postgresql", schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS, own=True):
            version, user, database, writable = self._rows(catalog.HEALTH)[0]
        return Health(ok=True, version=version, user=user, database=database, writable=tuple(writable))

    def describe(self, tag: Tag) -> Rows:
        """See `Session`."""
        with self._transaction(tag, _OWN_SECONDS):
            return self._read(catalog.SESSION, Caps(), ())

    def cancel(self) -> None:
        """See `Session`."""
        self._connection.cancel_safe(timeout=5)

    def reset(self) -> bool:
        """See `Session`."""
        if self._connection.closed or self._connection.info.transaction_status is not TransactionStatus.IDLE:
            return False
        self._connection.execute("discard all")
        return True

    def close(self) -> None:
        """See `Session`; libpq's memory must not go while another thread is in it, so that one is woken by an end."""
        if self._connection.info.transaction_status is TransactionStatus.ACTIVE:
            with socket.socket(fileno=os.dup(self._connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
        else:
            self._connection.close()

    @property
    def _version(self) -> tuple[int, ...]:
        number = self._connection.info.server_version
        return number // 10_000, number % 10_000

    @contextmanager
    def _transaction(self, tag: Tag, seconds: float, *, own: bool = False) -> Generator[None]:
        """A transaction that reads; `own` for our statements over the catalog, which see nothing but it."""
        self._connection.execute(self._beginning(tag, seconds, () if own else self._path))
        try:
            yield
        finally:
            # A statement that runs (the thread was interrupted) is not waited for: its session will be closed.
            if self._connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                self._connection.execute("rollback")

    def _beginning(self, tag: Tag, seconds: float, path: Sequence[str]) -> text_of.Composed:
        milliseconds = max(1, int(seconds * 1000))
        return text_of.SQL(
            "begin read only; {settings} {check} set local search_path = {path}; set local application_name = {name}; "
            "set local statement_timeout = {time}; set local lock_timeout = {lock}; "
            "set local idle_in_transaction_session_timeout = {idle}"
        ).format(
            settings=text_of.SQL(_SETTINGS),
            check=text_of.SQL(_CHECK_CLIENT if self._checks else ""),
            path=text_of.SQL(", ").join(text_of.Identifier(name) for name in ("pg_catalog", *path, "pg_temp")),
            name=text_of.Literal(session_name(tag, _NAME_BYTES)),
            time=text_of.Literal(milliseconds),
            lock=text_of.Literal(max(1, min(milliseconds, int(self._options.lock_seconds * 1000)))),
            idle=text_of.Literal(milliseconds + _IDLE_SECONDS * 1000),
        )

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(cast("Query", statement)).fetchall()

    def _read(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        """Stream rows by the extended protocol; what is left beyond the caps is cancelled on the server."""
        with self._connection.cursor() as cursor:
            stream = cursor.stream(cast("Query", sql), list(bind) or None, size=_CHUNK)
            with closing(cast("Any", stream)):
                first = list(islice(stream, 1))
                if cursor.description is not None:
                    described = [(column.name, column.type_code) for column in cursor.description]
                else:
                    described = self._described(sql) if not bind else []
                filled = fill([ResultColumn(name, "") for name, _ in described], chain(first, stream), caps)
        names = self._types([code for _, code in described])
        return replace(filled, columns=tuple(ResultColumn(name, names[code]) for name, code in described))

    def _described(self, sql: str) -> list[tuple[str, int]]:
        """Names and types of the columns of a statement, which the driver does not tell where no row comes."""
        server = self._connection.pgconn
        server.prepare(b"", sql.encode())
        found = server.describe_prepared(b"")
        return [((found.fname(number) or b"").decode(), found.ftype(number)) for number in range(found.nfields)]

    def _types(self, codes: Collection[int]) -> dict[int, str]:
        """Names of types; those of users are asked for."""
        known = self._connection.adapters.types
        names = {code: _type_name(found, code) for code in codes if (found := known.get(code))}
        if missing := [code for code in set(codes) if code not in names]:
            rows = self._connection.execute(catalog.TYPES, (missing,)).fetchall()
            names |= {int(code): str(name) for code, name in rows}
        return names

    def _estimate(self, sql: str) -> Estimate | None:
        if self._options.most_cost is None and self._options.most_rows is None:
            return None
        with self._connection.cursor() as cursor:
            try:
                stream = cursor.stream(cast("Query", f"explain (format json) {sql}"))
                with closing(cast("Any", stream)):
                    return postgresql_estimate(next(row[0] for row in stream))
            except psycopg.Error as error:
                if error.diag.statement_position is None:
                    raise
                return Estimate(broken=True)

    def _sample(self, statement: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        try:
            with self._connection.transaction():  # a savepoint: what fails takes nothing else along
                self._connection.execute(
                    text_of.SQL("set local statement_timeout = {}").format(max(1, int(seconds * 1000)))
                )
                return self._rows(statement)
        except psycopg.Error:
            if self._connection.info.transaction_status is not TransactionStatus.INTRANS:
                raise
            return None


def _type_name(found: TypeInfo, code: int) -> str:
    return found.regtype if found.oid == code else f"{found.regtype}[]"


def _takes(connection: _Connection, setting: str) -> bool:
    """Whether the server knows a setting; older ones and some systems do not."""
    try:
        connection.execute(cast("Query", f"begin; {setting} rollback"))
    except psycopg.Error:
        connection.rollback()
        return False
    return True
