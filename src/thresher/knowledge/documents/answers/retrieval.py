"""Answers `retrieve_document`: score chunks, choose a document, choose its passages, write the answer.

Invariant: an answer rests on one version of a document; besides embedding the question it takes a few round trips, and
nothing in it iterates over a repository in Python.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from thresher.core import Caller, CallerText, EncoderError, InvalidCursor, NotFound, event, one_line, traced
from thresher.embedding import CrossEncoder, count_tokens
from thresher.knowledge.documents.answers import compression, cursors, ranking, rendering
from thresher.knowledge.documents.answers.abstracts import Condenser, Excerpt, chunks_of, excerpts_of
from thresher.knowledge.documents.answers.cursors import DeliveredChunks
from thresher.knowledge.documents.answers.rendering import RenderedAnswer
from thresher.knowledge.documents.answers.scoring import ScoredChunks, Scorer
from thresher.knowledge.documents.cache import DocumentCache, Holdings, document_changed
from thresher.knowledge.documents.guides.text import cut_to_budget
from thresher.knowledge.documents.layout import DocumentLayout
from thresher.knowledge.documents.models import Document, DocumentPart, Retrieval, chunk_id, key_of
from thresher.knowledge.documents.queries import RepositoryHead
from thresher.knowledge.documents.question import SMALL_TALK, DocumentQuestion, is_small_talk

_logger = logging.getLogger("thresher.knowledge")


@dataclass(frozen=True, slots=True)
class _AnswerSource:
    """The document to answer from, and what earlier answers contained."""

    document: Document
    layout: DocumentLayout
    delivered: DeliveredChunks | None


class Retriever:
    """Answers questions to a repository.

    Args:
        scorer: Scores its chunks.
        cache: Reads documents.
        crossing: Reads question and passage together, if a caller requests it.
        model: Condenses passages, if a caller requests it.
    """

    def __init__(self, scorer: Scorer, cache: DocumentCache, crossing: CrossEncoder, model: Condenser) -> None:
        self._scorer = scorer
        self._cache = cache
        self._crossing = crossing
        self._model = model

    async def retrieve(self, caller: Caller, repository: str, question: DocumentQuestion) -> Retrieval:
        """Answer one question.

        Raises:
            InvalidCursor: The cursor belongs to another question.
            NotFound: There is no such repository or document, or it has changed since the cursor was issued.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        with traced() as trace:
            delivered = cursors.decode(question.cursor, question.words(repository)) if question.cursor else None
            try:
                answer = await self._answered(caller, repository, question, delivered)
            except NotFound as error:
                if error.message != document_changed().message or delivered is not None:
                    raise
                answer = await self._answered(caller, repository, question, delivered)  # it was replaced meanwhile
            total = (time.perf_counter() - started) * 1000
            answer = replace(answer, timings={**answer.timings, "total": round(total, 2)}, trace_id=trace)
            _report(caller, question, answer)
        return answer

    async def _answered(
        self, caller: Caller, repository: str, question: DocumentQuestion, delivered: DeliveredChunks | None
    ) -> Retrieval:
        if is_small_talk(question):
            return await self._nothing(caller, repository, await self._scorer.head(caller, repository), question)
        scored = plain = await self._scorer.score(caller, [repository], question)
        ready = time.perf_counter()
        holdings = next(iter(scored.holdings.values()))
        named = holdings.document(question.document) if question.document else None
        notes = [scored.scoring.degraded]
        if question.rerank and len(scored.ids):
            scored, note = await self._reranked(caller, question, scored)
            notes.append(note)
        crossed = time.perf_counter()
        key = _key(scored, holdings, named, delivered)
        if key is None:
            answer = await self._nothing(caller, repository, next(iter(scored.heads.values())), question)
        else:
            document = scored.document(key)
            if document.tokens > question.budget:
                inside = await self._scorer.without_names(caller, [repository], question, plain, plain.names(key))
                scored = replace(inside, scores=inside.scores + (scored.scores - plain.scores))
            layout = await self._cache.layout(caller.tenant, key)
            source = _AnswerSource(document, layout, delivered)
            content = await self._content(caller, repository, question, scored, source)
            answer = _retrieval(document, content, compressed=delivered is not None or bool(content.left_out))
            if question.mode == "abstractive" and answer.was_compressed:
                answer, note = await self._condensed(caller, repository, question, scored, source, answer)
                notes.append(note)
            sources = tuple(scored.explained(part, key, layout) for part in answer.sources)
            answer = replace(answer, sources=sources, why=_why(plain, key, named, delivered))
        timings = {
            "embedding": round(scored.scoring.embedding_ms, 2),
            "search": round(scored.scoring.search_ms, 2),
            "rerank": round((crossed - ready) * 1000, 2),
            "compose": round((time.perf_counter() - crossed) * 1000, 2),
        }
        return replace(
            answer,
            repository=repository,
            search_type=scored.scoring.search_type,
            degraded=" ".join(filter(None, notes)),
            timings=timings,
        )

    async def _content(
        self, caller: Caller, repository: str, question: DocumentQuestion, scored: ScoredChunks, source: _AnswerSource
    ) -> RenderedAnswer:
        """The whole document, or what fits of it."""
        document, layout = source.document, source.layout
        if source.delivered is None and document.tokens <= question.budget:
            texts = await self._cache.texts(caller.tenant, document.id, range(len(layout)))
            return rendering.whole(document, layout, "".join(texts[place] for place in range(len(layout))))
        delivered = None if source.delivered is None else source.delivered.mask(len(layout))
        scores, nearness = scored.of(document.id, len(layout)), scored.nearness(document.id, len(layout))
        plan = compression.plan(layout, scores, question.budget, delivered, document.path, nearness)
        texts = await self._cache.texts(caller.tenant, document.id, plan.reads(layout))
        return rendering.render(document, layout, plan, texts, question.budget, question.words(repository))

    async def _condensed(
        self,
        caller: Caller,
        repository: str,
        question: DocumentQuestion,
        scored: ScoredChunks,
        source: _AnswerSource,
        answer: Retrieval,
    ) -> tuple[Retrieval, str]:
        """A model's answer, or this one with a note if there is none."""
        document, layout = source.document, source.layout

        async def extract(budget: int) -> tuple[Retrieval, Sequence[Excerpt]]:
            wide = await self._content(caller, repository, replace(question, budget=budget), scored, source)
            texts = await self._cache.texts(caller.tenant, document.id, chunks_of(wide.parts, layout))
            return _retrieval(document, wide, compressed=True), excerpts_of(wide.parts, layout, texts)

        return await self._model.condensed(question, answer, extract)

    async def _reranked(
        self, caller: Caller, question: DocumentQuestion, scored: ScoredChunks
    ) -> tuple[ScoredChunks, str]:
        """The scores with the cross-encoder's judgement of the best chunks, and a note if it is unavailable."""
        best = scored.best(ranking.PAIRS)
        keys = [key_of(number) for number in scored.ids[best].tolist()]
        texts = await self._cache.texts_of(caller.tenant, keys)
        read = np.array([key in texts for key in keys], np.bool_)
        try:
            logits = await self._crossing.rerank(question.query, [texts[key] for key in keys if key in texts])
        except EncoderError as error:
            return scored, f"Not reranked: {error.message}"
        return replace(scored, scores=ranking.reranked(scored.scores, best[read], logits)), ""

    async def _nothing(
        self, caller: Caller, repository: str, head: RepositoryHead, question: DocumentQuestion
    ) -> Retrieval:
        """The answer if nothing fits: the beginning of the repository's guide."""
        guide = await self._cache.guide(caller.tenant, head.id)
        text = cut_to_budget(guide, min(question.budget, GUIDE_TOKENS))
        tokens = count_tokens(text)
        part = DocumentPart(GUIDE, (), 1, text.count("\n") + 1, 0, len(text), tokens)
        return Retrieval(
            content=text,
            sources=(part,) if text else (),
            token_count=tokens,
            was_compressed=False,
            original_token_count=tokens,
            found=False,
            hint=_advice(repository, head, question),
            repository=repository,
            search_type=question.search_type,
        )


_TOO_LITTLE: Final = "Nothing of what is left fits into this budget: raise it, or read the lines with read_document."
GUIDE_TOKENS: Final = 300
"""Most tokens of the guide if nothing fits: what the repository is about, not all that it contains."""
GUIDE: Final = "(guide)"
"""Stands for a path if the answer is the guide of a repository."""


def _key(
    scored: ScoredChunks, holdings: Holdings, named: Document | None, delivered: DeliveredChunks | None
) -> int | None:
    """The document to answer from; None if nothing fits.

    Raises:
        InvalidCursor: The cursor belongs to another document than the requested one.
        NotFound: The cursor's document is no longer current.
    """
    if delivered is not None:
        if delivered.document not in holdings.by_id:
            raise NotFound("The document has changed since that answer.", hint="Ask again without the cursor.")
        if named is not None and named.id != delivered.document:
            raise InvalidCursor
        return delivered.document
    if named is not None:
        return named.id
    return next(iter(scored.best_documents(1)), None) if scored.fits else None


def _why(scored: ScoredChunks, key: int, named: Document | None, delivered: DeliveredChunks | None) -> str:
    """Why a document was chosen."""
    if named is not None:
        return "asked for"
    if delivered is not None:
        return "continues an answer from it"
    others = [scored.document(one).path for one in scored.best_documents(2) if one != key]
    best = f"fits best; {scored.why(chunk_id(key, 0), chunk_id(key + 1, 0))}"
    return f"{best}; next: {one_line(others[0])}" if others else best


def _retrieval(document: Document, content: RenderedAnswer, *, compressed: bool) -> Retrieval:
    return Retrieval(
        content=content.text,
        sources=content.parts,
        token_count=content.tokens,
        was_compressed=compressed,
        original_token_count=document.tokens,
        left_out=content.left_out,
        cursor=content.cursor,
        document=document.path,
        hint=_TOO_LITTLE if content.left_out and not content.cursor else "",
    )


def _advice(repository: str, head: RepositoryHead, question: DocumentQuestion) -> str:
    """What to try if nothing fits."""
    if not head.documents:
        coming = head.state in ("waiting", "indexing")
        empty = f"contains no documents; for the reason run: thresher docs show {repository}"
        return f"'{repository}' {'is being indexed; ask again in a moment.' if coming else empty}"
    if is_small_talk(question):
        return SMALL_TALK
    other = "other words" if question.search_type == "hybrid" else "other words, or search_type=hybrid"
    return f"Nothing in '{repository}' fits. Try {other}; content holds its guide; read_document reads a path."


def _report(caller: Caller, question: DocumentQuestion, answer: Retrieval) -> None:
    event(
        _logger,
        "retrieve_document",
        tenant=caller.tenant.id,
        user=caller.user,
        query=CallerText(question.query),
        repository=answer.repository,
        document=answer.document,
        found=answer.found,
        tokens=answer.token_count,
        budget=question.budget,
        search_type=answer.search_type,
        degraded=answer.degraded,
        ms=answer.timings.get("total", 0.0),
        embedding_ms=answer.timings.get("embedding", 0.0),
    )
