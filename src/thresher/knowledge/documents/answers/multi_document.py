"""Answers `retrieve_documents`: passages of several documents in one budget, each under its document.

The documents are chosen; a question that names them is asked again without the names, and what the best passages of
several documents say alike is looked for in all. Then the budget is filled by value: the best passage of a document
counts more than the second of any other that fits about as well.

Invariant: an answer is verbatim text of current documents, never exceeds its budget, and says which of the documents
that it is about had no room in it.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from thresher.core import Caller, CallerText, NotFound, did_you_mean, event, one_line, traced
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers import outline, ranking
from thresher.knowledge.documents.answers import repository_choice as choosing
from thresher.knowledge.documents.answers.compression import CompressionPlan, units_of
from thresher.knowledge.documents.answers.document_choice import (
    DocumentCandidate,
    Mentions,
    choose_documents,
    mentions,
    without_names,
)
from thresher.knowledge.documents.answers.rendering import PATH_CHARACTERS, AnswerDraft, AnswerWriter
from thresher.knowledge.documents.answers.scoring import ScoredChunks, Scorer
from thresher.knowledge.documents.answers.search import advice
from thresher.knowledge.documents.cache import DocumentCache, document_changed
from thresher.knowledge.documents.layout import Column, DocumentLayout
from thresher.knowledge.documents.models import DocumentPart, RepositoryCandidate, SearchType
from thresher.knowledge.documents.question import SMALL_TALK, DocumentQuestion, is_small_talk
from thresher.search import Floats, Units, query_terms, select

_logger = logging.getLogger("thresher.knowledge")

FIRST: Final = 4.0
"""Score that a document's best passage gains; its second gains half of that, its third a third."""
INSIDE: Final = 1.0
"""The same for a document of a repository that the question names, unless it is the best one there."""
NEAREST: Final = 3
"""The nearest chunks take one of so many places: of each document an answer holds a few passages only."""
ALIKE_DOCUMENTS: Final = 3
"""Documents whose best passages show what is looked for."""
_ALIKE_CHARACTERS: Final = 1_200
_PASSAGE_TOKENS: Final = 40
"""A short passage with its mark: a budget has room for no more documents than this allows."""
_FRAME_TOKENS: Final = 3
"""Tokens around a document's path in its first mark."""
_LEFT_OUT: Final = 10
"""Most left-out documents that an answer names; the others are counted."""
_NO_ROOM: Final = "no room in this budget"
_TOO_LITTLE: Final = "Nothing fits into this budget: raise it."


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """What an answer from several documents contains of one of them, or that it contains nothing of it.

    Attributes:
        repository: Name of its repository.
        document: Its path.
        title: Its title.
        why: Why it was chosen, or left out, in a few words.
        sources: Its parts that the answer contains, in order; none for a document that was left out.
        token_count: Tokens of its part of the answer, marks included.
        original_token_count: Tokens of the whole document.
        cursor: Fetches the rest of it from `retrieve_document` with the same question; empty if nothing is missing.
    """

    repository: str
    document: str
    title: str
    why: str
    sources: tuple[DocumentPart, ...] = ()
    token_count: int = 0
    original_token_count: int = 0
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class MultiRetrieval:
    """The answer of `retrieve_documents`.

    Attributes:
        content: What a model reads: verbatim passages, those of a document together, each under a line with its place.
        documents: The documents that `content` contains something of, in its order.
        token_count: Exact tokens of `content`; never above the budget.
        left_out: The best of the documents that it contains nothing of, best first.
        left_out_count: Number of documents that were searched and that it contains nothing of.
        repositories: The searched repositories: the requested ones, or those that the question is about.
        relevance: Probability, 0 to 1, that the passages answer the question.
        found: Whether anything fits the question.
        hint: What to try instead, if nothing fits the question or the budget.
        tokenizer: `o200k`.
        search_type: The search type that was used.
        degraded: How the answer is weaker than requested, in words.
        timings: Milliseconds of each step.
        trace_id: Identifies the answer in the logs.
    """

    content: str = ""
    documents: tuple[DocumentPassages, ...] = ()
    token_count: int = 0
    left_out: tuple[DocumentPassages, ...] = ()
    left_out_count: int = 0
    repositories: tuple[RepositoryCandidate, ...] = ()
    relevance: float = 0.0
    found: bool = True
    hint: str = ""
    tokenizer: str = "o200k"
    search_type: SearchType = "hybrid"
    degraded: str = ""
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A candidate, and its chunks in order.

    Attributes:
        candidate: The document.
        layout: Its layout.
        places: int64 (n,), the place of each chunk, from 1.
        scores: float32 (n,), the score of that place.
    """

    candidate: DocumentCandidate
    layout: DocumentLayout
    places: Column
    scores: Floats

    @property
    def best(self) -> int:
        """Ordinal of the first chunk."""
        return int(np.argmin(self.places))


def rank(candidate: DocumentCandidate, layout: DocumentLayout, scored: ScoredChunks) -> _Ranked:
    """Order the chunks of a document as `compression.plan` does."""
    key, chunks = candidate.document.id, len(layout)
    seen = ranking.among_neighbours(scored.of(key, chunks), layout.headings)
    order = np.argsort(-ranking.with_nearest(seen, scored.nearness(key, chunks), NEAREST), kind="stable")
    places = np.empty(chunks, np.int64)
    places[order] = np.arange(1, chunks + 1)
    return _Ranked(candidate, layout, places, np.sort(seen)[::-1][places - 1])


def values_of(documents: Sequence[_Ranked]) -> list[Floats]:
    """How much each chunk of each document is worth, float32 (n,) for each.

    A chunk is worth as much as its score lies below the best of the group that it competes in, and the more the fewer
    passages of its document come before it: so documents are covered before any is deepened.
    """
    tops = defaultdict[int, float](lambda: -np.inf)
    for one in documents:
        tops[one.candidate.group] = max(tops[one.candidate.group], float(one.scores.max()))
    gains = [FIRST if one.candidate.group >= 0 or one.candidate.gap == 0 else INSIDE for one in documents]
    return [
        (one.scores - tops[one.candidate.group] + gain / one.places).astype(np.float32)
        for one, gain in zip(documents, gains, strict=True)
    ]


def units_of_all(documents: Sequence[_Ranked]) -> Units:
    """The chunks of documents, one after the other, as units to select from; the first of each pays for the path."""
    units = [units_of(one.layout) for one in documents]
    paths = [count_tokens(one.candidate.document.path) + _FRAME_TOKENS for one in documents]
    starts = np.cumsum([0, *(len(one) for one in units)])
    labels = np.cumsum([0, *(len(one.label_costs) for one in units)])
    return Units(
        np.concatenate(
            [u.costs + path * (one.places == 1) for u, path, one in zip(units, paths, documents, strict=True)]
        ),
        np.concatenate([u.openings for u in units]),
        np.concatenate([u.labels + first for u, first in zip(units, labels, strict=False)]),
        np.concatenate([u.label_costs for u in units]),
        np.concatenate([u.twins + first for u, first in zip(units, starts, strict=False)]),
    )


@dataclass(slots=True)
class _Page:
    """The answer while it is written: drafts of documents, in the order of the candidates.

    Attributes:
        writers: Writes each candidate's passages.
        chosen: Candidate and ordinal of each chunk, in the order of choice.
        budget: Most tokens.
        drafts: The candidates that have passages.
    """

    writers: Sequence[AnswerWriter]
    chosen: list[tuple[int, int]]
    budget: int
    drafts: dict[int, AnswerDraft] = field(default_factory=dict[int, AnswerDraft])

    def fit(self, covered: Sequence[int], unmet: Sequence[str]) -> tuple[str, int]:
        """Write the answer, and drop the last chunks until it fits; return it and its tokens.

        Args:
            covered: Candidates that should have a passage, most important first.
            unmet: Paths of further documents that should.
        """
        for document in {document for document, _ in self.chosen}:
            self._write(document)
        while True:
            text = "\n".join([*self._segments(), *self._ending(covered, unmet)])
            tokens = count_tokens(text)
            if tokens <= self.budget or not self.chosen:
                return (text, tokens) if tokens <= self.budget and self.chosen else ("", 0)
            self._drop(tokens - self.budget)

    def _segments(self) -> list[str]:
        return [segment for document in sorted(self.drafts) for segment in self.drafts[document].segments]

    def _ending(self, covered: Sequence[int], unmet: Sequence[str]) -> list[str]:
        """The line that names documents without room; as many as a small share of the budget allows."""
        missing = [self.writers[one].document.path for one in covered if one not in self.drafts]
        names = [one_line(path, PATH_CHARACTERS) for path in (*missing, *unmet)]
        for count in range(min(len(names), _LEFT_OUT), 0, -1):
            more = f" and {len(names) - count} more" if count < len(names) else ""
            line = f"[no room for: {', '.join(names[:count])}{more}]"
            if count_tokens(line) <= max(self.budget // outline.SHARE, _PASSAGE_TOKENS):
                return [line]
        return []

    def _drop(self, excess: int) -> None:
        dropped = set[int]()
        while excess > 0 and self.chosen:
            document, ordinal = self.chosen.pop()
            excess -= int(self.writers[document].layout.tokens[ordinal])
            dropped.add(document)
        for document in dropped:
            self._write(document)

    def _write(self, document: int) -> None:
        ordinals = [ordinal for one, ordinal in self.chosen if one == document]
        if ordinals:
            self.drafts[document] = self.writers[document].written(ordinals)
        else:
            self.drafts.pop(document, None)


class MultiDocumentRetriever:
    """Answers questions from several documents.

    Args:
        scorer: Scores chunks.
        cache: Reads documents.
    """

    def __init__(self, scorer: Scorer, cache: DocumentCache) -> None:
        self._scorer = scorer
        self._cache = cache

    async def retrieve(
        self, caller: Caller, repositories: Sequence[str], paths: Sequence[str], question: DocumentQuestion
    ) -> MultiRetrieval:
        """Answer one question.

        Args:
            caller: The caller of the question.
            repositories: Names of the only repositories to use; empty for those that the question is about.
            paths: Paths of the only documents to use; empty for those that the question is about.
            question: The question.

        Raises:
            NotFound: There is no such repository or document.
            StoreUnavailable: The database cannot be reached.
        """
        started = time.perf_counter()
        with traced() as trace:
            try:
                answer = await self._answered(caller, repositories, paths, question)
            except NotFound as error:
                if error.message != document_changed().message:
                    raise
                answer = await self._answered(caller, repositories, paths, question)  # it was replaced meanwhile
            total = round((time.perf_counter() - started) * 1000, 2)
            answer = replace(answer, timings={**answer.timings, "total": total}, trace_id=trace)
            _report(caller, question, answer)
        return answer

    async def _answered(
        self, caller: Caller, repositories: Sequence[str], paths: Sequence[str], question: DocumentQuestion
    ) -> MultiRetrieval:
        if is_small_talk(question):
            for name in repositories:
                await self._scorer.head(caller, name)
            return MultiRetrieval(found=False, hint=SMALL_TALK, search_type=question.search_type)
        whole = await self._scorer.score(caller, repositories, question)
        asked = _asked_for(whole, paths)
        choice = choosing.requested(whole) if repositories else choosing.choose(question.query, whole)
        if not asked and not choice.fits:
            hint = advice(repositories, whole, choice)
            return MultiRetrieval(
                found=False, hint=hint, search_type=question.search_type, repositories=choice.searched
            )
        named = mentions(question.query, whole)
        if asked:
            scope = {one.document.repository for one in asked}
        elif repositories:
            scope = set(whole.heads)
        else:
            scope = set(named.repositories if named.repositories and not named.documents else choice.keys)
            scope |= named.repositories | {whole.document(key).repository for key in named.documents}
        names = sorted(whole.heads[key].name for key in scope)
        passes = [whole, await self._narrowed(caller, names, question, whole, named)]
        scored = passes[-1]
        if not np.isin([*named.documents, *(one.document.id for one in asked)], scored.documents[0]).all():
            raise document_changed()
        candidates = asked or choose_documents(named, scored)
        most = max(question.budget // _PASSAGE_TOKENS, 1)
        candidates, others = candidates[:most], candidates[most:]
        ranked = await self._ranked(caller, candidates, scored)
        if ranked and scored.dense is not None:
            passes.append(await self._alike(caller, names, question, scored, ranked))
            ranked = await self._ranked(caller, candidates, passes[-1])
        answer = await self._composed(caller, question, passes[-1], ranked, others)
        reasons = {one.name: one for one in choice.searched}
        return replace(
            answer,
            repositories=tuple(reasons.get(name, RepositoryCandidate(name, "named in the question")) for name in names),
            relevance=round(ranking.relevance(scored.dense, scored.coverage, scored.scoring.model), 4),
            search_type=scored.scoring.search_type,
            degraded=scored.scoring.degraded,
            timings={
                "embedding": round(sum(one.scoring.embedding_ms for one in passes), 2),
                "search": round(sum(one.scoring.search_ms for one in passes), 2),
            },
        )

    async def _narrowed(
        self, caller: Caller, names: Sequence[str], question: DocumentQuestion, whole: ScoredChunks, named: Mentions
    ) -> ScoredChunks:
        """The chunks of the chosen repositories, scored by the question without the names that it holds."""
        everywhere = frozenset[str]().union(*(whole.names(key) for key in named.documents))
        rest = without_names(question.query, named.words | everywhere) if len(named) else question.query
        if question.search_type == "text" or not query_terms(rest):
            rest = question.query
        if rest == question.query and len(names) == len(whole.heads):
            return whole
        return await self._scorer.score(caller, names, replace(question, query=rest))

    async def _ranked(
        self, caller: Caller, candidates: Sequence[DocumentCandidate], scored: ScoredChunks
    ) -> list[_Ranked]:
        layouts = await self._cache.layouts(caller.tenant, [one.document.id for one in candidates])
        if len(layouts) < len(candidates):
            raise document_changed()
        return [rank(one, layouts[one.document.id], scored) for one in candidates]

    async def _alike(
        self,
        caller: Caller,
        names: Sequence[str],
        question: DocumentQuestion,
        scored: ScoredChunks,
        ranked: Sequence[_Ranked],
    ) -> ScoredChunks:
        """The same chunks, also compared with the best passages of a few documents."""
        best = sorted(ranked, key=lambda one: -float(scored.of(one.candidate.document.id, len(one.layout)).max()))
        keys = [(one.candidate.document.id, one.best) for one in best[:ALIKE_DOCUMENTS]]
        texts = await self._cache.texts_of(caller.tenant, keys)
        passages = "\n".join(texts[key] for key in keys if key in texts)[:_ALIKE_CHARACTERS]
        compared = await self._scorer.score(caller, names, replace(question, context=passages))
        if not np.array_equal(compared.ids, scored.ids):
            return scored  # a document was replaced meanwhile
        scores = ranking.alike(scored.scores, compared.context, scored.scoring.model)
        return replace(scored, scores=scores)

    async def _composed(
        self,
        caller: Caller,
        question: DocumentQuestion,
        scored: ScoredChunks,
        ranked: Sequence[_Ranked],
        others: Sequence[DocumentCandidate],
    ) -> MultiRetrieval:
        """Fill the budget, and write the answer; the others are candidates that it cannot have room for."""
        values = values_of(ranked)
        chosen = _chosen(ranked, values, question.budget)
        writers = [
            await self._writer(caller, question, scored, one, [ordinal for place, ordinal in chosen if place == at])
            for at, one in enumerate(ranked)
        ]
        unmet = [one for one in others if one.gap < FIRST / 2 and (one.group >= 0 or one.gap == 0)]
        covered = [place for place, one in enumerate(ranked) if float(values[place][one.best]) > FIRST / 2]
        page = _Page(writers, chosen, question.budget)
        content, tokens = page.fit(covered, [one.document.path for one in unmet])
        given, missing = list[DocumentPassages](), list[DocumentPassages]()
        for place, one in enumerate(ranked):
            base = _described(one.candidate, scored, one.candidate.why)
            if (draft := page.drafts.get(place)) is not None:
                parts = writers[place].finished(draft).parts
                parts = tuple(scored.explained(part, one.candidate.document.id, one.layout) for part in parts)
                given.append(replace(base, sources=parts, token_count=draft.tokens, cursor=draft.cursor))
            else:
                missing.append(replace(base, why=_NO_ROOM if place in covered else "fits less"))
        missing += [_described(one, scored, _NO_ROOM) for one in unmet]
        return MultiRetrieval(
            content,
            tuple(given),
            tokens,
            tuple(sorted(missing, key=lambda one: one.why != _NO_ROOM)[:_LEFT_OUT]),
            len(scored.documents[0]) - len(given),
            hint="" if given else _TOO_LITTLE,
        )

    async def _writer(
        self,
        caller: Caller,
        question: DocumentQuestion,
        scored: ScoredChunks,
        one: _Ranked,
        ordinals: Sequence[int],
    ) -> AnswerWriter:
        """Writes the passages of one document."""
        document, none = one.candidate.document, np.empty(0, np.int64)
        plan = CompressionPlan(np.array(ordinals, np.int64), none, np.zeros(len(one.layout), np.bool_))
        texts = await self._cache.texts(caller.tenant, document.id, plan.reads(one.layout)) if len(ordinals) else {}
        name = scored.heads[document.repository].name
        whose = name if len(scored.heads) > 1 else ""
        words = question.words(name)
        return AnswerWriter(document, one.layout, plan.delivered, texts, words, 0, repository=whose, ends=False)


def _asked_for(scored: ScoredChunks, paths: Collection[str]) -> list[DocumentCandidate]:
    """The documents that the caller names; a path that several repositories hold means all of them.

    Raises:
        NotFound: A path is in none of the repositories; the hint offers near ones.
    """
    found = dict[int, DocumentCandidate]()
    for path in paths:
        plain = path.strip().removeprefix("./").lstrip("/")
        held = [one.by_path.get(path) or one.by_path.get(plain) for one in scored.holdings.values()]
        if not any(held):
            near = tuple(name for one in scored.holdings.values() for name in one.near(plain))
            hint = did_you_mean(near) or "list_repositories shows what there is."
            raise NotFound(f"There is no document '{path}' in the repositories that are searched.", hint=hint)
        found |= {one.id: DocumentCandidate(one, "asked for", one.id) for one in held if one is not None}
    return list(found.values())


def _described(candidate: DocumentCandidate, scored: ScoredChunks, why: str) -> DocumentPassages:
    document = candidate.document
    name = scored.heads[document.repository].name
    return DocumentPassages(name, document.path, document.title, why, original_token_count=document.tokens)


def _chosen(documents: Sequence[_Ranked], values: Sequence[Floats], budget: int) -> list[tuple[int, int]]:
    """Candidate and ordinal of each chosen chunk, in the order of choice."""
    if not documents:
        return []
    starts = np.cumsum([0, *(len(one.layout) for one in documents)])
    taken = select(units_of_all(documents), np.concatenate(values), budget, kept=len(documents))
    owners = np.searchsorted(starts, taken, "right") - 1
    return list(zip(owners.tolist(), (taken - starts[owners]).tolist(), strict=True))


def _report(caller: Caller, question: DocumentQuestion, answer: MultiRetrieval) -> None:
    event(
        _logger,
        "retrieve_documents",
        tenant=caller.tenant.id,
        user=caller.user,
        query=CallerText(question.query),
        repositories=[one.name for one in answer.repositories],
        documents=len(answer.documents),
        left_out=answer.left_out_count,
        found=answer.found,
        tokens=answer.token_count,
        budget=question.budget,
        search_type=answer.search_type,
        degraded=answer.degraded,
        ms=answer.timings.get("total", 0.0),
        embedding_ms=answer.timings.get("embedding", 0.0),
    )
