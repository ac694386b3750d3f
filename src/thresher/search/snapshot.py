"""A read-only copy of one collection's vectors, and exact scores from it.

Invariant: a snapshot belongs to one tenant, kind and model, was read under that tenant's row-level security, and never
changes; a newer state is a new snapshot. Its version was read before its rows, so rows may be newer than the version
and never older.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.search.lexical.bm25 import KindProfile, groups_of, rows_of
from thresher.search.records import Floats, Ids

EVERYBODY = -1
"""Owner code of an item that all users of the tenant may find."""

_BLOCK = 80
"""Vectors per matrix product: few enough that BLAS uses one thread for any number of queries that we allow."""
_MANY = 32_768
"""Vectors, 50 MB at 384 dimensions, from which memory bandwidth is the limit and two threads are faster than one."""
_product_threads = ThreadPoolExecutor(2, thread_name_prefix="thresher-products")


@dataclass(slots=True, eq=False)
class VectorBuffer:
    """Memory with room for more vectors.

    Attributes:
        vectors: float32 (capacity, dimension).
        used: How many rows are taken by the snapshot that has the most of them.
    """

    vectors: Floats
    used: int


@dataclass(frozen=True, slots=True)
class SnapshotRows:
    """Items as they were read: the changed ones, or all.

    Attributes:
        ids: int64 (n,), sorted.
        owners: One user name, or None, per item.
        facets: One set of labels per item.
        slots: The encoded arguments of each item.
        vector_ids: int64 (m,), sorted: the item of each vector.
        vectors: float32 (m, dimension).
        buffer: The memory of the vectors, if it has room behind them.
    """

    ids: Ids
    owners: Sequence[str | None]
    facets: Sequence[frozenset[str]]
    slots: Sequence[str]
    vector_ids: Ids
    vectors: Floats
    buffer: VectorBuffer | None = None


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    """The copy.

    Attributes:
        model: The encoder model of the vectors.
        version: The collection's version that it contains at least.
        rows: The items, with owners and facets as they were read.
        owner_codes: int32 (n,), index into `owner_names`, or EVERYBODY.
        owner_names: The users who own items.
        facet_rows: Label to the rows that carry it.
        groups: int64 (n,), the number of each item's group; negative for none.
        starts: int64 (n,), first vector of each item that has vectors.
        holders: int64, rows of the items that have vectors.
    """

    model: str
    version: int
    rows: SnapshotRows
    owner_codes: NDArray[np.int32]
    owner_names: Mapping[str, int]
    facet_rows: Mapping[str, Ids]
    groups: Ids
    starts: Ids
    holders: Ids

    @property
    def nbytes(self) -> int:
        """Memory of the vectors and keys, in bytes (labels are shared strings and not counted)."""
        vectors = self.rows.vectors if self.rows.buffer is None else self.rows.buffer.vectors
        return vectors.nbytes + self.rows.vector_ids.nbytes + self.rows.ids.nbytes

    def allowed(self, user: str | None, facets: frozenset[str] | None) -> Ids | None:
        """Return the rows that a caller with this filter may see, sorted; None for all."""
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
        """Compute the inner product of each query with each item's best vector.

        Args:
            queries: float32 (q, dimension).
            rows: int64 (n,), sorted, the items to score; None for all.

        Returns:
            float32 (q, n); NaN for an item without vectors.
        """
        wanted = len(self.rows.ids) if rows is None else len(rows)
        out = np.full((len(queries), wanted), np.nan, np.float32)
        places, starts, vectors = self.holders, self.starts, self.rows.vectors
        if rows is not None and len(rows) < len(self.rows.ids):
            places, held = rows_of(rows, self.holders)
            ends = np.append(self.starts[1:], len(self.rows.vectors))
            sizes = ends[held] - self.starts[held]
            starts = np.cumsum(sizes) - sizes
            total = int(sizes.sum())
            if total and int(ends[held[-1]] - self.starts[held[0]]) == total:  # contiguous: not copied
                first = int(self.starts[held[0]])
                vectors = self.rows.vectors[first : first + total]
            else:
                vectors = self.rows.vectors[np.repeat(self.starts[held] - starts, sizes) + np.arange(total)]
        if not len(places):
            return out
        cells = products(queries, vectors)
        best = cells if len(starts) == cells.shape[1] else np.maximum.reduceat(cells, starts, axis=1)
        if len(places) == wanted:
            return best
        out[:, places] = best
        return out


def products(queries: Floats, vectors: Floats) -> Floats:
    """Compute inner products on the calling thread; for very many vectors on a second thread too.

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
        beside = _product_threads.submit(np.einsum, "nd,d->n", vectors[:half], query)
        behind = np.einsum("nd,d->n", vectors[half:], query)
        return np.concatenate([beside.result(), behind])[np.newaxis]
    whole = len(vectors) // _BLOCK * _BLOCK
    blocks = vectors[:whole].reshape(-1, _BLOCK, vectors.shape[1])
    head = np.matmul(blocks, queries.T).reshape(whole, len(queries)).T
    if whole == len(vectors):
        return np.ascontiguousarray(head)
    return np.concatenate([head, np.einsum("nd,qd->qn", vectors[whole:], queries)], axis=1)


def snapshot_of(model: str, version: int, rows: SnapshotRows, profile: KindProfile) -> VectorSnapshot:
    """Build the snapshot of one collection from its rows."""
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
    return VectorSnapshot(
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


def merged(
    old: VectorSnapshot, version: int, changed: SnapshotRows, living: Ids | None, profile: KindProfile
) -> VectorSnapshot:
    """Return the state after a delta.

    Args:
        old: The state before.
        version: The version read before the delta.
        changed: Items written since `old.version`, complete.
        living: int64, sorted ids of all items; None if none can have been removed.
        profile: The profile of the kind.
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
        SnapshotRows(
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


_SPARE: Final = 8
"""An eighth of the used memory is kept free behind it."""
_LEAST: Final = 1024


@dataclass(frozen=True, slots=True)
class _Growth:
    """What a delta adds.

    Attributes:
        fresh: Positions in the changed rows of items that are new.
        holders: Rows of the items that got vectors, in the new order.
        starts: Where the vectors of each begin, in the new order.
    """

    fresh: Ids
    holders: Ids
    starts: Ids


def grown(old: VectorSnapshot, version: int, changed: SnapshotRows, profile: KindProfile) -> VectorSnapshot | None:
    """Return the state after a delta that only appends, without copying; None if it does more than append.

    While a repository is indexed, each batch appends items, and later vectors, behind all others. Rebuilding a
    snapshot of
    100,000 vectors takes a quarter of a second, which is longer than a search waits for it. The result equals the
    rebuilt
    snapshot. Only free memory behind the end of the old one is written, and by one successor only.

    Args:
        old: The state before.
        version: The version read before the delta.
        changed: Items written since `old.version`, complete; none was removed.
        profile: The profile of the kind.
    """
    if profile.group_prefix or not len(old.rows.ids) or (growth := _additions(old, changed)) is None:
        return None
    rows, fresh = old.rows, [int(place) for place in growth.fresh]
    vectors, buffer = _extended(rows, changed.vectors)
    labels = [changed.facets[place] for place in fresh]
    owners = [changed.owners[place] for place in fresh]
    codes = [EVERYBODY if owner is None else old.owner_names[owner] for owner in owners]
    return replace(
        old,
        version=version,
        rows=SnapshotRows(
            np.concatenate([rows.ids, changed.ids[growth.fresh]]),
            [*rows.owners, *owners],
            [*rows.facets, *labels],
            [*rows.slots, *(changed.slots[place] for place in fresh)],
            np.concatenate([rows.vector_ids, changed.vector_ids]),
            vectors,
            buffer,
        ),
        owner_codes=np.concatenate([old.owner_codes, np.array(codes, np.int32)]),
        facet_rows=_labelled(old, labels),
        groups=np.concatenate([old.groups, np.full(len(fresh), -1, np.int64)]),
        starts=np.concatenate([old.starts, growth.starts]),
        holders=np.concatenate([old.holders, growth.holders]),
    )


def _additions(old: VectorSnapshot, changed: SnapshotRows) -> _Growth | None:
    """What the delta appends; None if it does more than append."""
    known, at = rows_of(changed.ids, old.rows.ids)
    fresh = np.setdiff1d(np.arange(len(changed.ids)), known, assume_unique=True)
    ids = np.concatenate([old.rows.ids, changed.ids[fresh]])
    with_vectors, starts = np.unique(changed.vector_ids, return_index=True)
    _, holders = rows_of(with_vectors, ids)
    adds = (
        _follows(changed.ids[fresh], old.rows.ids)
        and _follows(holders, old.holders)
        and len(holders) == len(with_vectors)
        and not np.isin(at, old.holders).any()
        and all(_same(old.rows, int(row), changed, int(place)) for place, row in zip(known, at, strict=True))
        and all(owner is None or owner in old.owner_names for owner in changed.owners)
    )
    return _Growth(fresh, holders, starts.astype(np.int64) + len(old.rows.vectors)) if adds else None


def _follows(later: Ids, earlier: Ids) -> bool:
    return not len(later) or not len(earlier) or bool(later[0] > earlier[-1])


def _same(rows: SnapshotRows, row: int, changed: SnapshotRows, place: int) -> bool:
    """Return whether an item is unchanged except for its vectors."""
    return (rows.owners[row], rows.facets[row], rows.slots[row]) == (
        changed.owners[place],
        changed.facets[place],
        changed.slots[place],
    )


def _labelled(old: VectorSnapshot, labels: list[frozenset[str]]) -> dict[str, Ids]:
    more: dict[str, list[int]] = {}
    for row, found in enumerate(labels, start=len(old.rows.ids)):
        for label in found:
            more.setdefault(label, []).append(row)
    rows = dict(old.facet_rows)
    for label, added in more.items():
        places = np.array(added, np.int64)
        rows[label] = np.concatenate([rows[label], places]) if label in rows else places
    return rows


def _extended(rows: SnapshotRows, more: Floats) -> tuple[Floats, VectorBuffer | None]:
    """The vectors with others appended, in the free memory behind them if no other snapshot took it."""
    vectors, have, need = rows.vectors, len(rows.vectors), len(rows.vectors) + len(more)
    if not len(more):
        return vectors, rows.buffer
    if not have:
        return more, None
    buffer = rows.buffer
    if buffer is None or buffer.used != have or need > len(buffer.vectors):
        buffer = VectorBuffer(np.empty((need + max(need // _SPARE, _LEAST), vectors.shape[1]), np.float32), have)
        buffer.vectors[:have] = vectors
    buffer.vectors[have:need] = more
    buffer.used = need
    return buffer.vectors[:need], buffer
