"""One attempt at a job: its row, its task, and how it ends.

Invariant: the row tells how an attempt ended before the queue does; an attempt at a job that has ended does nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from thresher.core import (
    EncoderError,
    Said,
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
from thresher.jobs.models import Job, Task, Work
from thresher.jobs.progress import Progress
from thresher.jobs.queries import Attempt, Ending
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.jobs")

PASSING: Final = (StoreUnavailable, EncoderError, SourceUnavailable, UpstreamTimeout)
"""Errors that may be gone the next time."""
MOST_FAILURES: Final = 5
"""How often such an error puts a job off before it fails."""
_REPORT: Final = "Please report it; the log holds the details."
EndedBy: TypeAlias = Literal["person", "worker", "nobody"]

FIRST_PAUSE: Final = 2.0
"""Seconds until it is tried again after the first; four times as long after each further one."""


class Later(Exception):
    """The job waits again.

    Args:
        seconds: For how long at least.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Attempts:
    """Begins jobs.

    Attributes:
        database: Where their rows are.
        tasks: What can be done, by name.
    """

    database: Database
    tasks: Mapping[str, Task]

    async def run(self, tenant: int, job: int, ended_by: Callable[[], EndedBy]) -> None:
        """Run a job's task to its end.

        Args:
            tenant: Whose job it is.
            job: Its number.
            ended_by: Who cancelled the attempt: somebody who asked the job to end, the worker that ends, or nobody.

        Raises:
            Later: It is to be tried again.
            StoreUnavailable: How it ended could not be written.
        """
        whose = Tenant(tenant, "")
        try:
            await self._begin(whose, job, ended_by)
        except asyncio.CancelledError:  # between its beginning and its task
            if ended_by() == "worker":
                raise Later(0) from None
            await self._settle(whose, job, Ending("cancelled"))

    async def _begin(self, tenant: Tenant, job: int, ended_by: Callable[[], EndedBy]) -> None:
        async with self.database.transaction(tenant) as connection:
            whose = Tenant(tenant.id, await queries.tenant_name(connection, tenant.id))
        begun = await run_retrying(self.database, whose, lambda connection: queries.begin(connection, whose, job))
        if begun is None:  # asked to end before it began, ended, or gone with its tenant
            await self._settle(whose, job, Ending("cancelled"))
            return
        with traced():
            event(_logger, "job begun", tenant=whose.id, job=job, task=begun.task, attempt=begun.attempts)
            await self._run(Attempt(whose, job, begun.attempts), begun, ended_by)

    async def _run(self, attempt: Attempt, job: Job, ended_by: Callable[[], EndedBy]) -> None:
        progress = Progress(self.database, attempt)
        work = Work(attempt.tenant, job.owner, job.id, job.subject, job.attempts, progress.report)
        try:
            async with progress.writing():
                try:
                    await self.tasks[job.task].run(work)
                finally:
                    work.stopping.set()
        except asyncio.CancelledError:
            await self._interrupted(attempt, ended_by())
        except PASSING as error:
            await self._put_off(attempt, error)
        except ThresherError as error:
            await self._end(attempt, Ending("failed", mask_text(error.message), error.hint))
        except Exception as error:  # whatever a task meets ends its job, not the worker
            _logger.exception("job failed")
            what = f"Something unexpected went wrong: {type(error).__name__}: {error}"
            await self._end(attempt, Ending("failed", mask_text(what), _REPORT))
        else:
            await self._end(attempt, Ending("done"))

    async def _interrupted(self, attempt: Attempt, by: EndedBy) -> None:
        if by == "worker" and await self._put_back(attempt) is not None:
            raise Later(0)
        if by == "nobody":  # a task that cancels itself would be begun again for ever
            await self._end(attempt, Ending("failed", "The job was cancelled from within.", _REPORT))
        else:
            await self._end(attempt, Ending("cancelled"))

    async def _put_off(self, attempt: Attempt, error: ThresherError) -> None:
        failures = await self._put_back(attempt, error)
        if failures is None:
            await self._end(attempt, Ending("cancelled"))
        elif failures >= MOST_FAILURES:
            await self._settle(attempt.tenant, attempt.job, Ending("failed", mask_text(error.message), error.hint))
        else:
            fields = {"job": attempt.job, "failures": failures, "reason": Said(error.message)}
            event(_logger, "job put off", level=logging.WARNING, **fields)
            raise Later(FIRST_PAUSE * 4 ** (failures - 1)) from error

    async def _put_back(self, attempt: Attempt, error: ThresherError | None = None) -> int | None:
        reason = Ending("waiting") if error is None else Ending("waiting", mask_text(error.message), error.hint)
        return await run_retrying(
            self.database,
            attempt.tenant,
            lambda connection: queries.put_back(connection, attempt, failed=error is not None, reason=reason),
        )

    async def _settle(self, tenant: Tenant, job: int, ending: Ending) -> None:
        await run_retrying(self.database, tenant, lambda connection: queries.settle(connection, tenant, job, ending))

    async def _end(self, attempt: Attempt, ending: Ending) -> None:
        await run_retrying(self.database, attempt.tenant, lambda connection: queries.end(connection, attempt, ending))
        event(_logger, "job ended", tenant=attempt.tenant.id, job=attempt.job, state=ending.state)
