"""Writes the log of discoveries behind the answers.

Invariant: an answer never waits for its log row, unless very many are under way; `settle` returns when all are written.
"""

from __future__ import annotations

import asyncio
import logging

from thresher.core import Caller, ThresherError, event
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import Catalogue, Catalogues
from thresher.knowledge.tools.queries import Discovery
from thresher.store import Database

logger = logging.getLogger("thresher.knowledge")

_MOST = 64
"""Rows under way before answers wait for one: a burst stays within this memory, and within the pool's patience."""


class DiscoveryLog:
    """One row for each `find_tools`; each also tells whether the caller's snapshot is still the newest."""

    def __init__(self, database: Database, catalogues: Catalogues) -> None:
        self._database = database
        self._catalogues = catalogues
        self._under_way: set[asyncio.Task[None]] = set()

    async def add(self, caller: Caller, catalogue: Catalogue, record: Discovery) -> None:
        """Have a row written."""
        while len(self._under_way) >= _MOST:
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.create_task(self._write(caller, catalogue, record))
        self._under_way.add(task)
        task.add_done_callback(self._written)

    async def settle(self) -> None:
        """Wait until every row is written, or given up with a warning."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("discovery_not_logged", exc_info=error)

    async def _write(self, caller: Caller, catalogue: Catalogue, record: Discovery) -> None:
        try:
            version = await queries.log_discovery(self._database, caller, record)
        except ThresherError as error:
            event(logger, "discovery_not_logged", level=logging.WARNING, reason=error.message)
            return
        if version is not None:
            self._catalogues.confirm(caller, catalogue, version)
