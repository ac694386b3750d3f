"""A worker's sign of life: a lock in the database that goes the moment the worker does.

Invariant: a worker that has lost its lock takes no further job and ends; what it had in hand may be another's already.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg

from thresher.core import StoreUnavailable
from thresher.jobs.queries import LOCK_CLASS
from thresher.store import connect_watched


class Life:
    """One connection that holds the worker's lock.

    Attributes:
        worker: The worker's number in the queue; 0 before it has one.
    """

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection
        self._held = asyncio.Event()
        self.worker = 0

    async def hold(self, worker: int) -> None:
        """Be the living worker of this number."""
        await self._connection.execute("select pg_advisory_lock(%s::int, %s::int)", (LOCK_CLASS, worker))
        self.worker = worker
        self._held.set()

    async def lost(self) -> None:
        """Wait until the lock is held, and then until the connection breaks.

        Raises:
            StoreUnavailable: It broke.
        """
        await self._held.wait()  # who waits for notifications keeps everybody else from the connection
        try:
            async for _ in self._connection.notifies():
                pass
        except psycopg.Error as error:
            raise StoreUnavailable("The worker has lost its database.", hint="It is started again.") from error


@asynccontextmanager
async def living(url: str) -> AsyncGenerator[Life]:
    """Connect for as long as the block lasts.

    Raises:
        StoreUnavailable: The database cannot be reached.
    """
    async with await connect_watched(url) as connection:
        yield Life(connection)
