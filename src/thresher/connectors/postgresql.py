"""Sessions with PostgreSQL through psycopg, and the statements that read its catalog.

Catalog statements are fixed texts, for sessions whose `search_path` is `pg_catalog` alone; they show only what the role
may read.

Invariant: everything runs in a READ ONLY transaction that is always rolled back; user statements use the extended
protocol, which takes one statement; every setting that affects parsing is set with the transaction; afterwards
`DISCARD ALL` removes what outlives a transaction (locks, LISTEN, prepared statements). The environment and the files of
this process never sign in for a user, and no value loses precision when it becomes a Python object.
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

from thresher.connectors.addresses import DatabaseAddress
from thresher.connectors.catalog import CatalogRows, assemble
from thresher.connectors.connector import ConnectorOptions, DatabaseSession
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, SessionTag
from thresher.connectors.statements import (
    PROGRAM,
    Estimate,
    check_estimate,
    fill,
    first_word,
    known_functions,
    postgresql_estimate,
    session_name,
)
from thresher.connectors.values import iso_text, read_json
from thresher.sqlguard import Knowledge

# A partition, and a child by inheritance that adds no column, is read through its parent, if the role may read that.
_SEEN: Final = """
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and has_schema_privilege(n.oid, 'usage')
    and not exists (
      select 1 from pg_inherits i join pg_class u on u.oid = i.inhparent
      where i.inhrelid = c.oid and has_schema_privilege(u.relnamespace, 'usage')
        and (has_table_privilege(u.oid, 'select') or has_any_column_privilege(u.oid, 'select'))
        and not exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attnum > 0
                          and not a.attisdropped and a.attinhcount = 0))
"""
_READABLE: Final = "(has_table_privilege(c.oid, 'select') or has_any_column_privilege(c.oid, 'select'))"

TABLES: Final = f"""
with recursive beneath as (
  select i.inhparent as root, i.inhrelid as leaf from pg_inherits i
  union select b.root, i.inhrelid from beneath b join pg_inherits i on i.inhparent = b.leaf
), counted as (
  select b.root, sum(greatest(p.reltuples, 0))::int8 as rows
  from beneath b join pg_class p on p.oid = b.leaf and p.relkind in ('r', 'f') group by b.root
)
select n.nspname, c.relname,
       case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table'
                      else 'table' end,
       obj_description(c.oid, 'pg_class'),
       case when c.relkind = 'p' then (select nullif(t.rows, 0) from counted t where t.root = c.oid)
            when c.relkind in ('r', 'm', 'f') and c.reltuples >= 0
              then c.reltuples::int8 + coalesce((select t.rows from counted t where t.root = c.oid), 0) end
{_SEEN} and {_READABLE}
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
with seen as materialized (
  select c.oid, n.nspname, c.relname, has_table_privilege(c.oid, 'select') as whole {_SEEN}
)
select s.nspname, s.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       case when t.typtype = 'e' then 'text' when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod)
            else format_type(a.atttypid, a.atttypmod) end,
       not (a.attnotnull or (t.typtype = 'd' and t.typnotnull)),
       case when a.attidentity <> '' then 'identity' when a.attgenerated <> '' then 'generated'
            else pg_get_expr(d.adbin, d.adrelid) end,
       e.description
from seen s
join pg_attribute a on a.attrelid = s.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
left join pg_description e on e.objoid = a.attrelid and e.objsubid = a.attnum and e.classoid = 'pg_class'::regclass
where s.whole or has_column_privilege(s.oid, a.attnum, 'select')
order by s.oid, a.attnum
"""  # noqa: S608 - of fixed texts

KEYS: Final = f"""
select n.nspname, c.relname, i.indexrelid::text, i.indisprimary, a.attname
from (select c.oid, c.relname, c.relnamespace {_SEEN}) c
join pg_namespace n on n.oid = c.relnamespace
join pg_index i on i.indrelid = c.oid and i.indisunique and i.indpred is null and i.indexprs is null
cross join unnest(i.indkey::int2[]) with ordinality as k (number, place)
join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
where k.place <= i.indnkeyatts
order by i.indexrelid, k.place
"""  # noqa: S608 - of fixed texts

# A key to a part that is not shown leads to the nearest table above it that is.
FOREIGN_KEYS: Final = f"""
with recursive seen as materialized (select c.oid {_SEEN}), above as (
  select i.inhrelid as part, i.inhparent as whole, 1 as steps from pg_inherits i
  union select b.part, i.inhparent, b.steps + 1 from above b join pg_inherits i on i.inhrelid = b.whole
)
select n.nspname, c.relname, o.conname, a.attname, m.nspname, f.relname, b.attname
from (select c.oid, c.relname, c.relnamespace, c.relispartition {_SEEN}) c
join pg_namespace n on n.oid = c.relnamespace
join pg_constraint o on o.conrelid = c.oid and o.contype = 'f' and (o.conparentid = 0 or c.relispartition)
join pg_class f on f.oid = coalesce(
  (select s.oid from seen s where s.oid = o.confrelid),
  (select b.whole from above b join seen s on s.oid = b.whole where b.part = o.confrelid order by b.steps limit 1),
  o.confrelid)
join pg_namespace m on m.oid = f.relnamespace
cross join unnest(o.conkey, o.confkey) with ordinality as k (number, target, place)
join pg_attribute a on a.attrelid = o.conrelid and a.attnum = k.number
join pg_attribute b on b.attrelid = o.confrelid and b.attnum = k.target
order by o.oid, k.place
"""  # noqa: S608 - of fixed texts

# xmin identifies the transaction that wrote a row: sums and counts change with every change, without sorting rows.
# Temporary tables of other sessions do not count.
STAMP: Final = """
with seen as materialized (
  select c.oid, c.xmin::text::int8 as x from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f', 'i') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
)
select concat_ws('-',
  (select count(*) || ':' || coalesce(sum(x), 0) from seen),
  (select count(*) || ':' || coalesce(sum(a.xmin::text::int8), 0)
   from pg_attribute a join seen s on s.oid = a.attrelid),
  (select count(*) || ':' || coalesce(sum(o.xmin::text::int8), 0) from pg_constraint o where o.conrelid <> 0),
  (select count(*) || ':' || coalesce(sum(e.xmin::text::int8), 0) from pg_description e
   where e.classoid = 'pg_class'::regclass),
  (select count(*) || ':' || coalesce(sum(p.xmin::text::int8), 0) from pg_proc p where p.oid >= 16384),
  (select count(*) || ':' || coalesce(sum(p.xmin::text::int8), 0) from pg_operator p where p.oid >= 16384))
"""

HEALTH: Final = """
select version(), current_user, current_database(), array_remove(array[
  case when r.rolsuper then 'everything: it is a superuser' end,
  case when r.rolcreaterole then 'roles (CREATEROLE)' end,
  case when r.rolcreatedb then 'databases (CREATEDB)' end,
  case when r.rolreplication then 'replication slots (REPLICATION)' end,
  case when r.rolbypassrls then 'nothing by itself, but it reads past row-level security (BYPASSRLS)' end,
  case when has_database_privilege(current_database(), 'create') then 'new schemas in this database (CREATE)' end,
  (select 'new objects in schema ' || string_agg(q.nspname, ', ') from (
     select n.nspname from pg_namespace n where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and has_schema_privilege(n.oid, 'create') order by 1 limit 5) q having count(*) > 0),
  (select 'rows of ' || w.total || case when w.total = 1 then ' table, ' else ' tables, such as ' end || w.names from (
     select count(*) as total, (array_agg(n.nspname || '.' || c.relname order by n.nspname, c.relname))[1] as names
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and (has_table_privilege(c.oid, 'insert, update, delete, truncate')
            or has_any_column_privilege(c.oid, 'insert, update'))) w where w.total > 0),
  (select 'tables that it owns: ' || count(*) from pg_class c
   where pg_has_role(c.relowner, 'usage') and c.relkind in ('r', 'p', 'v', 'm', 'f')
     and not r.rolsuper having count(*) > 0),
  (select 'what these roles may: ' || string_agg(g.rolname, ', ' order by g.rolname) from pg_roles g
   where not r.rolsuper and pg_has_role(g.oid, 'member') and g.rolname in (
     'pg_write_all_data', 'pg_write_server_files', 'pg_execute_server_program', 'pg_read_server_files',
     'pg_signal_backend', 'pg_maintain', 'pg_checkpoint', 'pg_create_subscription', 'pg_database_owner')
   having count(*) > 0)
], null)
from pg_roles r where r.rolname = current_user
"""

SESSION: Final = """
select a.pid, a.usename as user, a.datname as database, a.application_name, a.client_addr::text as client_address,
       a.backend_start, a.state, current_setting('transaction_read_only') as read_only,
       current_setting('search_path') as search_path, current_setting('statement_timeout') as statement_timeout,
       current_setting('lock_timeout') as lock_timeout, current_setting('TimeZone') as time_zone,
       current_setting('server_version') as server_version,
       coalesce((select s.ssl from pg_stat_ssl s where s.pid = a.pid), false) as encrypted
from pg_stat_activity a where a.pid = pg_backend_pid()
"""

TYPES: Final = "select o::int8, format_type(o, null) from unnest(%s::oid[]) o"


_TIMES: Final = ("date", "time", "timetz", "timestamp", "timestamptz")
_TEXTS: Final = (
    "interval", "int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange", "int4multirange",
    "int8multirange", "nummultirange", "tsmultirange", "tstzmultirange", "datemultirange", "inet", "cidr",
)  # fmt: skip


class _TimeLoader(Loader):
    """Loads dates and times as ISO 8601 text, including those beyond Python's range."""

    def load(self, data: Any) -> str:
        return iso_text(bytes(data).decode())


def arguments(address: DatabaseAddress, options: ConnectorOptions) -> dict[str, Any]:
    """The arguments for libpq; nothing in the environment or the files of this process signs in for a user."""
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
    """Load values as text if Python's types would lose precision."""
    set_json_loads(read_json, connection)
    for name in _TIMES:
        connection.adapters.register_loader(name, _TimeLoader)
    for name in _TEXTS:
        connection.adapters.register_loader(name, TextLoader)


_Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_NAME_BYTES: Final = 63
_OWN_SECONDS: Final = 60.0
_OWN: Final = SessionTag("", "", 0)
_CHUNK: Final = 16
"""Rows fetched at once."""
_IDLE_SECONDS: Final = 60
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)
# Settings that affect how a statement or a value is read, whatever the defaults of the role or the database.
_SETTINGS: Final = """
set local standard_conforming_strings = on; set local backslash_quote = safe_encoding;
set local transform_null_equals = off; set local datestyle = 'ISO, YMD'; set local intervalstyle = iso_8601;
set local bytea_output = hex; set local extra_float_digits = 1; set local row_security = on;
set local default_transaction_read_only = on; set local client_min_messages = error;
set local default_tablespace = ''; set local temp_tablespaces = '';
"""
_CHECK_CLIENT: Final = "set local client_connection_check_interval = '2s';"


def open_postgresql(address: DatabaseAddress, options: ConnectorOptions) -> PostgresEngine:
    """Create the engine for an address."""
    return PostgresEngine(address, options)


class PostgresEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (psycopg.Error,)

    def __init__(self, address: DatabaseAddress, options: ConnectorOptions) -> None:
        self._address = address
        self._options = options

    def open(self) -> DatabaseSession:
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
    """See `DatabaseSession`."""

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
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):  # with the search path of the statements to be judged
            functions = known_functions("postgresql", self._rows, self._options)
        return Knowledge(functions, self._version, {"standard_conforming_strings": "on"})

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, caps.seconds):
            estimate = self._estimate(sql) if first_word(sql) not in ("show", "explain") and not bind else None
            if estimate is not None:
                check_estimate(estimate, self._options)
            if estimate is None or not estimate.broken:
                return self._read(sql, caps, bind)
        with self._transaction(tag, caps.seconds):  # again, so that the error's position refers to the statement itself
            return self._read(sql, caps, bind)

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `DatabaseSession`."""
        statement = sql if first_word(sql) == "explain" else f"explain (analyze false) {sql}"
        with self._transaction(tag, seconds):
            return self._read(statement, _EXPLAINED, ())

    def reflect(self, limit: int) -> Schema:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS, own=True):
            statements = (TABLES, COLUMNS, KEYS, FOREIGN_KEYS)
            stamp = str(self._rows(STAMP)[0][0])
            found = CatalogRows(*(self._rows(statement) for statement in statements))
        version = self._connection.info.parameter_status("server_version") or ""
        schema = assemble("postgresql", version, self._default, found, limit)
        return replace(schema, stamp=stamp)

    def stamp(self) -> str:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS, own=True):
            return str(self._rows(STAMP)[0][0])

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, seconds):
            return profile("postgresql", schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS, own=True):
            version, user, database, writable = self._rows(HEALTH)[0]
        return Health(ok=True, version=version, user=user, database=database, writable=tuple(writable))

    def describe(self, tag: SessionTag) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, _OWN_SECONDS):
            return self._read(SESSION, Caps(), ())

    def cancel(self) -> None:
        """See `DatabaseSession`."""
        self._connection.cancel_safe(timeout=5)

    def reset(self) -> bool:
        """See `DatabaseSession`."""
        if self._connection.closed or self._connection.info.transaction_status is not TransactionStatus.IDLE:
            return False
        self._connection.execute("discard all")
        return True

    def close(self) -> None:
        """See `DatabaseSession`; while another thread is in libpq, only the socket is shut down: memory must stay."""
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
    def _transaction(self, tag: SessionTag, seconds: float, *, own: bool = False) -> Generator[None]:
        """A read-only transaction; `own` is for our statements, whose search path holds the catalog alone."""
        self._connection.execute(self._beginning(tag, seconds, () if own else self._path))
        try:
            yield
        finally:
            # A statement may still run if the thread was interrupted: its session is closed instead.
            if self._connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                self._connection.execute("rollback")

    def _beginning(self, tag: SessionTag, seconds: float, path: Sequence[str]) -> text_of.Composed:
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
        """Stream rows with the extended protocol; what remains beyond the caps is cancelled on the server."""
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
        """Names and types of a statement's columns, which the driver does not report if there are no rows."""
        server = self._connection.pgconn
        server.prepare(b"", sql.encode())
        found = server.describe_prepared(b"")
        return [((found.fname(number) or b"").decode(), found.ftype(number)) for number in range(found.nfields)]

    def _types(self, codes: Collection[int]) -> dict[int, str]:
        """Names of types; user-defined ones are looked up in the catalog."""
        known = self._connection.adapters.types
        names = {code: _type_name(found, code) for code in codes if (found := known.get(code))}
        if missing := [code for code in set(codes) if code not in names]:
            rows = self._connection.execute(TYPES, (missing,)).fetchall()
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
            with self._connection.transaction():  # a savepoint: a failure does not end the outer transaction
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
    """Whether the server supports a setting; older ones and some systems do not."""
    try:
        connection.execute(cast("Query", f"begin; {setting} rollback"))
    except psycopg.Error:
        connection.rollback()
        return False
    return True
