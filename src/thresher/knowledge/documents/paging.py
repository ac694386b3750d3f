"""Answers `read_document`: whole lines of a document, page by page.

Invariant: a page ends where a line ends and never costs more than its budget; only a line that alone is too long is
cut. Pages that follow each other by their cursors give the stretch that was asked for exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from thresher.core import Caller, InvalidInput, NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.documents.layout import Layout
from thresher.knowledge.documents.models import Document, Page, Part
from thresher.knowledge.documents.question import checked_budget
from thresher.knowledge.documents.scoring import Scorer
from thresher.knowledge.documents.sections import Stretch, section_of
from thresher.knowledge.documents.shelf import Shelf

Lines = tuple[int, int]
"""First and last line, from 1."""

_LINES: Final = re.compile(r"\s*(\d{1,9})\s*(?:[-:]\s*(\d{1,9})?\s*)?")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_CURSOR: Final = re.compile(r"(\d{1,19})\.(\d{1,12})\.(\d{1,12})")
_SPARE: Final = 2
"""Chunks that are read beyond those that fill a budget: what two of them share may cost less than both."""


class Pager:
    """Reads documents.

    Args:
        scorer: Knows the repositories.
        shelf: Where documents are read.
    """

    def __init__(self, scorer: Scorer, shelf: Shelf) -> None:
        self._scorer = scorer
        self._shelf = shelf

    async def read(
        self,
        caller: Caller,
        repository: str,
        path: str,
        *,
        lines: Lines | str | None,
        section: str | None,
        cursor: str | None,
        budget: int,
    ) -> Page:
        """One page.

        Raises:
            InvalidInput: The lines are none, the cursor is none of this document, or two of the three were given.
            NotFound: There is no such repository, document or section, or not so many lines.
        """
        if sum(1 for one in (lines, section, cursor) if one) > 1:
            raise InvalidInput("Lines, section and cursor exclude each other.", hint="Give one of them.")
        checked_budget(budget)
        head = await self._scorer.head(caller, repository)
        document = (await self._shelf.holdings(caller.tenant, head)).document(path)
        layout = await self._shelf.layout(caller.tenant, document.id)
        if cursor:
            stretch = _stretch_of_cursor(cursor, document, layout)
        elif section:
            stretch = section_of(section, await self._shelf.sections(caller.tenant, document.id), int(layout.ends[-1]))
        elif lines:
            stretch = await self._stretch_of_lines(caller, _lines(lines), document, layout)
        else:
            stretch = Stretch(0, int(layout.ends[-1]))
        return await self._page(caller, document, layout, stretch, budget)

    async def _stretch_of_lines(self, caller: Caller, lines: Lines, document: Document, layout: Layout) -> Stretch:
        first, last = lines
        if first > document.lines:
            raise NotFound(
                f"'{document.path}' has {document.lines:,} lines.", hint=f"Ask for lines 1 to {document.lines}."
            )
        start = await self._line_start(caller, first, document, layout)
        return Stretch(start, await self._line_start(caller, last + 1, document, layout))

    async def _line_start(self, caller: Caller, line: int, document: Document, layout: Layout) -> int:
        """The first character of a line; the end of the document for one that it does not have."""
        if line <= 1:
            return 0
        if line > document.lines:
            return int(layout.ends[-1])
        chunk = int(np.searchsorted(layout.first_lines, line)) - 1  # the last one that begins in a line before
        text = (await self._shelf.texts(caller.tenant, document.id, [chunk]))[chunk]
        place = 0
        for _ in range(line - int(layout.first_lines[chunk])):
            place = text.index("\n", place) + 1
        return int(layout.starts[chunk]) + place

    async def _page(self, caller: Caller, document: Document, layout: Layout, stretch: Stretch, budget: int) -> Page:
        first = int(np.searchsorted(layout.starts, stretch.start, "right")) - 1
        enough = int(np.searchsorted(np.cumsum(layout.tokens[first:]), budget)) + 1 + _SPARE
        end = min(first + enough, int(np.searchsorted(layout.starts, stretch.end)), len(layout))
        texts = await self._shelf.texts(caller.tenant, document.id, range(first, max(end, first + 1)))
        joined = "".join(texts[place] for place in sorted(texts))
        offset = stretch.start - int(layout.starts[first])
        content = within(joined[offset : stretch.end - int(layout.starts[first])], budget)
        after = stretch.start + len(content)
        line = int(layout.first_lines[first]) + joined.count("\n", 0, offset)
        tokens = count_tokens(content)
        part = Part(
            document.path,
            layout.paths[int(layout.headings[first])],
            line,
            line + content.rstrip("\r\n").count("\n"),
            stretch.start,
            after,
            tokens,
        )
        cursor = f"{document.id}.{after}.{stretch.end}" if after < stretch.end else ""
        return Page(content, part, tokens, document.lines, cursor)


def within(text: str, budget: int) -> str:
    """The first lines of a text that cost at most so many tokens; of a first line that is too long its beginning."""
    if count_tokens(text) <= budget:
        return text
    lines = _LINE.findall(text)
    fitting = _most(len(lines), lambda count: count_tokens("".join(lines[:count])) <= budget)
    if fitting:
        return "".join(lines[:fitting])
    return text[: max(_most(len(lines[0]), lambda count: count_tokens(lines[0][:count]) <= budget), 1)]


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `high` that fits, where every smaller one does too; 0 where none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _lines(lines: Lines | str) -> Lines:
    """First and last line out of `210-233`, `210-` (to the end), `210`, or two numbers.

    Raises:
        InvalidInput: They are none.
    """
    if isinstance(lines, str):
        parts = _LINES.fullmatch(lines)
        if parts is None:
            raise InvalidInput(f"'{lines}' are no lines.", hint="Write 210-233, or 210- for all from there on.")
        first = int(parts[1])
        last = int(parts[2]) if parts[2] else (first if lines.strip().isdecimal() else 10**9)
    else:
        first, last = lines
    if not 1 <= first <= last:
        raise InvalidInput(f"{first}-{last} are no lines.", hint="Lines count from 1, the first before the last.")
    return first, last


def _stretch_of_cursor(cursor: str, document: Document, layout: Layout) -> Stretch:
    parts = _CURSOR.fullmatch(cursor.strip())
    if parts is None:
        raise InvalidInput("That is no cursor of read_document.", hint="Copy the cursor of the page before.")
    if int(parts[1]) != document.id:
        raise InvalidInput(
            f"The cursor belongs to another document, or '{document.path}' has changed since.",
            hint="Read again without the cursor.",
        )
    start, end = int(parts[2]), int(parts[3])
    if not start < end <= int(layout.ends[-1]):
        raise InvalidInput("That is no cursor of this document.", hint="Copy the cursor of the page before.")
    return Stretch(start, end)
