"""Reads snapshots: a whole collection, or what was written since a snapshot.

Invariant: everything is read in one transaction of the collection's tenant, its version before its rows.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.search import queries
from thresher.search.lexical.bm25 import profile_of
from thresher.search.queries import Row, run, vectors_of
from thresher.search.records import Floats, Ids
from thresher.search.snapshot import SnapshotRows, VectorSnapshot, grown, merged, snapshot_of
from thresher.store import Database

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
