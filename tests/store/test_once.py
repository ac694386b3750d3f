"""A transaction of one statement in one round trip."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection, AsyncCursor

from tests.support import Databases, eventually
from thresher.core import Tenant
from thresher.store import Database

MINE = "select tenant_id, kind from collection"
ADD = "insert into collection (tenant_id, kind, model) values (current_setting('app.tenant')::int, %s, 'm')"


async def test_a_write_is_committed_for_its_tenant_alone(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Added rows are visible to the tenant, and to no other."""
    await database.once(tenant, lambda driver: driver.execute(ADD + " returning kind", ("a",)))

    mine = await database.once(tenant, lambda driver: driver.execute(MINE))
    theirs = await database.once(other_tenant, lambda driver: driver.execute(MINE))

    assert mine == [(tenant.id, "a")]
    assert theirs == []


async def test_another_tenants_row_cannot_be_written(database: Database, tenant: Tenant, other_tenant: Tenant) -> None:
    """The policy holds, and the connection is not used again with half an answer on it."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await database.once(
            tenant,
            lambda driver: driver.execute(
                "insert into collection (tenant_id, kind, model) values (%s, 'x', 'm') returning kind",
                (other_tenant.id,),
            ),
        )

    assert await database.once(other_tenant, lambda driver: driver.execute(MINE)) == []


async def test_a_setting_left_behind_by_an_earlier_user_does_not_reach_it(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """A session that someone pointed at another tenant for good is reset."""
    await database.once(tenant, lambda driver: driver.execute(ADD + " returning kind", ("a",)))
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql("select set_config('app.tenant', %s, false)", (str(tenant.id),))

    seen = [await database.once(other_tenant, lambda driver: driver.execute(MINE)) for _ in range(10)]

    assert seen == [[]] * 10


async def test_dead_connections_of_the_pool_are_replaced(database: Database, tenant: Tenant) -> None:
    """After a restart of the server the next statement just works."""
    await asyncio.gather(*(database.once(tenant, lambda driver: driver.execute("select 1")) for _ in range(5)))
    with pytest.raises(Exception, match=r"terminat|lost|clos"):
        await database.once(
            tenant,
            lambda driver: driver.execute(
                "select pg_terminate_backend(pid, 2000) from pg_stat_activity"
                " where datname = current_database() and usename = current_user order by pid = pg_backend_pid()"
            ),
        )

    assert await database.once(tenant, lambda driver: driver.execute("select 2")) == [(2,)]


async def test_a_cancelled_caller_leaves_no_answer_behind(database: Database, tenant: Tenant) -> None:
    """The next user of the pool gets its own rows."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await database.once(tenant, lambda driver: driver.execute("select 1 from pg_sleep(5)"))

    answers = [
        await database.once(tenant, lambda driver, n=n: driver.execute("select %s::int", (n,))) for n in range(10)
    ]

    assert answers == [[(n,)] for n in range(10)]


async def test_single_statements_are_served_in_order(databases: Databases) -> None:
    """Over few connections, of many who ask at once and again none waits while others come a third time."""
    name = await databases.create()
    database = await databases.open(name, pool_size=2)
    tenant, served, all_ask = await database.tenant("t"), list[int](), asyncio.Event()

    async def hold(driver: AsyncConnection[Any]) -> AsyncCursor[Any]:
        await all_ask.wait()
        return await driver.execute(b"select 1")

    async def ask_thrice() -> None:
        for time in range(3):
            await database.once(tenant, lambda driver: driver.execute(b"select 1"))
            served.append(time)

    held = [asyncio.create_task(database.once(tenant, hold)) for _ in range(2)]
    await eventually(lambda: database._turns.locked())
    asking = asyncio.gather(*(ask_thrice() for _ in range(100)))
    await asyncio.sleep(0)  # each has asked now, and waits
    all_ask.set()
    await asyncio.gather(*held, asking)
    await database.close()
    await databases.drop(name)

    assert 0 not in served[served.index(2) :]


async def test_several_statements_travel_together_and_each_is_committed_by_itself(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """The rows of each come back in order; where one fails, those before it are there and those after it are not."""
    rows = await database.together(
        tenant,
        lambda driver: driver.execute(ADD + " returning kind", ("a",)),
        lambda driver: driver.execute(MINE),
    )
    with pytest.raises(psycopg.errors.UniqueViolation):
        await database.together(
            tenant,
            lambda driver: driver.execute(ADD + " returning kind", ("b",)),
            lambda driver: driver.execute(ADD + " returning kind", ("a",)),
            lambda driver: driver.execute(ADD + " returning kind", ("c",)),
        )
    mine = await database.once(tenant, lambda driver: driver.execute(MINE))

    assert rows == [[("a",)], [(tenant.id, "a")]]
    assert sorted(kind for _, kind in mine) == ["a", "b"]
    assert await database.once(other_tenant, lambda driver: driver.execute(MINE)) == []
