"""Answers `read_document`: whole lines of a document, page by page.

Invariant: a page ends at the end of a line and never exceeds its budget; only a line that is too long by itself is cut.
Consecutive pages give the requested range exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from thresher.core import Caller, CursorCodec, InvalidCursor, InvalidInput, NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers.scoring import Scorer
from thresher.knowledge.documents.cache import DocumentCache
from thresher.knowledge.documents.layout import DocumentLayout
from thresher.knowledge.documents.models import Document, DocumentPage, DocumentPart
from thresher.knowledge.documents.question import checked_budget
from thresher.knowledge.documents.sections import CharacterRange, section_of

Lines = tuple[int, int]
"""First and last line, from 1."""

_LINES: Final = re.compile(r"\s*(\d{1,9})\s*(?:[-:]\s*(\d{1,9})?\s*)?")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_CURSOR: Final[CursorCodec[int, int]] = CursorCodec("read_document", int, int)
"""The next character, and the end of the range."""
_SPARE: Final = 2
"""Chunks read beyond those that fill a budget, because two chunks together may take fewer tokens than each alone."""


class Pager:
    """Reads documents.

    Args:
        scorer: Finds repositories by name.
        cache: Reads documents.
    """

    def __init__(self, scorer: Scorer, cache: DocumentCache) -> None:
        self._scorer = scorer
        self._cache = cache

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
    ) -> DocumentPage:
        """Read one page.

        Raises:
            InvalidInput: The lines are not valid, or two of the three are given.
            InvalidCursor: The cursor belongs to another document, or this one has changed.
            NotFound: There is no such repository, document or section, or the document has fewer lines.
        """
        if sum(1 for one in (lines, section, cursor) if one) > 1:
            raise InvalidInput("Lines, section and cursor exclude each other.", hint="Give one of them.")
        checked_budget(budget)
        head = await self._scorer.head(caller, repository)
        document = (await self._cache.holdings(caller.tenant, head)).document(path)
        layout = await self._cache.layout(caller.tenant, document.id)
        if cursor:
            stretch = CharacterRange(*_CURSOR.decode(cursor, [str(document.id)]))
            if not stretch.start < stretch.end <= int(layout.ends[-1]):
                raise InvalidCursor
        elif section:
            stretch = section_of(section, await self._cache.sections(caller.tenant, document.id), int(layout.ends[-1]))
        elif lines:
            stretch = await self._stretch_of_lines(caller, _lines(lines), document, layout)
        else:
            stretch = CharacterRange(0, int(layout.ends[-1]))
        return await self._page(caller, document, layout, stretch, budget)

    async def _stretch_of_lines(
        self, caller: Caller, lines: Lines, document: Document, layout: DocumentLayout
    ) -> CharacterRange:
        first, last = lines
        if first > document.lines:
            raise NotFound(
                f"'{document.path}' has {document.lines:,} lines.", hint=f"Ask for lines 1 to {document.lines}."
            )
        start = await self._line_start(caller, first, document, layout)
        return CharacterRange(start, await self._line_start(caller, last + 1, document, layout))

    async def _line_start(self, caller: Caller, line: int, document: Document, layout: DocumentLayout) -> int:
        """The first character of a line; the end of the document if it has fewer lines."""
        if line <= 1:
            return 0
        if line > document.lines:
            return int(layout.ends[-1])
        chunk = int(np.searchsorted(layout.first_lines, line)) - 1  # the last chunk that begins before this line
        text = (await self._cache.texts(caller.tenant, document.id, [chunk]))[chunk]
        place = 0
        for _ in range(line - int(layout.first_lines[chunk])):
            place = text.index("\n", place) + 1
        return int(layout.starts[chunk]) + place

    async def _page(
        self, caller: Caller, document: Document, layout: DocumentLayout, stretch: CharacterRange, budget: int
    ) -> DocumentPage:
        first = int(np.searchsorted(layout.starts, stretch.start, "right")) - 1
        enough = int(np.searchsorted(np.cumsum(layout.tokens[first:]), budget)) + 1 + _SPARE
        end = min(first + enough, int(np.searchsorted(layout.starts, stretch.end)), len(layout))
        texts = await self._cache.texts(caller.tenant, document.id, range(first, max(end, first + 1)))
        joined = "".join(texts[place] for place in sorted(texts))
        offset = stretch.start - int(layout.starts[first])
        content = within(joined[offset : stretch.end - int(layout.starts[first])], budget)
        after = stretch.start + len(content)
        line = int(layout.first_lines[first]) + joined.count("\n", 0, offset)
        tokens = count_tokens(content)
        part = DocumentPart(
            document.path,
            layout.paths[int(layout.headings[first])],
            line,
            line + content.rstrip("\r\n").count("\n"),
            stretch.start,
            after,
            tokens,
        )
        cursor = _CURSOR.encode(after, stretch.end, question=[str(document.id)]) if after < stretch.end else ""
        return DocumentPage(content, part, tokens, document.lines, cursor)


def within(text: str, budget: int) -> str:
    """The first lines of a text within a token budget; if its first line is too long, the beginning of that line."""
    if count_tokens(text) <= budget:
        return text
    lines = _LINE.findall(text)
    fitting = _most(len(lines), lambda count: count_tokens("".join(lines[:count])) <= budget)
    if fitting:
        return "".join(lines[:fitting])
    return text[: max(_most(len(lines[0]), lambda count: count_tokens(lines[0][:count]) <= budget), 1)]


def _most(high: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `high` that fits, if every smaller one does too; 0 if none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _lines(lines: Lines | str) -> Lines:
    """First and last line from `210-233`, `210-` (to the end), `210`, or two numbers.

    Raises:
        InvalidInput: The lines are not valid.
    """
    if isinstance(lines, str):
        parts = _LINES.fullmatch(lines)
        if parts is None:
            raise InvalidInput(
                f"'{lines}' are not valid lines.", hint="Write 210-233, or 210- for everything from line 210."
            )
        first = int(parts[1])
        last = int(parts[2]) if parts[2] else (first if lines.strip().isdecimal() else 10**9)
    else:
        first, last = lines
    if not 1 <= first <= last:
        raise InvalidInput(
            f"{first}-{last} are not valid lines.", hint="Lines count from 1, the first before the last."
        )
    return first, last
