"""Reading for a search: the collection's state, the items that may be returned, and their exact scores.

Invariant: a filter is applied before anything is ranked or cut, so it never loses a hit; the copy in the process and
PostgreSQL give the same scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from thresher.core import Caller
from thresher.search import queries
from thresher.search.lexical.bm25 import Postings, Totals, postings_of, rows_of
from thresher.search.lexical.postings import ABSENT, PostingsCache, TermPostings, within_budget
from thresher.search.lexical.profiles import groups_of, profile_of
from thresher.search.queries import Row, run_once
from thresher.search.records import Floats, Ids
from thresher.search.snapshot import VectorSnapshot
from thresher.search.snapshot_cache import SnapshotCache
from thresher.store import Database

POSTING_BUDGET = 50_000
"""Postings that one search reads: about 15 ms. The commonest terms exceed it, and say least; collections of up to
about 5,000 items never reach it."""
MAX_NEAR_TERMS = 3
"""Terms of each kind that replace a term that no item contains."""
_LOOP_PRODUCTS = 100_000
"""Inner products that are computed on the event loop, up to about 5 ms; more go to a thread."""


@dataclass(frozen=True, slots=True)
class IndexScope:
    """The caller, kind and filter of a search: what decides which items may be returned."""

    caller: Caller
    kind: str
    facets: frozenset[str] | None

    @property
    def parameters(self) -> dict[str, object]:
        """Values to bind."""
        facets = None if self.facets is None else sorted(self.facets)
        return {"kind": self.kind, "user": self.caller.user, "facets": facets}


@dataclass(frozen=True, slots=True)
class CollectionReading:
    """A collection as one statement saw it, and the items that may be returned.

    Attributes:
        model: The model whose vectors are in use; empty while there are none.
        items: The size of the whole collection, for all callers.
        postings: Term to postings, for the query's terms that occur.
        ids: int64 (n,), sorted: every item that the caller may see under the filter.
        snapshot: The copy in the process, if it has the collection's version.
        rows: int64 (n,), the positions of `ids` in the snapshot; None for all of it in order.
        languages: The languages of its items, besides English.
    """

    model: str
    items: int
    postings: Mapping[str, Postings]
    ids: Ids
    snapshot: VectorSnapshot | None = None
    rows: Ids | None = None
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateTraits:
    """What else the ranking needs to know of the candidates.

    Attributes:
        groups: int64 (m,), equal within a group; negative for none.
        slots: The encoded arguments of each.
    """

    groups: Ids
    slots: Sequence[str]


@dataclass(frozen=True, slots=True)
class IdSpan:
    """The range of ids to read.

    Attributes:
        low: The lowest.
        high: The highest.
        most: The maximum number of items in it.
    """

    low: int
    high: int
    most: int

    def holds(self, ids: Ids) -> bool:
        """Return whether some sorted ids lie in it."""
        return not len(ids) or (self.low <= int(ids[0]) and int(ids[-1]) <= self.high)


EVERYWHERE = IdSpan(-(1 << 63), (1 << 63) - 1, (1 << 31) - 1)
EMPTY_READING = CollectionReading("", 0, {}, np.empty(0, np.int64))
"""The reading of an empty kind."""


class CollectionReader:
    """Reads collections, from copies if they are current."""

    def __init__(self, database: Database, copies: SnapshotCache, words: PostingsCache) -> None:
        self._database = database
        self._copies = copies
        self._words = words
        self._languages: dict[tuple[int, str], tuple[str, ...]] = {}

    def languages(self, request: IndexScope) -> tuple[str, ...]:
        """The languages of a collection's items besides English, as they were last read."""
        return self._languages.get((request.caller.tenant.id, request.kind), ())

    async def read(self, request: IndexScope, terms: Sequence[str], *, narrow: bool = False) -> CollectionReading:
        """Read the state of a collection with the postings of some terms, rarest first within the budget.

        Args:
            request: The caller, kind and filter.
            terms: Distinct terms.
            narrow: Whether to read postings only in the id range of the filter's items; their values stay the same.
        """
        span = self._span(request) if narrow else EVERYWHERE
        reading = await self._read(request, terms, span)
        # The copy that gave the id range may have been out of date.
        return reading if span.holds(reading.ids) else await self._read(request, terms, EVERYWHERE)

    async def _read(self, request: IndexScope, terms: Sequence[str], span: IdSpan) -> CollectionReading:
        key = (request.caller.tenant.id, request.kind, request.caller.user, span.low, span.high)
        kept_at, known = self._words.get(key, terms)
        rows = await self._rows(request, [term for term in terms if term not in known], span)
        if rows and known and rows[0][1] != kept_at:
            known = {}
            rows = await self._rows(request, terms, span)
        if not rows:
            return EMPTY_READING
        model, version, items = rows[0][:3]
        languages = tuple(rows[0][-1])
        self._languages[request.caller.tenant.id, request.kind] = languages
        words = known | _words(rows, [term for term in terms if term not in known])
        self._words.keep(key, version, words)
        postings = within_budget(words, POSTING_BUDGET, span.most)
        snapshot = await self._copies.current(request.caller.tenant, request.kind, model, version) if model else None
        if snapshot is not None:
            return replace(reading_of(snapshot, request, postings), languages=languages)
        living = await run_once(self._database, request.caller.tenant, queries.LIVING, request.parameters)
        return CollectionReading(model, items, postings, living[0][0], languages=languages)

    async def _rows(self, request: IndexScope, terms: Sequence[str], span: IdSpan) -> list[Row]:
        parameters = request.parameters | asdict(span) | {"terms": list(terms), "budget": POSTING_BUDGET}
        return await run_once(self._database, request.caller.tenant, queries.READ, parameters)

    def _span(self, request: IndexScope) -> IdSpan:
        """The id range of a filter's items, as far as this process knows."""
        snapshot = self._copies.peek(request.caller.tenant, request.kind)
        if snapshot is None or request.facets is None:
            return EVERYWHERE
        rows = snapshot.allowed(request.caller.user, request.facets)
        return EVERYWHERE if rows is None or not len(rows) else _span_of(snapshot.rows.ids, rows)

    async def near_terms(
        self, request: IndexScope, misspellings: Sequence[str], prefix_range: tuple[str, str] | None
    ) -> list[str]:
        """Return terms of the collection that are in a list, or lie between two others in byte order."""
        above, below = prefix_range or ("", "")
        parameters = {
            "kind": request.kind,
            "slips": list(misspellings),
            "above": above,
            "below": below,
            "limit": MAX_NEAR_TERMS,
        }
        found = await run_once(self._database, request.caller.tenant, queries.NEAR_TERMS, parameters)
        return sorted(row[0] for row in found)

    def last(self, request: IndexScope) -> CollectionReading | None:
        """Return what the process has of a collection, possibly out of date, without words; None for nothing."""
        snapshot = self._copies.peek(request.caller.tenant, request.kind)
        return None if snapshot is None else reading_of(snapshot, request, {})

    async def dense(
        self, request: IndexScope, reading: CollectionReading, vectors: Floats, owners: Sequence[int]
    ) -> Floats:
        """Compute the best score of every item's vectors with each text.

        Args:
            request: The caller, kind and filter.
            reading: The collection and the items.
            vectors: float32 (pieces, dimension).
            owners: The text of each piece; never decreasing, without gaps.

        Returns:
            float32 (texts, n); NaN for an item without vectors.
        """
        if reading.snapshot is None:
            return best_of_pieces(await self._from_database(request, reading, vectors), owners)
        snapshot, rows = reading.snapshot, reading.rows
        if len(vectors) * len(reading.ids) > _LOOP_PRODUCTS:
            scores = await asyncio.to_thread(snapshot.scores, vectors, rows)
        else:
            scores = snapshot.scores(vectors, rows)
        return best_of_pieces(scores, owners)

    async def traits(self, request: IndexScope, reading: CollectionReading, columns: Ids) -> CandidateTraits:
        """Read what else the ranking needs to know of some items.

        Args:
            request: The caller, kind and filter.
            reading: The collection and the items.
            columns: int64 (m,), positions in `reading.ids`.
        """
        if reading.snapshot is not None:
            places = columns if reading.rows is None else reading.rows[columns]
            held: Sequence[str] = reading.snapshot.rows.slots
            return CandidateTraits(reading.snapshot.groups[places], [held[int(place)] for place in places])
        wanted = reading.ids[columns].tolist()
        parameters = {"kind": request.kind, "ids": wanted}
        found = await run_once(self._database, request.caller.tenant, queries.TRAITS, parameters)
        labels = {row[0]: frozenset[str](row[1]) for row in found}
        wants = {row[0]: str(row[2]) for row in found}
        groups = groups_of(profile_of(request.kind), [labels.get(number, frozenset()) for number in wanted])
        return CandidateTraits(groups, [wants.get(number, "") for number in wanted])

    async def _from_database(self, request: IndexScope, reading: CollectionReading, vectors: Floats) -> Floats:
        parameters = request.parameters | {"model": reading.model, "vectors": list(vectors)}
        found = await run_once(self._database, request.caller.tenant, queries.DENSE, parameters)
        scores = np.full((len(vectors), len(reading.ids)), np.nan, np.float32)
        for number, (ids, values) in enumerate(found):
            known, rows = rows_of(ids, reading.ids)
            scores[number, rows] = values[known]
        return scores


def reading_of(snapshot: VectorSnapshot, request: IndexScope, postings: Mapping[str, Postings]) -> CollectionReading:
    """Return the items of a copy that may be returned."""
    rows = snapshot.allowed(request.caller.user, request.facets)
    ids = snapshot.rows.ids if rows is None else snapshot.rows.ids[rows]
    return CollectionReading(snapshot.model, len(snapshot.rows.ids), postings, ids, snapshot, rows)


def _span_of(ids: Ids, rows: Ids) -> IdSpan:
    """The range of some rows of sorted ids.

    It is open at the end if it includes the last row, since newer items have higher ids.
    """
    first, last = int(rows[0]), int(rows[-1])
    if last + 1 == len(ids):
        return IdSpan(int(ids[first]), EVERYWHERE.high, EVERYWHERE.most)
    return IdSpan(int(ids[first]), int(ids[last]), last + 1 - first)


def best_of_pieces(scores: Floats, owners: Sequence[int]) -> Floats:
    """Return the best score over the pieces of each text.

    Args:
        scores: float32 (pieces, n).
        owners: The text of each piece; never decreasing, without gaps.

    Returns:
        float32 (texts, n).
    """
    starts = np.unique(owners, return_index=True)[1]
    return scores if len(starts) == len(owners) else np.maximum.reduceat(scores, starts, axis=0)


def _words(rows: Sequence[Row], asked: Sequence[str]) -> dict[str, TermPostings]:
    """What a statement returned for the requested terms; those beyond its budget are left out."""
    totals = Totals(rows[0][2], rows[0][3])
    words = dict.fromkeys(asked, ABSENT)
    for _, _, _, _, term, documents, taken, ids, frequencies, lengths, _ in rows:
        if taken:
            words[term] = TermPostings(documents, postings_of(totals, documents, ids, frequencies, lengths))
        elif term is not None:
            del words[term]
    return words
