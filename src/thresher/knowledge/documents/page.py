"""One answer in the making: its marks, its passages, and the words about the rest.

Invariant: pure; each part is a stretch of the document, unchanged, and the tokens are those of the whole text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from thresher.core import one_line
from thresher.embedding import count_tokens
from thresher.knowledge.documents import cursors, outline
from thresher.knowledge.documents.layout import Column, Layout, written_path
from thresher.knowledge.documents.models import Document, Omitted, Part
from thresher.search import Bools

PATH_CHARACTERS: Final = 1_000
"""Of a file's path above a passage; a name may hold line breaks."""
_JOINING: Final = ("", "/", "\n", "\r")
"""First letters of a text that share a token with a line break before them; no other does, so that marks and texts can
be counted one by one."""


@dataclass(frozen=True, slots=True)
class Content:
    """An answer's text and what is to be said of it.

    Attributes:
        text: What a model reads.
        tokens: Of the text, exactly; never above the budget.
        parts: The stretches that it holds, in order.
        left_out: What neither it nor an answer before it holds.
        cursor: Fetches that; empty where nothing is left, and where none of it fits into the budget.
    """

    text: str
    tokens: int
    parts: tuple[Part, ...]
    left_out: tuple[Omitted, ...] = ()
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the document, as it is written.

    Attributes:
        start: First character.
        end: Character after the last.
        first_line: Its first line.
        last_line: Its last line.
        path: Its heading path.
        text: Verbatim.
        tokens: Of the text alone.
        closed: Of the text and a line break after it.
    """

    start: int
    end: int
    first_line: int
    last_line: int
    path: tuple[str, ...]
    text: str
    tokens: int
    closed: int


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer whose passages are not settled yet.

    Attributes:
        segments: Each begins with a bracket; joined by line breaks they are the text.
        tokens: Of the text, exactly.
        stretches: What it holds.
        missing: bool (n,), chunks that neither it nor an answer before it holds.
        cursor: Fetches them.
    """

    segments: tuple[str, ...]
    tokens: int
    stretches: tuple[Stretch, ...]
    missing: Bools
    cursor: str


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
        written_before: Stretches of earlier drafts.
    """

    document: Document
    layout: Layout
    given: Bools
    texts: Mapping[int, str]
    question: Sequence[str]
    table: int
    large: int = -1
    written_before: dict[tuple[int, int], Stretch] = field(default_factory=dict[tuple[int, int], Stretch])

    def written(self, chosen: Sequence[int]) -> Draft:
        """The answer with these chunks."""
        order = np.sort(np.array(chosen, np.int64))
        held = self.given.copy()
        held[order] = True
        runs = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1) if len(order) else []
        stretches = [(self._stretches(run), int(run[0]), int(run[-1])) for run in runs]
        return self._draft(stretches, ~held, held)

    def cut(self, chunk: int, start: int, end: int) -> Draft:
        """The answer with a part of one chunk, from and to a place in its text.

        The chunk is still among what is left out, but its rest is not fetched by the cursor, which would give the same
        part for ever: `read_document` reads it by its lines.
        """
        at = int(self.layout.starts[chunk])
        held = self.given.copy()
        held[chunk] = True
        return self._draft([([(at + start, at + end)], chunk, chunk)], ~self.given, held)

    def finished(self, draft: Draft) -> Content:
        """The answer with all that is to be said of it."""
        parts = tuple(
            Part(self.document.path, one.path, one.first_line, one.last_line, one.start, one.end, one.tokens)
            for one in draft.stretches
        )
        left_out = outline.left_out(self.layout, draft.missing)
        return Content("\n".join(draft.segments), draft.tokens, parts, left_out, draft.cursor)

    def _draft(self, runs: Sequence[tuple[list[tuple[int, int]], int, int]], missing: Bools, held: Bools) -> Draft:
        segments: list[str] = []
        marks: list[str] = []
        written: list[Stretch] = []
        above: tuple[str, ...] | None = None
        for stretches, first, last in runs:
            trimmed = [self._trimmed(start, end) for start, end in stretches]
            path = self._path(first)
            mark = self._mark(trimmed, path if path != above else (), first=above is None)
            segments.append("\n".join([mark, *(one.text for one in trimmed)]))
            marks.append(f"{mark}\n")
            written += trimmed
            above = self._path(last)
        # Without anything given, a cursor would lead back here for ever.
        cursor = cursors.written(self.document.id, held, self.question) if runs else ""
        if rest := self._rest(missing, cursor):
            segments.append(rest)
        tokens = count_tokens("".join([*marks, rest])) + sum(one.closed for one in written)
        if written and not rest:
            tokens += written[-1].tokens - written[-1].closed
        if any(one.text[:1] in _JOINING for one in written):
            tokens = count_tokens("\n".join(segments))
        return Draft(tuple(segments), tokens, tuple(written), missing, cursor)

    def _stretches(self, run: Column) -> list[tuple[int, int]]:
        """The stretch of a run, and before it the header of its table where that lies elsewhere."""
        layout, first, last = self.layout, int(run[0]), int(run[-1])
        stretch = int(layout.starts[first]), int(layout.ends[last])
        header = int(layout.head_starts[first]), int(layout.head_ends[first])
        return [header, stretch] if header[1] > header[0] else [stretch]

    def _trimmed(self, start: int, end: int) -> Stretch:
        """A stretch without the line breaks around it; drafts of one answer have most of theirs in common."""
        if (known := self.written_before.get((start, end))) is None:
            known = self.written_before[start, end] = self._read(start, end)
        return known

    def _read(self, start: int, end: int) -> Stretch:
        text = self._between(start, end)
        start += len(text) - len(text.lstrip("\r\n"))
        text = text.strip("\r\n")
        line = self._line(start)
        last = line + text.rstrip().count("\n")
        path = self._path(self._chunk(start))
        tokens = count_tokens(text)
        return Stretch(start, start + len(text), line, last, path, text, tokens, _closed(text, tokens))

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

    def _mark(self, parts: Sequence[Stretch], path: tuple[str, ...], *, first: bool) -> str:
        lines = ", ".join(f"{part.first_line}-{part.last_line}" for part in parts)
        where = f"{one_line(self.document.path, PATH_CHARACTERS)}, lines {lines}" if first else lines
        return f"[{where} | {written_path(path)}]" if path else f"[{where}]"

    def _rest(self, missing: Bools, cursor: str) -> str:
        """The words about what is left out, and its table; empty where nothing is."""
        if not missing.any():
            return ""
        said = [f"left out: {self.layout.tokens[missing].sum()} tokens"]
        if self.large >= 0:
            lines = f"{self.layout.first_lines[self.large]}-{self.layout.last_lines[self.large]}"
            said.append(f"too large for this budget: lines {lines}, {self.layout.tokens[self.large]} tokens")
        said += [f"cursor {cursor}"] if cursor else []
        return f"[{'; '.join(said)}]{outline.written(self.layout, missing, self.table)}"


def _closed(text: str, tokens: int) -> int:
    """Tokens of a text and a line break after it, without counting all of it again.

    A token never reaches from one word into the blank before the next one, so the last word alone is counted twice.
    """
    blank = text.rfind(" ")
    if blank > 0 and text[blank + 1 : blank + 2].isalpha() and not text[blank - 1].isspace():
        tail = text[blank:]
        return tokens - count_tokens(tail) + count_tokens(f"{tail}\n")
    return count_tokens(f"{text}\n")
