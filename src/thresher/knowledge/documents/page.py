"""One answer in the making: its marks, its passages, and the words about the rest.

Invariant: pure; each part is a stretch of the document, unchanged, and the tokens are those of the whole text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents import cursors, outline
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


@dataclass(frozen=True, slots=True)
class Page:
    """All that an answer is written from.

    Attributes:
        document: Whose chunks.
        layout: Its layout.
        given: bool (n,), chunks that earlier answers held.
        texts: Texts of the chunks.
        question: The words that make the question, for the cursor.
        table: Tokens that the table of what is left out may take.
        large: A chunk that fits best and is too large; -1 for none.
    """

    document: Document
    layout: Layout
    given: Bools
    texts: Mapping[int, str]
    question: Sequence[str]
    table: int
    large: int = -1

    def written(self, chosen: Sequence[int]) -> Content:
        """The answer with these chunks, counted."""
        order = np.sort(np.array(chosen, np.int64))
        held = self.given.copy()
        held[order] = True
        runs = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1) if len(order) else []
        stretches = [(self._stretches(run), int(run[0]), int(run[-1])) for run in runs]
        return self._content(stretches, ~held, held)

    def cut(self, chunk: int, start: int, end: int) -> Content:
        """The answer with a part of one chunk, from and to a place in its text.

        The chunk is still among what is left out, but its rest is not fetched by the cursor, which would give the same
        part for ever: `read_document` reads it by its lines.
        """
        at = int(self.layout.starts[chunk])
        held = self.given.copy()
        held[chunk] = True
        return self._content([([(at + start, at + end)], chunk, chunk)], ~self.given, held)

    def _content(self, runs: Sequence[tuple[list[tuple[int, int]], int, int]], missing: Bools, held: Bools) -> Content:
        pieces: list[str] = []
        parts: list[Part] = []
        above: tuple[str, ...] | None = None
        for stretches, first, last in runs:
            run_parts = [self._part(start, end) for start, end in stretches]
            path = self._path(first)
            pieces.append(self._mark(run_parts, path if path != above else (), first=above is None))
            pieces += [self._between(part.start, part.end) for part in run_parts]
            parts += run_parts
            above = self._path(last)
        cursor = cursors.written(self.document.id, held, self.question)
        text = "\n".join([*pieces, *self._rest(missing, cursor)])
        return Content(text, count_tokens(text), tuple(parts), outline.left_out(self.layout, missing), cursor)

    def _stretches(self, run: Column) -> list[tuple[int, int]]:
        """The stretch of a run, and before it the header of its table where that lies elsewhere."""
        layout, first, last = self.layout, int(run[0]), int(run[-1])
        stretch = int(layout.starts[first]), int(layout.ends[last])
        header = int(layout.head_starts[first]), int(layout.head_ends[first])
        return [header, stretch] if header[1] > header[0] else [stretch]

    def _part(self, start: int, end: int) -> Part:
        """A stretch without the line breaks around it."""
        text = self._between(start, end)
        start += len(text) - len(text.lstrip("\r\n"))
        text = text.strip("\r\n")
        line = self._line(start)
        lines = line, line + text.rstrip().count("\n")
        path = self._path(self._chunk(start))
        return Part(self.document.path, path, *lines, start, start + len(text), count_tokens(text))

    def _between(self, start: int, end: int) -> str:
        """A stretch of the document, out of the texts of its chunks."""
        starts = self.layout.starts
        first, last = self._chunk(start), self._chunk(max(end - 1, start))
        joined = "".join(self.texts[place] for place in range(first, last + 1))
        return joined[start - int(starts[first]) : end - int(starts[first])]

    def _chunk(self, character: int) -> int:
        return int(np.searchsorted(self.layout.starts, character, "right")) - 1

    def _path(self, chunk: int) -> tuple[str, ...]:
        return self.layout.paths[int(self.layout.headings[chunk])]

    def _line(self, character: int) -> int:
        chunk = self._chunk(character)
        before = self.texts[chunk][: character - int(self.layout.starts[chunk])]
        return int(self.layout.first_lines[chunk]) + before.count("\n")

    def _mark(self, parts: Sequence[Part], path: tuple[str, ...], *, first: bool) -> str:
        lines = ", ".join(f"{part.first_line}-{part.last_line}" for part in parts)
        where = f"{self.document.path}, lines {lines}" if first else lines
        return f"[{where} | {written_path(path)}]" if path else f"[{where}]"

    def _rest(self, missing: Bools, cursor: str) -> list[str]:
        """The words about what is left out, and its table."""
        if not missing.any():
            return []
        said = [f"left out: {self.layout.tokens[missing].sum()} tokens"]
        if self.large >= 0:
            lines = f"{self.layout.first_lines[self.large]}-{self.layout.last_lines[self.large]}"
            said.append(f"too large for this budget: lines {lines}, {self.layout.tokens[self.large]} tokens")
        said += [f"cursor {cursor}"] if cursor else []
        return [f"[{'; '.join(said)}]{outline.written(self.layout, missing, self.table)}"]
