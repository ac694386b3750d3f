"""Chooses the chunks of a document that answer a question inside a token budget.

Invariant: pure; chunks are taken whole, and never one that was given before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents import outline
from thresher.knowledge.documents.layout import Column, Layout
from thresher.knowledge.documents.ranking import among_neighbours
from thresher.search import Bools, Floats, Units, select

MARK_TOKENS: Final = 5
"""Of the line above a run, without headings: brackets, two line numbers, a line break."""
HEADING_TOKENS: Final = 2
"""Of the bar before a heading path."""
FRAME_TOKENS: Final = 19
"""Kept for the words about the document and about the rest, and for the beginning of the cursor."""
_RUN_TOKENS: Final = 300
"""Budget for each run of adjacent chunks, about; a run lengthens the cursor by a token."""
_SPARES: Final = 8
_LOOKED_AT: Final = 256
_SMALLER: Final = 0.8
"""How many chunks are looked at for spares; each is at most so large, compared with the one before it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an answer is to hold.

    Attributes:
        chosen: int64, ordinals in the order in which they were chosen; the last is given up first.
        spares: int64, ordinals that may still fit when all is counted exactly, best first.
        given: bool (n,), chunks that earlier answers held.
        table: Whether there is room for a table of what is left out.
        large: The chunk that fits best, where it is too large for the budget; else -1.
    """

    chosen: Column
    spares: Column
    given: Bools
    table: bool = True
    large: int = -1

    def reads(self, layout: Layout) -> list[int]:
        """Ordinals of all chunks whose texts are needed to write the answer, in order: headers of tables too."""
        wanted = np.concatenate([self.chosen, self.spares, np.array([self.large][: self.large + 1], np.int64)])
        heads = wanted[layout.head_ends[wanted] > layout.head_starts[wanted]]
        first = np.searchsorted(layout.starts, layout.head_starts[heads], "right") - 1
        last = np.searchsorted(layout.starts, layout.head_ends[heads], "left") - 1
        read = set(wanted.tolist())
        for start, end in zip(first.tolist(), last.tolist(), strict=True):
            read.update(range(start, end + 1))
        return sorted(read)


def plan(layout: Layout, scores: Floats, budget: int, given: Bools | None = None, path: str = "") -> Plan:
    """Choose chunks.

    Args:
        layout: Of the document.
        scores: float32 (n,) of its chunks, from `ranking.fuse`.
        budget: Tokens of the whole answer, marks and map included.
        given: bool (n,), chunks that earlier answers held.
        path: Of the document, as the answer names it.
    """
    given = np.zeros(len(layout), np.bool_) if given is None else given
    units = units_of(layout)
    seen = among_neighbours(scores, layout.headings)
    frame = FRAME_TOKENS + count_tokens(path) + budget // _RUN_TOKENS
    table = outline.room(layout, ~given, budget)
    best, cost = _best(units, seen, given)
    if cost > budget - frame - table:  # what fits best is worth more than the table
        table = 0
    chosen = select(units, seen, max(budget - frame - table, 0), given)
    held = given.copy()
    held[chosen] = True
    spares = _spares(layout, seen, ~held, frame + budget // outline.SHARE)
    return Plan(chosen, spares, given, table > 0, best if cost > budget - frame else -1)


def units_of(layout: Layout) -> Units:
    """The chunks as units to select from: a mark opens a run, a heading path is named once, headers of tables cost."""
    spans = np.maximum(layout.ends - layout.starts, 1)
    header = layout.head_ends - layout.head_starts
    holder = np.maximum(np.searchsorted(layout.starts, layout.head_starts, "right") - 1, 0)
    headers = np.ceil(header * (layout.tokens / spans)[holder]).astype(np.int64)
    named = np.where(layout.path_tokens > 0, layout.path_tokens + HEADING_TOKENS, 0)
    return Units(layout.tokens, MARK_TOKENS + headers, layout.headings, named, layout.twins)


def _best(units: Units, scores: Floats, given: Bools) -> tuple[int, int]:
    """The chunk that fits best of those that were not given, and what it costs alone; -1 and 0 where all were."""
    if given.all():
        return -1, 0
    best = int(np.argmax(np.where(given, -np.inf, scores)))
    return best, int(units.costs[best] + units.openings[best] + units.label_costs[units.labels[best]])


def _spares(layout: Layout, scores: Floats, free: Bools, room: int) -> Column:
    """Chunks for the room that estimates leave: the best one, the best of those that are smaller, and so on."""
    small = np.flatnonzero(free & (layout.tokens <= room))
    spares: list[int] = []
    for chunk in small[np.argsort(-scores[small], kind="stable")[:_LOOKED_AT]].tolist():
        if layout.tokens[chunk] <= room:
            spares.append(chunk)
            room = int(_SMALLER * layout.tokens[chunk])
        if len(spares) == _SPARES:
            break
    return np.array(spares, np.int64)
