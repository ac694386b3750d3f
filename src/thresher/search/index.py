"""The search index of every kind: put, remove, search.

Invariant: PostgreSQL is the source of truth. This process keeps read-only copies, and each search checks their version
against the collection.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from thresher.core import Caller, EncoderError, InvalidInput, Settings, Tenant, event
from thresher.embedding import Encoder
from thresher.search.answer import adapted_products, answer, scores_of
from thresher.search.documents import FORMAT, checked
from thresher.search.indexing import (
    BATCH,
    EmbeddingScope,
    EntryLoader,
    complete,
    count_embedded,
    delete_items,
    embed_ahead,
    embed_all,
    pending,
    put_entries,
    serving,
)
from thresher.search.lexical.bm25 import PostingsCache, profile_of, score_texts
from thresher.search.lexical.query_expansion import Synonyms
from thresher.search.lexical.terms import STEMMING
from thresher.search.plan import EmbeddedQuery, SearchPlan, embed, in_languages, phrase_vectors, plan_of
from thresher.search.ranking import constants_for
from thresher.search.reading import (
    EMPTY_READING,
    CollectionReader,
    CollectionReading,
    IndexScope,
    SnapshotCache,
    reading_of,
)
from thresher.search.records import (
    Adapter,
    Entry,
    Filter,
    Floats,
    Ids,
    Inspection,
    ItemVectors,
    Learner,
    Progress,
    PutCounts,
    Scoring,
    SearchResult,
    SearchType,
)
from thresher.search.scoring import ScoreRequest, TextLoader, score
from thresher.search.snapshot_loading import read_snapshot, read_vectors
from thresher.search.vectors import known_model, running_model
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.search")
_MEBIBYTE = 1024 * 1024
_POSTINGS_SHARE = 8
"""Cached postings may take an eighth of the memory for copies of vectors, in addition to it."""
NO_FILTER = Filter()
NO_SYNONYMS: Synonyms = {}


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A collection that is being read for one question, before the filter is known.

    It is used once, for that question. A caller that does not use it closes it.

    Attributes:
        kind: The collection.
        plan: What will be searched.
        reading: Returns the whole collection, its BM25 scores, and a note on what was missing.
    """

    kind: str
    plan: SearchPlan
    reading: asyncio.Task[tuple[CollectionReading, Floats, str]]

    def close(self) -> None:
        """Discard it. A query that has started may finish: aborting one costs the pool its connection."""
        self.reading.add_done_callback(_ignore_failure)


def _ignore_failure(reading: asyncio.Task[tuple[CollectionReading, Floats, str]]) -> None:
    """Retrieve a failure that nothing awaits, so that asyncio does not report it."""
    if not reading.cancelled():
        reading.exception()


class SearchIndex:
    """One index for all kinds; safe for concurrent searches and writes.

    Args:
        database: Where the index is stored.
        encoder: The running model.
        settings: `vector_memory_mb` limits the copies in the process.
        previous: The model before a change: it answers queries until the new one has embedded a collection.
    """

    def __init__(
        self,
        database: Database,
        encoder: Encoder,
        settings: Settings,
        *,
        previous: Encoder | None = None,
    ) -> None:
        self._database = database
        self._encoder = encoder
        self._copies = SnapshotCache(database, settings.vector_memory_mb * _MEBIBYTE)
        words = PostingsCache(settings.vector_memory_mb * _MEBIBYTE // _POSTINGS_SHARE)
        self._reader = CollectionReader(database, self._copies, words, previous)

    async def put(
        self,
        tenant: Tenant,
        kind: str,
        entries: Iterable[Entry],
        *,
        progress: Progress | None = None,
        embed: bool = True,
    ) -> PutCounts:
        """Insert or replace entries; others stay.

        Unchanged entries are skipped, and only texts that the content-addressed cache lacks are embedded. If the
        encoder fails, entries are found by their words, and the next put tries again.

        Args:
            tenant: The tenant of the index.
            kind: The collection; the first entry creates it.
            entries: What to index; of several with one id the last counts.
            progress: Called after each batch that is safely written.
            embed: Whether to embed now. Otherwise entries are found by their words at once, those whose texts are
                cached by meaning too, and `embed_pending` embeds the others.

        Raises:
            InvalidInput: An entry has no text, weights that do not match, or a label with a control character.
            StoreError: The database cannot write; batches written before that are kept.
        """
        started = time.perf_counter()
        wanted = checked(entries)
        counts = await put_entries(self._database, tenant, kind, self._encoder, wanted, progress, embed=embed)
        if wanted:
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            event(_logger, "put", kind=kind, embedded=counts.embedded, kept=counts.kept, ms=milliseconds)
        return counts

    async def prepare(self) -> None:
        """Prepare the encoder for large batches while their content is still being read."""
        with suppress(EncoderError):  # the first batch reports it
            await self._encoder.prepare()

    def edition(self, kind: str) -> str:
        """Name the running model and the storage format: equal names mean that a put would write the same.

        Empty if the running model is not known.
        """
        model, profile = known_model(self._encoder), profile_of(kind)
        return f"{FORMAT}.{STEMMING} {sorted(profile.field_weights.items())} {model}" if model else ""

    async def holds(self, tenant: Tenant, kind: str, ids: Collection[int]) -> bool:
        """Return whether all of these items exist with vectors of the running model.

        Args:
            tenant: The tenant of the index.
            kind: The collection.
            ids: Distinct ids.
        """
        model = known_model(self._encoder)
        return bool(model) and await complete(self._database, tenant, kind, model, list(ids)) == len(ids)

    async def embedded(
        self,
        tenant: Tenant,
        kind: str,
        filter: Filter = NO_FILTER,  # noqa: A002 - the public name of the concept
    ) -> int:
        """Return how many items of a filter have vectors of the running model and are found by meaning."""
        scope = EmbeddingScope(tenant, kind, known_model(self._encoder), filter.facets)
        return await count_embedded(self._database, scope)

    async def item_vectors(self, tenant: Tenant, kind: str) -> ItemVectors:
        """Read the stored vectors of a collection, to train an adapter on them.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        snapshot = await read_snapshot(self._database, tenant, kind)
        if snapshot is None:
            return ItemVectors("", np.empty(0, np.int64), np.empty((0, 0), np.float32), 0.0)
        weight = constants_for(snapshot.model).weights.dense
        ids = snapshot.rows.ids[snapshot.holders]
        return ItemVectors(snapshot.model, ids, snapshot.rows.vectors[snapshot.starts], weight)

    async def vectors(self, tenant: Tenant, kind: str, ids: Sequence[int]) -> tuple[Ids, Floats]:
        """Return the stored vectors of some items, those of the model that serves searches.

        Returns:
            int64 (n,), the item of each vector, those without one left out; float32 (n, dimension).
        """
        model = await serving(self._database, tenant, kind)
        async with self._database.transaction(tenant) as connection:
            return await read_vectors(connection, kind, model, np.array(ids, np.int64))

    async def serving_model(self, tenant: Tenant, kind: str) -> str:
        """Return the id of the model whose vectors are in use; empty while there are none."""
        return await serving(self._database, tenant, kind)

    async def remove(self, tenant: Tenant, kind: str, ids: Iterable[int]) -> int:
        """Remove items; unknown ids are skipped. Returns how many were removed."""
        wanted = list(dict.fromkeys(ids))
        model, removed = known_model(self._encoder), 0
        for first in range(0, len(wanted), BATCH):
            batch = wanted[first : first + BATCH]
            removed += await run_retrying(
                self._database,
                tenant,
                lambda connection, batch=batch: delete_items(connection, kind, model, batch),
            )
        return removed

    async def reembed(
        self,
        tenant: Tenant,
        kind: str,
        entries_of: EntryLoader,
        *,
        progress: Progress | None = None,
    ) -> int:
        """Embed every item with the running model, batch by batch; the old vectors serve until all are done.

        The next run resumes one that was killed.

        Args:
            tenant: The tenant of the index.
            kind: The collection.
            entries_of: Returns the entries of some ids, since the index stores no texts; an id that it leaves out is
                skipped.
            progress: Called after each batch with the number of items done, twice: how many remain is not known.

        Returns:
            How many entries were put.
        """
        done, after = 0, -1
        scope = EmbeddingScope(tenant, kind, await running_model(self._encoder))
        while ids := await pending(self._database, scope, after, BATCH):
            entries = list(await entries_of(ids))
            await self.put(tenant, kind, entries)
            after = ids[-1]
            done += len(entries)
            if progress is not None:
                progress(done, done)
        return done

    async def embed_ahead(self, tenant: Tenant, kind: str, entries: Sequence[Entry]) -> None:
        """Embed the first of some entries while they are put without vectors, so that the encoder does not idle.

        `embed_pending` embeds whatever this leaves out because the encoder fails or there are many.
        """
        if model := known_model(self._encoder):
            with suppress(EncoderError):
                await embed_ahead(self._database, self._encoder, EmbeddingScope(tenant, kind, model), entries)

    async def embed_pending(
        self,
        tenant: Tenant,
        kind: str,
        entries_of: EntryLoader,
        *,
        filter: Filter = NO_FILTER,  # noqa: A002 - the public name of the concept
        progress: Progress | None = None,
    ) -> int:
        """Embed the items that lack vectors of the running model, as fast as the encoder works.

        The database is read and written while the encoder works on the batch between. The next run resumes one that was
        killed and repeats at most two batches.

        Args:
            tenant: The tenant of the index.
            kind: The collection.
            entries_of: Returns the entries of some ids as they were put, since the index stores no texts; an id
                that it leaves out is skipped.
            filter: Which items.
            progress: Called after each batch that is safely written.

        Returns:
            How many items got vectors.

        Raises:
            EncoderError: The encoder cannot answer; earlier batches are kept.
            StoreError: The database does not answer.
        """
        scope = EmbeddingScope(tenant, kind, await running_model(self._encoder), filter.facets)
        return await embed_all(self._database, self._encoder, scope, entries_of, progress)

    async def search(
        self,
        caller: Caller,
        kind: str,
        queries: Sequence[str],
        *,
        limit: int,
        filter: Filter = NO_FILTER,  # noqa: A002 - the public name of the concept
        threshold: float | None = None,
        need: float = 0.0,
        split: bool = True,
        message: str = "",
        prefetched: Prefetch | None = None,
        learner: Learner | None = None,
        adapter: Adapter | None = None,
        inspection: Inspection | None = None,
    ) -> SearchResult:
        """Find the items that fit.

        Args:
            caller: Sees the tenant's shared items and those of the user.
            kind: The collection; one that does not exist is empty.
            queries: One message, or the phrases that the calling model wrote.
            limit: The maximum number of hits.
            filter: Which items may be returned.
            threshold: The minimum probability of a hit, 0 to 1; None for the fitted decision.
            need: The minimum probability, 0 to 1, that a hit is needed; the best one is returned whatever its own.
            split: Whether a single query is a message that may contain several tasks.
            message: The message for which the calling model wrote the phrases; it adds context.
            prefetched: What `prefetch` returned for the same caller, kind, queries, split and message.
            learner: Says what earlier use has taught about the texts.
            adapter: What training adds to the vectors of some items; one of another model has no effect.
            inspection: Which items the result names besides the hits.

        Raises:
            InvalidInput: No query, too many, a negative limit, or a threshold outside 0 to 1.
            StoreError: The database does not answer, and this process has no copy of the collection or no encoder.
        """
        if limit < 0 or not 0 <= (threshold or 0.0) <= 1:
            raise InvalidInput("The limit or the threshold is out of range.", hint="limit >= 0, threshold 0 to 1.")
        started = time.perf_counter()
        plan = prefetched.plan if prefetched is not None else plan_of(queries, split=split, message=message)
        request = IndexScope(caller, kind, filter.facets)
        read = self._read(request, plan) if prefetched is None else self._narrowed(request, prefetched)
        (reading, lexical, lost), embedded = await asyncio.gather(read, embed(plan, self._encoder))
        plan = in_languages(plan, reading.languages)
        embedded = await self._reader.matching(plan, reading, embedded, lost)
        dense, bare = await self._reader.dense(request, reading, embedded)
        vectors = phrase_vectors(embedded)
        learned = learner(embedded.model, vectors) if learner is not None and vectors is not None else None
        adapted = None
        if adapter is not None and dense is not None and vectors is not None and adapter.model == embedded.model:
            adapted = adapted_products(adapter, vectors, reading.ids)
        scores = scores_of(reading.ids, dense, lexical, learned, adapted)
        traits = await self._reader.traits(request, reading, scores.columns)
        constants = constants_for(reading.model, dense=dense is not None, lexical=not lost)
        found = answer(
            plan,
            reading.postings,
            scores,
            traits,
            constants,
            background=profile_of(kind).background,
            items=reading.items,
            limit=limit,
            threshold=threshold,
            need=need,
            learned=learned,
            adapted=adapted,
            inspection=inspection,
        )
        total = (time.perf_counter() - started) * 1000
        return SearchResult(
            found.hits,
            found.abstained,
            found.probability,
            " ".join(note for note in (*plan.notes, lost, embedded.note, bare) if note),
            len(reading.ids),
            plan.phrases,
            embedded.milliseconds,
            max(total - embedded.milliseconds, 0.0),
            vectors is not None,
            embedded.model,
            vectors,
            found.threshold,
            found.ranked,
        )

    async def score(
        self,
        caller: Caller,
        kind: str,
        query: str,
        *,
        filter: Filter = NO_FILTER,  # noqa: A002 - the public name of the concept
        search_type: SearchType = "hybrid",
        context: str = "",
        synonyms: Synonyms = NO_SYNONYMS,
        texts_of: TextLoader | None = None,
    ) -> Scoring:
        """Score every item that the filter lets through exactly, for a kind that ranks by itself.

        Args:
            caller: Sees the tenant's shared items and those of the user.
            kind: The collection; one that does not exist is empty.
            query: Any text; it has no query syntax.
            filter: Which items may be returned.
            search_type: The arms that decide. Without an encoder the lexical arm decides, and `degraded` says so.
            context: The text around the question; scored separately.
            synonyms: Other expressions for words of the query.
            texts_of: Returns the texts of some ids, which the index does not store: quotations of the query are
                looked up in them word for word. Without it the words of a quotation count.

        Raises:
            InvalidInput: The query is blank.
            StoreError: The database does not answer, and this process has no copy of the collection or no encoder.
        """
        if not query.strip():
            raise InvalidInput("There is nothing to search for.", hint="Ask a question, or give some words.")
        started = time.perf_counter()
        plan = plan_of([query, context] if context.strip() else [query], split=False)
        question = ScoreRequest(IndexScope(caller, kind, filter.facets), plan, search_type, synonyms, texts_of)
        scoring = await score(self._reader, self._encoder, question)
        total = (time.perf_counter() - started) * 1000
        return replace(scoring, search_ms=max(total - scoring.embedding_ms, 0.0))

    async def embed_query(self, query: str) -> EmbeddedQuery:
        """Embed a query as a search does, to compare it with other texts too.

        Args:
            query: Any text with a word in it.

        Returns:
            Its pieces, one row for a short query; without rows and with a note if the encoder is not available.

        Raises:
            InvalidInput: The query is blank.
        """
        return await embed(plan_of([query], split=False), self._encoder)

    def prefetch(
        self, caller: Caller, kind: str, queries: Sequence[str], *, split: bool = True, message: str = ""
    ) -> Prefetch:
        """Start to read what a search needs while its filter is still being decided.

        Args:
            caller: The caller of the search.
            kind: The collection.
            queries: As for `search`.
            split: As for `search`.
            message: As for `search`.

        Raises:
            InvalidInput: No query, or too many.
        """
        plan = plan_of(queries, split=split, message=message)
        return Prefetch(kind, plan, asyncio.create_task(self._read(IndexScope(caller, kind, None), plan)))

    @property
    def copied_bytes(self) -> int:
        """The memory that copies of vectors take in this process."""
        return self._copies.nbytes

    async def settle(self) -> None:
        """Wait until no copy is being read; for measurements and tests."""
        await self._copies.settle()

    async def close(self) -> None:
        """Release the copies; the database and the encoder belong to the caller."""
        await self._copies.close()

    async def _read(self, request: IndexScope, plan: SearchPlan) -> tuple[CollectionReading, Floats, str]:
        """The collection, its BM25 scores, and a note on what was missing; runs in parallel with the embedding."""
        languages = self._reader.languages(request)
        while True:
            worded = in_languages(plan, languages)
            reading, note = await self._reader.read(request, list(dict.fromkeys(chain.from_iterable(worded.terms))))
            if note or reading.languages == languages:
                return reading, score_texts(worded.terms, reading.postings, reading.ids), note
            languages = reading.languages  # a first item in another language has been indexed

    async def _narrowed(self, request: IndexScope, prefetched: Prefetch) -> tuple[CollectionReading, Floats, str]:
        """What was prefetched, under the filter; read again if this process has no copy to filter."""
        reading, lexical, note = await prefetched.reading
        if request.facets is None or reading is EMPTY_READING:
            return reading, lexical, note
        if reading.snapshot is None:
            return await self._read(request, prefetched.plan)
        narrowed = replace(reading_of(reading.snapshot, request, reading.postings), languages=reading.languages)
        terms = in_languages(prefetched.plan, reading.languages).terms
        return narrowed, score_texts(terms, narrowed.postings, narrowed.ids), note
