"""How far a job is: told by its task as often as it likes, written a few times a second.

Invariant: telling never waits; what was told last is written before the job ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from thresher.core import StoreUnavailable, event
from thresher.jobs import queries
from thresher.jobs.queries import Attempt
from thresher.store import Database

_logger = logging.getLogger("thresher.jobs")

WRITE_SECONDS: Final = 0.3
"""Between two writes of one job's progress."""

_Said = tuple[str, int, int]


class Progress:
    """The progress of one attempt.

    Args:
        database: Where it is written.
        attempt: Whose progress it is.
    """

    def __init__(self, database: Database, attempt: Attempt) -> None:
        self._database = database
        self._attempt = attempt
        self._said: _Said | None = None
        self._written: _Said | None = None

    def report(self, phase: str, done: int, total: int) -> None:
        """Tell the phase, how much of it is through and how much there is (0: not known); from any thread."""
        self._said = (phase, done, total)

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """Write what is told for as long as the block lasts."""
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
        said = self._said
        if said is None or said == self._written:
            return
        try:
            async with self._database.transaction(self._attempt.tenant) as connection:
                await queries.report(connection, self._attempt, *said)
        except StoreUnavailable as error:  # the next write, or the job's end, tells
            event(_logger, "progress not written", level=logging.DEBUG, job=self._attempt.job, reason=str(error))
        else:
            self._written = said
