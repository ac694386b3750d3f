"""Reads a collection's rows for a snapshot.

Invariant: the version is read before the rows, and vectors arrive in bounded pieces.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.search import queries
from thresher.search.arrays import Floats, Ids, Row, run, vectors_of
from thresher.search.growth import grown
from thresher.search.profiles import profile_of
from thresher.search.snapshot import Rows, Snapshot, merged, snapshot_of

_PIECE = 4096
"""Items whose vectors travel at once: 6 MB at 384 dimensions and one vector an item."""


@dataclass(frozen=True, slots=True)
class Head:
    """A collection's state: the model that serves, the version, the number of items."""

    model: str
    version: int
    items: int


async def read_head(connection: AsyncConnection, kind: str) -> Head | None:
    """The state of a collection, or None for a kind that holds nothing."""
    rows = await run(connection, queries.HEAD, {"kind": kind})
    return Head(*rows[0]) if rows else None


async def vector_bytes(connection: AsyncConnection, kind: str, model: str) -> int:
    """Memory that the vectors of one model would take, in bytes."""
    rows = await run(connection, queries.VECTOR_BYTES, {"kind": kind, "model": model})
    return int(rows[0][0])


async def load(connection: AsyncConnection, kind: str, head: Head) -> Snapshot:
    """Read a whole collection."""
    rows = await _changed(connection, kind, head.model, -1)
    return await asyncio.to_thread(snapshot_of, head.model, head.version, rows, profile_of(kind))


async def refresh(connection: AsyncConnection, kind: str, head: Head, old: Snapshot) -> Snapshot:
    """Read what was written since a snapshot, and find out what has gone."""
    changed = await _changed(connection, kind, head.model, old.version)
    news = len(changed.ids) - np.count_nonzero(np.isin(changed.ids, old.rows.ids))
    living = None
    profile = profile_of(kind)
    if len(old.rows.ids) + news != head.items:
        living = (await run(connection, queries.ALL_IDS, {"kind": kind}))[0][0]
    elif (larger := await asyncio.to_thread(grown, old, head.version, changed, profile)) is not None:
        return larger
    return await asyncio.to_thread(merged, old, head.version, changed, living, profile)


async def _changed(connection: AsyncConnection, kind: str, model: str, since: int) -> Rows:
    rows = await run(connection, queries.CHANGED, {"kind": kind, "since": since})
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    vector_ids, vectors = await _vectors(connection, kind, model, ids)
    return Rows(ids, [row[1] for row in rows], _labels(rows), [row[3] for row in rows], vector_ids, vectors)


def _labels(rows: list[Row]) -> list[frozenset[str]]:
    """Facets an item; equal sets are one object, since thousands of items share a few."""
    known: dict[tuple[str, ...], frozenset[str]] = {}
    return [known.setdefault(tuple(row[2]), frozenset(row[2])) for row in rows]


async def _vectors(connection: AsyncConnection, kind: str, model: str, ids: Ids) -> tuple[Ids, Floats]:
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
