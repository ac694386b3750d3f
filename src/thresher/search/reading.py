"""Reads what a search needs: the collection's state, the items that may be returned, and their exact scores.

Invariant: a filter is applied before anything is ranked or cut, so that it never loses a hit; the copy in the process
and PostgreSQL give the same scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from thresher.core import Caller
from thresher.search import queries
from thresher.search.arrays import Floats, Ids, Row, run_once
from thresher.search.bm25 import Postings, Totals, postings_of, rows_of
from thresher.search.copies import Copies
from thresher.search.profiles import groups_of, profile_of
from thresher.search.snapshot import Snapshot
from thresher.search.words import ABSENT, Word, Words, within
from thresher.store import Database

POSTING_BUDGET = 50_000
"""Postings that one search reads: about 15 ms. The commonest terms go beyond it, and say least; collections up to some
5,000 items never reach it."""
NEAR = 3
"""Terms of each kind that are taken for one that no item holds."""
_LOOP_PRODUCTS = 100_000
"""Inner products that are worked out on the event loop, up to some 5 ms; more go to a thread."""


@dataclass(frozen=True, slots=True)
class Request:
    """Who asks for what: the part of a search that decides which items may be returned."""

    caller: Caller
    kind: str
    facets: frozenset[str] | None

    @property
    def parameters(self) -> dict[str, object]:
        """Values to bind."""
        facets = None if self.facets is None else sorted(self.facets)
        return {"kind": self.kind, "user": self.caller.user, "facets": facets}


@dataclass(frozen=True, slots=True)
class Reading:
    """A collection as one statement saw it, and the items that may be returned.

    Attributes:
        model: The model whose vectors serve; empty while there are none.
        items: Size of the whole collection, for all callers.
        postings: Term to postings, for the query's terms that occur.
        ids: int64 (n,), sorted: every item that the caller may see under the filter.
        snapshot: The copy in the process, when it holds the collection's version.
        rows: int64 (n,), where `ids` lie in the snapshot; None for all of it in order.
    """

    model: str
    items: int
    postings: Mapping[str, Postings]
    ids: Ids
    snapshot: Snapshot | None = None
    rows: Ids | None = None


@dataclass(frozen=True, slots=True)
class Traits:
    """What else the ranking must know of the candidates.

    Attributes:
        groups: int64 (m,), equal within a group; negative for none.
        slots: What each wants to be given, packed.
    """

    groups: Ids
    slots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Span:
    """Ids that are read.

    Attributes:
        low: The lowest.
        high: The highest.
        most: How many items there may be.
    """

    low: int
    high: int
    most: int

    def holds(self, ids: Ids) -> bool:
        """Whether some sorted ids lie in it."""
        return not len(ids) or (self.low <= int(ids[0]) and int(ids[-1]) <= self.high)


EVERYWHERE = Span(-(1 << 63), (1 << 63) - 1, (1 << 31) - 1)
NOTHING = Reading("", 0, {}, np.empty(0, np.int64))
"""The reading of a kind that holds nothing."""


class Reader:
    """Reads collections, from copies where they are current."""

    def __init__(self, database: Database, copies: Copies, words: Words) -> None:
        self._database = database
        self._copies = copies
        self._words = words

    async def read(self, request: Request, terms: Sequence[str], *, narrow: bool = False) -> Reading:
        """The state of a collection with the postings of some terms, rarest first within the budget.

        Args:
            request: Who asks for what.
            terms: Distinct.
            narrow: Read postings only where the filter's items lie; they are what they would be else.
        """
        span = self._span(request) if narrow else EVERYWHERE
        reading = await self._read(request, terms, span)
        # The copy that told where the items lie may have been out of date.
        return reading if span.holds(reading.ids) else await self._read(request, terms, EVERYWHERE)

    async def _read(self, request: Request, terms: Sequence[str], span: Span) -> Reading:
        key = (request.caller.tenant.id, request.kind, request.caller.user, span.low, span.high)
        kept_at, known = self._words.known(key, terms)
        rows = await self._rows(request, [term for term in terms if term not in known], span)
        if rows and known and rows[0][1] != kept_at:
            known = {}
            rows = await self._rows(request, terms, span)
        if not rows:
            return NOTHING
        model, version, items = rows[0][:3]
        words = known | _words(rows, [term for term in terms if term not in known])
        self._words.keep(key, version, words)
        postings = within(words, POSTING_BUDGET, span.most)
        snapshot = await self._copies.current(request.caller.tenant, request.kind, model, version) if model else None
        if snapshot is not None:
            return reading_of(snapshot, request, postings)
        living = await run_once(self._database, request.caller.tenant, queries.LIVING, request.parameters)
        return Reading(model, items, postings, living[0][0])

    async def _rows(self, request: Request, terms: Sequence[str], span: Span) -> list[Row]:
        parameters = request.parameters | asdict(span) | {"terms": list(terms), "budget": POSTING_BUDGET}
        return await run_once(self._database, request.caller.tenant, queries.READ, parameters)

    def _span(self, request: Request) -> Span:
        """Where the items of a filter lie, as far as this process knows."""
        snapshot = self._copies.peek(request.caller.tenant, request.kind)
        if snapshot is None or request.facets is None:
            return EVERYWHERE
        rows = snapshot.allowed(request.caller.user, request.facets)
        return EVERYWHERE if rows is None or not len(rows) else _span_of(snapshot.rows.ids, rows)

    async def near_terms(self, request: Request, slips: Sequence[str], longer: tuple[str, str] | None) -> list[str]:
        """Terms of the collection that are among some, or lie between two in the order of their bytes."""
        above, below = longer or ("", "")
        parameters = {"kind": request.kind, "slips": list(slips), "above": above, "below": below, "limit": NEAR}
        found = await run_once(self._database, request.caller.tenant, queries.NEAR_TERMS, parameters)
        return sorted(row[0] for row in found)

    def last(self, request: Request) -> Reading | None:
        """What the process holds of a collection, perhaps out of date, without its words; None for nothing."""
        snapshot = self._copies.peek(request.caller.tenant, request.kind)
        return None if snapshot is None else reading_of(snapshot, request, {})

    async def dense(self, request: Request, reading: Reading, vectors: Floats, owners: Sequence[int]) -> Floats:
        """The best score of every item's vectors with each text.

        Args:
            request: Who asks for what.
            reading: The collection and the items.
            vectors: float32 (pieces, dimension).
            owners: The text that each piece belongs to; never decreasing, none left out.

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

    async def traits(self, request: Request, reading: Reading, columns: Ids) -> Traits:
        """What else the ranking must know of some items.

        Args:
            request: Who asks for what.
            reading: The collection and the items.
            columns: int64 (m,), places in `reading.ids`.
        """
        if reading.snapshot is not None:
            places = columns if reading.rows is None else reading.rows[columns]
            held: Sequence[str] = reading.snapshot.rows.slots
            return Traits(reading.snapshot.groups[places], [held[int(place)] for place in places])
        wanted = reading.ids[columns].tolist()
        parameters = {"kind": request.kind, "ids": wanted}
        found = await run_once(self._database, request.caller.tenant, queries.TRAITS, parameters)
        labels = {row[0]: frozenset[str](row[1]) for row in found}
        wants = {row[0]: str(row[2]) for row in found}
        groups = groups_of(profile_of(request.kind), [labels.get(number, frozenset()) for number in wanted])
        return Traits(groups, [wants.get(number, "") for number in wanted])

    async def _from_database(self, request: Request, reading: Reading, vectors: Floats) -> Floats:
        parameters = request.parameters | {"model": reading.model, "vectors": list(vectors)}
        found = await run_once(self._database, request.caller.tenant, queries.DENSE, parameters)
        scores = np.full((len(vectors), len(reading.ids)), np.nan, np.float32)
        for number, (ids, values) in enumerate(found):
            known, rows = rows_of(ids, reading.ids)
            scores[number, rows] = values[known]
        return scores


def reading_of(snapshot: Snapshot, request: Request, postings: Mapping[str, Postings]) -> Reading:
    """The items of a copy that may be returned."""
    rows = snapshot.allowed(request.caller.user, request.facets)
    ids = snapshot.rows.ids if rows is None else snapshot.rows.ids[rows]
    return Reading(snapshot.model, len(snapshot.rows.ids), postings, ids, snapshot, rows)


def _span_of(ids: Ids, rows: Ids) -> Span:
    """The span of some rows of sorted ids; open above where they are the last, since newer items have higher ids."""
    first, last = int(rows[0]), int(rows[-1])
    if last + 1 == len(ids):
        return Span(int(ids[first]), EVERYWHERE.high, EVERYWHERE.most)
    return Span(int(ids[first]), int(ids[last]), last + 1 - first)


def best_of_pieces(scores: Floats, owners: Sequence[int]) -> Floats:
    """The best score over the pieces of each text.

    Args:
        scores: float32 (pieces, n).
        owners: The text that each piece belongs to; never decreasing, none left out.

    Returns:
        float32 (texts, n).
    """
    starts = np.unique(owners, return_index=True)[1]
    return scores if len(starts) == len(owners) else np.maximum.reduceat(scores, starts, axis=0)


def _words(rows: Sequence[Row], asked: Sequence[str]) -> dict[str, Word]:
    """What a statement said of the terms asked for; those beyond its budget are left out."""
    totals = Totals(rows[0][2], rows[0][3])
    words = dict.fromkeys(asked, ABSENT)
    for _, _, _, _, term, documents, taken, ids, frequencies, lengths in rows:
        if taken:
            words[term] = Word(documents, postings_of(totals, documents, ids, frequencies, lengths))
        elif term is not None:
            del words[term]
    return words
