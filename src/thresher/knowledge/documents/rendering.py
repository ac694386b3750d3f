"""Writes what a model reads: passages, verbatim, under marks, and a map of what was left out.

    [manual.md, lines 210-233 | Section > Part]
    text ...
    [260-270 | Section > Other]
    text ...
    [left out: 95000 tokens; cursor 348109234]
    1-209 Introduction

A run of adjacent chunks stands under one mark; a heading path is named where it changes. Rows of a table whose header
lies elsewhere stand below a copy of that header.

Invariant: pure; the text never exceeds the budget, all counted, and each part of it is a stretch of the document,
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents import cursors, outline
from thresher.knowledge.documents.compression import Plan
from thresher.knowledge.documents.layout import Column, Layout, written_path
from thresher.knowledge.documents.models import Document, Omitted, Part
from thresher.search import Bools


@dataclass(frozen=True, slots=True)
class Content:
    """An answer's text and what is to be said of it.

    Attributes:
        text: What a model reads.
        tokens: Of the text, exactly; never above the budget.
        parts: The stretches that it holds, in order.
        left_out: What neither it nor an answer before it holds.
        cursor: Fetches that; empty where nothing is left.
    """

    text: str
    tokens: int
    parts: tuple[Part, ...]
    left_out: tuple[Omitted, ...] = ()
    cursor: str = ""


def whole(document: Document, layout: Layout, text: str) -> Content:
    """The whole document, nothing added."""
    paths = layout.paths[int(layout.headings[0])] if len(layout) else ()
    part = Part(document.path, paths, 1, max(document.lines, 1), 0, len(text), document.tokens)
    return Content(text, document.tokens, (part,) if text else ())


def render(
    document: Document,
    layout: Layout,
    plan: Plan,
    texts: Mapping[int, str],
    budget: int,
    question: Sequence[str],
) -> Content:
    """Write an answer.

    Args:
        document: Whose chunks.
        layout: Its layout.
        plan: What to hold.
        texts: Texts of the chunks that `plan.reads` names.
        budget: Tokens at most.
        question: The words that make the question, for the cursor.
    """
    page = _Page(document, layout, plan.given, texts, budget, question)
    chosen = plan.chosen.tolist()
    answer = page.written(chosen)
    while answer.tokens > budget and chosen:
        # Whole chunks go, the least fitting first, as many as the excess asks for.
        excess = answer.tokens - budget
        while excess > 0 and chosen:
            excess -= int(layout.tokens[chosen.pop()])
        answer = page.written(chosen)
    for spare in plan.spares.tolist():
        if layout.tokens[spare] > budget - answer.tokens:
            continue
        more = page.written([*chosen, spare])
        if more.tokens <= budget:
            chosen, answer = [*chosen, spare], more
    return answer if answer.tokens <= budget else Content("", 0, (), answer.left_out, answer.cursor)


@dataclass(frozen=True, slots=True)
class _Page:
    """All that an answer is written from."""

    document: Document
    layout: Layout
    given: Bools
    texts: Mapping[int, str]
    budget: int
    question: Sequence[str]

    def written(self, chosen: Sequence[int]) -> Content:
        """The answer with these chunks, counted."""
        order = np.sort(np.array(chosen, np.int64))
        held = self.given.copy()
        held[order] = True
        pieces: list[str] = []
        parts: list[Part] = []
        above: tuple[str, ...] | None = None
        for run in np.split(order, np.flatnonzero(np.diff(order) != 1) + 1) if len(order) else []:
            run_parts = self._parts(run)
            path = self.layout.paths[int(self.layout.headings[run[0]])]
            pieces.append(self._mark(run_parts, path if path != above else (), first=above is None))
            pieces += [self._text(part) for part in run_parts]
            parts += run_parts
            above = self.layout.paths[int(self.layout.headings[run[-1]])]
        cursor = cursors.written(self.document.id, held, self.question)
        text = "\n".join([*pieces, *self._rest(~held, cursor)])
        return Content(text, count_tokens(text), tuple(parts), outline.left_out(self.layout, ~held), cursor)

    def _parts(self, run: Column) -> list[Part]:
        """The stretch of a run, and before it the header of its table where that lies elsewhere."""
        layout, first, last = self.layout, int(run[0]), int(run[-1])
        stretches = [(int(layout.starts[first]), int(layout.ends[last]))]
        if layout.head_ends[first] > layout.head_starts[first]:
            stretches.insert(0, (int(layout.head_starts[first]), int(layout.head_ends[first])))
        parts: list[Part] = []
        for start, end in stretches:
            text = self._between(start, end)
            start += len(text) - len(text.lstrip("\r\n"))
            text = text.strip("\r\n")
            line = self._line(start)
            path = layout.paths[int(layout.headings[self._chunk(start)])]
            lines = line, line + text.rstrip().count("\n")
            parts.append(Part(self.document.path, path, *lines, start, start + len(text), count_tokens(text)))
        return parts

    def _text(self, part: Part) -> str:
        return self._between(part.start, part.end)

    def _between(self, start: int, end: int) -> str:
        """A stretch of the document, out of the texts of its chunks."""
        starts = self.layout.starts
        first, last = self._chunk(start), self._chunk(max(end - 1, start))
        joined = "".join(self.texts[place] for place in range(first, last + 1))
        return joined[start - int(starts[first]) : end - int(starts[first])]

    def _chunk(self, character: int) -> int:
        return int(np.searchsorted(self.layout.starts, character, "right")) - 1

    def _line(self, character: int) -> int:
        chunk = self._chunk(character)
        before = self.texts[chunk][: character - int(self.layout.starts[chunk])]
        return int(self.layout.first_lines[chunk]) + before.count("\n")

    def _mark(self, parts: Sequence[Part], path: tuple[str, ...], *, first: bool) -> str:
        lines = ", ".join(f"{part.first_line}-{part.last_line}" for part in parts)
        where = f"{self.document.path}, lines {lines}" if first else lines
        return f"[{where} | {written_path(path)}]" if path else f"[{where}]"

    def _rest(self, missing: Bools, cursor: str) -> list[str]:
        """The words about what is left out, and its map."""
        if not missing.any():
            return []
        tokens = int(self.layout.tokens[missing].sum())
        entries = outline.written(self.layout, missing, self.budget // outline.SHARE)
        return [f"[left out: {tokens} tokens; cursor {cursor}]{entries}"]
