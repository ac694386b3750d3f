"""Row-level security: what one tenant can reach of another."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests.support import assert_sealed_off, fill, without_tenant_conditions
from thresher.core import InvalidInput, Tenant
from thresher.store import Database, driver
from thresher.store.tables import TENANT_TABLES, server


async def test_no_tenant_reads_or_writes_anything_of_another(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Bare SQL on every tenant table sees, changes and adds nothing of the other's."""
    await fill(database, tenant)
    await fill(database, other_tenant)

    await assert_sealed_off(database, tenant, other_tenant)


async def test_every_tenant_table_is_filled_by_the_sample(database: Database, tenant: Tenant) -> None:
    """The proof above would be empty without a row in each table."""
    await fill(database, tenant)

    async with database.transaction(tenant) as connection:
        counts = {
            t: (await connection.exec_driver_sql(f"select count(*) from {t}")).scalar_one() for t in TENANT_TABLES
        }
    assert set(counts.values()) == {1}, counts


async def test_a_query_that_lost_its_condition_still_leaks_nothing(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """With `tenant_id = ...` taken out, SQLAlchemy's and the driver's queries give the same rows as before."""
    await fill(database, tenant)
    await fill(database, other_tenant)

    async with without_tenant_conditions(database) as rewritten, database.transaction(tenant) as connection:
        query = server.select().where(server.c.tenant_id == other_tenant.id)
        by_core = (await connection.execute(query)).all()
        by_text = (
            await connection.execute(text("select * from server where tenant_id = :t"), {"t": other_tenant.id})
        ).all()
        raw = await driver(connection)
        cursor = await raw.execute("select tenant_id from server where tenant_id = %s", (other_tenant.id,))
        by_driver = await cursor.fetchall()

    assert [row.tenant_id for row in [*by_core, *by_text]] == [tenant.id, tenant.id]
    assert by_driver == [(tenant.id,)]
    assert len(rewritten.statements) == 3


async def test_a_tenant_set_for_a_whole_session_does_not_reach_its_next_user(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """A pooled connection is reset before each transaction."""
    await fill(database, tenant)
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql(f"select set_config('app.tenant', '{tenant.id}', false)")
        await connection.exec_driver_sql("set statement_timeout = '1234'")
        await connection.exec_driver_sql("select pg_advisory_lock(1)")

    async with database.transaction(other_tenant) as connection:
        rows = (await connection.exec_driver_sql("select * from server")).all()
        timeout = (await connection.exec_driver_sql("show statement_timeout")).scalar_one()
        locks = (await connection.exec_driver_sql("select * from pg_locks where locktype = 'advisory'")).all()

    assert (rows, timeout, locks) == ([], "0", [])


async def test_without_a_tenant_there_is_an_error_and_no_row(database: Database, tenant: Tenant) -> None:
    """After its transaction a connection has no tenant, and the policy fails instead of showing rows."""
    await fill(database, tenant)

    async with database.transaction(tenant) as connection:
        raw = await driver(connection)
        await raw.commit()
        with pytest.raises(DBAPIError, match="invalid input syntax"):
            await connection.exec_driver_sql("select * from server")


@pytest.mark.parametrize(
    "statement",
    [
        "select * from tenant",
        "select * from embedding",
        "create temp table server ()",
        "create table mine ()",
        "drop table server",
        "alter table server disable row level security",
        "delete from alembic_version",
        "set role thresher_owner",
    ],
)
async def test_the_application_role_has_no_right_beyond_rows(
    database: Database, tenant: Tenant, statement: str
) -> None:
    """No other tenant's name, no cached text's vector, no table of its own."""
    with pytest.raises(DBAPIError, match=r"permission denied|must be owner"):
        async with database.transaction(tenant) as connection:
            await connection.exec_driver_sql(statement)


async def test_a_tenant_keeps_its_number(database: Database) -> None:
    """The same name gives the same tenant, also when asked for by many at once."""
    found = await asyncio.gather(*(database.tenant("same") for _ in range(8)))

    assert len({tenant.id for tenant in found}) == 1


@pytest.mark.parametrize("name", ["", "x" * 101, "a\0b", "acme ", " acme", "a\nb", "a\tb", "acme\r"])
async def test_a_tenant_needs_a_name(database: Database, name: str) -> None:
    """Empty, huge and malformed names are refused, and those that are shown like another one, as for users."""
    with pytest.raises(InvalidInput):
        await database.tenant(name)


async def test_a_dropped_tenant_leaves_no_row(database: Database, tenant: Tenant, other_tenant: Tenant) -> None:
    """All its rows go, the other's stay, and dropping it again is fine."""
    await fill(database, tenant)
    await fill(database, other_tenant)

    await database.drop_tenant(tenant)
    await database.drop_tenant(tenant)

    async with database.transaction(tenant) as connection:
        gone = (await connection.exec_driver_sql("select * from tool")).all()
    async with database.transaction(other_tenant) as connection:
        kept = (await connection.exec_driver_sql("select * from tool")).all()
    assert (len(gone), len(kept)) == (0, 1)
