"""The figures of an evaluation of documents: what an answer kept, and which tables and code fences it cut.

Invariant: pure, and independent of the reader and the chunks that it judges. Shares are 0 to 1, counts integers, and a
figure without data is None. `docs/reference/evaluation.md` defines each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thresher.evaluation.metrics import mean, percentile


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Characters of a document: the first, and the one after the last."""

    start: int
    end: int


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n", re.MULTILINE)

_RULE = r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*\n"

_PIPE_TABLE = re.compile(
    rf"^(?P<head>[^\n]*\|[^\n]*\n{_RULE})(?P<body>(?:[^\n]*\|[^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)

_HTML_TABLE = re.compile(r"<table\b.*?</table\s*>", re.IGNORECASE | re.DOTALL)

_HTML_HEAD = re.compile(r"<thead\b.*?</thead\s*>|<tr\b(?:(?!</tr).)*?<th\b.*?</tr\s*>", re.IGNORECASE | re.DOTALL)

_HTML_ROW = re.compile(r"<tr\b.*?</tr\s*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class TableSpans:
    """A table: its span, its header row, and its rows."""

    whole: TextSpan
    head: TextSpan | None
    rows: tuple[TextSpan, ...]


@dataclass(frozen=True, slots=True)
class DocumentStructure:
    """The fences and tables of a text."""

    fences: tuple[TextSpan, ...]
    tables: tuple[TableSpans, ...]


@dataclass(frozen=True, slots=True)
class Cuts:
    """How many of a text's fences and tables an answer cut."""

    fences: int
    tables: int


def structure_of(text: str) -> DocumentStructure:
    """The fences and tables of a Markdown text; a table in a fence does not count."""
    fences = tuple(_fences(text))
    tables = [*_pipe_tables(text), *_html_tables(text)]
    return DocumentStructure(
        fences, tuple(table for table in tables if not any(_within(table.whole, one) for one in fences))
    )


def cuts(structure: DocumentStructure, text: str, chosen: Sequence[TextSpan]) -> Cuts:
    """How many fences and tables a choice of spans cut.

    A fence is cut if only some of it was chosen; a table if a row was cut, or if rows are in the answer without the
    header of the table.

    Args:
        structure: The structure of the text.
        text: The text.
        chosen: The spans in the answer; adjacent ones are joined.
    """
    joined = join(chosen)
    fences = sum(_is_cut(fence, text, joined) for fence in structure.fences)
    tables = sum(_is_torn(table, text, joined) for table in structure.tables)
    return Cuts(fences, tables)


def join(spans: Sequence[TextSpan]) -> list[TextSpan]:
    """Spans in order; those that touch or overlap are joined."""
    joined: list[TextSpan] = []
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        if joined and span.start <= joined[-1].end:
            joined[-1] = TextSpan(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def covered(span: TextSpan, joined: Sequence[TextSpan]) -> int:
    """How many characters of a span are in others, which do not overlap."""
    return sum(max(0, min(span.end, one.end) - max(span.start, one.start)) for one in joined)


def _fences(text: str) -> list[TextSpan]:
    found: list[TextSpan] = []
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        mark = opening[1]
        closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*(?:\n|\Z)", re.MULTILINE)
        end = closing.search(text, opening.end())
        found.append(TextSpan(opening.start(), end.end() if end else len(text)))
        at = found[-1].end
    return found


def _pipe_tables(text: str) -> list[TableSpans]:
    grids: list[TableSpans] = []
    for match in _PIPE_TABLE.finditer(text):
        rows: list[TextSpan] = []
        start = match.end("head")
        for line in match["body"].splitlines(keepends=True):
            rows.append(TextSpan(start, start + len(line)))
            start += len(line)
        grids.append(
            TableSpans(
                TextSpan(match.start(), match.end()), TextSpan(match.start("head"), match.end("head")), tuple(rows)
            )
        )
    return grids


def _html_tables(text: str) -> list[TableSpans]:
    grids: list[TableSpans] = []
    for match in _HTML_TABLE.finditer(text):
        head = _HTML_HEAD.search(text, match.start(), match.end())
        first = head.end() if head else match.start()
        rows = tuple(TextSpan(row.start(), row.end()) for row in _HTML_ROW.finditer(text, first, match.end()))
        whole = TextSpan(match.start(), match.end())
        grids.append(TableSpans(whole, TextSpan(head.start(), head.end()) if head else None, rows))
    return grids


def _is_cut(span: TextSpan, text: str, joined: Sequence[TextSpan]) -> bool:
    start, end = _trimmed(span, text)
    return 0 < covered(TextSpan(start, end), joined) < end - start


def _is_torn(table: TableSpans, text: str, joined: Sequence[TextSpan]) -> bool:
    taken = [row for row in table.rows if covered(row, joined)]
    if any(_is_cut(row, text, joined) for row in taken):
        return True
    if table.head is None or not taken:
        return False
    start, end = _trimmed(table.head, text)
    return covered(TextSpan(start, end), joined) < end - start


def _trimmed(span: TextSpan, text: str) -> tuple[int, int]:
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    return start, max(start, span.start + len(piece.rstrip()))


def _within(inner: TextSpan, outer: TextSpan) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


@dataclass(frozen=True, slots=True)
class DocumentAnswer:
    """The answer to one question.

    Attributes:
        content: The text that a model reads.
        tokens: Its tokens, counted by the evaluation.
        chosen: The spans of the document in it, as the answer reports them; empty for an abstract.
        compressed: Whether parts of the document are missing.
        unsupported: Number of sentences without support in the document.
        first_ms: Time of the first request, without a cached vector.
        again_ms: Time of the same request again; None if it was not repeated.
    """

    content: str
    tokens: int
    chosen: tuple[TextSpan, ...]
    compressed: bool
    unsupported: int = 0
    first_ms: float = 0.0
    again_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """An answer compared with the spans that answer the question."""

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


def judge(
    text: str, structure: DocumentStructure, spans: Sequence[TextSpan], budget: int, given: DocumentAnswer
) -> Judgement:
    """Judge one answer.

    A span is retained if the content contains its text, without the white space at its ends. Its recall counts the
    characters that the chosen spans cover and the content really contains; of an abstract, the spans that it
    contains.

    Args:
        text: The document.
        structure: Its fences and tables.
        spans: The spans that answer the question.
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


@dataclass(frozen=True, slots=True)
class NeededDocument:
    """A document that a question over several documents needs.

    Attributes:
        document: Its path.
        spans: The spans that answer it there, none empty; all are needed.
        answers: Texts of which one is enough; white space does not count. Empty if there are spans.
    """

    document: str
    spans: tuple[TextSpan, ...]
    answers: tuple[str, ...]


def is_covered(text: str, needed: NeededDocument, content: str, chosen: Sequence[TextSpan]) -> bool:
    """Return whether an answer holds what answers the question in one document.

    Args:
        text: The document.
        needed: What answers it.
        content: The whole answer.
        chosen: The spans of this document in it, as the answer reports them; what its content does not contain does
            not count.
    """
    real = join([one for one in chosen if text[one.start : one.end].strip() in content])
    if needed.answers:
        held = [" ".join(text[one.start : one.end].split()) for one in real]
        return any(" ".join(answer.split()) in one for answer in needed.answers for one in held)
    trimmed = [TextSpan(*_trimmed(span, text)) for span in needed.spans]
    return all(covered(span, real) == span.end - span.start for span in trimmed)


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


def _recall(spans: Sequence[TextSpan], inside: Sequence[bool], real: Sequence[TextSpan]) -> float:
    whole = sum(span.end - span.start for span in spans)
    joined = join(real)
    kept = sum(
        span.end - span.start if held else covered(span, joined) for span, held in zip(spans, inside, strict=True)
    )
    return kept / whole
