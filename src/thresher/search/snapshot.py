"""A read-only copy of one collection's vectors, and exact scores from it.

Invariant: a snapshot belongs to one tenant, kind and model, was read under that tenant's row-level security, and never
changes; a newer state is a new snapshot. What it claims as its version was read before its rows, so that rows may be
newer than the claim and never older.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.search.arrays import Floats, Ids
from thresher.search.bm25 import rows_of
from thresher.search.profiles import Profile, groups_of

EVERYBODY = -1
"""Owner code of an item that all users of the tenant may find."""

_BLOCK = 80
"""Vectors a matrix product: few enough that BLAS keeps it on one thread for any number of queries that we allow."""
_MANY = 32_768
"""Vectors, 50 MB at 384 dimensions, from which memory is the bound and two threads read faster than one."""
_beside = ThreadPoolExecutor(2, thread_name_prefix="thresher-products")


@dataclass(slots=True, eq=False)
class Room:
    """Memory for more vectors than there are.

    Attributes:
        vectors: float32 (capacity, dimension).
        used: How many are taken, by whichever snapshot has most of them.
    """

    vectors: Floats
    used: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Items as they were read: the changed ones, or all.

    Attributes:
        ids: int64 (n,), sorted.
        owners: One user name, or None, an item.
        facets: One set of labels an item.
        slots: What each item wants to be given, packed.
        vector_ids: int64 (m,), sorted: which item each vector belongs to.
        vectors: float32 (m, dimension).
        room: Where the vectors lie, if there is room behind them.
    """

    ids: Ids
    owners: Sequence[str | None]
    facets: Sequence[frozenset[str]]
    slots: Sequence[str]
    vector_ids: Ids
    vectors: Floats
    room: Room | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The copy.

    Attributes:
        model: The encoder model of the vectors.
        version: The collection's version that it holds at least.
        rows: The items, with owners and facets as they were read.
        owner_codes: int32 (n,), index into `owner_names`, or EVERYBODY.
        owner_names: The users who own items.
        facet_rows: Label to the rows that carry it.
        groups: int64 (n,), a number for the group of each item; negative for none.
        starts: int64 (n,), first vector of each item that has vectors.
        holders: int64, rows of the items that have vectors.
    """

    model: str
    version: int
    rows: Rows
    owner_codes: NDArray[np.int32]
    owner_names: Mapping[str, int]
    facet_rows: Mapping[str, Ids]
    groups: Ids
    starts: Ids
    holders: Ids

    @property
    def nbytes(self) -> int:
        """Memory of the vectors and keys, in bytes (labels are shared strings and not counted)."""
        vectors = self.rows.vectors if self.rows.room is None else self.rows.room.vectors
        return vectors.nbytes + self.rows.vector_ids.nbytes + self.rows.ids.nbytes

    def allowed(self, user: str | None, facets: frozenset[str] | None) -> Ids | None:
        """Rows that a caller with this filter may see, sorted; None for all."""
        mask = None
        if self.owner_names:
            mask = self.owner_codes == EVERYBODY
            if user is not None and user in self.owner_names:
                mask |= self.owner_codes == self.owner_names[user]
        if facets is not None:
            labelled = np.zeros(len(self.rows.ids), np.bool_)
            for label in facets:
                labelled[self.facet_rows.get(label, np.empty(0, np.int64))] = True
            mask = labelled if mask is None else mask & labelled
        return None if mask is None else np.flatnonzero(mask)

    def scores(self, queries: Floats, rows: Ids | None = None) -> Floats:
        """Inner product of each query with each item's best vector.

        Args:
            queries: float32 (q, dimension).
            rows: int64 (n,), sorted, the items that are wanted; None for all.

        Returns:
            float32 (q, n); NaN for an item without vectors.
        """
        wanted = len(self.rows.ids) if rows is None else len(rows)
        out = np.full((len(queries), wanted), np.nan, np.float32)
        places, starts, vectors = self._vectors_of(rows)
        if not len(places):
            return out
        cells = products(queries, vectors)
        best = cells if len(starts) == cells.shape[1] else np.maximum.reduceat(cells, starts, axis=1)
        if len(places) == wanted:
            return best
        out[:, places] = best
        return out

    def _vectors_of(self, rows: Ids | None) -> tuple[Ids, Ids, Floats]:
        """The vectors of some items.

        Returns:
            Which of the wanted items have vectors; where the vectors of each begin; the vectors, not copied where they
            lie together.
        """
        if rows is None or len(rows) == len(self.rows.ids):
            return self.holders, self.starts, self.rows.vectors
        places, held = rows_of(rows, self.holders)
        ends = np.append(self.starts[1:], len(self.rows.vectors))
        sizes = ends[held] - self.starts[held]
        starts = np.cumsum(sizes) - sizes
        total = int(sizes.sum())
        if total and int(ends[held[-1]] - self.starts[held[0]]) == total:
            first = int(self.starts[held[0]])
            return places, starts, self.rows.vectors[first : first + total]
        taken = np.repeat(self.starts[held] - starts, sizes) + np.arange(total)
        return places, starts, self.rows.vectors[taken]


def products(queries: Floats, vectors: Floats) -> Floats:
    """Inner products on the calling thread, of very many vectors with one other beside it.

    A BLAS with threads of its own waits for all of them: on two busy cores it takes 20 to 40 ms for what one thread
    does in 1 ms (measured, 10,000 vectors of 384). numpy's einsum never uses them, and BLAS does not for small blocks.

    Args:
        queries: float32 (q, dimension).
        vectors: float32 (n, dimension).

    Returns:
        float32 (q, n).
    """
    if len(queries) == 1:
        query = queries[0]
        if len(vectors) < _MANY:
            return np.einsum("nd,d->n", vectors, query)[np.newaxis]
        half = len(vectors) // 2
        beside = _beside.submit(np.einsum, "nd,d->n", vectors[:half], query)
        behind = np.einsum("nd,d->n", vectors[half:], query)
        return np.concatenate([beside.result(), behind])[np.newaxis]
    whole = len(vectors) // _BLOCK * _BLOCK
    blocks = vectors[:whole].reshape(-1, _BLOCK, vectors.shape[1])
    head = np.matmul(blocks, queries.T).reshape(whole, len(queries)).T
    if whole == len(vectors):
        return np.ascontiguousarray(head)
    return np.concatenate([head, np.einsum("nd,qd->qn", vectors[whole:], queries)], axis=1)


def snapshot_of(model: str, version: int, rows: Rows, profile: Profile) -> Snapshot:
    """Index the rows of one collection."""
    names = sorted({owner for owner in rows.owners if owner is not None})
    codes = {name: code for code, name in enumerate(names)}
    owner_codes = np.fromiter(
        (EVERYBODY if owner is None else codes[owner] for owner in rows.owners), np.int32, len(rows.owners)
    )
    known, _ = rows_of(rows.vector_ids, rows.ids)
    if len(known) != len(rows.vector_ids):
        rows = replace(rows, vector_ids=rows.vector_ids[known], vectors=rows.vectors[known])
    with_vectors, starts = np.unique(rows.vector_ids, return_index=True)
    _, holders = rows_of(with_vectors, rows.ids)
    return Snapshot(
        model,
        version,
        rows,
        owner_codes,
        codes,
        _facet_rows(rows.facets),
        groups_of(profile, rows.facets),
        starts.astype(np.int64),
        holders,
    )


def merged(old: Snapshot, version: int, changed: Rows, living: Ids | None, profile: Profile) -> Snapshot:
    """The state after a delta.

    Args:
        old: The state before.
        version: The version read before the delta.
        changed: Items written since `old.version`, complete.
        living: int64, sorted ids of all items; None when none can have gone.
        profile: Of the kind.
    """
    keep = ~np.isin(old.rows.ids, changed.ids)
    if living is not None:
        keep &= np.isin(old.rows.ids, living)
    kept = np.flatnonzero(keep)
    kept_vectors = np.flatnonzero(np.isin(old.rows.vector_ids, old.rows.ids[kept]))
    ids = np.concatenate([old.rows.ids[kept], changed.ids])
    owners: list[str | None] = [*(old.rows.owners[row] for row in kept.tolist()), *changed.owners]
    facets: list[frozenset[str]] = [*(old.rows.facets[row] for row in kept.tolist()), *changed.facets]
    slots = [*(old.rows.slots[row] for row in kept.tolist()), *changed.slots]
    order: Ids = np.argsort(ids, kind="stable")
    vector_ids = np.concatenate([old.rows.vector_ids[kept_vectors], changed.vector_ids])
    vector_order = np.argsort(vector_ids, kind="stable")
    vectors = _stacked(old.rows.vectors[kept_vectors], changed.vectors)
    if not _is_sorted(vector_ids):
        vectors = vectors[vector_order]
    return snapshot_of(
        old.model,
        version,
        Rows(
            ids[order],
            [owners[int(place)] for place in order],
            [facets[int(place)] for place in order],
            [slots[int(place)] for place in order],
            vector_ids[vector_order],
            vectors,
        ),
        profile,
    )


def _stacked(above: Floats, below: Floats) -> Floats:
    if not len(below):
        return above
    return np.concatenate([above, below]) if len(above) else below


def _is_sorted(ids: Ids) -> bool:
    return bool(np.all(ids[1:] >= ids[:-1]))


def _facet_rows(facets: Sequence[frozenset[str]]) -> dict[str, Ids]:
    rows: dict[str, list[int]] = {}
    for row, labels in enumerate(facets):
        for label in labels:
            rows.setdefault(label, []).append(row)
    return {label: np.asarray(places, np.int64) for label, places in rows.items()}
