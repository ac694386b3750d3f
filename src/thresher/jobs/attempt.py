"""One attempt at a job: its row, its task, its progress, and how it ends.

Invariant: the row shows how an attempt ended before the queue does; an attempt at a job that has ended does nothing.
The last reported progress is written before the job ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from thresher.core import (
    CallerText,
    EncoderError,
    SourceUnavailable,
    StoreUnavailable,
    Tenant,
    ThresherError,
    UpstreamTimeout,
    event,
    mask_text,
    traced,
)
from thresher.jobs import queries
from thresher.jobs.models import Job, Task, Work, Yielded
from thresher.jobs.queries import NO_TENANT, Ending, JobAttempt
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.jobs")

TEMPORARY: Final = (StoreUnavailable, EncoderError, SourceUnavailable, UpstreamTimeout)
"""Temporary errors, which may be gone at the next attempt."""
MOST_FAILURES: Final = 5
"""A job fails after this many temporary errors."""
_REPORT: Final = "Please report it; the log has the details."
EndedBy: TypeAlias = Literal["person", "worker", "nobody"]

FIRST_PAUSE: Final = 2.0
"""Seconds before the attempt after the first temporary error; four times as long after each further one."""


YIELD_SECONDS: Final = 1.0
"""Seconds before the next attempt at a job that has made way for another: time to take that one."""


class RetryLater(Exception):
    """The job waits for another attempt.

    Args:
        seconds: Least time to wait.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class AttemptRunner:
    """Runs attempts at jobs.

    Attributes:
        database: The database of the jobs.
        tasks: The tasks by name.
    """

    database: Database
    tasks: Mapping[str, Task]

    async def run(self, tenant: int, job: int, ended_by: Callable[[], EndedBy]) -> None:
        """Run a job's task to its end.

        Args:
            tenant: Id of the job's tenant.
            job: Number of the job.
            ended_by: Returns who cancelled the attempt: a person, the worker that ends; or that it was not cancelled.

        Raises:
            RetryLater: The job must be attempted again.
            StoreUnavailable: How it ended could not be written.
        """
        owner = Tenant(tenant, "")
        try:
            await self._begin(owner, job, ended_by)
        except asyncio.CancelledError:  # after its beginning and before its task
            if ended_by() == "worker":
                raise RetryLater(0) from None
            await self._settle(owner, job, Ending("cancelled"))

    async def _begin(self, tenant: Tenant, job: int, ended_by: Callable[[], EndedBy]) -> None:
        async with self.database.transaction(tenant) as connection:
            owner = Tenant(tenant.id, await queries.tenant_name(connection, tenant.id))
        begun = await run_retrying(self.database, owner, lambda connection: queries.begin(connection, owner, job))
        if begun is None:  # cancelled before it began, ended, or gone with its tenant
            await self._settle(owner, job, Ending("cancelled"))
            return
        with traced():
            event(_logger, "job begun", tenant=owner.id, job=job, task=begun.task, attempt=begun.attempts)
            await self._run(JobAttempt(owner, job, begun.attempts), begun, ended_by)

    async def _run(self, attempt: JobAttempt, job: Job, ended_by: Callable[[], EndedBy]) -> None:
        progress = Progress(self.database, attempt)

        async def others_wait() -> bool:
            async with self.database.transaction(NO_TENANT) as connection:
                return await queries.unbegun(connection, [job.task])

        work = Work(attempt.tenant, job.owner, job.id, job.subject, job.attempts, progress.report, others_wait)
        try:
            async with progress.writing():
                try:
                    await self.tasks[job.task].run(work)
                finally:
                    work.stopping.set()
        except asyncio.CancelledError:
            await self._interrupted(attempt, ended_by())
        except Yielded:
            if await self._put_back(attempt) is None:
                await self._end(attempt, Ending("cancelled"))
            else:
                raise RetryLater(YIELD_SECONDS) from None
        except TEMPORARY as error:
            await self._put_off(attempt, error)
        except ThresherError as error:
            await self._end(attempt, Ending("failed", mask_text(error.message), error.hint))
        except Exception as error:  # an unexpected error ends the job, not the worker
            _logger.exception("job failed")
            what = f"Something unexpected went wrong: {type(error).__name__}: {error}"
            await self._end(attempt, Ending("failed", mask_text(what), _REPORT))
        else:
            await self._end(attempt, Ending("done"))

    async def _interrupted(self, attempt: JobAttempt, by: EndedBy) -> None:
        if by == "worker" and await self._put_back(attempt) is not None:
            raise RetryLater(0)
        if by == "nobody":  # a task that cancels itself would be attempted again and again
            await self._end(attempt, Ending("failed", "The job was cancelled from within.", _REPORT))
        else:
            await self._end(attempt, Ending("cancelled"))

    async def _put_off(self, attempt: JobAttempt, error: ThresherError) -> None:
        failures = await self._put_back(attempt, error)
        if failures is None:
            await self._end(attempt, Ending("cancelled"))
        elif failures >= MOST_FAILURES:
            await self._settle(attempt.tenant, attempt.job, Ending("failed", mask_text(error.message), error.hint))
        else:
            fields = {"job": attempt.job, "failures": failures, "reason": CallerText(error.message)}
            event(_logger, "job put off", level=logging.WARNING, **fields)
            raise RetryLater(FIRST_PAUSE * 4 ** (failures - 1)) from error

    async def _put_back(self, attempt: JobAttempt, error: ThresherError | None = None) -> int | None:
        reason = Ending("waiting") if error is None else Ending("waiting", mask_text(error.message), error.hint)
        return await run_retrying(
            self.database,
            attempt.tenant,
            lambda connection: queries.put_back(connection, attempt, failed=error is not None, reason=reason),
        )

    async def _settle(self, tenant: Tenant, job: int, ending: Ending) -> None:
        await run_retrying(self.database, tenant, lambda connection: queries.settle(connection, tenant, job, ending))

    async def _end(self, attempt: JobAttempt, ending: Ending) -> None:
        await run_retrying(self.database, attempt.tenant, lambda connection: queries.end(connection, attempt, ending))
        event(_logger, "job ended", tenant=attempt.tenant.id, job=attempt.job, state=ending.state)


WRITE_SECONDS: Final = 0.3
"""Interval between two writes of a job's progress."""

_State = tuple[str, int, int]


class Progress:
    """The progress of one attempt; reporting never waits, and progress is written a few times a second.

    Args:
        database: The database of the jobs.
        attempt: The attempt.
    """

    def __init__(self, database: Database, attempt: JobAttempt) -> None:
        self._database = database
        self._attempt = attempt
        self._reported: _State | None = None
        self._written: _State | None = None

    def report(self, phase: str, done: int, total: int) -> None:
        """Report the phase, its completed part and its size (0 if unknown); callable from any thread."""
        self._reported = (phase, done, total)

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """Write reported progress for as long as the block lasts."""
        writer = asyncio.create_task(self._keep_writing())
        try:
            yield
        finally:
            writer.cancel()
            await asyncio.wait([writer])
            await self._write()

    async def _keep_writing(self) -> None:
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            await self._write()

    async def _write(self) -> None:
        state = self._reported
        if state is None or state == self._written:
            return
        try:
            async with self._database.transaction(self._attempt.tenant) as connection:
                await queries.report(connection, self._attempt, *state)
        except StoreUnavailable as error:  # the next write, or the end of the job, makes up for it
            event(_logger, "progress not written", level=logging.DEBUG, job=self._attempt.job, reason=str(error))
        else:
            self._written = state
