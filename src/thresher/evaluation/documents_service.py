"""Asks the documents service a user's questions, in a tenant of its own, and plain rules beside it.

Invariant: the tenant is empty before and gone after, whether the run ends, fails or is cancelled; every answer is
counted and checked here, never taken at its word.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thresher.core import Caller
from thresher.embedding import Encoder, count_tokens
from thresher.evaluation.documents_baselines import PlainBM25, best_chunks, head, head_and_tail, nearest, plain_chunks
from thresher.evaluation.documents_figures import DocumentFigures, Given, Judgement, judge, summarise
from thresher.evaluation.documents_reader import DocumentQuestion, Span
from thresher.evaluation.documents_structure import structure_of
from thresher.evaluation.service import PAUSE_SECONDS, Progress
from thresher.knowledge.documents import DocumentService, Mode, Origin, Retrieval
from thresher.search import text_vectors
from thresher.store import Database

REPOSITORY = "evaluation"
BASELINES = ("head", "head_tail", "bm25_chunks", "bge_chunks")

_one_at_a_time = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class DocumentTrial:
    """What is asked, and how.

    Attributes:
        corpus: The folder of the documents.
        texts: Those that questions are about, by their path.
        questions: The questions.
        budgets: Tokens at most, one run each.
        mode: How answers are made.
        rerank: Whether the cross-encoder takes part.
    """

    corpus: Path
    texts: Mapping[str, str]
    questions: Sequence[DocumentQuestion]
    budgets: Sequence[int]
    mode: Mode = "extractive"
    rerank: bool = False


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The figures under one budget.

    Attributes:
        budget: Tokens at most.
        figures: Of the product.
        baselines: Of plain rules under the same budget, by their names; empty for abstracts.
        document_chosen: Share of questions whose document the product chooses by itself out of the corpus.
        index_seconds: How long the corpus took to index.
    """

    budget: int
    figures: DocumentFigures
    baselines: Mapping[str, DocumentFigures]
    document_chosen: float
    index_seconds: float


async def evaluate_documents(
    database: Database, encoder: Encoder, documents: DocumentService, trial: DocumentTrial, progress: Progress
) -> list[DocumentResult]:
    """Index a corpus and ask every question, under each budget.

    Args:
        database: Where the throw-away tenant is made.
        encoder: For the plain rule that compares vectors.
        documents: The service under evaluation.
        trial: What is asked.
        progress: Told how far it is.
    """
    async with _one_at_a_time:
        name = f"evaluation-documents@{platform.node()}"
        await database.drop_tenant(await database.tenant(name))
        caller = Caller(await database.tenant(name))
        try:
            run = _Run(database, encoder, documents, trial, caller, progress)
            return await run.run()
        finally:
            await asyncio.shield(database.drop_tenant(caller.tenant))


class _Run:
    """One evaluation."""

    def __init__(
        self,
        database: Database,
        encoder: Encoder,
        documents: DocumentService,
        trial: DocumentTrial,
        caller: Caller,
        progress: Progress,
    ) -> None:
        self._database, self._encoder, self._documents = database, encoder, documents
        self._trial, self._caller, self._tell = trial, caller, progress
        self._structures = {name: structure_of(text) for name, text in trial.texts.items()}

    async def run(self) -> list[DocumentResult]:
        """Index, ask, compare."""
        started = time.perf_counter()
        origin = Origin("folder", str(self._trial.corpus.absolute()), include=tuple(self._trial.texts))
        await self._documents.index_here(
            self._caller, REPOSITORY, origin, progress=lambda done, total: self._tell("Indexing", done, total)
        )
        seconds = time.perf_counter() - started
        rules = await self._rules() if self._trial.mode == "extractive" else {}
        results: list[DocumentResult] = []
        for budget in self._trial.budgets:
            judged, chosen = await self._asked(budget)
            others = {name: summarise(self._ruled(rule, budget)) for name, rule in rules.items()}
            results.append(DocumentResult(budget, summarise(judged), others, chosen, seconds))
        return results

    async def _asked(self, budget: int) -> tuple[list[Judgement], float]:
        """Every question, and how often the product found its document by itself."""
        judged: list[Judgement] = []
        chosen = 0
        for place, question in enumerate(self._trial.questions):
            answer, first_ms = await self._timed(question, budget, question.document)
            again_ms = (
                (await self._timed(question, budget, question.document))[1] if answer.mode != "abstractive" else None
            )
            alone = answer
            if len(self._trial.texts) > 1:
                alone = (await self._timed(question, budget, None))[0]
            chosen += alone.document == question.document
            judged.append(self._judged(question, budget, _given(answer, first_ms, again_ms)))
            self._tell(f"Asking at {budget:,}", place + 1, len(self._trial.questions))
            await asyncio.sleep(PAUSE_SECONDS)
        return judged, chosen / len(self._trial.questions)

    async def _timed(self, question: DocumentQuestion, budget: int, document: str | None) -> tuple[Retrieval, float]:
        started = time.perf_counter()
        answer = await self._documents.retrieve_document(
            self._caller,
            question.question,
            REPOSITORY,
            budget=budget,
            document=document,
            rerank=self._trial.rerank,
            mode=self._trial.mode,
        )
        return answer, (time.perf_counter() - started) * 1000

    def _judged(self, question: DocumentQuestion, budget: int, given: Given) -> Judgement:
        name = question.document
        return judge(self._trial.texts[name], self._structures[name], question.spans, budget, given)

    def _ruled(self, rule: Rule, budget: int) -> list[Judgement]:
        return [self._judged(one, budget, self._extract(one, rule(one, budget))) for one in self._trial.questions]

    def _extract(self, question: DocumentQuestion, spans: Sequence[Span]) -> Given:
        text = self._trial.texts[question.document]
        content = "".join(text[span.start : span.end] for span in spans)
        return Given(content, count_tokens(content), tuple(spans), len(content) < len(text))

    async def _rules(self) -> dict[str, Rule]:
        """The plain rules, each giving the stretches that it would send."""
        texts = self._trial.texts
        chunks = {name: plain_chunks(text) for name, text in texts.items()}
        pieces = {name: [texts[name][one.start : one.end] for one in chunks[name]] for name in texts}
        bm25 = {name: PlainBM25(pieces[name]) for name in texts}
        lexical = {one.line: bm25[one.document].scores(one.question) for one in self._trial.questions}
        dense = await self._nearest(pieces)

        def ranked(scores: Mapping[int, Sequence[float]]) -> Rule:
            return lambda one, budget: best_chunks(texts[one.document], chunks[one.document], scores[one.line], budget)

        return {
            "head": lambda one, budget: head(texts[one.document], budget),
            "head_tail": lambda one, budget: head_and_tail(texts[one.document], budget),
            "bm25_chunks": ranked(lexical),
            "bge_chunks": ranked(dense),
        }

    async def _nearest(self, pieces: Mapping[str, Sequence[str]]) -> dict[int, list[float]]:
        """Cosine of each question with each plain chunk of its document."""
        vectors = {
            name: (await text_vectors(self._database, self._caller.tenant, self._encoder, some)).vectors
            for name, some in pieces.items()
        }
        found: dict[int, list[float]] = {}
        for one in self._trial.questions:
            question = await self._encoder.embed_queries([one.question], prefixed=True)
            found[one.line] = nearest(question, vectors[one.document])
        return found


Rule = Callable[[DocumentQuestion, int], list[Span]]
"""A question and a budget to the stretches of its document that are sent."""


def _given(answer: Retrieval, first_ms: float, again_ms: float | None) -> Given:
    spans = tuple(Span(part.start, part.end) for part in answer.sources) if answer.mode == "extractive" else ()
    tokens = count_tokens(answer.content)
    return Given(answer.content, tokens, spans, answer.was_compressed, answer.unsupported, first_ms, again_ms)
