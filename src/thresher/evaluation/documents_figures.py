"""From what each question gave to the figures of an evaluation of documents: pure, no clock.

Invariant: shares are 0 to 1, counts integers, and a figure without data is None. `docs/reference/evaluation.md` defines
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thresher.evaluation.documents_reader import Span
from thresher.evaluation.documents_structure import Structure, covered, cuts, join
from thresher.evaluation.metrics import mean, percentile


@dataclass(frozen=True, slots=True)
class Given:
    """What one question gave.

    Attributes:
        content: What a model reads.
        tokens: Of it, counted by the evaluation.
        chosen: The stretches of the document in it, as the answer says; empty where it is no extract.
        compressed: Whether something of the document is missing.
        unsupported: Sentences that do not stand in the document.
        first_ms: Time of the first asking, its vector not remembered.
        again_ms: Time of the same question asked again; None where it was not.
    """

    content: str
    tokens: int
    chosen: tuple[Span, ...]
    compressed: bool
    unsupported: int = 0
    first_ms: float = 0.0
    again_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer against the spans that answer the question."""

    retained: bool
    span_recall: float
    violation: bool
    fill: float | None
    verbatim: float | None
    cut_tables: int
    cut_fences: int
    unsupported: int
    first_ms: float
    again_ms: float | None


@dataclass(frozen=True, slots=True)
class DocumentFigures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    full_retention: float | None
    span_recall: float | None
    budget_violations: int
    fill: float | None
    verbatim_rate: float | None
    cut_tables: int
    cut_fences: int
    unsupported_sentences: int
    p50_ms: float | None
    p95_ms: float | None
    warm_p50_ms: float | None
    warm_p95_ms: float | None
    questions: int


def judge(text: str, structure: Structure, spans: Sequence[Span], budget: int, given: Given) -> Judgement:
    """Judge one answer.

    A span is retained when its text stands in the content, without the white space at its ends. Its recall counts the
    characters that the chosen stretches cover and the content really holds; of an answer that is no extract, the spans
    that stand in it.

    Args:
        text: The document.
        structure: Its fences and tables.
        spans: What answers the question.
        budget: Tokens at most.
        given: The answer.
    """
    golds = [text[span.start : span.end].strip() for span in spans]
    inside = [gold in given.content for gold in golds]
    pieces = [text[one.start : one.end].strip() for one in given.chosen]
    real = [one for one, piece in zip(given.chosen, pieces, strict=True) if piece in given.content]
    cut = cuts(structure, text, given.chosen)
    return Judgement(
        retained=all(inside),
        span_recall=_recall(spans, inside, real),
        violation=given.tokens > budget,
        fill=min(1.0, given.tokens / budget) if given.compressed else None,
        verbatim=len(real) / len(pieces) if pieces else None,
        cut_tables=cut.tables,
        cut_fences=cut.fences,
        unsupported=given.unsupported,
        first_ms=given.first_ms,
        again_ms=given.again_ms,
    )


def summarise(judged: Sequence[Judgement]) -> DocumentFigures:
    """The figures over all questions."""
    first = [one.first_ms for one in judged]
    again = [one.again_ms for one in judged if one.again_ms is not None]
    return DocumentFigures(
        full_retention=mean(one.retained for one in judged),
        span_recall=mean(one.span_recall for one in judged),
        budget_violations=sum(one.violation for one in judged),
        fill=mean(one.fill for one in judged if one.fill is not None),
        verbatim_rate=mean(one.verbatim for one in judged if one.verbatim is not None),
        cut_tables=sum(one.cut_tables for one in judged),
        cut_fences=sum(one.cut_fences for one in judged),
        unsupported_sentences=sum(one.unsupported for one in judged),
        p50_ms=percentile(first, 0.5),
        p95_ms=percentile(first, 0.95),
        warm_p50_ms=percentile(again, 0.5),
        warm_p95_ms=percentile(again, 0.95),
        questions=len(judged),
    )


def _recall(spans: Sequence[Span], inside: Sequence[bool], real: Sequence[Span]) -> float:
    whole = sum(span.end - span.start for span in spans)
    joined = join(real)
    kept = sum(
        span.end - span.start if held else covered(span, joined) for span, held in zip(spans, inside, strict=True)
    )
    return kept / whole
