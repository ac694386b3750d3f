"""Jobs of callers, and the workers that run them.

`Jobs` defers, finds, lists, cancels and follows. `Supervisor` starts workers when there is work, counts those that die
under a job, and ends them with this process.

Invariant: a job is deferred inside the transaction of the row that it is about, so that both exist or neither does.
There are never more worker processes than configured, and none after `Supervisor.run` has ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import psycopg
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import (
    Caller,
    Conflict,
    NotAllowed,
    NotFound,
    Settings,
    StoreUnavailable,
    Tenant,
    ThresherError,
    check_limit,
    event,
)
from thresher.jobs import queries
from thresher.jobs.handshake import DATABASE_LOST, WorkerStart
from thresher.jobs.models import MOST_DEATHS, Job
from thresher.jobs.process import NICENESS, WorkerProcess
from thresher.jobs.queries import NO_TENANT, Ending
from thresher.store import Database, connect_watched, run_retrying

FOLLOW_SECONDS: Final = 0.2
"""How often a followed job is read."""
LONGEST_LIST: Final = 1000
_NUMBER_LIMIT: Final = 2**63


class Jobs:
    """The jobs of all tenants. Cheap to construct.

    Args:
        database: The database of the jobs.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def defer(
        self, connection: AsyncConnection, tenant: Tenant, task: str, subject: int, *, owner: str | None = None
    ) -> Job:
        """Defer work; a worker begins as soon as the transaction is committed.

        An equal job that has not begun yet is returned instead.

        Args:
            connection: The transaction of the row that the work is about.
            tenant: The tenant of the row.
            task: The task, such as `documents.index`.
            subject: Id of the row.
            owner: The user who owns the job; None if it belongs to the tenant.
        """
        return await queries.defer(connection, tenant, owner, task, subject)

    async def withdraw(self, connection: AsyncConnection, tenant: Tenant, task: str, subject: int) -> tuple[Job, ...]:
        """Request the end of every open job of a task and subject; for a row deleted in the same transaction."""
        return await queries.cancel(connection, tenant, task=task, subject=subject)

    async def find(self, caller: Caller, job: int) -> Job:
        """One job.

        Raises:
            NotFound: The caller sees no job of this number.
        """
        found = None
        if 0 < job < _NUMBER_LIMIT:
            async with self._database.transaction(caller.tenant) as connection:
                found = await queries.find(connection, caller, job)
        if found is None:
            raise NotFound(f"There is no job {job}.", hint="`thresher jobs list` shows all jobs.")
        return found

    async def list(
        self, caller: Caller, *, task: str | None = None, subject: int | None = None, limit: int = 50
    ) -> tuple[Job, ...]:
        """Jobs that the caller may see, newest first.

        Args:
            caller: The tenant and user whose jobs are listed.
            task: Only jobs of this task.
            subject: Only jobs about this row.
            limit: Most jobs, 1 to 1,000.

        Raises:
            InvalidInput: The limit is out of bounds.
        """
        check_limit(limit, LONGEST_LIST)
        async with self._database.transaction(caller.tenant) as connection:
            return await queries.list_jobs(connection, caller, task, subject, limit)

    async def cancel(self, caller: Caller, job: int) -> Job:
        """End a job: at once if it is waiting, as soon as its task yields if it is running.

        Raises:
            NotFound: The caller sees no job of this number.
            NotAllowed: The job is not the caller's.
            Conflict: The job has ended.
        """
        found = await self.find(caller, job)
        if caller.user is not None and found.owner != caller.user:
            raise NotAllowed(f"Job {job} belongs to others.", hint="Only they, or the tenant as a whole, may end it.")

        async def work(connection: AsyncConnection) -> tuple[Job, ...]:
            return await queries.cancel(connection, caller.tenant, job=job)

        for cancelled in await run_retrying(self._database, caller.tenant, work):
            return cancelled
        ended = await self.find(caller, job)
        raise Conflict(f"Job {job} has ended: {ended.state}.", hint="There is nothing to cancel.")

    async def follow(self, caller: Caller, job: int, report: Callable[[Job], None] | None = None) -> Job:
        """Wait until a job has ended.

        Args:
            caller: The tenant and user whose job it is.
            job: Its number.
            report: Called with the job whenever it has changed, and at the end.

        Returns:
            The job as it ended.

        Raises:
            NotFound: The caller sees no job of this number, or it was removed.
        """
        before: Job | None = None
        while True:
            found = await self.find(caller, job)
            if report is not None and found != before:
                report(found)
            if found.ended:
                return found
            before = found
            await asyncio.sleep(FOLLOW_SECONDS)


_logger = logging.getLogger("thresher.jobs")

LOOK_SECONDS: Final = 10.0
"""How often the queue is read without a notification."""
IDLE_SECONDS: Final = 30.0
"""How long a worker waits for a next job."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds before the next worker after one that died; doubled after each further one."""
RELEASE_LOOKS, RELEASE_SECONDS = 50, 0.1
"""How often, and at which interval, to check whether the database has noticed that a worker is gone."""
STEADY_SECONDS: Final = 60.0
"""A worker that lived this long did not die because of its start."""
_CHANNEL: Final = "procrastinate_any_queue_v1"


class Supervisor:
    """The workers of one daemon.

    Args:
        database: The database of the jobs.
        settings: The settings of the workers; `workers` is their maximum number.
        tasks: Names of the tasks that they can do.
        module: The module that a worker process runs.
        idle_seconds: How long a worker waits for a next job.
        niceness: How much lower the priority of workers is than the daemon's.

    Attributes:
        busy: Set while a worker runs.
        idle: Set while none does.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        tasks: Sequence[str],
        *,
        module: str = "thresher.worker",
        idle_seconds: float = IDLE_SECONDS,
        niceness: int = NICENESS,
    ) -> None:
        self._database = database
        self._start = WorkerStart(database.address, settings, idle_seconds)
        self._tasks = list(tasks)
        self._module = module
        self._niceness = niceness
        self._workers: dict[asyncio.Task[None], WorkerProcess] = {}
        self._wake = asyncio.Event()
        self._pause = 0.0
        self._not_before = 0.0
        self._ending = False
        self.busy = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers."""
        return [process.pid for process in self._workers.values()]

    async def run(self) -> None:
        """Keep workers running for waiting jobs, until cancelled; then end them."""
        most = self._start.settings.workers
        if most == 0:
            return
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                self._wake.clear()
                await self._look(most)
                pause = self._not_before - time.monotonic()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, LOOK_SECONDS) if pause > 0 else LOOK_SECONDS):
                        await self._wake.wait()
        finally:
            self._ending = True
            listening.cancel()
            await asyncio.shield(self._end())

    async def _look(self, most: int) -> None:
        """Start workers for waiting jobs, including the jobs of dead workers."""
        try:
            async with self._database.transaction(NO_TENANT) as connection:
                if lost := await queries.take_up(connection):
                    event(_logger, "jobs of lost workers taken up", jobs=lost)
                ready = await queries.ready(connection, self._tasks)
        except ThresherError as error:
            event(_logger, "queue not read", level=logging.WARNING, reason=error.message)
            return
        if time.monotonic() < self._not_before:
            return
        starting = sum(process.worker is None for process in self._workers.values())
        for _ in range(min(ready - starting, most - len(self._workers))):
            await self._begin()

    async def _begin(self) -> None:
        try:
            process = await WorkerProcess.start(self._module, self._start, self._niceness)
        except OSError as error:  # no memory, or too many processes
            self._hold_back(FIRST_PAUSE)
            event(_logger, "worker not started", level=logging.WARNING, reason=str(error))
            return
        event(_logger, "worker started", pid=process.pid)
        watcher = asyncio.create_task(self._watch(process))
        self._workers[watcher] = process
        watcher.add_done_callback(self._gone)
        self.busy.set()
        self.idle.clear()

    def _gone(self, watcher: asyncio.Task[None]) -> None:
        del self._workers[watcher]
        if not self._workers:
            self.busy.clear()
            self.idle.set()
        self._wake.set()
        if not watcher.cancelled() and (error := watcher.exception()) is not None:
            _logger.error("worker not watched", exc_info=error)

    async def _watch(self, process: WorkerProcess) -> None:
        started = time.monotonic()
        code = await process.ended()
        event(_logger, "worker ended", pid=process.pid, code=code)
        if code == 0 or self._ending:  # a job that does not yield in time is not to blame for our end
            self._pause = 0.0
            return
        steady = time.monotonic() - started >= STEADY_SECONDS
        self._hold_back(0.0 if steady else self._pause)
        if process.worker is None:
            return
        try:
            if code != DATABASE_LOST:
                await self._count_deaths(process.worker)
            await self._release(process.worker)
        except ThresherError as error:  # the next look takes up its jobs
            event(_logger, "worker not released", level=logging.WARNING, reason=error.message)

    def _hold_back(self, pause: float) -> None:
        """Start no worker for a while; doubled each time."""
        self._pause = min(pause * 2, LONGEST_PAUSE) or FIRST_PAUSE
        self._not_before = time.monotonic() + self._pause

    async def _release(self, worker: int) -> None:
        """Have the job of an ended worker wait again; the worker's connection may outlive it by a moment."""
        for _ in range(RELEASE_LOOKS):
            async with self._database.transaction(NO_TENANT) as connection:
                await queries.take_up(connection)
                if not await queries.of_worker(connection, worker):
                    return
            await asyncio.sleep(RELEASE_SECONDS)

    async def _count_deaths(self, worker: int) -> None:
        """Count a worker's death against the jobs that it held; a job with too many deaths is given up."""
        async with self._database.transaction(NO_TENANT) as connection:
            held = await queries.of_worker(connection, worker)
        for queue, tenant_id, job in held:
            tenant = Tenant(tenant_id, "")
            async with self._database.transaction(tenant) as connection:
                deaths = await queries.count_death(connection, tenant, job)
                event(_logger, "worker died", level=logging.WARNING, tenant=tenant_id, job=job, deaths=deaths)
                if deaths is not None and deaths >= MOST_DEATHS:
                    await queries.settle(connection, tenant, job, _fatal(deaths))
                    await queries.finish(connection, queue)

    async def _listen(self) -> None:
        """Read the queue as soon as the database notifies that any daemon has deferred a job."""
        while True:
            with suppress(psycopg.Error, StoreUnavailable):
                async with await connect_watched(self._start.url) as connection:
                    await connection.execute(f"listen {_CHANNEL}")
                    self._wake.set()
                    async for _ in connection.notifies():
                        self._wake.set()
            await asyncio.sleep(1.0)

    async def _end(self) -> None:
        workers = dict(self._workers)
        await asyncio.gather(*(process.end() for process in workers.values()))
        if workers:
            await asyncio.wait(workers)


def _fatal(deaths: int) -> Ending:
    return Ending(
        "failed",
        f"The job ended {deaths} worker processes.",
        "Look for an out-of-memory kill in the system log; then start the work again in smaller parts.",
    )
