"""The search index of every kind: put, remove, search.

Invariant: PostgreSQL holds the truth. What this process keeps is a read-only copy, checked against the collection's
version at every search.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from thresher.core import Caller, EncoderError, InvalidInput, Settings, Tenant, event
from thresher.embedding import Encoder
from thresher.search import answering, writing
from thresher.search.ahead import Ahead
from thresher.search.arms import Arms
from thresher.search.arrays import Floats
from thresher.search.asking import Question, TextsOf, score
from thresher.search.bm25 import score_texts
from thresher.search.calibration import constants_for
from thresher.search.copies import Copies
from thresher.search.documents import FORMAT, checked
from thresher.search.pending import EntriesOf, Scope, count_embedded, embed_ahead, embed_all, pending, serving
from thresher.search.phrases import Embedded
from thresher.search.planning import Plan, plan_of
from thresher.search.profiles import profile_of
from thresher.search.put import BATCH, complete, model_id, put_entries, told_model
from thresher.search.reading import NOTHING, Reader, Reading, Request, reading_of
from thresher.search.records import Entry, Filter, Progress, PutCounts, Scoring, SearchResult, SearchType
from thresher.search.wanted import Synonyms
from thresher.search.words import Words
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.search")
_MEBIBYTE = 1024 * 1024
_WORDS_SHARE = 8
"""Postings of recent words may take an eighth of what copies of vectors may, on top of them."""
NO_FILTER = Filter()
NO_SYNONYMS: Synonyms = {}


class SearchIndex:
    """One index for all kinds; safe for any number of searches and writes at once.

    Args:
        database: Where the index lies.
        encoder: The running model.
        settings: `vector_memory_mb` bounds the copies in the process.
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
        self._copies = Copies(database, settings.vector_memory_mb * _MEBIBYTE)
        self._reader = Reader(database, self._copies, Words(settings.vector_memory_mb * _MEBIBYTE // _WORDS_SHARE))
        self._arms = Arms(self._reader, encoder, previous)

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

        Unchanged entries are left alone, and only texts that the content-addressed cache lacks are embedded. When the
        encoder fails, entries are found by their words, and the next put tries again.

        Args:
            tenant: Whose index.
            kind: Which collection; it comes to be with its first entry.
            entries: What shall be found; of several with one id the last counts.
            progress: Called after every batch that is safely written.
            embed: Whether to embed now. Else entries are found by their words at once, those whose texts the cache
                holds by meaning too, and `embed_pending` sees to the others.

        Raises:
            InvalidInput: An entry has no text, weights that do not fit, or a label with a control character.
            StoreError: The database cannot write; whole batches before that are kept.
        """
        started = time.perf_counter()
        wanted = checked(entries)
        counts = await put_entries(self._database, tenant, kind, self._encoder, wanted, progress, embed=embed)
        if wanted:
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            event(_logger, "put", kind=kind, embedded=counts.embedded, kept=counts.kept, ms=milliseconds)
        return counts

    async def prepare(self) -> None:
        """Have the encoder get ready for large batches while what they hold is still being read."""
        with suppress(EncoderError):  # it shows at the first batch
            await self._encoder.prepare()

    def edition(self, kind: str) -> str:
        """Names the running model and the form of what is written: what a put wrote under one name, the next would too.

        Empty while no model is known to run.
        """
        model, profile = model_id(self._encoder), profile_of(kind)
        return f"{FORMAT} {sorted(profile.field_weights.items())} {model}" if model else ""

    async def holds(self, tenant: Tenant, kind: str, ids: Collection[int]) -> bool:
        """Whether each of these items is there, with vectors of the running model.

        Args:
            tenant: Whose index.
            kind: Which collection.
            ids: Distinct ids.
        """
        model = model_id(self._encoder)
        return bool(model) and await complete(self._database, tenant, kind, model, list(ids)) == len(ids)

    async def embedded(
        self,
        tenant: Tenant,
        kind: str,
        filter: Filter = NO_FILTER,  # noqa: A002 - the public name of the concept
    ) -> int:
        """How many items of a filter have vectors of the running model, and are found by meaning."""
        scope = Scope(tenant, kind, model_id(self._encoder), filter.facets)
        return await count_embedded(self._database, scope)

    async def serving_model(self, tenant: Tenant, kind: str) -> str:
        """Id of the model whose vectors answer; empty while there are none."""
        return await serving(self._database, tenant, kind)

    async def remove(self, tenant: Tenant, kind: str, ids: Iterable[int]) -> int:
        """Take items out; ids that are not there are passed over. Returns how many there were."""
        wanted = list(dict.fromkeys(ids))
        model, removed = model_id(self._encoder), 0
        for first in range(0, len(wanted), BATCH):
            batch = wanted[first : first + BATCH]
            removed += await run_retrying(
                self._database,
                tenant,
                lambda connection, batch=batch: writing.delete_items(connection, kind, model, batch),
            )
        return removed

    async def reembed(
        self,
        tenant: Tenant,
        kind: str,
        entries_of: EntriesOf,
        *,
        progress: Progress | None = None,
    ) -> int:
        """Give every item vectors of the running model, batch by batch; the old ones serve until all are there.

        A killed run is resumed by the next.

        Args:
            tenant: Whose index.
            kind: Which collection.
            entries_of: Gives the entries of some ids, since the index keeps no texts; an id it does not give is left
                as it is.
            progress: Called after every batch with the items done, twice: how many remain is not known.

        Returns:
            How many entries were put.
        """
        done, after = 0, -1
        scope = Scope(tenant, kind, await told_model(self._encoder))
        while ids := await pending(self._database, scope, after, BATCH):
            entries = list(await entries_of(ids))
            await self.put(tenant, kind, entries)
            after = ids[-1]
            done += len(entries)
            if progress is not None:
                progress(done, done)
        return done

    async def embed_ahead(self, tenant: Tenant, kind: str, entries: Sequence[Entry]) -> None:
        """Embed the first of some entries while they are put without vectors, so that the encoder does not wait.

        What is not embedded by this, because the encoder fails or there are many, `embed_pending` embeds.
        """
        if model := model_id(self._encoder):
            with suppress(EncoderError):
                await embed_ahead(self._database, self._encoder, Scope(tenant, kind, model), entries)

    async def embed_pending(
        self,
        tenant: Tenant,
        kind: str,
        entries_of: EntriesOf,
        *,
        filter: Filter = NO_FILTER,  # noqa: A002 - the public name of the concept
        progress: Progress | None = None,
    ) -> int:
        """Give vectors to the items that have none of the running model, as fast as the encoder works.

        The database is read and written while the encoder embeds the batch between. A killed run is resumed by the
        next, which repeats two batches at most.

        Args:
            tenant: Whose index.
            kind: Which collection.
            entries_of: Gives the entries of some ids as they were put, since the index keeps no texts; an id that it
                does not give is left as it is.
            filter: Which items.
            progress: Called after every batch that is safely written.

        Returns:
            How many items got their vectors.

        Raises:
            EncoderError: The encoder cannot answer; what was written before stays.
            StoreError: The database does not answer.
        """
        scope = Scope(tenant, kind, await told_model(self._encoder), filter.facets)
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
        split: bool = True,
        message: str = "",
        ahead: Ahead | None = None,
    ) -> SearchResult:
        """Find the items that fit.

        Args:
            caller: Who asks; sees the tenant's common items and those of its own.
            kind: Which collection; one that does not exist holds nothing.
            queries: One message, or the phrases that the calling model wrote.
            limit: Hits at most.
            filter: Which items may be returned.
            threshold: Least probability of a hit, 0 to 1; None for the fitted decision.
            split: Whether a single query is a message that may hold several tasks.
            message: What phrases of the calling model were written for; it lends them context.
            ahead: What `read_ahead` began to read for the same caller, kind, queries, split and message.

        Raises:
            InvalidInput: No query, too many, a negative limit, or a threshold outside 0 to 1.
            StoreError: The database does not answer, and this process holds no copy of the collection or no encoder.
        """
        if limit < 0 or not 0 <= (threshold or 0.0) <= 1:
            raise InvalidInput("The limit or the threshold is out of range.", hint="limit >= 0, threshold 0 to 1.")
        started = time.perf_counter()
        plan = ahead.plan if ahead is not None else plan_of(queries, split=split, message=message)
        request = Request(caller, kind, filter.facets)
        read = self._read(request, plan) if ahead is None else self._narrowed(request, ahead)
        (reading, lexical, lost), embedded = await asyncio.gather(read, self._arms.embed(plan))
        embedded = await self._arms.matching(plan, reading, embedded, lost)
        dense, bare = await self._arms.dense(request, reading, embedded)
        scores = answering.scores_of(reading.ids, dense, lexical)
        traits = await self._reader.traits(request, reading, scores.columns)
        constants = constants_for(reading.model, dense=dense is not None, lexical=not lost)
        found = answering.answer(
            plan,
            reading.postings,
            scores,
            traits,
            constants,
            background=profile_of(kind).background,
            items=reading.items,
            limit=limit,
            threshold=threshold,
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
            embedded.matrix is not None,
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
        texts_of: TextsOf | None = None,
    ) -> Scoring:
        """Score every item that the filter lets through, exactly, for a kind that ranks by itself.

        Args:
            caller: Who asks; sees the tenant's common items and those of its own.
            kind: Which collection; one that does not exist holds nothing.
            query: Any text; nothing in it is query syntax.
            filter: Which items may be returned.
            search_type: Which arms decide. Where the encoder is away the words decide, and `degraded` says so.
            context: What the question came up in; scored beside it.
            synonyms: Other ways of saying words of the query.
            texts_of: Gives the texts of some ids, which the index does not keep: what the query quotes is looked for
                in them word for word. Without it a quotation counts by its words.

        Raises:
            InvalidInput: The query is blank.
            StoreError: The database does not answer, and this process holds no copy of the collection or no encoder.
        """
        if not query.strip():
            raise InvalidInput("There is nothing to search for.", hint="Ask a question, or give some words.")
        started = time.perf_counter()
        plan = plan_of([query, context] if context.strip() else [query], split=False)
        question = Question(Request(caller, kind, filter.facets), plan, search_type, synonyms, texts_of)
        answer = await score(self._arms, question)
        total = (time.perf_counter() - started) * 1000
        return replace(answer, search_ms=max(total - answer.embedding_ms, 0.0))

    async def embed_query(self, query: str) -> Embedded:
        """The vector that a search for a query compares, to look for the query among other texts too.

        Args:
            query: Any text with a word in it.

        Returns:
            Its pieces, one row for a short query; without rows, and with a note, where the encoder is away.

        Raises:
            InvalidInput: The query is blank.
        """
        return await self._arms.embed(plan_of([query], split=False))

    def read_ahead(
        self, caller: Caller, kind: str, queries: Sequence[str], *, split: bool = True, message: str = ""
    ) -> Ahead:
        """Begin to read what a search needs, while what decides about its filter is waited for.

        Args:
            caller: Who will ask.
            kind: Which collection.
            queries: As for `search`.
            split: As for `search`.
            message: As for `search`.

        Raises:
            InvalidInput: No query, or too many.
        """
        plan = plan_of(queries, split=split, message=message)
        return Ahead(kind, plan, asyncio.create_task(self._read(Request(caller, kind, None), plan)))

    @property
    def copied_bytes(self) -> int:
        """Memory that copies of vectors take in this process."""
        return self._copies.nbytes

    async def settle(self) -> None:
        """Wait until no copy is being read; for measurements and tests."""
        await self._copies.settle()

    async def close(self) -> None:
        """Let the copies go; the database and the encoder belong to the caller."""
        await self._copies.close()

    async def _read(self, request: Request, plan: Plan) -> tuple[Reading, Floats, str]:
        """The collection, its BM25 scores, and what was not as it should be; runs beside the embedding."""
        reading, note = await self._arms.read(request, plan.all_terms)
        return reading, score_texts(plan.terms, reading.postings, reading.ids), note

    async def _narrowed(self, request: Request, ahead: Ahead) -> tuple[Reading, Floats, str]:
        """What was read ahead, under the filter; read again where this process holds no copy to filter."""
        reading, lexical, note = await ahead.reading
        if request.facets is None or reading is NOTHING:
            return reading, lexical, note
        if reading.snapshot is None:
            return await self._read(request, ahead.plan)
        narrowed = reading_of(reading.snapshot, request, reading.postings)
        return narrowed, score_texts(ahead.plan.terms, narrowed.postings, narrowed.ids), note
