"""Disposable databases of four engines, used by a role that could change them, with a way to detect changes.

`traces` is what an administrator sees from outside: rows, objects, counters, settings, files. `session` is what the
session of a statement keeps. Both are compared before and after.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import duckdb
import psycopg
from sqlalchemy import make_url

from tests.support import Databases
from tests.support.mariadb import MariaServer
from thresher.connectors import Caps, Connector, ConnectorOptions, SessionTag, open_connector
from thresher.core import ThresherError
from thresher.sqlguard import Dialect

TAG: Final = SessionTag(client="hostile", thread="t", audit_id=1)
CAPS: Final = Caps(rows=20, bytes=100_000, seconds=0.3)
OPTIONS: Final = ConnectorOptions(sessions=1, lock_seconds=0.5, connect_seconds=20)

_TABLES: Final = (
    "create table item (id integer primary key, name varchar(40))",
    "create table part (id integer primary key, item_id integer, name varchar(40))",
    "insert into item values (1, 'one'), (2, 'two'), (3, 'three')",
    "insert into part values (1, 1, 'a'), (2, 1, 'b')",
    "create view v as select * from item",
)
_POSTGRESQL: Final = (
    *_TABLES,
    "create sequence item_seq",
    "create index item_brin on item using brin (id)",
    "create index item_gin on item using gin (to_tsvector('simple', name))",
    "create function wipe() returns int language sql as 'delete from item; select 1'",
    "create function wipe_row(item) returns int language sql as 'delete from item; select 1'",
    "create procedure wipe_all() language sql as 'delete from item'",
)
_POSTGRESQL_TRACES: Final = """
select json_build_object(
  'items', (select json_agg(i order by id) from item i), 'parts', (select json_agg(p order by id) from part p),
  'relations', (select json_agg((relname, relkind, relacl)::text order by oid) from pg_class
                where relnamespace not in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)),
  'functions', (select json_agg(proname order by oid) from pg_proc where oid > 16000),
  'columns', (select json_agg((attrelid::regclass, attname)::text order by attrelid, attnum) from pg_attribute
              where attrelid in ('item'::regclass, 'part'::regclass)),
  'schemas', (select json_agg(nspname order by nspname) from pg_namespace where nspname !~ 'temp'),
  'roles', (select json_agg((rolname, rolsuper, rolvaliduntil)::text order by rolname) from pg_roles),
  'sequence', (select (last_value, is_called)::text from item_seq),
  'objects', (select json_agg(oid order by oid) from pg_largeobject_metadata),
  'collations', (select count(*) from pg_collation), 'comments', (select count(*) from pg_description),
  'slots', (select count(*) from pg_replication_slots), 'origins', (select count(*) from pg_replication_origin),
  'extensions', (select json_agg(extname order by extname) from pg_extension),
  'publications', (select count(*) from pg_publication), 'prepared', (select count(*) from pg_prepared_xacts),
  'settings', (select json_agg((name, setting)::text order by name) from pg_settings
               where source = 'configuration file' or pending_restart),
  'locks', (select count(*) from pg_locks where locktype = 'advisory'))::text"""
_POSTGRESQL_SESSION: Final = """
select (select string_agg(name || '=' || setting, ',' order by name) from pg_settings where name <> 'application_name')
    || (select count(*) from pg_listening_channels())
    || (select count(*) from pg_prepared_statements where from_sql)
    || (select count(*) from pg_cursors where is_holdable)
    || (select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory')
    || current_user || session_user || pg_my_temp_schema()::text"""
_MARIADB: Final = (
    *_TABLES,
    "create sequence item_seq",
    "create function wipe() returns int modifies sql data begin delete from item; return 1; end",
    "create procedure wipe_all() delete from item",
)
_OF_THIS: Final = "table_schema = database() order by 1, 2, 3"
_MARIADB_TRACES: Final = (
    "select * from item order by id",
    "select * from part order by id",
    f"select table_name, table_type, engine, table_comment from information_schema.tables where {_OF_THIS}",
    f"select table_name, column_name, column_type from information_schema.columns where {_OF_THIS}",
    f"select table_name, index_name, column_name from information_schema.statistics where {_OF_THIS}",
    "select routine_name, routine_type, last_altered from information_schema.routines order by 1, 2",
    "select trigger_name, event_object_table from information_schema.triggers order by 1, 2",
    "select event_name from information_schema.events order by 1",
    "select schema_name from information_schema.schemata order by 1",
    "select user, host, priv from mysql.global_priv order by 1, 2",
    "select next_not_cached_value, cycle_count from item_seq",
    "select variable_name, variable_value from information_schema.global_variables"
    " where variable_name not regexp 'timestamp|gtid|last|rand_seed|error_count|warning_count' order by 1",
    "select plugin_name from information_schema.plugins order by 1",
)
_MARIADB_SESSION: Final = """
select sha2(group_concat(variable_name, '=', variable_value order by variable_name), 256),
       is_used_lock('x'), current_user(), database()
from information_schema.session_variables
where variable_name not regexp 'timestamp|pseudo|gtid|last|insert_id|rand_seed|error_count|warning_count|identity'"""


@dataclass(frozen=True, slots=True)
class Live:
    """A running engine.

    Attributes:
        name: Name of the ideas' file.
        dialect: The guard's dialect.
        url: Database URL for the role that may write.
        connector: Our connector with a role that may write.
        traces: Returns what is visible from outside.
        session: A query that shows what the session keeps; may be empty.
        file: A file that an idea would write.
    """

    name: str
    dialect: Dialect
    url: str
    connector: Connector
    traces: Callable[[], Awaitable[str]]
    session: str
    file: Path

    async def attempt(self, sql: str) -> str:
        """Run it as the guard's caller would, but without the guard; return the error's class or nothing."""
        try:
            await self.connector.run(sql, TAG, CAPS)
        except ThresherError as error:
            return type(error).__name__
        return ""

    async def kept(self) -> str:
        """Return what the session keeps."""
        if not self.session:
            return ""
        return str((await self.connector.run(self.session, TAG, replace(CAPS, seconds=30))).rows)


def _listing(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return str([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files])


@asynccontextmanager
async def live_postgresql(databases: Databases, folder: Path) -> AsyncIterator[Live]:
    """A separate database on the test server; the role owns everything in it."""
    name = f"hostile_{secrets.token_hex(4)}"
    await databases.admin(f"create role {name} login password 'p'")
    await databases.admin(f"create database {name} owner {name}")
    address = make_url(databases.url(name)).set(drivername="postgresql", username=name, password="p")
    url = address.render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _POSTGRESQL:
            connection.execute(statement.encode())

    async def traces() -> str:
        return str(await databases.admin(_POSTGRESQL_TRACES, name)) + _listing(folder)

    connector = open_connector(url, options=OPTIONS)
    try:
        yield Live("postgresql", "postgresql", url, connector, traces, _POSTGRESQL_SESSION, folder / "stolen")
    finally:
        await connector.close()
        await databases.admin(f"drop database if exists {name} with (force)")
        await databases.admin(f"drop role {name}")


@asynccontextmanager
async def live_sqlite(folder: Path) -> AsyncIterator[Live]:
    """A file that this account may write."""
    file = folder / "base.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(";".join(_TABLES))
    url = f"sqlite:///{file}"
    connector = open_connector(url, options=OPTIONS)
    try:
        yield Live("sqlite", "sqlite", url, connector, _files(folder), "", folder / "stolen")
    finally:
        await connector.close()


@asynccontextmanager
async def live_duckdb(folder: Path) -> AsyncIterator[Live]:
    """A file that this account may write."""
    file = folder / "base.duckdb"
    with duckdb.connect(str(file)) as connection:
        for statement in (*_TABLES, "create sequence item_seq", "create macro wipe() as 1"):
            connection.execute(statement)
    url = f"duckdb:///{file}"
    connector = open_connector(url, options=OPTIONS)
    settings = "select string_agg(name || '=' || value, ',' order by name) from duckdb_settings()"
    try:
        yield Live("duckdb", "duckdb", url, connector, _files(folder), settings, folder / "stolen")
    finally:
        await connector.close()


@asynccontextmanager
async def live_mariadb(server: MariaServer, folder: Path) -> AsyncIterator[Live]:
    """A separate database on the test server; the role may do anything in it."""
    name = f"hostile_{secrets.token_hex(4)}"
    await server.admin(f"create database {name}", f"create user {name}@'127.0.0.1' identified by 'p'")
    await server.admin(f"grant all privileges on {name}.* to {name}@'127.0.0.1'")
    await server.admin(*_MARIADB, database=name)
    url = server.url(name, "p", name)

    async def traces() -> str:
        found = [await server.admin(query, database=name) for query in _MARIADB_TRACES]
        return str(found) + _listing(folder)

    connector = open_connector(url, options=OPTIONS)
    try:
        yield Live("mariadb", "mariadb", url, connector, traces, _MARIADB_SESSION, server.folder / name / "stolen")
    finally:
        await connector.close()
        await server.admin(f"drop database {name}", f"drop user {name}@'127.0.0.1'")


def _files(folder: Path) -> Callable[[], Awaitable[str]]:
    async def traces() -> str:
        return _listing(folder)

    return traces
