"""This process's sign of life: a lock in the database that goes the moment the process does.

Invariant: a number stands for one process at a time, and its end is known at once, without waiting for a clock.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Final

import psycopg

from thresher.agent.threads.queries import LOCK_CLASS
from thresher.core import StoreUnavailable
from thresher.store import connect_watched

_TRY: Final = "select pg_try_advisory_lock(%s::int, %s::int)"


class Life:
    """One connection of its own, opened at the first turn, that holds the lock of the process's number.

    Args:
        address: libpq address of the database.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: psycopg.AsyncConnection | None = None
        self._number = 0
        self._opening = asyncio.Lock()

    async def number(self) -> int:
        """The number that this process lives under.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        async with self._opening:
            if self._connection is None:
                await self._begin()
            return self._number

    async def _begin(self) -> None:
        connection = await connect_watched(self._address)
        try:
            self._number = await _own_number(connection)
        except BaseException as error:
            await asyncio.shield(connection.close())
            if isinstance(error, psycopg.OperationalError):
                raise StoreUnavailable(f"The database was lost: {error}", hint="Retry.") from error
            raise
        self._connection = connection

    async def drop(self, number: int) -> None:
        """Live under another number from now on: this one was lost, or stands for turns that could not be ended."""
        async with self._opening:
            if number == self._number:
                await self._close()

    async def close(self) -> None:
        """Live no longer."""
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        connection, self._connection, self._number = self._connection, None, 0
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


async def _own_number(connection: psycopg.AsyncConnection) -> int:
    while True:
        number = random.randint(1, 2**31 - 1)  # noqa: S311 - the lock makes it unique, hides nothing
        row = await (await connection.execute(_TRY, (LOCK_CLASS, number))).fetchone()
        if row is not None and row[0]:
            return number
