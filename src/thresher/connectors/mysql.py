"""Sessions with MySQL and MariaDB through PyMySQL, and the statements that read their catalogs.

Catalog statements are fixed texts. They show what the role may see in the address's database, or in every database
except the server's own if the address names none.

Invariant: each request gets its own session, so that no session state needs to be reset; the session is made read-only
before anything else runs in it, takes one statement at a time, and parses SQL under a pinned `sql_mode`, so that the
guard and the server read the same text. No local file is sent to a server, and no value loses precision when it
becomes a Python object.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions
from pymysql.cursors import SSCursor

from thresher.connectors.addresses import DatabaseAddress
from thresher.connectors.catalog import CatalogRows, assemble
from thresher.connectors.connector import ConnectorOptions, DatabaseSession
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, SessionTag
from thresher.connectors.statements import (
    PROGRAM,
    cleaned,
    fill,
    first_word,
    known_functions,
    session_name,
    too_expensive,
    version_numbers,
)
from thresher.connectors.values import iso_text, read_json
from thresher.core import InvalidInput
from thresher.sqlguard import Dialect, Knowledge

_HERE: Final = (
    "(t.table_schema = database() or (database() is null and "
    "t.table_schema not in ('mysql', 'information_schema', 'performance_schema', 'sys')))"
)

TABLES: Final = f"""
select t.table_schema, t.table_name,
       case when t.table_type like '%VIEW' then 'view'
            when t.engine in ('FEDERATED', 'CONNECT', 'SPIDER') then 'foreign table' else 'table' end,
       case when t.table_type like '%VIEW' then '' else t.table_comment end,
       t.table_rows
from information_schema.tables t
where {_HERE} and t.table_type in ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') and t.table_name not like '#%'
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
select t.table_schema, t.table_name, t.column_name, t.column_type, t.column_type, t.is_nullable = 'YES',
       case when t.extra like '%auto_increment%' then 'identity'
            when t.extra like '%GENERATED%' and t.extra not like '%DEFAULT_GENERATED%' then 'generated'
            when t.column_default = 'NULL' then null else t.column_default end,
       t.column_comment
from information_schema.columns t
where {_HERE}
order by t.table_schema, t.table_name, t.ordinal_position
"""  # noqa: S608 - of fixed texts

# A key over prefixes of values (sub_part) says nothing about whole values.
KEYS: Final = f"""
select t.table_schema, t.table_name, t.index_name, t.index_name = 'PRIMARY', t.column_name
from information_schema.statistics t
where {_HERE} and t.non_unique = 0 and t.column_name is not null
  and not exists (select 1 from information_schema.statistics p
                  where p.table_schema = t.table_schema and p.table_name = t.table_name
                    and p.index_name = t.index_name and p.sub_part is not null)
order by t.table_schema, t.table_name, t.index_name, t.seq_in_index
"""  # noqa: S608 - of fixed texts

FOREIGN_KEYS: Final = f"""
select t.table_schema, t.table_name, t.constraint_name, t.column_name,
       t.referenced_table_schema, t.referenced_table_name, t.referenced_column_name
from information_schema.key_column_usage t
where {_HERE} and t.referenced_table_name is not null
order by t.table_schema, t.table_name, t.constraint_name, t.ordinal_position
"""  # noqa: S608 - of fixed texts

STAMP: Final = f"""
select count(*), coalesce(sum(crc32(concat_ws('|', t.table_schema, t.table_name, t.column_name, t.ordinal_position,
       t.column_type, t.is_nullable, t.column_default, t.column_key, t.column_comment))), 0)
from information_schema.columns t where {_HERE}
"""  # noqa: S608 - of fixed texts

SEQUENCES: Final = """
select concat(t.table_schema, '.', t.table_name), case when t.table_schema = database() then t.table_name end
from information_schema.tables t where t.table_type = 'SEQUENCE'
"""

SESSION: Final = """
select connection_id() as id, current_user() as user, database() as `database`, version() as version,
       @@session.sql_mode as sql_mode, @@session.time_zone as time_zone, @@session.lock_wait_timeout as lock_seconds,
       @@session.max_join_size as most_rows, @@character_set_client as charset
"""
ATTRIBUTES: Final = (
    "select attr_name, attr_value from performance_schema.session_account_connect_attrs "
    "where processlist_id = connection_id()"
)

_GRANT: Final = re.compile(r"GRANT (?P<rights>.+?) ON (?P<place>.+?) TO ", re.S)
_RIGHT: Final = re.compile(r"([A-Z][A-Z ]*[A-Z])(?:\s*\([^)]*\))?")
_HARMLESS: Final = frozenset(
    {"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROCESS", "REFERENCES", "BINLOG MONITOR", "SLAVE MONITOR",
     "REPLICA MONITOR", "REPLICATION CLIENT", "SHOW CREATE ROUTINE", "SHOW_ROUTINE"}
)  # fmt: skip

_TYPES: Final[Mapping[int, str]] = {
    0: "decimal", 1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 6: "null", 7: "timestamp",
    8: "bigint", 9: "mediumint", 10: "date", 11: "time", 12: "datetime", 13: "year", 15: "varchar", 16: "bit",
    245: "json", 246: "decimal", 247: "enum", 248: "set", 255: "geometry",
}  # fmt: skip
_BYTES: Final = 63
"""The number of the character set `binary`."""
_UNSIGNED, _ENUM, _SET = 32, 256, 2048


def writable_rights(grants: Iterable[str]) -> tuple[str, ...]:
    """The rights in `SHOW GRANTS` that allow changes: `INSERT, UPDATE on shop.*`."""
    found: list[str] = []
    for grant in grants:
        if (parts := _GRANT.match(grant)) is None:
            continue
        rights = [right for right in _RIGHT.findall(parts["rights"]) if right not in _HARMLESS]
        if rights:
            found.append(f"{', '.join(rights)} on {parts['place'].replace('`', '')}")
    return tuple(found)


def type_name(field: Any) -> str:
    """The server's name for the type of a result column.

    Args:
        field: The protocol's description: `type_code`, `charsetnr`, `flags`.
    """
    code, binary, flags = int(field.type_code), field.charsetnr == _BYTES, int(field.flags)
    if code in (249, 250, 251, 252):
        return "blob" if binary else "text"
    if code == 253:
        return "varbinary" if binary else "varchar"
    if code == 254:
        return "enum" if flags & _ENUM else "set" if flags & _SET else "binary" if binary else "char"
    name = _TYPES.get(code, "unknown")
    return f"{name} unsigned" if flags & _UNSIGNED and code in (1, 2, 3, 8, 9) else name


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _time(value: Any) -> str:
    return iso_text(_text(value))


def _bits(value: Any) -> int:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)


# Python's dates have no `0000-00-00`, its times no -838 hours.
_CONVERSIONS: Final[dict[Any, Any]] = {
    **conversions,
    FIELD_TYPE.DATE: _text,
    FIELD_TYPE.DATETIME: _time,
    FIELD_TYPE.TIMESTAMP: _time,
    FIELD_TYPE.TIME: _text,
    FIELD_TYPE.BIT: _bits,
    FIELD_TYPE.JSON: read_json,
}


def arguments(address: DatabaseAddress, options: ConnectorOptions, seconds: float) -> dict[str, Any]:
    """The arguments of a connection, except TLS."""
    return {
        "host": address.hosts[0],
        "port": address.ports[0],
        "user": address.user,
        "password": address.password.encode(),
        "database": address.database or None,
        "charset": "utf8mb4",
        "connect_timeout": max(1, int(options.connect_seconds)),
        "read_timeout": int(seconds) + 10,  # for a broken network; the server's own time-out comes first
        "write_timeout": 10,
        "local_infile": False,
        "autocommit": None,
        "program_name": PROGRAM,
        "conv": _CONVERSIONS,
        "unix_socket": address.query.get("unix_socket"),
    }


def encryption(query: Mapping[str, str]) -> dict[str, Any]:
    """The TLS options of an address."""
    options: dict[str, Any] = {name: value for name, value in query.items() if name.startswith("ssl_")}
    if "ssl_verify_identity" in options:
        options["ssl_verify_identity"] = query["ssl_verify_identity"].lower() in ("1", "true", "yes")
    return options


SQL_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
"""Quotes, backslashes, `||` and blanks before parentheses have their default meaning."""
_OWN: Final = SessionTag("", "", 0)
_OWN_SECONDS: Final = 60.0
_TAG_BYTES: Final = 120
_ATTRIBUTE: Final = 60
_KILLING: Final = 5.0
_TOO_BIG: Final = 1104
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)
_MOST_JOIN: Final = 2**64 - 1


def open_mysql(address: DatabaseAddress, options: ConnectorOptions) -> MySQLEngine:
    """Create the engine for an address.

    Raises:
        InvalidInput: The address does not name a user.
    """
    if not address.user:
        raise InvalidInput(
            "The address does not name a user.", hint=f"Write {address.dialect}://user:password@host/database"
        )
    return MySQLEngine(address, options)


class MySQLEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (pymysql.Error, OSError)

    def __init__(self, address: DatabaseAddress, options: ConnectorOptions) -> None:
        self.address = address
        self.options = options

    def open(self) -> DatabaseSession:
        """See `Engine`."""
        return MySQLSession(self)

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""

    def connection(self, seconds: float) -> Any:
        """Create a connection without connecting; the files for TLS are read once."""
        options = arguments(self.address, self.options, seconds)
        made: Any = pymysql.connect(**options, ssl_disabled=True, defer_connect=True)
        model = self._encrypted
        made.ssl, made.ctx, made._ssl_required = model.ssl, model.ctx, model._ssl_required
        made.client_flag = model.client_flag
        return made

    @cached_property
    def _encrypted(self) -> Any:
        options = arguments(self.address, self.options, 1.0)
        try:
            return pymysql.connect(**options, **encryption(self.address.query), defer_connect=True)
        except OSError:
            raise InvalidInput(
                "A TLS file that the address names does not exist or cannot be read.",
                hint="Check ssl_ca, ssl_cert and ssl_key.",
            ) from None


class MySQLSession:
    """See `DatabaseSession`."""

    def __init__(self, engine: MySQLEngine) -> None:
        self._engine = engine
        self._address = engine.address
        self._options = engine.options
        self._connection: Any = None

    def knowledge(self) -> Knowledge:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version = str(self._rows("select version()")[0][0])
            dialect: Dialect = "mariadb" if self._address.dialect == "mariadb" else "mysql"
            functions = known_functions(dialect, self._rows, self._options)
            names = self._rows(SEQUENCES) if dialect == "mariadb" else []
        sequences = frozenset(str(name) for row in names for name in row if name)
        return Knowledge(functions, version_numbers(version), {"sql_mode": SQL_MODE}, sequences)

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, caps.seconds):
            return self._read(f"/* {session_name(tag, _TAG_BYTES)} */ {sql}", caps, bind)

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `DatabaseSession`."""
        statement = sql if first_word(sql) in ("explain", "desc", "describe") else f"explain format=traditional {sql}"
        with self._transaction(tag, seconds):
            return self._read(f"/* {session_name(tag, _TAG_BYTES)} */ {statement}", _EXPLAINED, ())

    def reflect(self, limit: int) -> Schema:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version, database = self._rows("select version(), database()")[0]
            stamp = self._stamp()
            statements = (TABLES, COLUMNS, KEYS, FOREIGN_KEYS)
            found = CatalogRows(*(self._rows(statement) for statement in statements))
        schema = assemble(self._address.dialect, str(version), str(database or ""), found, limit)
        return replace(schema, stamp=stamp)

    def stamp(self) -> str:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, seconds):
            return profile(self._address.dialect, schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            version, user, database = self._rows("select version(), current_user(), database()")[0]
            grants = [str(row[0]) for row in self._rows("show grants for current_user()")]
        writable = writable_rights(grants)
        return Health(ok=True, version=str(version), user=str(user), database=str(database or ""), writable=writable)

    def describe(self, tag: SessionTag) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, _OWN_SECONDS):
            rows = self._read(SESSION, Caps(), ())
            try:
                attributes = {str(name): value for name, value in self._rows(ATTRIBUTES)}
            except pymysql.Error:  # the server stores no attributes, or hides them from this role
                attributes = dict[str, Any]()
        column = ResultColumn("attributes", "json")
        return replace(rows, columns=(*rows.columns, column), rows=tuple((*row, attributes) for row in rows.rows))

    def cancel(self) -> None:
        """See `DatabaseSession`; uses another session, because this one is busy."""
        if (connection := self._connection) is None:
            return
        number = int(connection.thread_id())
        killer = self._engine.connection(_KILLING)
        killer.connect()
        with killer, killer.cursor() as cursor:
            cursor.execute(f"kill query {number}")

    def reset(self) -> bool:
        """See `DatabaseSession`; nothing to do, because each request opens its own connection."""
        return True

    def close(self) -> None:
        """See `DatabaseSession`; shuts the socket down, so that a thread that waits for a result wakes up."""
        connection = self._connection
        if connection is not None and connection._sock is not None:
            connection._sock.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _transaction(self, tag: SessionTag, seconds: float) -> Generator[None]:
        self._connection = connection = self._connect(tag, seconds)
        try:
            for statement in self.beginning(seconds):
                self._execute(statement)
            yield
        except pymysql.OperationalError as error:
            if error.args and error.args[0] == _TOO_BIG and self._options.most_rows is not None:
                raise too_expensive(f"more than {self._options.most_rows:,.0f} rows to look at") from None
            raise
        finally:
            self._connection = None
            _end(connection)

    def _connect(self, tag: SessionTag, seconds: float) -> Any:
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
                f"The server is {found}, not {self._address.dialect}.",
                hint=f"Write {found}:// at the beginning of the address: its SQL is read differently.",
            )
        return connection

    def beginning(self, seconds: float) -> Iterator[str]:
        """The statements that begin a session, one by one."""
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
        return "-".join(str(value) for value in self._rows(STAMP)[0])

    def _read(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        """Stream rows; what remains beyond the caps is cancelled on the server and not read."""
        cursor: Any = self._connection.cursor(SSCursor)
        cursor.execute(sql, tuple(bind) or None)
        fields = cursor._result.fields if cursor.description else ()
        columns = [ResultColumn(str(field.name), type_name(field)) for field in fields]
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
    """Roll back if the session still responds, and close it in any case."""
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
