"""Reading for a search: copies of collections, what may be returned, and its exact scores by both arms.

Invariant: a filter is applied before anything is ranked or cut, so it never loses a hit; the copy in the process and
PostgreSQL give the same scores. A copy is only returned for the tenant and kind that it was read for; one task at a
time reads a collection. As long as one arm can answer, a failure of the other is a result with a note; it is an error
only if both fail.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeAlias

import numpy as np
from cachetools import LRUCache
from sqlalchemy.exc import SQLAlchemyError

from thresher.core import Caller, StoreError, StoreUnavailable, Tenant, event
from thresher.embedding import Encoder
from thresher.search import queries
from thresher.search.lexical.bm25 import (
    ABSENT,
    Postings,
    PostingsCache,
    TermPostings,
    Totals,
    groups_of,
    postings_of,
    profile_of,
    rows_of,
    within_budget,
)
from thresher.search.lexical.query_expansion import misspellings, prefix_range
from thresher.search.plan import EmbeddedQuery, SearchPlan, embed
from thresher.search.queries import Row, run_once
from thresher.search.records import Floats, Ids
from thresher.search.snapshot import VectorSnapshot
from thresher.search.snapshot_loading import load, read_head, refresh, vector_bytes
from thresher.search.vectors import running_model
from thresher.store import Database

_logger = logging.getLogger("thresher.search")
_READ_SECONDS = 5.0
"""How long a search waits for the database before it continues with what the process has."""
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


_PATIENCE_SECONDS = 0.05
"""How long a search waits for a delta before it asks PostgreSQL for the scores instead; about what that would
cost."""

SnapshotKey: TypeAlias = tuple[int, str]
"""Tenant and kind."""


class SnapshotCache:
    """Snapshots by tenant and kind; the least recently used ones are dropped first."""

    def __init__(self, database: Database, limit_bytes: int) -> None:
        self._database = database
        self._limit = limit_bytes
        self._kept: LRUCache[SnapshotKey, VectorSnapshot] = LRUCache(
            max(limit_bytes, 0), lambda snapshot: snapshot.nbytes
        )
        self._reading: dict[SnapshotKey, asyncio.Task[None]] = {}
        self._too_large: dict[SnapshotKey, int] = {}

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

    def _fresh(self, key: SnapshotKey, model: str, version: int) -> VectorSnapshot | None:
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

    def _keep(self, key: SnapshotKey, snapshot: VectorSnapshot) -> None:
        if snapshot.nbytes > self._limit:
            self._refuse(key, snapshot.version)
        else:
            self._kept[key] = snapshot

    def _refuse(self, key: SnapshotKey, version: int) -> None:
        self._kept.pop(key, None)
        self._too_large[key] = version
        event(_logger, "copy too large", kind=key[1], tenant=key[0], limit_bytes=self._limit)


class CollectionReader:
    """Reads collections, from copies if they are current: the lexical arm by their words, the dense arm by an encoder.

    Args:
        database: Where the index is stored.
        copies: The copies in this process.
        words: The postings in this process.
        previous: The model before a change.
    """

    def __init__(
        self, database: Database, copies: SnapshotCache, words: PostingsCache, previous: Encoder | None
    ) -> None:
        self._database = database
        self._copies = copies
        self._words = words
        self._previous = previous
        self._languages: dict[tuple[int, str], tuple[str, ...]] = {}

    def languages(self, request: IndexScope) -> tuple[str, ...]:
        """The languages of a collection's items besides English, as they were last read."""
        return self._languages.get((request.caller.tenant.id, request.kind), ())

    async def read(
        self, request: IndexScope, terms: Sequence[str], *, narrow: bool = False
    ) -> tuple[CollectionReading, str]:
        """Read the state of a collection with the postings of some terms, rarest first within the budget.

        Args:
            request: The caller, kind and filter.
            terms: Distinct terms.
            narrow: Whether to read postings only in the id range of the filter's items; their values stay the same.

        Returns:
            What was read, and a note on what was missing.

        Raises:
            StoreError: The database does not answer, and this process has no copy.
        """
        try:
            async with asyncio.timeout(_READ_SECONDS):
                if narrow and (span := self._span(request)) != EVERYWHERE:
                    reading = await self._read(request, terms, span)
                    if span.holds(reading.ids):  # else the copy that gave the id range was out of date
                        return reading, ""
                return await self._read(request, terms, EVERYWHERE), ""
        except (StoreError, TimeoutError) as error:
            snapshot = self._copies.peek(request.caller.tenant, request.kind)
            if snapshot is None:
                raise
            event(_logger, "search without database", level=logging.WARNING, kind=request.kind, error=str(error))
            note = "Searched by meaning alone, in the last copy of the index: the database does not answer."
            return reading_of(snapshot, request, {}), note

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
        totals = Totals(rows[0][2], rows[0][3])
        words = dict.fromkeys((term for term in terms if term not in known), ABSENT)
        for _, _, _, _, term, documents, taken, ids, frequencies, lengths, _ in rows:
            if taken:
                words[term] = TermPostings(documents, postings_of(totals, documents, ids, frequencies, lengths))
            elif term is not None:  # beyond the statement's budget
                del words[term]
        words |= known
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

    async def near_terms(self, request: IndexScope, word: str, term: str) -> list[str]:
        """Return terms that an unknown word may stand for; none if the database does not answer."""
        above, below = prefix_range(term) or ("", "")
        parameters = {
            "kind": request.kind,
            "slips": list(misspellings(word)),
            "above": above,
            "below": below,
            "limit": MAX_NEAR_TERMS,
        }
        try:
            async with asyncio.timeout(_READ_SECONDS):
                found = await run_once(self._database, request.caller.tenant, queries.NEAR_TERMS, parameters)
        except (StoreError, TimeoutError):
            return []
        return sorted(row[0] for row in found)

    async def matching(
        self, plan: SearchPlan, reading: CollectionReading, embedded: EmbeddedQuery, lost: str
    ) -> EmbeddedQuery:
        """Return vectors of the model in use; none, with a note, if no available encoder is that model.

        Args:
            plan: What was embedded.
            reading: The collection.
            embedded: Vectors of the running model.
            lost: What was missing in the lexical arm; empty if it can answer.

        Raises:
            StoreUnavailable: Neither arm can answer.
        """
        found = embedded
        if embedded.matrix is not None and reading.model and embedded.model != reading.model:
            if self._previous is not None and await running_model(self._previous) == reading.model:
                again = await embed(plan, self._previous)
                found = replace(again, milliseconds=again.milliseconds + embedded.milliseconds)
            else:
                note = (
                    f"Searched by words alone: the index holds vectors of {reading.model}, the running model is"
                    f" {embedded.model}; index again to search by meaning."
                )
                found = replace(embedded, matrix=None, note=note)
        if lost and found.matrix is None:
            raise StoreUnavailable(
                f"Neither the database nor the encoder answers. {found.note}",
                hint="Run `thresher doctor`; it names what is wrong.",
            )
        return found

    async def dense(
        self, request: IndexScope, reading: CollectionReading, embedded: EmbeddedQuery
    ) -> tuple[Floats | None, str]:
        """Compute the best score of every item's vectors with each text.

        Args:
            request: The caller, kind and filter.
            reading: The collection and the items.
            embedded: The texts.

        Returns:
            float32 (texts, n), NaN for an item without vectors; None, and the reason, if this arm did not run.
        """
        vectors, rows = embedded.matrix, reading.rows
        if vectors is None or not len(reading.ids):
            return None, ""
        scores = None
        if reading.model and reading.snapshot is None:
            scores = await self._from_database(request, reading, vectors)
        elif reading.snapshot is not None and len(vectors) * len(reading.ids) > _LOOP_PRODUCTS:
            scores = await asyncio.to_thread(reading.snapshot.scores, vectors, rows)
        elif reading.snapshot is not None:
            scores = reading.snapshot.scores(vectors, rows)
        if scores is None or np.isnan(scores).all():
            return None, "Searched by words alone: nothing in the index is embedded yet; index again."
        return best_of_pieces(scores, embedded.owners), ""

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
