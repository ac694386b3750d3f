"""Evaluates the documents service in a temporary tenant, and compares it with plain rules under the same budget.

Invariant: a wrong file or span is refused with its line before anything is indexed. Every answer is counted
and checked here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from thresher.core import Caller, InvalidInput
from thresher.embedding import Encoder, count_tokens
from thresher.evaluation.document_baselines import (
    PlainBM25,
    best_chunks,
    best_fitting,
    fused,
    head,
    head_and_tail,
    nearest,
    plain_chunks,
)
from thresher.evaluation.document_figures import (
    DocumentAnswer,
    DocumentFigures,
    Judgement,
    NeededDocument,
    TextSpan,
    is_covered,
    judge,
    structure_of,
    summarise,
)
from thresher.evaluation.files import not_empty, read_objects, read_text, wrong
from thresher.evaluation.metrics import mean
from thresher.evaluation.runs import PAUSE_SECONDS, Progress, temporary_tenant
from thresher.knowledge.documents import DocumentService, Mode, Origin, Retrieval
from thresher.search import text_vectors
from thresher.store import Database

_HINT = (
    'Lines are {"document": path, "question": text, "spans": [{"start": 0, "end": 10}, ...]}, offsets in characters;'
    ' a question that nothing answers is {"question": text}; one over several documents is {"question": text,'
    ' "documents": [{"document": path, "spans": [...]} or {"document": path, "answers": [text, ...]}, ...]}.'
)
_LEAST_DOCUMENTS = 2


@dataclass(frozen=True, slots=True)
class SpanQuestion:
    """A question about a document, and the spans that answer it.

    Attributes:
        document: Path of the document in the corpus, with `/`; empty if nothing in the corpus answers the question.
        question: The question.
        spans: The spans that answer it, none empty; without any, and without `needed`, nothing answers it.
        line: Its line in the file, from 1.
        needed: The documents that it needs if it is over several; `document` and `spans` are empty then.
    """

    document: str
    question: str
    spans: tuple[TextSpan, ...]
    line: int
    needed: tuple[NeededDocument, ...] = ()


def read_document_questions(corpus: Path, path: Path) -> tuple[list[SpanQuestion], Mapping[str, str]]:
    """Read questions, and the documents that they are about.

    Args:
        corpus: The folder of the documents.
        path: The questions, JSON lines.

    Returns:
        The questions, and the text of each of their documents.

    Raises:
        InvalidInput: A file cannot be read or is outside the folder, or a line is wrong.
    """
    if not corpus.is_dir():
        raise InvalidInput(f"{corpus} is not a folder.", hint="Give the folder that holds the documents.")
    questions: list[SpanQuestion] = []
    texts: dict[str, str] = {}
    for number, fields in read_objects(path, _HINT):
        if "documents" in fields:
            questions.append(_over_several(corpus, path, number, fields, texts))
            continue
        name = _document(corpus, path, number, fields) if fields.get("spans") or "document" in fields else ""
        if name and name not in texts:
            texts[name] = read_text(corpus / name)
        questions.append(SpanQuestion(name, *_asked(path, number, fields, texts.get(name, "")), number))
    if not any(question.spans or question.needed for question in not_empty(questions, path, "questions", _HINT)):
        raise InvalidInput(f"{path} has no question that a document answers.", hint=_HINT)
    return questions, texts


def _over_several(
    corpus: Path, path: Path, number: int, fields: Mapping[str, Any], texts: dict[str, str]
) -> SpanQuestion:
    """A question over several documents; the texts of its documents are added."""
    listed = fields["documents"]
    if not isinstance(listed, list) or "document" in fields or "spans" in fields:
        raise wrong(path, number, '"documents" must be a list, and stand alone beside "question"', _HINT)
    needed: list[NeededDocument] = []
    for one in cast("list[Any]", listed):
        entry = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else dict[str, Any]()
        name = _document(corpus, path, number, entry)
        if name not in texts:
            texts[name] = read_text(corpus / name)
        _, spans = _asked(path, number, {**entry, "question": fields.get("question")}, texts[name])
        needed.append(NeededDocument(name, spans, _answers(path, number, entry, texts[name])))
        if bool(spans) == bool(needed[-1].answers):
            raise wrong(path, number, f'{name!r} must have either "spans" or "answers"', _HINT)
    if len({one.document for one in needed}) < max(len(needed), _LEAST_DOCUMENTS):
        raise wrong(path, number, '"documents" must be two or more different ones', _HINT)
    question, _ = _asked(path, number, fields, "")
    return SpanQuestion("", question, (), number, tuple(needed))


def _answers(path: Path, number: int, fields: Mapping[str, Any], text: str) -> tuple[str, ...]:
    answers = fields.get("answers", [])
    if not isinstance(answers, list) or not all(
        isinstance(one, str) and one.strip() for one in cast("list[Any]", answers)
    ):
        raise wrong(path, number, '"answers" must be a list of texts', _HINT)
    found = tuple(cast("list[str]", answers))
    plain = " ".join(text.split())
    if missing := [one for one in found if " ".join(one.split()) not in plain]:
        raise wrong(path, number, f"the document does not contain {missing[0]!r}", _HINT)
    return found


def _document(corpus: Path, path: Path, number: int, fields: Mapping[str, Any]) -> str:
    name = fields.get("document")
    if not isinstance(name, str) or not name.strip():
        raise wrong(path, number, '"document" must be a path inside the corpus', _HINT)
    target = (corpus / name).resolve()
    if not target.is_relative_to(corpus.resolve()):
        raise wrong(path, number, f"{name!r} leaves the corpus", _HINT)
    if not target.is_file():
        raise wrong(path, number, f"the corpus has no document {name!r}", _HINT)
    return Path(name).as_posix()


def _asked(path: Path, number: int, fields: Mapping[str, Any], text: str) -> tuple[str, tuple[TextSpan, ...]]:
    question, spans = fields.get("question"), fields.get("spans", [])
    if not isinstance(question, str) or not question.strip():
        raise wrong(path, number, '"question" must be text', _HINT)
    if not isinstance(spans, list):
        raise wrong(path, number, '"spans" must be a list of spans', _HINT)
    return question, tuple(_span(path, number, span, len(text)) for span in cast("list[Any]", spans))


def _span(path: Path, number: int, span: Any, length: int) -> TextSpan:
    fields = cast("Mapping[str, Any]", span) if isinstance(span, Mapping) else dict[str, Any]()
    start, end = fields.get("start"), fields.get("end")
    if not (type(start) is int and type(end) is int and 0 <= start < end <= length):
        raise wrong(path, number, f"a span must lie inside the document (0 to {length}) and not be empty", _HINT)
    return TextSpan(start, end)


REPOSITORY = "evaluation"

BASELINES = ("head", "head_tail", "bm25_chunks", "vector_chunks")


@dataclass(frozen=True, slots=True)
class DocumentTrial:
    """The questions of an evaluation, and how they are asked.

    Attributes:
        corpus: The folder of the documents.
        texts: The documents of the questions, by path.
        questions: The questions.
        budgets: The most tokens of an answer; one run for each.
        mode: How answers are made.
        rerank: Whether the cross-encoder reranks.
    """

    corpus: Path
    texts: Mapping[str, str]
    questions: Sequence[SpanQuestion]
    budgets: Sequence[int]
    mode: Mode = "extractive"
    rerank: bool = False


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The figures under one budget.

    Attributes:
        budget: The most tokens of an answer.
        figures: The product's figures.
        baselines: The figures of plain rules under the same budget, by name; empty for abstracts.
        document_chosen: Share of questions whose document the product finds in the corpus by itself.
        documents_covered: Share of the documents that questions over several need whose answer is in the answer, mean
            over these questions; None without such questions.
        comparisons_complete: Share of these questions of which every document is covered.
        covered_by_chunks: `documents_covered` of plain chunks of all documents, by words and vectors.
        foreign_refused: Share of questions without an answer for which it finds nothing; None without such questions.
        answerable_lost: Share of the others for which it finds nothing if the document is not named.
        index_seconds: The time to index the corpus.
    """

    budget: int
    figures: DocumentFigures
    baselines: Mapping[str, DocumentFigures]
    document_chosen: float
    documents_covered: float | None
    comparisons_complete: float | None
    covered_by_chunks: float | None
    foreign_refused: float | None
    answerable_lost: float | None
    index_seconds: float


async def evaluate_documents(
    database: Database, encoder: Encoder, documents: DocumentService, trial: DocumentTrial, progress: Progress
) -> list[DocumentResult]:
    """Index a corpus and ask every question, under each budget.

    Args:
        database: The database of the temporary tenant.
        encoder: Embeds for the plain rule that compares vectors.
        documents: The service under evaluation.
        trial: The questions.
        progress: Called with the progress.
    """
    async with temporary_tenant(database, "evaluation-documents") as caller:
        return await _Run(database, encoder, documents, trial, caller, progress).run()


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
        self._answerable = [question for question in trial.questions if question.spans]
        self._compared = [question for question in trial.questions if question.needed]
        self._foreign = [question for question in trial.questions if not question.spans and not question.needed]

    async def run(self) -> list[DocumentResult]:
        """Index, ask, compare."""
        started = time.perf_counter()
        origin = Origin("folder", str(self._trial.corpus.absolute()), include=tuple(self._trial.texts))
        await self._documents.index_here(
            self._caller, REPOSITORY, origin, progress=lambda done, total: self._tell("Indexing", done, total)
        )
        seconds = time.perf_counter() - started
        rules = await self._rules() if self._trial.mode == "extractive" else {}
        plain = await self._plain_chunks() if self._compared else None
        results: list[DocumentResult] = []
        for budget in self._trial.budgets:
            judged, alone = await self._asked(budget)
            chosen = mean(answer.document == one.document for one, answer in zip(self._answerable, alone, strict=True))
            refused = [not (await self._timed(one, budget, None))[0].found for one in self._foreign]
            lost = mean(not answer.found for answer in alone)
            others = {name: summarise(self._ruled(rule, budget)) for name, rule in rules.items()}
            shares, violations = await self._comparisons(budget)
            by_chunks = [] if plain is None else [plain.covered(one, budget, self._covered) for one in self._compared]
            figures = summarise(judged)
            results.append(
                DocumentResult(
                    budget,
                    replace(figures, budget_violations=figures.budget_violations + violations),
                    others,
                    chosen or 0.0,
                    mean(shares),
                    mean(share == 1 for share in shares),
                    mean(by_chunks),
                    mean(refused),
                    lost,
                    seconds,
                )
            )
        return results

    async def _asked(self, budget: int) -> tuple[list[Judgement], list[Retrieval]]:
        """Ask every question that has an answer; also returns the answers to the questions without the document."""
        judged: list[Judgement] = []
        unnamed: list[Retrieval] = []
        for place, question in enumerate(self._answerable):
            answer, first_ms = await self._timed(question, budget, question.document)
            again_ms = (
                (await self._timed(question, budget, question.document))[1] if answer.mode != "abstractive" else None
            )
            unnamed.append((await self._timed(question, budget, None))[0])
            judged.append(self._judged(question, budget, _given(answer, first_ms, again_ms)))
            self._tell(f"Asking at {budget:,}", place + 1, len(self._answerable))
            await asyncio.sleep(PAUSE_SECONDS)
        return judged, unnamed

    async def _comparisons(self, budget: int) -> tuple[list[float], int]:
        """Of each question over several documents the share that is covered, and how many answers are too long."""
        shares: list[float] = []
        violations = 0
        for place, question in enumerate(self._compared):
            answer = await self._documents.retrieve_documents(
                self._caller, question.question, [REPOSITORY], budget=budget
            )
            violations += count_tokens(answer.content) > budget
            parts = [part for one in answer.documents for part in one.sources]
            spans = [(part.path, TextSpan(part.start, part.end)) for part in parts]
            shares.append(self._covered(question, answer.content, spans))
            self._tell(f"Comparing at {budget:,}", place + 1, len(self._compared))
            await asyncio.sleep(PAUSE_SECONDS)
        return shares, violations

    async def _timed(self, question: SpanQuestion, budget: int, document: str | None) -> tuple[Retrieval, float]:
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

    def _covered(self, question: SpanQuestion, content: str, spans: Sequence[tuple[str, TextSpan]]) -> float:
        """The share of a question's documents whose answer stands in an answer."""
        return sum(
            is_covered(
                self._trial.texts[one.document], one, content, [span for name, span in spans if name == one.document]
            )
            for one in question.needed
        ) / len(question.needed)

    def _judged(self, question: SpanQuestion, budget: int, given: DocumentAnswer) -> Judgement:
        name = question.document
        return judge(self._trial.texts[name], self._structures[name], question.spans, budget, given)

    def _ruled(self, rule: Rule, budget: int) -> list[Judgement]:
        return [self._judged(one, budget, self._extract(one, rule(one, budget))) for one in self._answerable]

    def _extract(self, question: SpanQuestion, spans: Sequence[TextSpan]) -> DocumentAnswer:
        text = self._trial.texts[question.document]
        content = "".join(text[span.start : span.end] for span in spans)
        return DocumentAnswer(content, count_tokens(content), tuple(spans), len(content) < len(text))

    async def _rules(self) -> dict[str, Rule]:
        """The plain rules."""
        texts = self._trial.texts
        chunks = {name: plain_chunks(text) for name, text in texts.items()}
        pieces = {name: [texts[name][one.start : one.end] for one in chunks[name]] for name in texts}
        bm25 = {name: PlainBM25(pieces[name]) for name in texts}
        lexical = {one.line: bm25[one.document].scores(one.question) for one in self._answerable}
        dense = await self._nearest(pieces)

        def ranked(scores: Mapping[int, Sequence[float]]) -> Rule:
            return lambda one, budget: best_chunks(texts[one.document], chunks[one.document], scores[one.line], budget)

        return {
            "head": lambda one, budget: head(texts[one.document], budget),
            "head_tail": lambda one, budget: head_and_tail(texts[one.document], budget),
            "bm25_chunks": ranked(lexical),
            "vector_chunks": ranked(dense),
        }

    async def _plain_chunks(self) -> _PlainChunks:
        """Plain chunks of all documents, scored for the questions over several."""
        chunks = [(name, span) for name, text in self._trial.texts.items() for span in plain_chunks(text)]
        pieces = [self._trial.texts[name][span.start : span.end] for name, span in chunks]
        vectors = (await text_vectors(self._database, self._caller.tenant, self._encoder, pieces)).vectors
        words = PlainBM25(pieces)
        scores: dict[int, list[float]] = {}
        for one in self._compared:
            question = await self._encoder.embed_queries([one.question], prefixed=True)
            scores[one.line] = fused([words.scores(one.question), nearest(question, vectors)])
        return _PlainChunks(chunks, pieces, scores)

    async def _nearest(self, pieces: Mapping[str, Sequence[str]]) -> dict[int, list[float]]:
        """Cosine of each question with each plain chunk of its document."""
        vectors = {
            name: (await text_vectors(self._database, self._caller.tenant, self._encoder, some)).vectors
            for name, some in pieces.items()
        }
        found: dict[int, list[float]] = {}
        for one in self._answerable:
            question = await self._encoder.embed_queries([one.question], prefixed=True)
            found[one.line] = nearest(question, vectors[one.document])
        return found


@dataclass(frozen=True, slots=True)
class _PlainChunks:
    """Plain chunks of all documents.

    Attributes:
        chunks: Document and span of each.
        texts: Their texts.
        scores: The score of each for each question, by its line.
    """

    chunks: Sequence[tuple[str, TextSpan]]
    texts: Sequence[str]
    scores: Mapping[int, Sequence[float]]

    def covered(
        self,
        question: SpanQuestion,
        budget: int,
        share: Callable[[SpanQuestion, str, list[tuple[str, TextSpan]]], float],
    ) -> float:
        """What the best of them cover of a question, within a budget."""
        taken = best_fitting(self.texts, self.scores[question.line], budget)
        content = "\n".join(self.texts[place] for place in taken)
        return share(question, content, [self.chunks[place] for place in taken])


Rule = Callable[[SpanQuestion, int], list[TextSpan]]
"""Chooses the spans of a question's document, within a budget."""


def _given(answer: Retrieval, first_ms: float, again_ms: float | None) -> DocumentAnswer:
    spans = tuple(TextSpan(part.start, part.end) for part in answer.sources) if answer.mode == "extractive" else ()
    tokens = count_tokens(answer.content)
    return DocumentAnswer(answer.content, tokens, spans, answer.was_compressed, answer.unsupported, first_ms, again_ms)
