"""Reads what a search needs: the collection's state with its postings, and every item's dense score.

Invariant: a filter is applied before anything is ranked or cut, so that it never loses a hit; the copy in the process
and PostgreSQL give the same universe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.core import Caller
from thresher.search import queries
from thresher.search.arrays import Floats, Ids, run, vector_texts
from thresher.search.bm25 import Postings, Totals
from thresher.search.copies import Copies
from thresher.search.records import Filter
from thresher.search.snapshot import Snapshot
from thresher.store import Database

POSTING_BUDGET = 50_000
"""Postings that one search reads: about 15 ms. The commonest terms go beyond it, and say least: collections up to some
5,000 items never reach it."""
_LOOP_PRODUCTS = 400_000
"""Products (vectors times pieces) that are worked out on the event loop; more go to a thread. About 15 ms."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A collection as one statement saw it.

    Attributes:
        model: The model whose vectors serve; empty while there are none.
        version: Raised by every write.
        totals: For BM25.
        postings: Term to postings, for the query's terms that occur.
        snapshot: The copy in the process, when it holds this version.
    """

    model: str
    version: int
    totals: Totals
    postings: dict[str, Postings]
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Universe:
    """Every item that the caller may see under the filter.

    Attributes:
        ids: int64 (n,), sorted.
        dense: float32 (phrases, n), NaN for an item without vectors; None where the dense arm did not run.
    """

    ids: Ids
    dense: Floats | None


NOTHING = Reading("", -1, Totals(0, 0.0), {})
"""The reading of a kind that holds nothing."""
NOBODY = Universe(np.empty(0, np.int64), None)
"""The universe of a kind that holds nothing."""


class Reader:
    """Reads collections, from copies where they are current."""

    def __init__(self, database: Database, copies: Copies) -> None:
        self._database = database
        self._copies = copies

    async def read(self, caller: Caller, kind: str, terms: Sequence[str]) -> Reading:
        """The state of a collection and the postings of some terms, rarest first within the budget."""
        parameters = {"kind": kind, "terms": list(terms), "user": caller.user, "budget": POSTING_BUDGET}
        async with self._database.transaction(caller.tenant) as connection:
            rows = await run(connection, queries.READ, parameters)
        if not rows:
            return NOTHING
        model, version, items, total_length = rows[0][:4]
        postings = {row[4]: Postings(row[5], row[6], row[7], row[8]) for row in rows if row[4] is not None}
        reading = Reading(model, version, Totals(items, total_length), postings)
        if not model:
            return reading
        return replace(reading, snapshot=await self._copies.current(caller.tenant, kind, model, version))

    async def universe(
        self,
        caller: Caller,
        kind: str,
        reading: Reading,
        allowed: Filter,
        vectors: Floats | None,
        phrase: Sequence[int],
    ) -> Universe:
        """The items that may be returned, with exact scores.

        Args:
            caller: Who asks.
            kind: Which collection.
            reading: Its state.
            allowed: The filter.
            vectors: float32 (pieces, dimension); None for no dense arm.
            phrase: The phrase of each piece.
        """
        if reading.snapshot is not None:
            return await from_snapshot(reading.snapshot, caller.user, allowed, vectors, phrase)
        facets = None if allowed.facets is None else sorted(allowed.facets)
        parameters: dict[str, object] = {"kind": kind, "user": caller.user, "facets": facets}
        async with self._database.transaction(caller.tenant) as connection:
            if vectors is None:
                rows = await run(connection, queries.LIVING, parameters)
                return Universe(rows[0][0], None)
            parameters |= {"model": reading.model, "vectors": vector_texts(vectors)}
            rows = await run(connection, queries.DENSE, parameters)
        if not rows:
            return Universe(np.empty(0, np.int64), np.empty((len(set(phrase)), 0), np.float32))
        return Universe(rows[0][0], best_of_pieces(np.stack([row[1] for row in rows]), phrase))

    async def facets(self, caller: Caller, kind: str, reading: Reading, ids: Ids) -> list[frozenset[str]]:
        """The labels of some items, in the order of `ids`; none for one that has just gone."""
        if reading.snapshot is not None:
            return reading.snapshot.facets_of(ids)
        async with self._database.transaction(caller.tenant) as connection:
            rows = await run(connection, queries.FACETS, {"kind": kind, "ids": ids.tolist()})
        labels = {row[0]: frozenset[str](row[1]) for row in rows}
        return [labels.get(number, frozenset()) for number in ids.tolist()]


async def from_snapshot(
    snapshot: Snapshot, user: str | None, allowed: Filter, vectors: Floats | None, phrase: Sequence[int]
) -> Universe:
    """The universe out of a copy."""
    rows = snapshot.allowed(user, allowed.facets)
    ids = snapshot.rows.ids if rows is None else snapshot.rows.ids[rows]
    if vectors is None:
        return Universe(ids, None)
    if len(vectors) * len(snapshot.rows.vectors) > _LOOP_PRODUCTS:
        scores = await asyncio.to_thread(snapshot.scores, vectors)
    else:
        scores = snapshot.scores(vectors)
    dense = best_of_pieces(scores, phrase)
    return Universe(ids, dense if rows is None else dense[:, rows])


def best_of_pieces(scores: NDArray[np.float32], phrase: Sequence[int]) -> Floats:
    """The best score over the pieces of each phrase.

    Args:
        scores: float32 (pieces, n).
        phrase: The phrase of each piece, never decreasing, none left out.

    Returns:
        float32 (phrases, n).
    """
    if len(set(phrase)) == len(phrase):
        return scores
    return np.maximum.reduceat(scores, np.unique(phrase, return_index=True)[1], axis=0)
