"""Takes jobs from the queue, one at a time, until the queue is empty for a while or the worker must end.

Invariant: no job is taken before the worker's lock is held; a worker that has lost its lock takes no further job and
ends, because another may have its job already. This is the only module that runs procrastinate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import psycopg
from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job as QueuedJob
from procrastinate.manager import JobManager

from thresher.core import StoreUnavailable
from thresher.jobs import queries
from thresher.jobs.attempt import AttemptRunner, EndedBy, RetryLater
from thresher.jobs.models import Task
from thresher.jobs.queries import LOCK_CLASS
from thresher.store import Database, connect_watched

POLL_SECONDS: Final = 2.0
"""How often the queue is polled without a notification, for example for a job that becomes due."""
_ENDED_BY: Final[Mapping[AbortReason | None, EndedBy]] = {
    AbortReason.USER_REQUEST: "person",
    AbortReason.SHUTDOWN: "worker",
    None: "nobody",
}
_STALE_SECONDS: Final = 7 * 24 * 3600.0
"""Workers without a heartbeat for this long leave the list; whether a worker is alive is decided by its lock."""


class _LockingJobManager(JobManager):
    """The library's statements; a worker takes its lock when it registers."""

    def __init__(self, connector: PsycopgConnector, lock: WorkerLock, registered: Callable[[int], None]) -> None:
        super().__init__(connector)
        self._lock = lock
        self._registered = registered

    async def register_worker(self) -> int:
        worker = await super().register_worker()
        await self._lock.hold(worker)
        self._registered(worker)
        return worker

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:  # noqa: ARG002 - the library's signature; ids of other queues are harmless
        # The library reads its own table for this, which the application role may not.
        found = await self.connector.execute_query_all_async(query="select to_abort as id from jobs.to_abort()")
        return [row["id"] for row in found]


class _RetryStrategy(BaseRetryStrategy):
    """Only `RetryLater` leads to a retry."""

    def get_retry_decision(self, *, exception: BaseException, job: QueuedJob) -> RetryDecision | None:  # noqa: ARG002 - the library's signature
        if not isinstance(exception, RetryLater):
            return None
        return RetryDecision(retry_in={"milliseconds": int(exception.seconds * 1000)})


class _Activity:
    """When the worker was last busy."""

    def __init__(self) -> None:
        self.running = 0
        self.since = time.monotonic()

    def __enter__(self) -> None:
        self.running += 1

    def __exit__(self, *_error: object) -> None:
        self.running -= 1
        self.since = time.monotonic()


async def run_jobs(
    url: str,
    database: Database,
    tasks: Sequence[Task],
    *,
    stop: asyncio.Event,
    idle_seconds: float,
    registered: Callable[[int], None],
    lost: Callable[[], None],
) -> None:
    """Work until the stop event, or until there has been nothing to do for a while.

    Args:
        url: Address of the database for the application role.
        database: The same database, for rows.
        tasks: The tasks that this worker can do; jobs of other tasks are left to other workers.
        stop: Ends the work: the current job is put back.
        idle_seconds: How long to wait for a next job.
        registered: Called with the worker's number in the queue.
        lost: Called when the worker's lock is lost: another worker may have its job from now on, so the process should
            end at once.

    Raises:
        StoreUnavailable: The database was lost; the next worker begins the current job again.
    """
    activity, broken = _Activity(), asyncio.Event()
    attempts = AttemptRunner(database, {task.name: task for task in tasks})
    async with worker_lock(url) as lock:
        connector = PsycopgConnector(
            conninfo=url, min_size=1, max_size=3, configure=_prepare, kwargs={"connect_timeout": 10}
        )
        app = App(connector=connector)
        app.job_manager = _LockingJobManager(connector, lock, registered)
        _register(app, attempts, activity, broken)
        try:
            async with app.open_async():
                names = [task.name for task in tasks]
                await _until_first(
                    _work(app, names),
                    stop.wait(),
                    _until_lost(lock, lost),
                    broken.wait(),
                    _idle(database, names, activity, lock, idle_seconds),
                )
        except (ConnectorException, psycopg.OperationalError) as error:
            raise StoreUnavailable(f"The queue cannot be reached: {error}") from error
    if broken.is_set():
        raise StoreUnavailable("How a job ended could not be written.", hint="It is attempted again.")


async def _prepare(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)
    await connection.execute("set search_path to jobs, pg_catalog")


def _register(app: App, attempts: AttemptRunner, activity: _Activity, broken: asyncio.Event) -> None:
    """Register the library's one task: run the job that the arguments name."""

    @app.task(name="job", pass_context=True, retry=_RetryStrategy())
    async def job(context: JobContext, *, tenant: int, job: int) -> None:  # pyright: ignore[reportUnusedFunction] - the library calls it
        with activity:
            try:
                await attempts.run(tenant, job, lambda: _ENDED_BY[context.abort_reason()])
            except StoreUnavailable:
                broken.set()
                raise


async def _work(app: App, names: Sequence[str]) -> None:
    await app.run_worker_async(
        queues=names,
        concurrency=1,
        install_signal_handlers=False,
        delete_jobs="always",
        shutdown_graceful_timeout=0,
        fetch_job_polling_interval=POLL_SECONDS,
        abort_job_polling_interval=POLL_SECONDS,
        update_heartbeat_interval=60.0,
        stalled_worker_timeout=_STALE_SECONDS,
    )


async def _idle(database: Database, names: list[str], activity: _Activity, lock: WorkerLock, seconds: float) -> None:
    """Wait until nothing has been done for a while, and no job is waiting."""
    while True:
        quiet = time.monotonic() - activity.since
        if not activity.running and quiet >= seconds:
            async with database.transaction(queries.NO_TENANT) as connection:
                if not await queries.waiting(connection, names, lock.worker):
                    return
        await asyncio.sleep(min(max(seconds - quiet, 0.05), POLL_SECONDS))


async def _until_lost(lock: WorkerLock, lost: Callable[[], None]) -> None:
    try:
        await lock.lost()
    except StoreUnavailable:
        lost()
        raise


async def _until_first(*works: Any) -> None:
    """Run all until the first has ended; cancel the others in order, and wait for them."""
    running = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in running:
            one.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await one
    for one in done:
        one.result()


class WorkerLock:
    """The advisory lock of a worker, on a connection of its own; it is released as soon as the worker dies.

    Attributes:
        worker: The worker's number in the queue; 0 before it is registered.
    """

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection
        self._held = asyncio.Event()
        self.worker = 0

    async def hold(self, worker: int) -> None:
        """Take the lock of this worker number."""
        await self._connection.execute("select pg_advisory_lock(%s::int, %s::int)", (LOCK_CLASS, worker))
        self.worker = worker
        self._held.set()

    async def lost(self) -> None:
        """Wait until the lock is held, and then until its connection breaks.

        Raises:
            StoreUnavailable: The connection broke.
        """
        await self._held.wait()  # waiting for notifications blocks the connection
        try:
            async for _ in self._connection.notifies():
                pass
        except psycopg.Error as error:
            raise StoreUnavailable("The worker has lost its database.", hint="It is started again.") from error


@asynccontextmanager
async def worker_lock(url: str) -> AsyncGenerator[WorkerLock]:
    """Connect for as long as the block lasts.

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    async with await connect_watched(url) as connection:
        yield WorkerLock(connection)
