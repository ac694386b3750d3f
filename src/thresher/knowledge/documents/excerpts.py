"""Cuts a chunk that is too large for a small budget down to whole sentences around the words of the question.

Invariant: pure; never inside a sentence, and never in a chunk that holds a code block, a table or code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from thresher.embedding import count_tokens
from thresher.knowledge.documents.models import BlockKind
from thresher.knowledge.documents.sentences import CLAUSE, pieces
from thresher.search import terms

_PROSE: Final[frozenset[BlockKind]] = frozenset({"heading", "paragraph", "item", "quote"})
_WHOLE: Final = re.compile(
    r"^[ \t>]*(?:```|~~~|\||\$\$|<(?:table|thead|tbody|tr|td|th|pre|code)\b)", re.MULTILINE | re.I
)
"""What must not be cut: fences, rows of tables, formulas."""


def excerpt(text: str, kind: BlockKind, wanted: Collection[str], budget: int) -> tuple[int, int] | None:
    """The neighbouring sentences of a chunk that hold most of the wanted words.

    Args:
        text: Of the chunk.
        kind: Of the chunk.
        wanted: Terms of the question.
        budget: Tokens at most.

    Returns:
        First character and the one after the last; None where no sentence fits, or nothing may be cut.
    """
    if kind not in _PROSE or _WHOLE.search(text):
        return None
    bounds = _sentences(text)
    sizes = [count_tokens(text[start:end].strip()) for start, end in bounds]
    held = [len({*terms(text[start:end])} & {*wanted}) for start, end in bounds]
    fitting = [place for place, size in enumerate(sizes) if size <= budget]
    if not fitting:
        return None
    first = last = max(fitting, key=lambda place: (held[place], -place))
    while (step := _grown(text, bounds, (first, last), budget)) is not None:
        first, last = step
    return bounds[first][0], bounds[last][1]


def _grown(text: str, bounds: Sequence[tuple[int, int]], held: tuple[int, int], budget: int) -> tuple[int, int] | None:
    """One sentence more: the next one if it fits, else the one before; None where neither does."""
    first, last = held
    for start, end in ((first, last + 1), (first - 1, last)):
        if start >= 0 and end < len(bounds) and count_tokens(text[bounds[start][0] : bounds[end][1]].strip()) <= budget:
            return start, end
    return None


def _sentences(text: str) -> list[tuple[int, int]]:
    """Where each sentence starts and ends."""
    bounds: list[tuple[int, int]] = []
    for piece in pieces(text, 0, len(text)):
        if bounds and piece.price >= CLAUSE:
            bounds[-1] = bounds[-1][0], piece.end
        else:
            bounds.append((piece.start, piece.end))
    return bounds
