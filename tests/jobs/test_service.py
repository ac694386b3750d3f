"""Deferring, listing and cancelling jobs, before any worker runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import psycopg
import pytest

from tests.support import Databases
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, Tenant
from thresher.jobs import Job, Jobs
from thresher.store import Database

TASK = "documents.index"


@pytest.fixture
def jobs(database: Database) -> Jobs:
    """The jobs of the module's database."""
    return Jobs(database)


async def defer(jobs: Jobs, database: Database, tenant: Tenant, subject: int = 1, owner: str | None = None) -> Job:
    """Defer a job in a transaction of its own."""
    async with database.transaction(tenant) as connection:
        return await jobs.defer(connection, tenant, TASK, subject, owner=owner)


Queued: TypeAlias = Callable[[Tenant], Awaitable[list[int]]]


@pytest.fixture
def queued(databases: Databases, database: Database) -> Queued:
    """A tenant's jobs in the queue, as the superuser sees them."""

    async def places(tenant: Tenant) -> list[int]:
        rows = await databases.admin(
            f"select args->>'job' from jobs.procrastinate_jobs where args->>'tenant' = '{tenant.id}' order by id",
            str(psycopg.conninfo.conninfo_to_dict(database.address)["dbname"]),
        )
        return [int(str(job)) for (job,) in rows]

    return places


async def test_a_job_exists_only_if_its_transaction_is_committed(
    jobs: Jobs, queued: Queued, database: Database, tenant: Tenant
) -> None:
    """The row and the queue entry alike."""
    with suppress(RuntimeError):
        async with database.transaction(tenant) as connection:
            await jobs.defer(connection, tenant, TASK, 1)
            raise RuntimeError
    undone = await jobs.list(Caller(tenant)), await queued(tenant)
    kept = await defer(jobs, database, tenant)

    assert undone == ((), [])
    assert await jobs.find(Caller(tenant), kept.id) == kept
    assert await queued(tenant) == [kept.id]
    assert (kept.state, kept.attempts, kept.ended) == ("waiting", 0, False)


async def test_deferring_the_same_work_twice_gives_one_job(
    jobs: Jobs, queued: Queued, database: Database, tenant: Tenant
) -> None:
    """Even concurrently; another row's work is another job."""
    first = await defer(jobs, database, tenant)

    others = await asyncio.gather(*(defer(jobs, database, tenant) for _ in range(4)))
    other = await defer(jobs, database, tenant, subject=2)

    assert {job.id for job in others} == {first.id}
    assert other.id != first.id
    assert await queued(tenant) == [first.id, other.id]


async def test_a_waiting_job_is_cancelled_at_once_and_only_once(
    jobs: Jobs, queued: Queued, database: Database, tenant: Tenant
) -> None:
    """It leaves the queue, and the next request gets a new job."""
    job = await defer(jobs, database, tenant)

    cancelled = await jobs.cancel(Caller(tenant), job.id)

    assert (cancelled.state, cancelled.cancelled, cancelled.ended) == ("cancelled", True, True)
    assert await queued(tenant) == []
    with pytest.raises(Conflict, match="cancelled"):
        await jobs.cancel(Caller(tenant), job.id)
    assert (await defer(jobs, database, tenant)).id != job.id


async def test_the_jobs_of_a_row_are_withdrawn_with_it(
    jobs: Jobs, queued: Queued, database: Database, tenant: Tenant
) -> None:
    """In one transaction; those of other rows stay."""
    gone, kept = await defer(jobs, database, tenant), await defer(jobs, database, tenant, subject=2)

    async with database.transaction(tenant) as connection:
        withdrawn = await jobs.withdraw(connection, tenant, TASK, 1)

    assert [job.id for job in withdrawn] == [gone.id]
    assert await queued(tenant) == [kept.id]


async def test_users_see_their_own_jobs_and_the_tenants(jobs: Jobs, database: Database, tenant: Tenant) -> None:
    """They end only their own; a caller for the whole tenant sees and ends all."""
    shared = await defer(jobs, database, tenant, 1)
    hers = await defer(jobs, database, tenant, 2, owner="ada")
    ada, bob, everybody = Caller(tenant, "ada"), Caller(tenant, "bob"), Caller(tenant)

    seen = [{job.id for job in await jobs.list(caller)} for caller in (ada, bob, everybody)]

    assert seen == [{shared.id, hers.id}, {shared.id}, {shared.id, hers.id}]
    with pytest.raises(NotFound):
        await jobs.find(bob, hers.id)
    with pytest.raises(NotAllowed):
        await jobs.cancel(bob, shared.id)
    assert (await jobs.cancel(everybody, hers.id)).ended


async def test_lists_are_newest_first_and_can_be_filtered(jobs: Jobs, database: Database, tenant: Tenant) -> None:
    """By task, by row, by number."""
    made = [await defer(jobs, database, tenant, subject) for subject in (1, 2, 3)]
    caller = Caller(tenant)

    assert [job.id for job in await jobs.list(caller, limit=2)] == [made[2].id, made[1].id]
    assert [job.id for job in await jobs.list(caller, subject=1)] == [made[0].id]
    assert await jobs.list(caller, task="other") == ()
    with pytest.raises(InvalidInput):
        await jobs.list(caller, limit=0)


async def test_another_tenant_sees_nothing(
    jobs: Jobs, database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Not by number and not in lists; cancelling does not affect another tenant's job."""
    job = await defer(jobs, database, tenant)
    stranger = Caller(other_tenant)

    assert await jobs.list(stranger) == ()
    for ask in (jobs.find, jobs.cancel, jobs.follow):
        with pytest.raises(NotFound):
            await ask(stranger, job.id)
    assert (await jobs.find(Caller(tenant), job.id)).state == "waiting"
