"""Finds code fences and tables in a text by rules of its own, and counts what a choice of stretches cut.

Invariant: pure, and independent of the reader and the chunks that it judges.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thresher.evaluation.documents_reader import Span

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
class Grid:
    """A table: where it lies, its header row, and its rows."""

    whole: Span
    head: Span | None
    rows: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Structure:
    """The fences and tables of a text."""

    fences: tuple[Span, ...]
    tables: tuple[Grid, ...]


@dataclass(frozen=True, slots=True)
class Cuts:
    """How many of a text's fences and tables an answer cut."""

    fences: int
    tables: int


def structure_of(text: str) -> Structure:
    """The fences and tables of a Markdown text; a table inside a fence is none."""
    fences = tuple(_fences(text))
    tables = [*_pipe_tables(text), *_html_tables(text)]
    return Structure(fences, tuple(table for table in tables if not any(_within(table.whole, one) for one in fences)))


def cuts(structure: Structure, text: str, chosen: Sequence[Span]) -> Cuts:
    """What a choice cut.

    A fence is cut when some of it was chosen and not all; a table when a row was, or when rows stand in the answer
    without the table's header.

    Args:
        structure: Of the text.
        text: The text.
        chosen: The stretches in the answer; neighbours are joined.
    """
    joined = join(chosen)
    fences = sum(_is_cut(fence, text, joined) for fence in structure.fences)
    tables = sum(_is_torn(table, text, joined) for table in structure.tables)
    return Cuts(fences, tables)


def join(spans: Sequence[Span]) -> list[Span]:
    """Stretches in order, those that touch or overlap made one."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, one.end)):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def covered(span: Span, joined: Sequence[Span]) -> int:
    """How many characters of a span lie in some stretches that do not overlap."""
    return sum(max(0, min(span.end, one.end) - max(span.start, one.start)) for one in joined)


def _fences(text: str) -> list[Span]:
    found: list[Span] = []
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        mark = opening[1]
        closing = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*(?:\n|\Z)", re.MULTILINE)
        end = closing.search(text, opening.end())
        found.append(Span(opening.start(), end.end() if end else len(text)))
        at = found[-1].end
    return found


def _pipe_tables(text: str) -> list[Grid]:
    grids: list[Grid] = []
    for match in _PIPE_TABLE.finditer(text):
        rows: list[Span] = []
        start = match.end("head")
        for line in match["body"].splitlines(keepends=True):
            rows.append(Span(start, start + len(line)))
            start += len(line)
        grids.append(Grid(Span(match.start(), match.end()), Span(match.start("head"), match.end("head")), tuple(rows)))
    return grids


def _html_tables(text: str) -> list[Grid]:
    grids: list[Grid] = []
    for match in _HTML_TABLE.finditer(text):
        head = _HTML_HEAD.search(text, match.start(), match.end())
        first = head.end() if head else match.start()
        rows = tuple(Span(row.start(), row.end()) for row in _HTML_ROW.finditer(text, first, match.end()))
        whole = Span(match.start(), match.end())
        grids.append(Grid(whole, Span(head.start(), head.end()) if head else None, rows))
    return grids


def _is_cut(span: Span, text: str, joined: Sequence[Span]) -> bool:
    start, end = _trimmed(span, text)
    return 0 < covered(Span(start, end), joined) < end - start


def _is_torn(table: Grid, text: str, joined: Sequence[Span]) -> bool:
    taken = [row for row in table.rows if covered(row, joined)]
    if any(_is_cut(row, text, joined) for row in taken):
        return True
    if table.head is None or not taken:
        return False
    start, end = _trimmed(table.head, text)
    return covered(Span(start, end), joined) < end - start


def _trimmed(span: Span, text: str) -> tuple[int, int]:
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    return start, max(start, span.start + len(piece.rstrip()))


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end
