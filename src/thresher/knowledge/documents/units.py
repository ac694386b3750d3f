"""The units that chunks are made of: ranges that are never cut, each with the price of a cut before it.

Invariant: pure; units follow one another without a gap, from the first character of the text to the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from thresher.embedding import count_tokens
from thresher.knowledge.documents.models import Block, BlockKind, Parsed
from thresher.knowledge.documents.sentences import LINE, WHOLE, TextPiece, pieces

TABLE_WHOLE: Final = 240
"""Tokens; a table up to two chunks long stays whole, because repeating its header costs more."""
FENCE_WHOLE: Final = 8_000
"""Tokens; a code block inside a document is never cut, unless no answer of usual size could hold it."""
CODE_UNIT: Final = 120
"""Tokens; a longer piece of code that its reader did not divide is cut between lines."""
SMALLEST: Final = 8
"""Tokens; shorter pieces join their neighbours, so that partitioning many of them stays cheap."""
NESTED: Final = 0.08
"""Price of a cut for each level of a list or of code that contains it."""
INTRODUCED: Final = 0.3
"""Price of a cut after a colon, which announces what follows."""
_SHORT: Final = 60
"""Characters that may have fewer tokens than `SMALLEST`; a unit of this length takes no more."""
_HEADINGS: Final = 1_000
"""Characters of consecutive headings that stay together with what follows."""
_CAPTION: Final = re.compile(r"\s*[*_]*(?:Table|Figure|Fig\.|Listing|Example)\s+[\w.-]+[^\n]{0,300}\s*$")
_CODE_LINES: Final = 120
"""Characters up to which lines of code are joined before their tokens are counted."""
_LINE_END: Final = re.compile(r"\n(?:[ \t]*\n)*")


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of text that is not cut.

    Attributes:
        start: First character.
        end: Character after the last.
        tokens: Tokens of its text, at least 1.
        kind: Kind of its block.
        path: Headings above it, outermost first; for code the parts of its qualified name.
        price: Price of a cut before it.
        group: Units of different groups never share a chunk, unless they are small; -1 if only the path decides.
        head_start: For a row of a table that is cut: start of the table's header.
        head_end: End of that header.
    """

    start: int
    end: int
    tokens: int
    kind: BlockKind
    path: tuple[str, ...]
    price: float = 0.0
    group: int = -1
    head_start: int = 0
    head_end: int = 0


def units(parsed: Parsed) -> list[Unit]:
    """The units of a text, with headings joined to what follows them."""
    text = parsed.text
    found = list(_all_units(text, parsed.blocks)) or [Unit(0, len(text), 0, "paragraph", ())]
    starts = [0, *(unit.start for unit in found[1:]), len(text)]
    closed = [replace(unit, start=first, end=last) for unit, (first, last) in zip(found, pairwise(starts), strict=True)]
    counted = [replace(unit, tokens=max(1, count_tokens(text[unit.start : unit.end]))) for unit in _glued(text, closed)]
    return list(_gathered(counted))


def _all_units(text: str, blocks: Sequence[Block]) -> Iterator[Unit]:
    trail: list[tuple[int, str]] = []
    before = ""
    for place, block in enumerate(blocks):
        if block.kind == "heading":
            trail = [entry for entry in trail if entry[0] < block.level]
            trail.append((block.level, block.title))
        path = tuple(title for _, title in trail if title)
        if block.kind == "code" and block.title:
            path = (*path, *block.title.split("."))
        price = NESTED * block.level + (INTRODUCED if before == ":" else 0.0)
        first = Unit(block.start, block.end, 0, block.kind, path, price, place if block.kind == "matter" else -1)
        yield from _block_units(text, block, first, place)
        before = text[block.end - 1 : block.end]


def _block_units(text: str, block: Block, first: Unit, place: int) -> Iterator[Unit]:
    """A block as units; the first has the price of a cut before the block."""
    match block.kind:
        case "table" if block.rows and count_tokens(text[block.start : block.end]) > TABLE_WHOLE:
            yield from _rows(block, replace(first, group=place))
        case "table":
            yield first
        case "heading" if block.end - block.start <= WHOLE:
            yield first
        case "fence" if count_tokens(text[block.start : block.end]) <= FENCE_WHOLE:
            yield first
        case "fence" | "code":
            yield from _lines(text, first)
        case _:
            for start, end, price in _joined(text, pieces(text, block.start, block.end)):
                yield replace(first, start=start, end=end, price=first.price + price)


def _rows(block: Block, first: Unit) -> Iterator[Unit]:
    """A table row by row; its header goes with the first row."""
    bounds = [block.start, *block.rows[1:], block.end]
    for start, end in pairwise(bounds):
        header = {"head_start": block.start, "head_end": block.head} if start > block.start else {}
        yield replace(first, start=start, end=end, price=first.price if start == block.start else 0.0, **header)


def _lines(text: str, first: Unit) -> Iterator[Unit]:
    """Code cut where necessary: between lines, preferably at blank ones, and inside very long lines."""
    if count_tokens(text[first.start : first.end]) <= CODE_UNIT:
        yield first
        return
    start, price = first.start, first.price
    ends = [(match.end(), match[0].count("\n")) for match in _LINE_END.finditer(text, first.start, first.end)]
    for end, breaks in (*ends, (first.end, 2)):
        if end - start > WHOLE:
            for piece in pieces(text, start, end):
                yield replace(first, start=piece.start, end=piece.end, price=price + piece.price)
        elif end - start >= _CODE_LINES or breaks > 1:
            yield replace(first, start=start, end=end, price=price)
        else:
            continue
        start, price = end, first.price + (NESTED if breaks > 1 else LINE)


def _joined(text: str, row: Iterator[TextPiece]) -> Iterator[tuple[int, int, float]]:
    """Pieces with the smallest joined to the one before: start, end, price of a cut before."""
    start, end, price = -1, -1, 0.0
    for piece in row:
        if start < 0:
            start, price = piece.start, piece.price
        elif end - start > _SHORT or not _tiny(text, piece):
            yield start, end, price
            start, price = piece.start, piece.price
        end = piece.end
    if start >= 0:
        yield start, end, price


def _tiny(text: str, piece: TextPiece) -> bool:
    return piece.end - piece.start <= _SHORT and count_tokens(text[piece.start : piece.end]) < SMALLEST


def _glued(text: str, row: Sequence[Unit]) -> Iterator[Unit]:
    """Join each heading and each caption to what follows; a text of headings alone is a list."""
    waiting: Unit | None = None
    for unit, after in zip(row, (*row[1:], None), strict=True):
        start = unit.start if waiting is None else waiting.start
        if _leads(text, unit, after) and unit.end - start <= _HEADINGS:
            waiting = replace(unit, start=start)
            continue
        yield replace(unit, start=start, price=0.0 if waiting is not None else unit.price)
        waiting = None
    if waiting is not None:
        yield waiting


def _leads(text: str, unit: Unit, after: Unit | None) -> bool:
    """Whether a unit introduces the next one."""
    if unit.kind == "heading":
        return True
    if unit.kind != "paragraph" or after is None or after.kind not in ("table", "fence"):
        return False
    return _CAPTION.match(text, unit.start, unit.end) is not None


def _gathered(row: Sequence[Unit]) -> Iterator[Unit]:
    """Join neighbours of a few tokens: rows of a table of numbers, items of one word."""
    last: Unit | None = None
    for unit in row:
        if last is not None and last.tokens + unit.tokens <= SMALLEST and _alike(last, unit):
            last = replace(last, end=unit.end, tokens=last.tokens + unit.tokens)
            continue
        if last is not None:
            yield last
        last = unit
    if last is not None:
        yield last


def _alike(first: Unit, second: Unit) -> bool:
    return (first.kind, first.path, first.group, first.head_end) == (
        second.kind,
        second.path,
        second.group,
        second.head_end,
    )
