"""Sessions with MySQL and MariaDB, by PyMySQL.

Invariant: each question gets a session of its own, which ends with it, so that nothing of a session is left to reset;
it may only read before anything else runs in it, takes one statement at a time, and reads SQL under a pinned
`sql_mode`, so that the guard and the server see the same text. No file of this machine is handed to a server, and no
value is lost on its way into Python's types.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import SSCursor

from thresher.connectors import mysql_catalog as catalog
from thresher.connectors.addresses import Address
from thresher.connectors.assembly import Catalog, assemble
from thresher.connectors.connector import ConnectorOptions, Session
from thresher.connectors.costs import too_dear
from thresher.connectors.filling import fill
from thresher.connectors.knowing import known_functions
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, Tag
from thresher.connectors.tagging import PROGRAM, cleaned, session_name
from thresher.connectors.values import iso_text, read_json
from thresher.connectors.wording import first_word
from thresher.core import InvalidInput
from thresher.sqlguard import Dialect, Knowledge


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _time(value: Any) -> str:
    return iso_text(_text(value))


def _bits(value: Any) -> int:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)


# Python's dates know no `0000-00-00`, its times no -838 hours.
_CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    FIELD_TYPE.DATE: _text,
    FIELD_TYPE.DATETIME: _time,
    FIELD_TYPE.TIMESTAMP: _time,
    FIELD_TYPE.TIME: _text,
    FIELD_TYPE.BIT: _bits,
    FIELD_TYPE.JSON: read_json,
}


def arguments(address: Address, options: ConnectorOptions, seconds: float) -> dict[str, Any]:
    """What a connection is made with, besides TLS."""
    return {
        "host": address.hosts[0],
        "port": address.ports[0],
        "user": address.user,
        "password": address.password.encode(),
        "database": address.database or None,
        "charset": "utf8mb4",
        "connect_timeout": max(1, int(options.connect_seconds)),
        "read_timeout": int(seconds) + 10,  # where the network is gone; the server's own time-out comes first
        "write_timeout": 10,
        "local_infile": False,
        "autocommit": None,
        "program_name": PROGRAM,
        "conv": _CONVERSIONS,
        "unix_socket": address.query.get("unix_socket"),
    }


def encryption(query: Mapping[str, str]) -> dict[str, Any]:
    """The options of an address that say how TLS is used."""
    options: dict[str, Any] = {name: value for name, value in query.items() if name.startswith("ssl_")}
    if "ssl_verify_identity" in options:
        options["ssl_verify_identity"] = query["ssl_verify_identity"].lower() in ("1", "true", "yes")
    return options


SQL_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Quotes, backslashes, `||` and blanks before parentheses mean what they mean by default."""
_OWN: Final = Tag("", "", 0)
_OWN_SECONDS: Final = 60.0
_TAG_BYTES: Final = 120
_ATTRIBUTE: Final = 60
_KILLING: Final = 5.0
_TOO_BIG: Final = 1104
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)
_MOST_JOIN: Final = 2**64 - 1


def open_mysql(address: Address, options: ConnectorOptions) -> MySQLEngine:
    """The engine of an address.

    Raises:
        InvalidInput: It names no user.
    """
    if not address.user:
        raise InvalidInput("The address names no user.", hint=f"Write {address.dialect}://user:password@host/database")
    return MySQLEngine(address, options)


class MySQLEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (pymysql.Error, OSError)

    def __init__(self, address: Address, options: ConnectorOptions) -> None:
        self.address = address
        self.options = options

    def open(self) -> Session:
        """See `Engine`."""
        return MySQLSession(self)

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""

    def connection(self, seconds: float) -> Any:
        """A connection that is not connected yet; what TLS needs is read from files once."""
        told = arguments(self.address, self.options, seconds)
        made: Any = pymysql.connect(**told, ssl_disabled=True, defer_connect=True)
        model = self._encrypted
        made.ssl, made.ctx, made._ssl_required = model.ssl, model.ctx, model._ssl_required
        made.client_flag = model.client_flag
        return made

    @cached_property
    def _encrypted(self) -> Any:
        told = arguments(self.address, self.options, 1.0)
        try:
            return pymysql.connect(**told, **encryption(self.address.query), defer_connect=True)
        except OSError:
            raise InvalidInput(
                "A file that the address names for TLS cannot be read, or is none.",
                hint="Check ssl_ca, ssl_cert and ssl_key.",
            ) from None


class MySQLSession:
    """See `Session`."""

    def __init__(self, engine: MySQLEngine) -> None:
        self._engine = engine
        self._address = engine.address
        self._options = engine.options
        self._connection: Any = None

    def knowledge(self) -> Knowledge:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version = str(self._rows("select version()")[0][0])
            dialect: Dialect = "mariadb" if self._address.dialect == "mariadb" else "mysql"
            functions = known_functions(dialect, self._rows, self._options)
            names = self._rows(catalog.SEQUENCES) if dialect == "mariadb" else []
        sequences = frozenset(str(name) for row in names for name in row if name)
        return Knowledge(functions, _numbers(version), {"sql_mode": SQL_MODE}, sequences)

    def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session`."""
        with self._transaction(tag, caps.seconds):
            return self._read(f"/* {session_name(tag, _TAG_BYTES)} */ {sql}", caps, bind)

    def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
        """See `Session`."""
        statement = sql if first_word(sql) in ("explain", "desc", "describe") else f"explain format=traditional {sql}"
        with self._transaction(tag, seconds):
            return self._read(f"/* {session_name(tag, _TAG_BYTES)} */ {statement}", _EXPLAINED, ())

    def reflect(self, limit: int) -> Schema:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version, database = self._rows("select version(), database()")[0]
            stamp = self._stamp()
            statements = (catalog.TABLES, catalog.COLUMNS, catalog.KEYS, catalog.FOREIGN_KEYS)
            found = Catalog(*(self._rows(statement) for statement in statements))
        schema = assemble(self._address.dialect, str(version), str(database or ""), found, limit)
        return replace(schema, stamp=stamp)

    def stamp(self) -> str:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Session`."""
        with self._transaction(_OWN, seconds):
            return profile(self._address.dialect, schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `Session`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version, user, database = self._rows("select version(), current_user(), database()")[0]
            grants = [str(row[0]) for row in self._rows("show grants for current_user()")]
        writable = catalog.writable_rights(grants)
        return Health(ok=True, version=str(version), user=str(user), database=str(database or ""), writable=writable)

    def describe(self, tag: Tag) -> Rows:
        """See `Session`."""
        with self._transaction(tag, _OWN_SECONDS):
            rows = self._read(catalog.SESSION, Caps(), ())
            try:
                attributes = {str(name): value for name, value in self._rows(catalog.ATTRIBUTES)}
            except pymysql.Error:  # the server keeps none, or shows none to this role
                attributes = dict[str, Any]()
        column = ResultColumn("attributes", "json")
        return replace(rows, columns=(*rows.columns, column), rows=tuple((*row, attributes) for row in rows.rows))

    def cancel(self) -> None:
        """See `Session`; by a session of its own, for this one is busy."""
        if (connection := self._connection) is None:
            return
        number = int(connection.thread_id())
        killer = self._engine.connection(_KILLING)
        killer.connect()
        with killer, killer.cursor() as cursor:
            cursor.execute(f"kill query {number}")

    def reset(self) -> bool:
        """See `Session`; there is nothing to make as new, for the next question connects."""
        return True

    def close(self) -> None:
        """See `Session`; whoever waits for an answer is woken by an end, and closes behind himself."""
        connection = self._connection
        if connection is not None and connection._sock is not None:
            connection._sock.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _transaction(self, tag: Tag, seconds: float) -> Generator[None]:
        self._connection = connection = self._connect(tag, seconds)
        try:
            for statement in self.beginning(seconds):
                self._execute(statement)
            yield
        except pymysql.OperationalError as error:
            if error.args and error.args[0] == _TOO_BIG and self._options.most_rows is not None:
                raise too_dear(f"more than {self._options.most_rows:,.0f} rows to look at") from None
            raise
        finally:
            self._connection = None
            _end(connection)

    def _connect(self, tag: Tag, seconds: float) -> Any:
        connection = self._engine.connection(seconds)
        connection._connect_attrs |= {
            "thresher_client": cleaned(tag.client, _ATTRIBUTE),
            "thresher_thread": cleaned(tag.thread, _ATTRIBUTE),
            "thresher_audit_id": str(tag.audit_id),
        }
        connection.connect()
        is_maria = "mariadb" in str(connection.server_version).lower()
        if is_maria != (self._address.dialect == "mariadb"):
            connection.close()
            found = "mariadb" if is_maria else "mysql"
            raise InvalidInput(
                f"The server is no {self._address.dialect}.",
                hint=f"Write {found}:// at the beginning of the address: its SQL is read differently.",
            )
        return connection

    def beginning(self, seconds: float) -> Iterator[str]:
        """The statements that a session begins with, one by one."""
        lock = max(1, int(self._options.lock_seconds))
        most = _MOST_JOIN if self._options.most_rows is None else int(self._options.most_rows)
        yield "set session transaction read only"
        yield (
            f"set session sql_mode = '{SQL_MODE}', {self._limit(seconds)}, lock_wait_timeout = {lock}, "
            f"innodb_lock_wait_timeout = {lock}, max_join_size = {most}, sql_auto_is_null = 0"
        )
        yield "start transaction read only"

    def _limit(self, seconds: float) -> str:
        if self._address.dialect == "mariadb":
            return f"max_statement_time = {seconds:.3f}"
        return f"max_execution_time = {max(1, int(seconds * 1000))}"

    def _execute(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _stamp(self) -> str:
        return "-".join(str(value) for value in self._rows(catalog.STAMP)[0])

    def _read(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        """Stream rows; what is left beyond the caps is stopped on the server and not read."""
        cursor: Any = self._connection.cursor(SSCursor)
        cursor.execute(sql, tuple(bind) or None)
        fields = cursor._result.fields if cursor.description else ()
        columns = [ResultColumn(str(field.name), catalog.type_name(field)) for field in fields]
        rows = fill(columns, iter(cursor.fetchone, None), caps)
        if rows.more:
            cursor._result.unbuffered_active = False
            with contextlib.suppress(pymysql.Error, OSError):
                self.cancel()
        return rows

    def _sample(self, statement: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        maria = self._address.dialect == "mariadb"
        limit = (
            f"max_statement_time = {seconds:.3f}" if maria else f"max_execution_time = {max(1, int(seconds * 1000))}"
        )
        try:
            self._execute(f"set session {limit}")
            return self._rows(statement)
        except pymysql.Error:
            if not self._connection.open:
                raise
            return None


def _end(connection: Any) -> None:
    """Roll back where the session can still be talked to, and close it in any case."""
    result = connection._result
    try:
        if connection.open and not (result is not None and result.unbuffered_active):
            connection.rollback()
            connection.close()
    except (pymysql.Error, OSError):
        pass
    finally:
        if result is not None:
            result.unbuffered_active = False
        connection._force_close()


def _numbers(version: str) -> tuple[int, ...]:
    digits = version.split("-", 1)[0].split(".")
    return tuple(int(part) for part in digits if part.isdigit())
