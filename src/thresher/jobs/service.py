"""Deferring and following jobs: defer, find, list, cancel, follow.

Invariant: a job is deferred inside the transaction of the row that it is about, so that both exist or neither does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Conflict, NotAllowed, NotFound, Tenant, check_limit
from thresher.jobs import queries
from thresher.jobs.models import Job
from thresher.store import Database, run_retrying

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
