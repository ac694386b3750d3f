"""Takes jobs from the queue, one at a time, until there is nothing to do or the worker shall end.

Invariant: no job is taken before the worker's lock is held. The one module that runs procrastinate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason
from procrastinate.jobs import Job as QueuedJob
from procrastinate.manager import JobManager

from thresher.core import StoreUnavailable
from thresher.jobs import queries
from thresher.jobs.attempt import Attempts, EndedBy, Later
from thresher.jobs.life import Life, living
from thresher.jobs.models import Task
from thresher.store import Database

POLL_SECONDS: Final = 2.0
"""How often the queue is looked into without having been told of anything, such as a job that waits for its time."""
_ENDED_BY: Final[Mapping[AbortReason | None, EndedBy]] = {
    AbortReason.USER_REQUEST: "person",
    AbortReason.SHUTDOWN: "worker",
    None: "nobody",
}
_FORGOTTEN_SECONDS: Final = 7 * 24 * 3600.0
"""Workers whose last word is this old leave the list; who lives is told by locks."""


class _Statements(JobManager):
    """The library's statements; a worker that is registered holds its lock."""

    def __init__(self, connector: PsycopgConnector, life: Life, registered: Callable[[int], None]) -> None:
        super().__init__(connector)
        self._life = life
        self._registered = registered

    async def register_worker(self) -> int:
        worker = await super().register_worker()
        await self._life.hold(worker)
        self._registered(worker)
        return worker

    async def list_jobs_to_abort_async(self, queue: str | None = None) -> Iterable[int]:  # noqa: ARG002 - the library's signature; ids of other queues harm nobody
        # The library reads its table for this, which the application role may not.
        found = await self.connector.execute_query_all_async(query="select to_abort as id from jobs.to_abort()")
        return [row["id"] for row in found]


class _Strategy(BaseRetryStrategy):
    """Only what asks for it is tried again."""

    def get_retry_decision(self, *, exception: BaseException, job: QueuedJob) -> RetryDecision | None:  # noqa: ARG002 - the library's signature
        if not isinstance(exception, Later):
            return None
        return RetryDecision(retry_in={"milliseconds": int(exception.seconds * 1000)})


class _Activity:
    """When the worker last had something to do."""

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
    """Work until told to stop, or until there has been nothing to do for a while.

    Args:
        url: Address of the database for the application role.
        database: The same, for rows.
        tasks: What can be done; jobs of other tasks are left to other workers.
        stop: Ends the work: what runs is put back.
        idle_seconds: How long to wait for a next job.
        registered: Told the worker's number in the queue.
        lost: Called when the worker's lock is gone: what it has in hand may be another's from now on, so the process
            should end at once.

    Raises:
        StoreUnavailable: The database was lost; what ran is begun again by the next worker.
    """
    activity, broken = _Activity(), asyncio.Event()
    attempts = Attempts(database, {task.name: task for task in tasks})
    async with living(url) as life:
        connector = PsycopgConnector(
            conninfo=url, min_size=1, max_size=3, configure=_prepare, kwargs={"connect_timeout": 10}
        )
        app = App(connector=connector)
        app.job_manager = _Statements(connector, life, registered)
        _register(app, attempts, activity, broken)
        try:
            async with app.open_async():
                names = [task.name for task in tasks]
                await _until_first(
                    _work(app, names),
                    stop.wait(),
                    _until_lost(life, lost),
                    broken.wait(),
                    _idle(database, names, activity, life, idle_seconds),
                )
        except (ConnectorException, psycopg.OperationalError) as error:
            raise StoreUnavailable(f"The queue cannot be reached: {error}") from error
    if broken.is_set():
        raise StoreUnavailable("How a job ended could not be written.", hint="It is begun again.")


async def _prepare(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)
    await connection.execute("set search_path to jobs, pg_catalog")


def _register(app: App, attempts: Attempts, activity: _Activity, broken: asyncio.Event) -> None:
    """Give the library its one task: run the job that the arguments name."""

    @app.task(name="job", pass_context=True, retry=_Strategy())
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
        stalled_worker_timeout=_FORGOTTEN_SECONDS,
    )


async def _idle(database: Database, names: list[str], activity: _Activity, life: Life, seconds: float) -> None:
    """Wait until nothing has been done for so long, and nothing waits for its time."""
    while True:
        quiet = time.monotonic() - activity.since
        if not activity.running and quiet >= seconds:
            async with database.transaction(queries.NOBODY) as connection:
                if not await queries.waiting(connection, names, life.worker):
                    return
        await asyncio.sleep(min(max(seconds - quiet, 0.05), POLL_SECONDS))


async def _until_lost(life: Life, lost: Callable[[], None]) -> None:
    try:
        await life.lost()
    except StoreUnavailable:
        lost()
        raise


async def _until_first(*works: Any) -> None:
    """Run all until the first has ended; the others are cancelled, in their order, and waited for."""
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
