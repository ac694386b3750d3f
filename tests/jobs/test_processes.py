"""Worker processes: started when there is work, replaced when they die, ended with their parent."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.jobs.workshop import COUNT, DIE, HELD_AT, STEPS, steps
from tests.support import Databases
from tests.support import eventually as soon
from thresher.core import Caller, Settings, Tenant
from thresher.jobs import Job, Jobs, Supervisor
from thresher.jobs.process import NICENESS
from thresher.jobs.queries import LOCK_CLASS
from thresher.store import Database

ROOT = Path(__file__).parents[2]
eventually = partial(soon, seconds=60.0)
"""A process starts within a second on an idle machine, and much later on a busy one."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of workers that run the tests' own tasks."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@asynccontextmanager
async def supervised(
    database: Database,
    folder: Path,
    *,
    workers: int = 1,
    module: str = "tests.jobs.workshop",
    idle_seconds: float = 30,
    niceness: int = 0,
) -> AsyncIterator[Supervisor]:
    """A running supervisor, as in a daemon; its workers keep their priority, or a busy machine would starve them."""
    settings = Settings(data_dir=folder, workers=workers)
    supervisor = Supervisor(
        database, settings, [COUNT, DIE], module=module, idle_seconds=idle_seconds, niceness=niceness
    )
    running = asyncio.create_task(supervisor.run())
    try:
        yield supervisor
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def defer(database: Database, tenant: Tenant, task: str = COUNT, subject: int = 1) -> Job:
    """Defer a job."""
    async with database.transaction(tenant) as connection:
        return await Jobs(database).defer(connection, tenant, task, subject)


async def test_deferring_a_job_starts_a_niced_process_that_does_it(
    database: Database, tenant: Tenant, folder: Path
) -> None:
    """Progress is reported meanwhile."""
    (folder / "hold").touch()
    told: list[Job] = []
    async with supervised(database, folder, niceness=NICENESS) as supervisor:
        job = await defer(database, tenant)
        follow = asyncio.create_task(Jobs(database).follow(Caller(tenant), job.id, told.append))
        await eventually(lambda: [one for one in told if one.done == HELD_AT])
        niceness = psutil.Process(supervisor.pids[0]).nice()
        (folder / "hold").unlink()

        ended = await follow

    assert (ended.state, ended.phase, ended.done, ended.total) == ("done", "counting", STEPS, STEPS)
    assert niceness == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
    assert "running" in {one.state for one in told}
    assert [step for step, _, _ in steps(folder, 1)] == list(range(STEPS))


async def test_a_job_whose_worker_is_killed_continues_where_it_was(
    database: Database, tenant: Tenant, folder: Path
) -> None:
    """In another process, at once; no step is done twice."""
    (folder / "hold").touch()
    async with supervised(database, folder) as supervisor:
        job = await defer(database, tenant)
        await eventually(lambda: len(steps(folder, 1)) == HELD_AT)
        os.kill(supervisor.pids[0], signal.SIGKILL)
        (folder / "hold").unlink()

        ended = await Jobs(database).follow(Caller(tenant), job.id)

    assert (ended.state, ended.attempts, ended.deaths) == ("done", 2, 1)
    assert [step for step, _, _ in steps(folder, 1)] == list(range(STEPS))
    assert len({process for _, _, process in steps(folder, 1)}) == 2


async def test_a_job_that_kills_its_workers_is_given_up(database: Database, tenant: Tenant, folder: Path) -> None:
    """After three deaths; the next job gets a worker."""
    async with supervised(database, folder):
        job = await defer(database, tenant, DIE)
        ended = await Jobs(database).follow(Caller(tenant), job.id)
        other = await Jobs(database).follow(Caller(tenant), (await defer(database, tenant)).id)

    assert (ended.state, ended.deaths) == ("failed", 3)
    assert "3 worker processes" in ended.error
    assert "memory" in ended.hint
    assert other.state == "done"


async def test_another_daemon_takes_up_the_jobs_of_a_stopped_one(
    database: Database, tenant: Tenant, folder: Path
) -> None:
    """The worker puts its job back and ends; no death is counted."""
    (folder / "hold").touch()
    async with supervised(database, folder) as first:
        job = await defer(database, tenant)
        await eventually(lambda: len(steps(folder, 1)) == HELD_AT)
        pid = first.pids[0]
    between = await Jobs(database).find(Caller(tenant), job.id)
    (folder / "hold").unlink()

    async with supervised(database, folder):
        ended = await Jobs(database).follow(Caller(tenant), job.id)

    assert between.state == "waiting"
    assert not psutil.pid_exists(pid)
    assert (ended.state, ended.attempts, ended.deaths) == ("done", 2, 0)


async def test_two_daemons_share_the_work_without_repeating_it(
    database: Database, tenant: Tenant, folder: Path
) -> None:
    """Of two jobs on one row the second waits for the first; jobs on other rows run in parallel."""
    (folder / "hold").touch()
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(supervised(database, folder))
        first = await defer(database, tenant, subject=1)
        await eventually(lambda: len(steps(folder, 1)) == HELD_AT)
        after = await defer(database, tenant, subject=1)
        beside = await defer(database, tenant, subject=2)
        await eventually(lambda: len(steps(folder, 2)) == HELD_AT)
        waiting = await Jobs(database).find(Caller(tenant), after.id)
        (folder / "hold").unlink()

        ended = [await Jobs(database).follow(Caller(tenant), job.id) for job in (first, after, beside)]

    assert after.id != first.id
    assert waiting.state == "waiting"
    assert [job.state for job in ended] == ["done"] * 3
    assert [step for step, _, _ in steps(folder, 1)] == list(range(STEPS))
    assert {process for _, _, process in steps(folder, 1)} != {process for _, _, process in steps(folder, 2)}


async def test_a_running_job_is_cancelled(database: Database, tenant: Tenant, folder: Path) -> None:
    """Its worker stays for the next job."""
    (folder / "hold").touch()
    async with supervised(database, folder) as supervisor:
        job = await defer(database, tenant)
        await eventually(lambda: len(steps(folder, 1)) == HELD_AT)
        pid = supervisor.pids[0]
        asked = await Jobs(database).cancel(Caller(tenant), job.id)

        ended = await Jobs(database).follow(Caller(tenant), job.id)

        assert (asked.state, asked.cancelled) == ("running", True)
        assert ended.state == "cancelled"
        assert supervisor.pids == [pid]


async def test_a_daemon_configured_without_workers_has_none(database: Database, tenant: Tenant, folder: Path) -> None:
    """Its supervisor ends at once; the job waits for other daemons."""
    async with supervised(database, folder, workers=0) as supervisor:
        job = await defer(database, tenant)

        assert supervisor.pids == []
        assert (await Jobs(database).cancel(Caller(tenant), job.id)).state == "cancelled"


async def test_no_worker_outlives_a_killed_daemon(database: Database, tenant: Tenant, folder: Path) -> None:
    """Its job is put back, and another daemon takes it up at once; no address is on a command line."""
    (folder / "hold").touch()
    job = await defer(database, tenant)
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.jobs.parent", str(folder)), stdin=PIPE, stdout=PIPE
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(database.address.encode() + b"\n")
    worker = psutil.Process(int(await parent.stdout.readline()))
    await eventually(lambda: len(steps(folder, 1)) == HELD_AT)
    shown = worker.cmdline()
    parent.kill()
    await parent.wait()
    await eventually(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)
    (folder / "hold").unlink()

    async with supervised(database, folder):
        ended = await Jobs(database).follow(Caller(tenant), job.id)

    assert not [word for word in shown if "postgres" in word]
    assert (ended.state, ended.attempts, ended.deaths) == ("done", 2, 0)
    assert [step for step, _, _ in steps(folder, 1)] == list(range(STEPS))


async def test_a_worker_that_loses_its_lock_ends_and_its_job_continues(
    database: Database, databases: Databases, tenant: Tenant, folder: Path
) -> None:
    """The database closed its connection; no death is counted for that."""
    (folder / "hold").touch()
    async with supervised(database, folder) as supervisor:
        job = await defer(database, tenant)
        await eventually(lambda: len(steps(folder, 1)) == HELD_AT)
        first = supervisor.pids[0]
        await databases.admin(f"select pg_terminate_backend(pid) from pg_locks where classid = {LOCK_CLASS}")
        await eventually(lambda: first not in supervisor.pids)
        (folder / "hold").unlink()

        ended = await Jobs(database).follow(Caller(tenant), job.id)

    assert (ended.state, ended.attempts, ended.deaths) == ("done", 2, 0)


async def test_a_worker_ends_when_there_is_nothing_to_do(database: Database, tenant: Tenant, folder: Path) -> None:
    """Not earlier, however short its idle time is."""
    async with supervised(database, folder, idle_seconds=0.05) as supervisor:
        job = await defer(database, tenant)
        ended = await Jobs(database).follow(Caller(tenant), job.id)
        await asyncio.wait_for(supervisor.idle.wait(), 60)

        assert (ended.state, ended.attempts) == ("done", 1)
        assert supervisor.pids == []


async def test_workers_that_cannot_start_are_retried_at_growing_intervals(
    database: Database, tenant: Tenant, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Pauses grow, the workers' output is in the log, and the job waits."""
    async with supervised(database, folder, module="tests.jobs.nothing_of_this_name"):
        caplog.set_level(logging.INFO, "thresher.jobs")
        job = await defer(database, tenant)
        ended = await eventually(lambda: [r.created for r in caplog.records if r.getMessage() == "worker ended"][1:])
        standing = await Jobs(database).cancel(Caller(tenant), job.id)

    started = [record.created for record in caplog.records if record.getMessage() == "worker started"]
    said = [record.fields["text"].value for record in caplog.records if record.getMessage() == "worker says"]  # type: ignore[attr-defined]
    assert started[1] - started[0] >= 0.5
    assert ended
    assert any("nothing_of_this_name" in text for text in said)
    assert (standing.state, standing.attempts) == ("cancelled", 0)
