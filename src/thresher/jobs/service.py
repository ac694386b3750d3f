"""What can be asked about jobs: defer, find, list, cancel, follow.

Invariant: a job is deferred inside the transaction of the row that it is about, so that both live or neither does.
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
"""How often somebody who watches a job is told."""
LONGEST_LIST: Final = 1000
_NO_NUMBER: Final = 2**63


class Jobs:
    """The jobs of all tenants. Cheap to construct.

    Args:
        database: Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def defer(
        self, connection: AsyncConnection, tenant: Tenant, task: str, subject: int, *, owner: str | None = None
    ) -> Job:
        """Ask for work; a worker begins as soon as the transaction has ended well.

        Where the same is asked for already and has not begun, that job is given back.

        Args:
            connection: The transaction of the row that the work is about.
            tenant: Whose it is.
            task: What shall be done, such as `documents.index`.
            subject: Id of the row.
            owner: The user whose it is; None: the tenant's.
        """
        return await queries.ask(connection, tenant, owner, task, subject)

    async def withdraw(self, connection: AsyncConnection, tenant: Tenant, task: str, subject: int) -> tuple[Job, ...]:
        """Ask every open job of a task and subject to end, for a row that goes in the same transaction."""
        return await queries.cancel(connection, tenant, task=task, subject=subject)

    async def find(self, caller: Caller, job: int) -> Job:
        """One job.

        Raises:
            NotFound: There is none of this number that the caller may see.
        """
        found = None
        if 0 < job < _NO_NUMBER:
            async with self._database.transaction(caller.tenant) as connection:
                found = await queries.find(connection, caller, job)
        if found is None:
            raise NotFound(f"There is no job {job}.", hint="`thresher jobs list` shows those that there are.")
        return found

    async def list(
        self, caller: Caller, *, task: str | None = None, subject: int | None = None, limit: int = 50
    ) -> tuple[Job, ...]:
        """Jobs that the caller may see, the newest first.

        Args:
            caller: Who asks.
            task: Only those of this task.
            subject: Only those about this row.
            limit: Jobs at most, 1 to 1,000.

        Raises:
            InvalidInput: The limit is out of bounds.
        """
        check_limit(limit, LONGEST_LIST)
        async with self._database.transaction(caller.tenant) as connection:
            return await queries.list_jobs(connection, caller, task, subject, limit)

    async def cancel(self, caller: Caller, job: int) -> Job:
        """End a job: one that waits at once, one that runs as soon as its task gives way.

        Raises:
            NotFound: There is none of this number that the caller may see.
            NotAllowed: It is not the caller's.
            Conflict: It has ended.
        """
        standing = await self.find(caller, job)
        if caller.user is not None and standing.owner != caller.user:
            raise NotAllowed(f"Job {job} belongs to others.", hint="Only they, or the tenant as a whole, may end it.")

        async def work(connection: AsyncConnection) -> tuple[Job, ...]:
            return await queries.cancel(connection, caller.tenant, job=job)

        for cancelled in await run_retrying(self._database, caller.tenant, work):
            return cancelled
        ended = await self.find(caller, job)
        raise Conflict(f"Job {job} has ended: {ended.state}.", hint="There is nothing to cancel.")

    async def follow(self, caller: Caller, job: int, tell: Callable[[Job], None] | None = None) -> Job:
        """Wait until a job has ended.

        Args:
            caller: Who asks.
            job: Its number.
            tell: Given the job whenever it has changed, and at the end.

        Returns:
            The job as it ended.

        Raises:
            NotFound: There is none of this number that the caller may see, or it was removed.
        """
        before: Job | None = None
        while True:
            found = await self.find(caller, job)
            if tell is not None and found != before:
                tell(found)
            if found.ended:
                return found
            before = found
            await asyncio.sleep(FOLLOW_SECONDS)
