"""Answers `retrieve_document`: score, choose a document, choose its passages, write.

Invariant: an answer rests on one version of a document; besides the embedding of the question it costs a few round
trips, and nothing in it walks over a repository in Python.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from thresher.core import Caller, EncoderError, InvalidInput, NotFound, Said, event, traced
from thresher.embedding import CrossEncoder, count_tokens
from thresher.knowledge.documents import compression, cursors, ranking, rendering
from thresher.knowledge.documents.abstracting import Excerpt, chunks_of, excerpts_of
from thresher.knowledge.documents.condensing import Condenser
from thresher.knowledge.documents.cursors import Given
from thresher.knowledge.documents.guides import fitted
from thresher.knowledge.documents.layout import Layout
from thresher.knowledge.documents.models import Document, Part, Retrieval, key_of
from thresher.knowledge.documents.question import Question
from thresher.knowledge.documents.rendering import Content
from thresher.knowledge.documents.scoring import Scored, Scorer
from thresher.knowledge.documents.shelf import Holdings, Shelf, gone

_logger = logging.getLogger("thresher.knowledge")


@dataclass(frozen=True, slots=True)
class _Choice:
    """A document, and what an answer may hold of it."""

    document: Document
    layout: Layout
    given: Given | None


class Retriever:
    """Answers questions to a repository.

    Args:
        scorer: Scores its chunks.
        shelf: Where documents are read.
        crossing: Reads question and passage together, where a caller asks for it.
        model: Condenses passages, where a caller asks for it.
    """

    def __init__(self, scorer: Scorer, shelf: Shelf, crossing: CrossEncoder, model: Condenser) -> None:
        self._scorer = scorer
        self._shelf = shelf
        self._crossing = crossing
        self._model = model

    async def retrieve(self, caller: Caller, repository: str, question: Question) -> Retrieval:
        """Answer one question.

        Raises:
            InvalidInput: The cursor belongs to another question.
            NotFound: There is no such repository or document, or it has changed since the cursor was given.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        with traced() as trace:
            given = cursors.given_before(question.cursor, question.words(repository)) if question.cursor else None
            try:
                answer = await self._answered(caller, repository, question, given)
            except NotFound as error:
                if error.message != gone().message or given is not None:
                    raise
                answer = await self._answered(caller, repository, question, given)  # it was replaced in between
            total = (time.perf_counter() - started) * 1000
            answer = replace(answer, timings={**answer.timings, "total": round(total, 2)}, trace_id=trace)
            _report(caller, question, answer)
        return answer

    async def _answered(self, caller: Caller, repository: str, question: Question, given: Given | None) -> Retrieval:
        scored = await self._scorer.score(caller, repository, question)
        ready = time.perf_counter()
        holdings = next(iter(scored.holdings.values()))
        named = holdings.document(question.document) if question.document else None
        notes = [scored.scoring.degraded]
        if question.rerank and len(scored.ids):
            scored, note = await self._reranked(caller, question, scored)
            notes.append(note)
        crossed = time.perf_counter()
        key = _key(scored, holdings, named, given)
        if key is None:
            answer = await self._nothing(caller, repository, question, scored)
        else:
            document = scored.document(key)
            layout = await self._shelf.layout(caller.tenant, key)
            choice = _Choice(document, layout, given)
            content = await self._content(caller, repository, question, scored, choice)
            answer = _retrieval(document, content, compressed=given is not None or bool(content.left_out))
            if question.mode == "abstractive" and answer.was_compressed:
                answer, note = await self._condensed(caller, repository, question, scored, choice, answer)
                notes.append(note)
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
        self, caller: Caller, repository: str, question: Question, scored: Scored, choice: _Choice
    ) -> Content:
        """The whole document, or what fits of it."""
        document, layout = choice.document, choice.layout
        if choice.given is None and document.tokens <= question.budget:
            texts = await self._shelf.texts(caller.tenant, document.id, range(len(layout)))
            return rendering.whole(document, layout, "".join(texts[place] for place in range(len(layout))))
        given = None if choice.given is None else choice.given.mask(len(layout))
        scores = scored.of(document.id, len(layout))
        plan = compression.plan(layout, scores, question.budget, given, document.path)
        texts = await self._shelf.texts(caller.tenant, document.id, plan.reads(layout))
        return rendering.render(document, layout, plan, texts, question.budget, question.words(repository))

    async def _condensed(
        self, caller: Caller, repository: str, question: Question, scored: Scored, choice: _Choice, answer: Retrieval
    ) -> tuple[Retrieval, str]:
        """A model's answer; this one, with a note, where there is none."""
        document, layout = choice.document, choice.layout

        async def extract(budget: int) -> tuple[Retrieval, Sequence[Excerpt]]:
            wide = await self._content(caller, repository, replace(question, budget=budget), scored, choice)
            texts = await self._shelf.texts(caller.tenant, document.id, chunks_of(wide.parts, layout))
            return _retrieval(document, wide, compressed=True), excerpts_of(wide.parts, layout, texts)

        return await self._model.condensed(question, answer, extract)

    async def _reranked(self, caller: Caller, question: Question, scored: Scored) -> tuple[Scored, str]:
        """The scores with the judgement of the cross-encoder on the best; the same, with a note, where it is away."""
        best = scored.best(ranking.PAIRS)
        keys = [key_of(number) for number in scored.ids[best].tolist()]
        texts = await self._shelf.texts_of(caller.tenant, keys)
        read = np.array([key in texts for key in keys], np.bool_)
        try:
            logits = await self._crossing.rerank(question.query, [texts[key] for key in keys if key in texts])
        except EncoderError as error:
            return scored, f"Not reranked: {error.message}"
        return replace(scored, scores=ranking.reranked(scored.scores, best[read], logits)), ""

    async def _nothing(self, caller: Caller, repository: str, question: Question, scored: Scored) -> Retrieval:
        """Where nothing fits: the way around the repository."""
        head = next(iter(scored.heads.values()))
        text = fitted(await self._shelf.guide(caller.tenant, head.id), question.budget)
        tokens = count_tokens(text)
        part = Part(GUIDE, (), 1, text.count("\n") + 1, 0, len(text), tokens)
        return Retrieval(
            content=text,
            sources=(part,) if text else (),
            token_count=tokens,
            was_compressed=False,
            original_token_count=tokens,
            found=False,
            hint=_advice(repository, question, scored),
        )


_TOO_LITTLE: Final = "None of what is left fits into this budget: give more tokens, or read_document with its lines."
GUIDE: Final = "(guide)"
"""Stands for a path where the guide of a repository is the answer."""


def _key(scored: Scored, holdings: Holdings, named: Document | None, given: Given | None) -> int | None:
    """The document to answer from; None where nothing fits.

    Raises:
        InvalidInput: The cursor is of another document than the one that is named.
        NotFound: That of the cursor is not current any more.
    """
    if given is not None:
        if given.document not in holdings.by_id:
            raise NotFound("The document has changed since that answer.", hint="Ask again without the cursor.")
        if named is not None and named.id != given.document:
            raise InvalidInput(
                f"The cursor belongs to another document than '{named.path}'.", hint="Ask again without the cursor."
            )
        return given.document
    if named is not None:
        return named.id
    return next(iter(scored.best_documents(1)), None) if scored.fits else None


def _retrieval(document: Document, content: Content, *, compressed: bool) -> Retrieval:
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


def _advice(repository: str, question: Question, scored: Scored) -> str:
    """What to try where nothing fits."""
    head = next(iter(scored.heads.values()))
    if not head.documents:
        coming = head.state in ("waiting", "indexing")
        empty = f"holds no documents; why, says: thresher docs show {repository}"
        return f"'{repository}' {'is being indexed; ask again in a moment.' if coming else empty}"
    other = "other words" if question.search_type == "hybrid" else "other words, or search_type=hybrid"
    return f"Nothing in '{repository}' fits. Try {other}; its guide stands in content; read_document reads a path."


def _report(caller: Caller, question: Question, answer: Retrieval) -> None:
    event(
        _logger,
        "retrieve_document",
        tenant=caller.tenant.id,
        user=caller.user,
        query=Said(question.query),
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
