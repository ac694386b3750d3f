"""Answers `search_documents`: ranked passages of one repository, or of those that the question is about.

Invariant: a passage is a chunk, verbatim; scores of one answer and of those that its cursor fetches are comparable
across repositories, because all are scored at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final

import numpy as np

from thresher.core import Caller, CallerText, CursorCodec, check_limit, event, traced
from thresher.knowledge.documents.answers import ranking
from thresher.knowledge.documents.answers import repository_choice as choosing
from thresher.knowledge.documents.answers.repository_choice import RepositoryChoice
from thresher.knowledge.documents.answers.scoring import ScoredChunks, Scorer
from thresher.knowledge.documents.cache import DocumentCache
from thresher.knowledge.documents.layout import DocumentLayout
from thresher.knowledge.documents.models import Document, DocumentPart, Passage, Passages, chunk_id, key_of
from thresher.knowledge.documents.question import SMALL_TALK, DocumentQuestion, is_small_talk

_logger = logging.getLogger("thresher.knowledge")
PASSAGES: Final = 8
"""Default number of passages, of all repositories together."""
MOST_PASSAGES: Final = 50
LEAST_RELEVANCE: Final = 0.05
"""Below it the passages of a message are not read: nothing that other searches say makes them probable."""
_DEEPEST: Final = 10_000
_CURSOR: Final[CursorCodec[int]] = CursorCodec("search_documents", int)


class PassageSearcher:
    """Finds passages.

    Args:
        scorer: Scores chunks.
        cache: Reads chunks.
    """

    def __init__(self, scorer: Scorer, cache: DocumentCache) -> None:
        self._scorer = scorer
        self._cache = cache

    async def search(self, caller: Caller, repository: str | None, question: DocumentQuestion, limit: int) -> Passages:
        """The best passages.

        Raises:
            InvalidInput: The limit is out of bounds.
            InvalidCursor: The cursor belongs to another question.
            NotFound: There is no such repository.
            StoreUnavailable: The database cannot be reached.
        """
        check_limit(limit, MOST_PASSAGES)
        started = time.perf_counter()
        with traced() as trace:
            if is_small_talk(question):
                if repository is not None:
                    await self._scorer.head(caller, repository)
                return _chat(question, (time.perf_counter() - started) * 1000, trace)
            words = question.words(repository or "")
            (first,) = _CURSOR.decode(question.cursor, words) if question.cursor else (0,)
            names = [] if repository is None else [repository]
            whole = await self._scorer.score(caller, names, question)
            choice = (
                choosing.requested(whole)
                if repository
                else choosing.choose(question.query, whole, abstains=not question.message)
            )
            scored = whole.among(choice.keys)
            relevance = round(ranking.relevance(scored.dense, scored.coverage, scored.scoring.model), 4)
            fits = choice.fits and (not question.message or relevance >= LEAST_RELEVANCE)
            if fits and (best := scored.best_documents(1)):
                whole = await self._scorer.without_names(caller, names, question, whole, whole.names(best[0]))
                scored = whole.among(choice.keys)
            places = scored.best(first + limit + 1) if fits else np.empty(0, np.int64)
            if scored.scoring.search_type == "text":
                places = places[scored.scores[places] > 0]  # the others share no words with the question
            taken = places[first : first + limit]
            passages = await self._passages(caller, scored, taken.tolist())
            more = len(places) > first + limit and first + limit < _DEEPEST
            answer = Passages(
                passages=passages,
                token_count=sum(passage.part.tokens for passage in passages),
                searched=len(whole.ids),
                repositories=choice.searched,
                left_out=choice.left_out,
                left_out_count=choice.left_out_count,
                relevance=relevance,
                cursor=_CURSOR.encode(first + limit, question=words) if more else "",
                hint="" if passages else advice(names, whole, choice),
                search_type=scored.scoring.search_type,
                degraded=scored.scoring.degraded,
                timings={
                    "embedding": round(scored.scoring.embedding_ms, 2),
                    "search": round(scored.scoring.search_ms, 2),
                    "total": round((time.perf_counter() - started) * 1000, 2),
                },
                trace_id=trace,
            )
            _report(caller, repository, question, answer)
        return answer

    async def _passages(self, caller: Caller, scored: ScoredChunks, places: list[int]) -> tuple[Passage, ...]:
        keys = [key_of(number) for number in scored.ids[places].tolist()]
        layouts = await self._cache.layouts(caller.tenant, [document for document, _ in keys])
        texts = await self._cache.texts_of(caller.tenant, keys)
        found: list[Passage] = []
        for place, (key, ordinal) in zip(places, keys, strict=True):
            if key in layouts and (key, ordinal) in texts:
                document = scored.document(key)
                part = part_of(document, layouts[key], ordinal)
                found.append(
                    Passage(
                        scored.heads[document.repository].name,
                        part,
                        document.title,
                        texts[key, ordinal],
                        round(float(scored.scores[place]), 4),
                        scored.why(chunk_id(key, ordinal), chunk_id(key, ordinal + 1)),
                    )
                )
        return tuple(found)


def part_of(document: Document, layout: DocumentLayout, ordinal: int) -> DocumentPart:
    """Where a chunk is."""
    return DocumentPart(
        document.path,
        layout.paths[int(layout.headings[ordinal])],
        int(layout.first_lines[ordinal]),
        int(layout.last_lines[ordinal]),
        int(layout.starts[ordinal]),
        int(layout.ends[ordinal]),
        int(layout.tokens[ordinal]),
    )


def _chat(question: DocumentQuestion, total: float, trace: str) -> Passages:
    """The answer to small talk."""
    timings = {"embedding": 0.0, "search": 0.0, "total": round(total, 2)}
    return Passages((), 0, 0, hint=SMALL_TALK, search_type=question.search_type, timings=timings, trace_id=trace)


def advice(repositories: Sequence[str], scored: ScoredChunks, choice: RepositoryChoice) -> str:
    """What to try if nothing fits in some repositories; in any without names."""
    if not scored.heads:
        return "No repository is indexed yet."
    named = choice.named or tuple(scored.heads.values())
    if not any(head.documents for head in named):
        whose = f" of {_listed([head.name for head in choice.named])}" if choice.named else ""
        return f"Nothing{whose} is indexed yet; list_repositories shows the progress."
    names = repositories or [head.name for head in choice.named]
    where = _listed(names) if names else "any repository"
    return f"Nothing in {where} fits. Try other words; list_repositories shows what each repository contains."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _report(caller: Caller, repository: str | None, question: DocumentQuestion, answer: Passages) -> None:
    event(
        _logger,
        "search_documents",
        tenant=caller.tenant.id,
        user=caller.user,
        query=CallerText(question.query),
        repository=repository or "",
        repositories=[one.name for one in answer.repositories],
        left_out=answer.left_out_count,
        passages=len(answer.passages),
        searched=answer.searched,
        search_type=answer.search_type,
        degraded=answer.degraded,
        ms=answer.timings["total"],
        embedding_ms=answer.timings["embedding"],
    )
