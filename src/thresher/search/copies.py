"""Keeps snapshots: one for each tenant and kind, within a bound of memory over all tenants.

Invariant: a snapshot is only ever handed to the tenant and kind that it was read for; together they take no more than
the bound; one task at a time reads a collection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from sqlalchemy.exc import SQLAlchemyError

from thresher.core import StoreError, Tenant, event
from thresher.search import loading
from thresher.search.snapshot import Snapshot
from thresher.store import Database

_logger = logging.getLogger("thresher.search")
_PATIENCE_SECONDS = 0.05
"""How long a search waits for a delta before it asks PostgreSQL for the scores instead; about what that would cost."""

Key = tuple[int, str]


class Copies:
    """Snapshots by tenant and kind, the least recently used ones leaving first."""

    def __init__(self, database: Database, limit_bytes: int) -> None:
        self._database = database
        self._limit = limit_bytes
        self._kept: OrderedDict[Key, Snapshot] = OrderedDict()
        self._reading: dict[Key, asyncio.Task[None]] = {}
        self._too_large: dict[Key, int] = {}

    @property
    def nbytes(self) -> int:
        """Memory that all snapshots take together."""
        return sum(snapshot.nbytes for snapshot in self._kept.values())

    def peek(self, tenant: Tenant, kind: str) -> Snapshot | None:
        """The snapshot as it is, perhaps out of date."""
        return self._kept.get((tenant.id, kind))

    async def current(self, tenant: Tenant, kind: str, model: str, version: int) -> Snapshot | None:
        """The snapshot that holds at least this version; None where PostgreSQL must answer.

        A missing one is read in the background. One that is behind is brought up to date, and waited for briefly.

        Args:
            tenant: Whose collection.
            kind: Which collection.
            model: The model that serves now.
            version: The collection's version now.
        """
        key = (tenant.id, kind)
        if self._limit <= 0 or self._too_large.get(key, -1) >= version:
            return None
        if fresh := self._fresh(key, model, version):
            return fresh
        waiting = self._start(tenant, kind)
        if key in self._kept:
            await asyncio.wait([waiting], timeout=_PATIENCE_SECONDS)
        return self._fresh(key, model, version)

    async def settle(self) -> None:
        """Wait until nothing is being read."""
        while self._reading:
            await asyncio.wait(list(self._reading.values()))

    async def close(self) -> None:
        """Stop reading and let all snapshots go."""
        tasks = list(self._reading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._kept.clear()

    def _fresh(self, key: Key, model: str, version: int) -> Snapshot | None:
        snapshot = self._kept.get(key)
        if snapshot is None or snapshot.model != model or snapshot.version < version:
            return None
        self._kept.move_to_end(key)
        return snapshot

    def _start(self, tenant: Tenant, kind: str) -> asyncio.Task[None]:
        key = (tenant.id, kind)
        if (running := self._reading.get(key)) is not None:
            return running
        task = asyncio.create_task(self._read(tenant, kind))
        self._reading[key] = task
        task.add_done_callback(lambda _: self._reading.pop(key, None))
        return task

    async def _read(self, tenant: Tenant, kind: str) -> None:
        key = (tenant.id, kind)
        try:
            async with self._database.transaction(tenant) as connection:
                head = await loading.read_head(connection, kind)
                if head is None:
                    self._kept.pop(key, None)
                    return
                old = self._kept.get(key)
                if old is not None and old.model == head.model:
                    snapshot = await loading.refresh(connection, kind, head, old)
                elif await loading.vector_bytes(connection, kind, head.model) > self._limit:
                    self._refuse(key, head.version)
                    return
                else:
                    snapshot = await loading.load(connection, kind, head)
        except (StoreError, SQLAlchemyError, OSError) as error:
            event(_logger, "copy not read", level=logging.WARNING, kind=kind, tenant=tenant.id, error=str(error))
            return
        self._keep(key, snapshot)

    def _keep(self, key: Key, snapshot: Snapshot) -> None:
        self._kept.pop(key, None)
        if snapshot.nbytes > self._limit:
            self._refuse(key, snapshot.version)
            return
        while self._kept and self.nbytes + snapshot.nbytes > self._limit:
            self._kept.popitem(last=False)
        self._kept[key] = snapshot

    def _refuse(self, key: Key, version: int) -> None:
        self._kept.pop(key, None)
        self._too_large[key] = version
        event(_logger, "copy too large", kind=key[1], tenant=key[0], limit_bytes=self._limit)
