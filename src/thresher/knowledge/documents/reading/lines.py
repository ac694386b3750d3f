"""What readers make of a text, where its lines are, and what no block covers.

Invariant: a line ends after its line feed; nothing else ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.knowledge.documents.models import Block

_LINE: Final = re.compile("\n")
_WORD: Final = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Reading:
    """The structure of a text.

    Attributes:
        blocks: In order; what lies between them is white space.
        title: That the text gives itself; empty where it gives none.
        notes: What was lost or guessed, in sentences.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    notes: tuple[str, ...] = ()


def line_starts(text: str) -> list[int]:
    """Where each line starts, and the end of the text: line `i` (from 0) is `text[starts[i]:starts[i + 1]]`."""
    starts = [0, *(match.end() for match in _LINE.finditer(text))]
    if starts[-1] != len(text):
        starts.append(len(text))
    return starts


def trimmed(text: str, start: int, end: int) -> int:
    """The end of a stretch without the white space at its end."""
    return start + len(text[start:end].rstrip())


def line_of_word(text: str, start: int, end: int) -> int:
    """Start of the first line of a stretch that is not blank, or of the stretch where that line starts before it.

    Returns:
        `end` where the stretch is blank.
    """
    word = _WORD.search(text, start, end)
    return end if word is None else max(start, text.rfind("\n", start, word.start()) + 1)


def with_matter(text: str, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks, and a block `matter` for each stretch of text that none of them covers.

    Args:
        text: The whole text.
        blocks: In order, without overlap.
    """
    covered: list[Block] = []
    place = 0
    for block in blocks:
        covered.extend(stretch(text, place, block.start, Block("matter", 0, 0)))
        covered.append(block)
        place = block.end
    return (*covered, *stretch(text, place, len(text), Block("matter", 0, 0)))


def stretch(text: str, start: int, end: int, like: Block) -> list[Block]:
    """A stretch as a block of the same kind as another one, without blank lines around it; none where it is blank."""
    first = line_of_word(text, start, end)
    if first >= end:
        return []
    return [Block(like.kind, first, trimmed(text, first, end), like.level, like.title)]
