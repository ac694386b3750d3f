"""Writes what a model reads: verbatim passages under marks, and a table of what was left out.

    [manual.md, lines 210-233 | Section > Part]
    text ...
    [260-270 | Section > Other]
    text ...
    [left out: 95000 tokens; cursor 12.348109234.207361]
    1-209 Introduction

A run of adjacent chunks is under one mark; a heading path is named where it changes. Table rows whose header is
elsewhere follow a copy of that header.

Invariant: pure; the text never exceeds the budget, marks included; each part of it is an unchanged part of the
document, and sentences are never cut.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from thresher.core import one_line
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers import cursors, outline
from thresher.knowledge.documents.answers.compression import CompressionPlan
from thresher.knowledge.documents.layout import Column, DocumentLayout, path_label
from thresher.knowledge.documents.models import BlockKind, Document, DocumentPart, Omitted
from thresher.knowledge.documents.sentences import CLAUSE, pieces
from thresher.search import Bools, query_terms, terms


def whole(document: Document, layout: DocumentLayout, text: str) -> RenderedAnswer:
    """The whole document, without additions."""
    paths = layout.paths[int(layout.headings[0])] if len(layout) else ()
    part = DocumentPart(document.path, paths, 1, max(document.lines, 1), 0, len(text), document.tokens)
    return RenderedAnswer(text, document.tokens, (part,) if text else ())


def render(
    document: Document,
    layout: DocumentLayout,
    plan: CompressionPlan,
    texts: Mapping[int, str],
    budget: int,
    question: Sequence[str],
) -> RenderedAnswer:
    """Write an answer.

    Args:
        document: The document of the chunks.
        layout: Its layout.
        plan: What the answer contains.
        texts: Texts of the chunks that `plan.reads` names.
        budget: Most tokens.
        question: The words that identify the question, for the cursor and for cutting a chunk that is too large.

    Returns:
        The answer; without text if not even the line about what is left out fits.
    """
    page = AnswerWriter(
        document, layout, plan.delivered, texts, question, budget // outline.SHARE if plan.table else 0, plan.large
    )
    if plan.large >= 0 and (part := _excerpt(page, plan.large, budget)) is not None:
        return page.finished(part)
    chosen = plan.chosen.tolist()
    answer = page.written(chosen)
    while answer.tokens > budget and chosen:
        # Drop whole chunks, the worst first, until the excess is covered.
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
    content = page.finished(answer)
    return content if answer.tokens <= budget else RenderedAnswer("", 0, (), content.left_out, content.cursor)


def _excerpt(page: AnswerWriter, chunk: int, budget: int) -> AnswerDraft | None:
    """An answer with the fitting sentences of one chunk; None if none fits."""
    text, question_terms = page.texts[chunk], query_terms(" ".join(page.question))
    room = budget - page.cut(chunk, 0, 0).tokens
    while room > 0 and (bounds := excerpt(text, page.layout.kind(chunk), question_terms, room)) is not None:
        answer = page.cut(chunk, *bounds)
        if answer.tokens <= budget:
            return answer
        room -= answer.tokens - budget
    return None


PATH_CHARACTERS: Final = 1_000
"""Most characters of a file's path above a passage; a name may contain line breaks."""
_JOINING: Final = ("", "/", "\n", "\r")
"""First characters of a text that share a token with a line break before them. No others do, so that marks and texts
can be counted separately."""


@dataclass(frozen=True, slots=True)
class RenderedAnswer:
    """An answer's text and its description.

    Attributes:
        text: What a model reads.
        tokens: Exact tokens of the text; never above the budget.
        parts: The parts that it contains, in order.
        left_out: What neither it nor an earlier answer contains.
        cursor: Fetches that; empty if nothing is left, or none of it fits the budget.
    """

    text: str
    tokens: int
    parts: tuple[DocumentPart, ...]
    left_out: tuple[Omitted, ...] = ()
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class WrittenStretch:
    """A part of the document as it is written.

    Attributes:
        start: First character.
        end: Character after the last.
        first_line: Its first line.
        last_line: Its last line.
        path: Its heading path.
        text: Its text, verbatim.
        tokens: Tokens of the text alone.
        closed: Tokens of the text and a line break after it.
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
class AnswerDraft:
    """An answer whose passages are not final.

    Attributes:
        segments: Parts of the text; each begins with a bracket, and they are joined by line breaks.
        tokens: Exact tokens of the text.
        stretches: The parts of the document that it contains.
        missing: bool (n,), chunks that neither it nor an earlier answer contains.
        cursor: Fetches the missing chunks.
    """

    segments: tuple[str, ...]
    tokens: int
    stretches: tuple[WrittenStretch, ...]
    missing: Bools
    cursor: str


@dataclass(frozen=True, slots=True)
class AnswerWriter:
    """Writes drafts of one answer.

    Attributes:
        document: The document of the chunks.
        layout: Layout of the document.
        delivered: bool (n,), chunks of earlier answers.
        texts: Texts of the chunks.
        question: The words that identify the question, for the cursor.
        table: Tokens that the table of what is left out may take.
        large: The best chunk if it is too large; -1 for none.
        repository: Name of the repository, if the answer names it; else empty.
        ends: Whether the answer ends with a line about what is left out.
        written_before: Stretches of earlier drafts.
    """

    document: Document
    layout: DocumentLayout
    delivered: Bools
    texts: Mapping[int, str]
    question: Sequence[str]
    table: int
    large: int = -1
    repository: str = ""
    ends: bool = True
    written_before: dict[tuple[int, int], WrittenStretch] = field(default_factory=dict[tuple[int, int], WrittenStretch])

    def written(self, chosen: Sequence[int]) -> AnswerDraft:
        """The answer with these chunks."""
        order = np.sort(np.array(chosen, np.int64))
        held = self.delivered.copy()
        held[order] = True
        runs = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1) if len(order) else []
        stretches = [(self._stretches(run), int(run[0]), int(run[-1])) for run in runs]
        return self._draft(stretches, ~held, held)

    def cut(self, chunk: int, start: int, end: int) -> AnswerDraft:
        """The answer with a range of one chunk's text.

        The chunk still counts as left out, but the cursor does not fetch its rest, because it would return the same
        range again and again: `read_document` reads the chunk by its lines.
        """
        at = int(self.layout.starts[chunk])
        held = self.delivered.copy()
        held[chunk] = True
        return self._draft([([(at + start, at + end)], chunk, chunk)], ~self.delivered, held)

    def finished(self, draft: AnswerDraft) -> RenderedAnswer:
        """The final answer."""
        parts = tuple(
            DocumentPart(self.document.path, one.path, one.first_line, one.last_line, one.start, one.end, one.tokens)
            for one in draft.stretches
        )
        left_out = outline.left_out(self.layout, draft.missing)
        return RenderedAnswer("\n".join(draft.segments), draft.tokens, parts, left_out, draft.cursor)

    def _draft(
        self, runs: Sequence[tuple[list[tuple[int, int]], int, int]], missing: Bools, held: Bools
    ) -> AnswerDraft:
        segments: list[str] = []
        marks: list[str] = []
        written: list[WrittenStretch] = []
        above: tuple[str, ...] | None = None
        for stretches, first, last in runs:
            trimmed = [self._trimmed(start, end) for start, end in stretches]
            path = self._path(first)
            mark = self._mark(trimmed, path if path != above else (), first=above is None)
            segments.append("\n".join([mark, *(one.text for one in trimmed)]))
            marks.append(f"{mark}\n")
            written += trimmed
            above = self._path(last)
        # If the answer contains nothing, its cursor would lead back here again and again.
        cursor = cursors.encode(self.document.id, held, self.question) if runs else ""
        if rest := self._rest(missing, cursor):
            segments.append(rest)
        tokens = count_tokens("".join([*marks, rest])) + sum(one.closed for one in written)
        if written and not rest:
            tokens += written[-1].tokens - written[-1].closed
        if any(one.text[:1] in _JOINING for one in written):
            tokens = count_tokens("\n".join(segments))
        return AnswerDraft(tuple(segments), tokens, tuple(written), missing, cursor)

    def _stretches(self, run: Column) -> list[tuple[int, int]]:
        """The range of a run, preceded by the header of its table if that is elsewhere."""
        layout, first, last = self.layout, int(run[0]), int(run[-1])
        stretch = int(layout.starts[first]), int(layout.ends[last])
        header = int(layout.head_starts[first]), int(layout.head_ends[first])
        return [header, stretch] if header[1] > header[0] else [stretch]

    def _trimmed(self, start: int, end: int) -> WrittenStretch:
        """A stretch without the line breaks around it; drafts of one answer share most of their stretches."""
        if (known := self.written_before.get((start, end))) is None:
            known = self.written_before[start, end] = self._read(start, end)
        return known

    def _read(self, start: int, end: int) -> WrittenStretch:
        text = self._between(start, end)
        start += len(text) - len(text.lstrip("\r\n"))
        text = text.strip("\r\n")
        line = self._line(start)
        last = line + text.rstrip().count("\n")
        path = self._path(self._chunk(start))
        tokens = count_tokens(text)
        return WrittenStretch(start, start + len(text), line, last, path, text, tokens, _closed(text, tokens))

    def _between(self, start: int, end: int) -> str:
        """A range of the document, from the texts of its chunks."""
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

    def _mark(self, parts: Sequence[WrittenStretch], path: tuple[str, ...], *, first: bool) -> str:
        lines = ", ".join(f"{part.first_line}-{part.last_line}" for part in parts)
        whose = f"{one_line(self.repository)}: " if self.repository else ""
        where = f"{whose}{one_line(self.document.path, PATH_CHARACTERS)}, lines {lines}" if first else lines
        return f"[{where} | {path_label(path)}]" if path else f"[{where}]"

    def _rest(self, missing: Bools, cursor: str) -> str:
        """The line about what is left out, and its table; empty if nothing is left out."""
        if not self.ends or not missing.any():
            return ""
        notes = [f"left out: {self.layout.tokens[missing].sum()} tokens"]
        if self.large >= 0:
            lines = f"{self.layout.first_lines[self.large]}-{self.layout.last_lines[self.large]}"
            notes.append(f"too large for this budget: lines {lines}, {self.layout.tokens[self.large]} tokens")
        notes += [f"cursor {cursor}"] if cursor else []
        return f"[{'; '.join(notes)}]{outline.table(self.layout, missing, self.table)}"


def _closed(text: str, tokens: int) -> int:
    """Tokens of a text and a line break after it, without counting the whole text again.

    A token never spans a word and the space before the next one, so that only the last word has to be counted twice.
    """
    blank = text.rfind(" ")
    if blank > 0 and text[blank + 1 : blank + 2].isalpha() and not text[blank - 1].isspace():
        tail = text[blank:]
        return tokens - count_tokens(tail) + count_tokens(f"{tail}\n")
    return count_tokens(f"{text}\n")


_PROSE: Final[frozenset[BlockKind]] = frozenset({"heading", "paragraph", "item", "quote"})
_WHOLE: Final = re.compile(
    r"^[ \t>]*(?:```|~~~|\||\$\$|<(?:table|thead|tbody|tr|td|th|pre|code)\b)", re.MULTILINE | re.I
)
"""What must not be cut: fences, table rows, formulas."""


def excerpt(text: str, kind: BlockKind, question_terms: Collection[str], budget: int) -> tuple[int, int] | None:
    """The neighbouring sentences of a chunk that contain most of the question's terms.

    A sentence is never cut, and a chunk with a code block, a table or code is never cut at all.

    Args:
        text: Text of the chunk.
        kind: Kind of the chunk.
        question_terms: Terms of the question.
        budget: Most tokens.

    Returns:
        First character and the one after the last; None if no sentence fits, or nothing may be cut.
    """
    if kind not in _PROSE or _WHOLE.search(text):
        return None
    bounds = _sentences(text)
    sizes = [count_tokens(text[start:end].strip()) for start, end in bounds]
    held = [len({*terms(text[start:end])} & {*question_terms}) for start, end in bounds]
    fitting = [place for place, size in enumerate(sizes) if size <= budget]
    if not fitting:
        return None
    first = last = max(fitting, key=lambda place: (held[place], -place))
    while (step := _grown(text, bounds, (first, last), budget)) is not None:
        first, last = step
    return bounds[first][0], bounds[last][1]


def _grown(text: str, bounds: Sequence[tuple[int, int]], held: tuple[int, int], budget: int) -> tuple[int, int] | None:
    """Extend the range by the next sentence if it fits, else by the previous one; None if neither fits."""
    first, last = held
    for start, end in ((first, last + 1), (first - 1, last)):
        if start >= 0 and end < len(bounds) and count_tokens(text[bounds[start][0] : bounds[end][1]].strip()) <= budget:
            return start, end
    return None


def _sentences(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence."""
    bounds: list[tuple[int, int]] = []
    for piece in pieces(text, 0, len(text)):
        if bounds and piece.price >= CLAUSE:
            bounds[-1] = bounds[-1][0], piece.end
        else:
            bounds.append((piece.start, piece.end))
    return bounds
