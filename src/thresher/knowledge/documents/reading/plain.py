"""Plain text: paragraphs, underlined headings and lists, in the usual notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from thresher.knowledge.documents.models import Block
from thresher.knowledge.documents.reading.blocks import TextStructure, block_within, cut_at_bare_tables, with_matter
from thresher.knowledge.documents.reading.headings import heading_text, title_of, wiki_headings

_PARAGRAPH: Final = re.compile(r"^[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*", re.M)
_UNDERLINED: Final = re.compile(r"^([^\W_][^\n]{0,120})\n(={3,}|-{3,}|~{3,}|\*{3,}|#{3,})[ \t]*$", re.M)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*+\u2022\u00b7\u2013]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+\S", re.M)
_LEVELS: Final = {"=": 1, "#": 1, "*": 1, "-": 2, "~": 3}


def read_plain(text: str, headings: Sequence[Block] = ()) -> TextStructure:
    """The blocks of a text without a format.

    Args:
        text: Text with Unix line ends.
        headings: Known headings, in order; if there are none, headings are looked for.
    """
    blocks: list[Block] = []
    place = 0
    for heading in (*headings, Block("heading", len(text), len(text))):
        for match in _PARAGRAPH.finditer(text, place, heading.start):
            blocks.extend(_paragraph(text, match.start(), match.end(), known=bool(headings)))
        blocks.append(heading)
        place = heading.end
    blocks = cut_at_bare_tables(text, blocks[:-1])
    return TextStructure(with_matter(text, blocks), title_of(blocks[:3]))


def _paragraph(text: str, start: int, end: int, *, known: bool) -> list[Block]:
    """A paragraph, split at its headings and list items."""
    blocks: list[Block] = []
    place = start
    for heading in () if known else _headings(text, start, end):
        blocks.extend(_items(text, place, heading.start))
        blocks.append(heading)
        place = heading.end
    blocks.extend(_items(text, place, end))
    return blocks


def _headings(text: str, start: int, end: int) -> list[Block]:
    underlined = [
        Block("heading", match.start(), match.end(), _LEVELS[match[2][0]], heading_text(match[1]))
        for match in _UNDERLINED.finditer(text, start, end)
        if len(match[2]) >= 0.6 * len(match[1].rstrip())
    ]
    return underlined or wiki_headings(text, start, end)


def _items(text: str, start: int, end: int) -> list[Block]:
    places = [match.start() for match in _ITEM.finditer(text, start, end)]
    if len(places) < 2 and not (places and not text[start : places[0]].strip()):
        return block_within(text, start, end, Block("paragraph", 0, 0))
    blocks = block_within(text, start, places[0], Block("paragraph", 0, 0))
    for first, last in zip(places, [*places[1:], end], strict=True):
        blocks.extend(block_within(text, first, last, Block("item", 0, 0, level=1)))
    return blocks
