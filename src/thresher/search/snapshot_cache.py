"""Snapshots in memory: one per tenant and kind, within one memory limit for all tenants.

Invariant: a snapshot is only returned for the tenant and kind that it was read for; one task at a time reads a
collection, its version before its rows.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import StoreError, Tenant, event
from thresher.search import queries
from thresher.search.lexical.profiles import profile_of
from thresher.search.queries import Row, run, vectors_of
from thresher.search.records import Floats, Ids
from thresher.search.snapshot import SnapshotRows, VectorSnapshot, grown, merged, snapshot_of
from thresher.store import Database

_logger = logging.getLogger("thresher.search")
_PATIENCE_SECONDS = 0.05
"""How long a search waits for a delta before it asks PostgreSQL for the scores instead; about what that would
cost."""

Key = tuple[int, str]


class SnapshotCache:
    """Snapshots by tenant and kind; the least recently used ones are dropped first."""

    def __init__(self, database: Database, limit_bytes: int) -> None:
        self._database = database
        self._limit = limit_bytes
        self._kept: LRUCache[Key, VectorSnapshot] = LRUCache(max(limit_bytes, 0), lambda snapshot: snapshot.nbytes)
        self._reading: dict[Key, asyncio.Task[None]] = {}
        self._too_large: dict[Key, int] = {}

    @property
    def nbytes(self) -> int:
        """Memory that all snapshots take together."""
        return int(self._kept.currsize)

    def peek(self, tenant: Tenant, kind: str) -> VectorSnapshot | None:
        """Return the snapshot as it is, possibly out of date."""
        return self._kept.get((tenant.id, kind))

    async def current(self, tenant: Tenant, kind: str, model: str, version: int) -> VectorSnapshot | None:
        """Return a snapshot of at least this version; None if PostgreSQL must answer.

        A missing one is read in the background. An outdated one is updated, and the caller waits briefly for it.

        Args:
            tenant: The tenant of the collection.
            kind: The collection.
            model: The model in use now.
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
        """Stop reading and drop all snapshots."""
        tasks = list(self._reading.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._kept.clear()

    def _fresh(self, key: Key, model: str, version: int) -> VectorSnapshot | None:
        snapshot = self._kept.get(key)
        if snapshot is None or snapshot.model != model or snapshot.version < version:
            return None
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
                head = await read_head(connection, kind)
                if head is None:
                    self._kept.pop(key, None)
                    return
                old = self._kept.get(key)
                if old is not None and old.model == head.model:
                    snapshot = await refresh(connection, kind, head, old)
                elif await vector_bytes(connection, kind, head.model) > self._limit:
                    self._refuse(key, head.version)
                    return
                else:
                    snapshot = await load(connection, kind, head)
        except (StoreError, SQLAlchemyError, OSError) as error:
            event(_logger, "copy not read", level=logging.WARNING, kind=kind, tenant=tenant.id, error=str(error))
            return
        self._keep(key, snapshot)

    def _keep(self, key: Key, snapshot: VectorSnapshot) -> None:
        if snapshot.nbytes > self._limit:
            self._refuse(key, snapshot.version)
        else:
            self._kept[key] = snapshot

    def _refuse(self, key: Key, version: int) -> None:
        self._kept.pop(key, None)
        self._too_large[key] = version
        event(_logger, "copy too large", kind=key[1], tenant=key[0], limit_bytes=self._limit)


_PIECE = 4096
"""Items whose vectors are fetched at once: 6 MB at 384 dimensions and one vector per item."""


@dataclass(frozen=True, slots=True)
class CollectionHead:
    """A collection's state: the model in use, the version, the number of items."""

    model: str
    version: int
    items: int


async def read_head(connection: AsyncConnection, kind: str) -> CollectionHead | None:
    """Return the state of a collection; None for an empty kind."""
    rows = await run(connection, queries.HEAD, {"kind": kind})
    return CollectionHead(*rows[0]) if rows else None


async def vector_bytes(connection: AsyncConnection, kind: str, model: str) -> int:
    """Return the memory that the vectors of one model would take, in bytes."""
    rows = await run(connection, queries.VECTOR_BYTES, {"kind": kind, "model": model})
    return int(rows[0][0])


async def load(connection: AsyncConnection, kind: str, head: CollectionHead) -> VectorSnapshot:
    """Read a whole collection."""
    rows = await _changed(connection, kind, head.model, -1)
    return await asyncio.to_thread(snapshot_of, head.model, head.version, rows, profile_of(kind))


async def read_snapshot(database: Database, tenant: Tenant, kind: str) -> VectorSnapshot | None:
    """Read a whole collection as it is now, beside what is cached; None for an empty kind."""
    async with database.transaction(tenant) as connection:
        head = await read_head(connection, kind)
        return None if head is None else await load(connection, kind, head)


async def refresh(connection: AsyncConnection, kind: str, head: CollectionHead, old: VectorSnapshot) -> VectorSnapshot:
    """Read what was written since a snapshot, and find out what was removed."""
    changed = await _changed(connection, kind, head.model, old.version)
    news = len(changed.ids) - np.count_nonzero(np.isin(changed.ids, old.rows.ids))
    living = None
    profile = profile_of(kind)
    if len(old.rows.ids) + news != head.items:
        living = (await run(connection, queries.ALL_IDS, {"kind": kind}))[0][0]
    elif (larger := await asyncio.to_thread(grown, old, head.version, changed, profile)) is not None:
        return larger
    return await asyncio.to_thread(merged, old, head.version, changed, living, profile)


async def _changed(connection: AsyncConnection, kind: str, model: str, since: int) -> SnapshotRows:
    rows = await run(connection, queries.CHANGED, {"kind": kind, "since": since})
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    vector_ids, vectors = await read_vectors(connection, kind, model, ids)
    return SnapshotRows(ids, [row[1] for row in rows], _labels(rows), [row[3] for row in rows], vector_ids, vectors)


def _labels(rows: list[Row]) -> list[frozenset[str]]:
    """The facets of each item; equal sets are one object, since thousands of items share a few."""
    known: dict[tuple[str, ...], frozenset[str]] = {}
    return [known.setdefault(tuple(row[2]), frozenset(row[2])) for row in rows]


async def read_vectors(connection: AsyncConnection, kind: str, model: str, ids: Ids) -> tuple[Ids, Floats]:
    """Read the vectors of some items, each after its item's number."""
    holders: list[Ids] = []
    vectors: list[Floats] = []
    for first in range(0, len(ids), _PIECE):
        piece = ids[first : first + _PIECE].tolist()
        found = await run(connection, queries.VECTORS, {"kind": kind, "model": model, "ids": piece})
        owners, dimension, packed = found[0]
        if len(owners):
            holders.append(owners)
            vectors.append(vectors_of(packed, dimension))
    if not holders:
        return np.empty(0, np.int64), np.empty((0, 0), np.float32)
    return np.concatenate(holders), np.concatenate(vectors)
