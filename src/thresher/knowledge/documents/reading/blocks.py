"""The structure of a text: its lines, its blocks, and what no block covers.

Invariant: a line ends after its line feed; nothing else ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Block

_LINE: Final = re.compile("\n")
_WORD: Final = re.compile(r"\S")
_TEXT_LINE: Final = re.compile(r"[^\n]+")
_CELL: Final = " | "
_BARE_ROWS: Final = 3
"""Lines that must follow one another for their bars to be those of a table."""


@dataclass(frozen=True, slots=True)
class TextStructure:
    """The structure of a text.

    Attributes:
        blocks: Blocks in order; only white space lies between them.
        title: The title in the text; empty if it has none.
        notes: What was lost or guessed, in sentences.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    notes: tuple[str, ...] = ()


def line_starts(text: str) -> list[int]:
    """The start of each line, and the end of the text: line `i` (from 0) is `text[starts[i]:starts[i + 1]]`."""
    starts = [0, *(match.end() for match in _LINE.finditer(text))]
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def trimmed_end(text: str, start: int, end: int) -> int:
    """The end of a range without its trailing white space."""
    return start + len(text[start:end].rstrip())


def first_text_line(text: str, start: int, end: int) -> int:
    """Start of the first line in a range that is not blank, or of the range if that line starts before it.

    Returns:
        `end` if the range is blank.
    """
    word = _WORD.search(text, start, end)
    return end if word is None else max(start, text.rfind("\n", start, word.start()) + 1)


def with_matter(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks, and a block `matter` for each range of text that none of them covers.

    Args:
        text: The whole text.
        blocks: Blocks in order, without overlap.
    """
    covered: list[Block] = []
    place = 0
    for block in blocks:
        covered.extend(block_within(text, place, block.start, Block("matter", 0, 0)))
        covered.append(block)
        place = block.end
    return (*covered, *block_within(text, place, len(text), Block("matter", 0, 0)))


def block_within(text: str, start: int, end: int, like: Block) -> list[Block]:
    """A range as a block with the kind of another one, without blank lines around it; none if it is blank."""
    first = first_text_line(text, start, end)
    if first >= end:
        return []
    return [Block(like.kind, first, trimmed_end(text, first, end), like.level, like.title)]


def cut_at_bare_tables(text: str, blocks: Sequence[Block]) -> list[Block]:
    """The blocks with the tables inside paragraphs as blocks of their own.

    Such a table has no line of dashes: it is lines of as many cells each, and the first is its header.
    """
    pieces: list[Block] = []
    for block in blocks:
        place = block.start
        for table in _bare_tables(text, block) if block.kind == "paragraph" else ():
            pieces.extend(block_within(text, place, table.start, block))
            pieces.append(table)
            place = table.end
        pieces.extend([block] if place == block.start else block_within(text, place, block.end, block))
    return pieces


def _bare_tables(text: str, block: Block) -> list[Block]:
    """The tables without a line of dashes in a paragraph, in order."""
    found: list[Block] = []
    lines = [(match.start(), match[0].count(_CELL)) for match in _TEXT_LINE.finditer(text, block.start, block.end)]
    for cells, run in groupby(lines, key=lambda line: line[1]):
        starts = [start for start, _ in run]
        if cells and len(starts) >= _BARE_ROWS:
            end = text.find("\n", starts[-1], block.end)
            end = trimmed_end(text, starts[0], block.end if end < 0 else end)
            found.append(Block("table", starts[0], end, head=starts[1], rows=tuple(starts[1:])))
    return found


class UnreadableDocument(InvalidInput):
    """A file from which no reader can make text; the error never contains the file's content.

    Args:
        reason: One of `Skipped`'s reasons: `binary`, `empty`, `too large`, `unknown format` or `unreadable`.
        detail: A sentence for people.
    """

    code = "unreadable"

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail, hint="Leave the file out, or store it in a supported format.")
        self.reason = reason
        self.detail = detail
