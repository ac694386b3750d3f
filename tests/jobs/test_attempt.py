"""One attempt at a job: how it ends, and what it writes to the job's row."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from thresher.core import Caller, EncoderError, InvalidInput, StoreUnavailable, Tenant
from thresher.jobs import Job, Jobs, Work, Yielded
from thresher.jobs.attempt import AttemptRunner, EndedBy, RetryLater
from thresher.store import Database

NAME = "test.work"


@dataclass(frozen=True)
class Do:
    """A task that does what a test says."""

    work: Callable[[Work], Awaitable[None]]
    name: str = NAME

    async def run(self, work: Work) -> None:
        """Do it."""
        await self.work(work)


async def raising(error: BaseException) -> None:
    """Raise."""
    raise error


async def defer(database: Database, tenant: Tenant, owner: str | None = None) -> Job:
    """Defer a job."""
    async with database.transaction(tenant) as connection:
        return await Jobs(database).defer(connection, tenant, NAME, 7, owner=owner)


async def attempt(
    database: Database,
    tenant: Tenant,
    job: Job,
    work: Callable[[Work], Awaitable[None]],
    by: EndedBy = "nobody",
) -> Job:
    """Attempt a job like a worker; return the job afterwards."""
    await AttemptRunner(database, {NAME: Do(work)}).run(tenant.id, job.id, lambda: by)
    return await Jobs(database).find(Caller(tenant), job.id)


async def test_a_task_receives_its_owner_and_its_last_progress_is_kept(database: Database, tenant: Tenant) -> None:
    """Tenant with its name, user, subject, attempt."""
    given: list[Work] = []

    async def work(work: Work) -> None:
        given.append(work)
        await asyncio.to_thread(work.report, "reading", 3, 9)

    ended = await attempt(database, tenant, await defer(database, tenant, owner="ada"), work)

    assert (given[0].tenant, given[0].subject, given[0].attempt) == (tenant, 7, 1)
    assert given[0].caller == Caller(tenant, "ada")
    assert (ended.state, ended.phase, ended.done, ended.total) == ("done", "reading", 3, 9)
    assert ended.started_at is not None
    assert ended.ended_at is not None


async def test_a_task_can_make_way_for_a_job_that_has_not_begun(database: Database, tenant: Tenant) -> None:
    """Its job waits and is attempted again; that is no failure."""
    seen: list[bool] = []

    async def work(work: Work) -> None:
        async with database.transaction(tenant) as connection:
            await Jobs(database).defer(connection, tenant, NAME, 8)
        seen.append(await work.others_wait())
        raise Yielded

    job = await defer(database, tenant)
    with pytest.raises(RetryLater):
        await attempt(database, tenant, job, work)

    after = await Jobs(database).find(Caller(tenant), job.id)
    assert (after.state, after.error, after.attempts) == ("waiting", "", 1)
    assert seen == [True]


async def test_bad_input_fails_a_job_with_its_hint_and_an_unexpected_error_without_secrets(
    database: Database, tenant: Tenant
) -> None:
    """Neither is attempted again; text that the database cannot store is left out."""
    bad = InvalidInput("No such\0 folder.", hint="Name another.")
    told = await attempt(database, tenant, await defer(database, tenant), lambda _: raising(bad))
    odd = ValueError("at https://ada:secret@example.org")
    untold = await attempt(database, tenant, await defer(database, tenant), lambda _: raising(odd))

    assert (told.state, told.hint, told.attempts) == ("failed", "Name another.", 1)
    assert told.error.startswith("No such")
    assert untold.state == "failed"
    assert "ValueError" in untold.error
    assert "secret" not in untold.error


@pytest.mark.parametrize("kind", [StoreUnavailable, EncoderError])
async def test_a_temporary_error_is_retried_at_growing_intervals_and_then_fails(
    database: Database, tenant: Tenant, kind: type[StoreUnavailable]
) -> None:
    """After 2, 8, 32 and 128 seconds; meanwhile the job shows the reason."""
    job = await defer(database, tenant)
    pauses: list[float] = []
    for _ in range(4):
        with pytest.raises(RetryLater) as later:
            await attempt(database, tenant, job, lambda _: raising(kind("It is away.", hint="Wait.")))
        pauses.append(later.value.seconds)
    between = await Jobs(database).find(Caller(tenant), job.id)
    ended = await attempt(database, tenant, job, lambda _: raising(kind("It is away.", hint="Wait.")))

    assert pauses == [2, 8, 32, 128]
    assert (between.state, between.error) == ("waiting", "It is away.")
    assert (ended.state, ended.error, ended.hint, ended.attempts) == ("failed", "It is away.", "Wait.", 5)


async def test_an_earlier_error_is_cleared_by_success(database: Database, tenant: Tenant) -> None:
    """A completed job shows no error."""
    job = await defer(database, tenant)
    with pytest.raises(RetryLater):
        await attempt(database, tenant, job, lambda _: raising(StoreUnavailable("It is away.")))
    ended = await attempt(database, tenant, job, lambda _: asyncio.sleep(0))

    assert (ended.state, ended.error, ended.attempts) == ("done", "", 2)


async def test_a_cancelled_task_stops_its_threads_and_ends_according_to_who_cancelled(
    database: Database, tenant: Tenant
) -> None:
    """A person ends the job, a worker that ends puts it back, and a task that cancels itself fails."""
    stopped: list[threading.Event] = []

    async def work(work: Work) -> None:
        stopped.append(work.stopping)
        raise asyncio.CancelledError

    by_person = await attempt(database, tenant, await defer(database, tenant), work, "person")
    by_itself = await attempt(database, tenant, await defer(database, tenant), work)
    job = await defer(database, tenant)
    with pytest.raises(RetryLater) as later:
        await attempt(database, tenant, job, work, "worker")

    assert by_person.state == "cancelled"
    assert (by_itself.state, by_itself.attempts) == ("failed", 1)
    assert later.value.seconds == 0
    assert (await Jobs(database).find(Caller(tenant), job.id)).state == "waiting"
    assert all(event.is_set() for event in stopped)


async def test_a_job_cancelled_before_it_began_does_nothing(database: Database, tenant: Tenant) -> None:
    """Even if its worker died under it, so that it seemed to run."""
    waiting, orphan = await defer(database, tenant), None
    await Jobs(database).cancel(Caller(tenant), waiting.id)
    orphan = await defer(database, tenant)
    async with database.transaction(tenant) as connection:
        await connection.execute(text("update job set state = 'running' where id = :job"), {"job": orphan.id})
    asked = await Jobs(database).cancel(Caller(tenant), orphan.id)

    ended = [await attempt(database, tenant, job, lambda _: raising(AssertionError())) for job in (waiting, orphan)]

    assert asked.state == "running"
    assert [job.state for job in ended] == ["cancelled", "cancelled"]


async def test_a_job_whose_tenant_is_gone_does_nothing(database: Database, tenant: Tenant) -> None:
    """Only its entry in the queue was left."""
    job = await defer(database, tenant)
    await database.drop_tenant(tenant)

    await AttemptRunner(database, {NAME: Do(lambda _: raising(AssertionError()))}).run(
        tenant.id, job.id, lambda: "nobody"
    )


async def test_an_abandoned_attempt_does_not_affect_a_later_one(database: Database, tenant: Tenant) -> None:
    """A worker that lost its lock may still be running when the next attempt has begun."""
    job = await defer(database, tenant)

    async def work(_: Work) -> None:
        async with database.transaction(tenant) as connection:  # another worker begins the job again
            await connection.execute(text("update job set attempts = attempts + 1 where id = :job"), {"job": job.id})
        raise InvalidInput("Too late.")

    standing = await attempt(database, tenant, job, work)

    assert (standing.state, standing.error) == ("running", "")
