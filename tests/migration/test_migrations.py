"""The migrations give exactly the tables, protected as they must be."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

import thresher.store.migrations
from tests.support import Databases
from thresher.core import SchemaMismatch
from thresher.store import Database, migrate
from thresher.store.schema import head_revision
from thresher.store.tables import TENANT_TABLES, metadata

_COLUMNS = """
select table_name, ordinal_position, column_name, data_type, udt_name, is_nullable, column_default, is_identity,
       collation_name
from information_schema.columns where table_schema = 'public' and table_name <> 'alembic_version' order by 1, 2
"""
_CONSTRAINTS = """
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'public'::regnamespace and conrelid <> 0 and conrelid::regclass::text <> 'alembic_version'
order by 1, 2
"""
_INDEXES = """
select tablename, indexdef from pg_indexes where schemaname = 'public' and tablename <> 'alembic_version' order by 1, 2
"""
_TABLES = """
select c.relname, c.relrowsecurity, c.relforcerowsecurity, pg_get_userbyid(c.relowner),
       exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id'),
       array(select format('%s %s %s %s %s', polroles::regrole[]::text, polcmd, polpermissive,
                           pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
             from pg_policy where polrelid = c.oid order by 1)
from pg_class c where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
"""
_FUNCTIONS = """
select proname, prosecdef, proconfig, has_function_privilege('public', p.oid, 'execute'),
       has_function_privilege('thresher_app', p.oid, 'execute')
from pg_proc p where pronamespace = 'public'::regnamespace
  and not exists (select from pg_depend where objid = p.oid and deptype = 'e') and prorettype <> 'trigger'::regtype
"""
_DEFINITIONS = """
select p.oid::regprocedure::text, pg_get_functiondef(p.oid), obj_description(p.oid), prosecdef,
       has_function_privilege('public', p.oid, 'execute')
from pg_proc p where pronamespace in ('public'::regnamespace, 'jobs'::regnamespace)
  and not exists (select from pg_depend where objid = p.oid and deptype = 'e') and proname not like 'procrastinate%'
order by 1
"""
_TRIGGERS = """
select tgrelid::regclass::text, pg_get_triggerdef(oid) from pg_trigger
where not tgisinternal and tgname not like 'procrastinate%' order by 1, 2
"""
_EVERYTHING = {
    "columns": _COLUMNS,
    # Those of columns that are not null are constraints of their own in newer servers alone.
    "constraints": _CONSTRAINTS.replace("where", "where contype <> 'n' and"),
    "indexes": _INDEXES,
    "tables": f"{_TABLES} and relname <> 'alembic_version' order by 1",
    "functions": _DEFINITIONS,
    "triggers": _TRIGGERS,
}
FORMER = Path(__file__).with_name("schema_0019.json")
_TENANT = "(tenant_id = (current_setting('app.tenant'::text))::integer)"


def _upgrade_to(url: str, revision: str) -> None:
    with _connect(url) as connection:
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", str(next(iter(thresher.store.migrations.__path__))))
        config.set_main_option("path_separator", "os")
        command.upgrade(config, revision)
        connection.commit()


def _connect(url: str) -> Connection:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=NullPool)
    return engine.connect()


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A migrated database."""
    name = await databases.create()
    yield name
    await databases.drop(name)


def test_there_is_one_line_of_revisions_inside_the_package() -> None:
    """One head, no gaps, found by the package's own path."""
    script = ScriptDirectory(str(next(iter(thresher.store.migrations.__path__))))

    revisions = [revision.revision for revision in script.walk_revisions()]

    assert script.get_heads() == [head_revision()]
    assert revisions[-1] == "0019"


async def test_alembic_finds_no_difference(databases: Databases, name: str) -> None:
    """Its own comparison of the database with the tables, types and defaults included, is empty."""
    with _connect(databases.url(name, "thresher_owner")) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})

        assert compare_metadata(context, metadata) == []


async def test_columns_constraints_and_indexes_are_those_of_the_tables(databases: Databases, name: str) -> None:
    """What Alembic does not compare (order of columns and keys, collations, indexes) is the same too."""
    direct = f"{name}_direct"
    await databases.admin(f"create database {direct} owner thresher_owner")
    await databases.admin("create extension vector", direct)
    with _connect(databases.url(direct, "thresher_owner")) as connection:
        metadata.create_all(connection)
        connection.commit()

    for query in (_COLUMNS, _CONSTRAINTS, _INDEXES):
        assert await databases.admin(query, name) == await databases.admin(query, direct)
    await databases.drop(direct)


async def test_every_tenant_table_is_under_a_forced_policy(databases: Databases, name: str) -> None:
    """Whatever has a `tenant_id` is a tenant table with one policy; the tables' owner may read keys and sessions."""
    rows = await databases.admin(_TABLES, name)

    assert {row[0] for row in rows if row[4]} == set(TENANT_TABLES)
    for table, enabled, forced, owner, _, policies in rows:
        assert owner == "thresher_owner"
        if table in TENANT_TABLES:
            assert (enabled, forced) == (True, True), table
            of_owner = ["{thresher_owner} r t true "] if table in ("access_key", "console_session") else []
            assert policies == [f"{{-}} * t {_TENANT} {_TENANT}", *of_owner], table


async def test_functions_of_the_owner_are_closed_to_the_public(databases: Databases, name: str) -> None:
    """Each fixes its search path and may be called by the application role alone."""
    rows = await databases.admin(_FUNCTIONS, name)

    assert {row[0] for row in rows} == {
        "ensure_tenant",
        "drop_tenant",
        "cached_embeddings",
        "remember_embeddings",
        "key_holder",
        "session_key",
        "keys_exist",
        "known_tenants",
        "purge_logs",
        "purge_conversations",
        "purge_threads",
        "prune_embeddings",
        "prune_audit",
        "take_up_sources",
        "take_up_descriptions",
    }
    for function, definer, configuration, public, application in rows:
        assert (definer, public, application) == (True, False, True), function
        assert configuration == ["search_path=pg_catalog, public, pg_temp"], function


async def test_the_baseline_makes_what_the_former_migrations_made(databases: Databases) -> None:
    """Tables, policies, functions and triggers are those of the nineteen migrations that it replaces, read before."""
    name = f"baseline_{secrets.token_hex(4)}"
    await databases.admin(f"create database {name} owner thresher_owner")
    await databases.admin("create extension vector", name)
    url = databases.url(name, "thresher_owner")
    await asyncio.to_thread(_upgrade_to, url, "0019")

    made = {key: await databases.admin(query, name) for key, query in _EVERYTHING.items()}

    assert json.loads(json.dumps(made, default=str)) == json.loads(FORMER.read_text(encoding="utf-8"))
    await databases.drop(name)


async def test_a_database_of_the_last_former_migration_is_taken_as_it_is(databases: Databases, name: str) -> None:
    """The baseline has its revision: nothing is made again, and every row stays."""
    database = await databases.open(name)
    tenant = await database.tenant("kept")
    await database.close()

    await asyncio.to_thread(migrate, databases.url(name, "thresher_owner"))

    database = await databases.open(name)
    assert (await database.tenant("kept")).id == tenant.id
    await database.close()


async def test_a_database_of_an_earlier_migration_is_refused(databases: Databases, name: str) -> None:
    """The message says which version can still upgrade it, and nothing is changed."""
    await databases.admin("update alembic_version set version_num = '0012'", name)

    with pytest.raises(SchemaMismatch, match=r"0012.* cannot upgrade") as refusal:
        await asyncio.to_thread(migrate, databases.url(name, "thresher_owner"))

    assert "Start the last version before" in refusal.value.hint
    assert await databases.admin("select version_num from alembic_version", name) == [("0012",)]


async def test_migrating_again_changes_nothing_and_gives_new_roles_their_rights(
    databases: Databases, name: str
) -> None:
    """It may run at every start, and a changed application role gets its grants."""
    await databases.admin(f"create role {name} login password 'p'")
    owner = databases.url(name, "thresher_owner")

    head = head_revision()
    assert migrate(owner) == migrate(owner, application_role=name) == (head, head)

    url = databases.url(name).split("@", 1)[1]
    database = await Database.open(f"postgresql://{name}:p@{url}")
    assert (await database.tenant("a")).id
    await database.close()
    await databases.admin(f"drop owned by {name}; drop role {name}", name)


async def test_a_migration_that_fails_leaves_nothing(databases: Databases) -> None:
    """It is one transaction: with something in the way of the last table, the first is not there either."""
    name = "half_way"
    await databases.admin(f"create database {name} owner thresher_owner")
    await databases.admin("create extension vector; create table term_stat (a int)", name)

    with pytest.raises(Exception, match="already exists"):
        await asyncio.to_thread(migrate, databases.url(name, "thresher_owner"))

    tables = await databases.admin("select tablename from pg_tables where schemaname = 'public'", name)
    assert tables == [("term_stat",)]
    await databases.drop(name)


async def test_operations_that_are_there_are_taken_to_be_as_old_as_their_descriptions(
    databases: Databases, name: str
) -> None:
    """Searches from before an upgrade still count for them, whichever tenant they are of."""
    rows = """
        insert into tenant (name) values ('a'), ('b');
        insert into api_provider (tenant_id, name, display_name) select id, 'shop', 'Shop' from tenant;
        insert into api_version (tenant_id, provider_id, label, source, created_at)
          select tenant_id, id, 'v1', 'shop.json', '2026-01-01' from api_provider;
        insert into api_operation (tenant_id, version_id, endpoint, method, path, ordinal, digest)
          select tenant_id, id, 'op_000000000001', 'GET', '/orders', 0, '' from api_version;
        alter table api_operation drop column created_at;
        update alembic_version set version_num = '0019';
    """
    await databases.admin(rows, name)

    with _connect(databases.url(name, "thresher_owner")) as connection, connection.begin():
        config = Config(attributes={"connection": connection})
        config.set_main_option("script_location", next(iter(thresher.store.migrations.__path__)))
        config.set_main_option("path_separator", "os")
        command.upgrade(config, "0020")

    since = await databases.admin("select distinct created_at = '2026-01-01' from api_operation", name)
    assert since == [(True,)]
    assert await databases.admin("select count(*) from api_operation", name) == [(2,)]
