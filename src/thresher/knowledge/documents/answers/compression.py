"""Chooses the chunks of a document that answer a question inside a token budget.

Invariant: pure; chunks are taken whole, and a chunk that an earlier answer delivered is never taken again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers import outline
from thresher.knowledge.documents.answers.ranking import among_neighbours, with_nearest
from thresher.knowledge.documents.layout import Column, DocumentLayout
from thresher.search import Bools, Floats, Units, select

MARK_TOKENS: Final = 5
"""Tokens of the line above a run, without headings: brackets, two line numbers, a line break."""
HEADING_TOKENS: Final = 2
"""Tokens of the bar before a heading path."""
FRAME_TOKENS: Final = 19
"""Reserved for the line about what is left out and for the beginning of the cursor."""
_RUN_TOKENS: Final = 300
"""A run of adjacent chunks uses about this much budget, and lengthens the cursor by a token."""
_SPARES: Final = 8
_LOOKED_AT: Final = 256
_SMALLER: Final = 0.8
"""Number of chunks considered as spares; each spare is at most this share of the one before it."""


@dataclass(frozen=True, slots=True)
class CompressionPlan:
    """What an answer contains.

    Attributes:
        chosen: int64, ordinals in the order of choice; the last is dropped first.
        spares: int64, ordinals that may still fit once the answer is counted exactly, best first.
        delivered: bool (n,), chunks of earlier answers.
        table: Whether there is room for a table of what is left out.
        large: The best chunk if it is too large for the budget; else -1.
    """

    chosen: Column
    spares: Column
    delivered: Bools
    table: bool = True
    large: int = -1

    def reads(self, layout: DocumentLayout) -> list[int]:
        """Ordinals of all chunks whose texts are needed to write the answer, table headers included, in order."""
        needed = np.concatenate([self.chosen, self.spares, np.array([self.large][: self.large + 1], np.int64)])
        heads = needed[layout.head_ends[needed] > layout.head_starts[needed]]
        first = np.searchsorted(layout.starts, layout.head_starts[heads], "right") - 1
        last = np.searchsorted(layout.starts, layout.head_ends[heads], "left") - 1
        read = set(needed.tolist())
        for start, end in zip(first.tolist(), last.tolist(), strict=True):
            read.update(range(start, end + 1))
        return sorted(read)


def plan(
    layout: DocumentLayout,
    scores: Floats,
    budget: int,
    delivered: Bools | None = None,
    path: str = "",
    nearness: Floats | None = None,
) -> CompressionPlan:
    """Choose chunks.

    Args:
        layout: Layout of the document.
        scores: float32 (n,), scores of its chunks from `ranking.fuse`.
        budget: Tokens of the whole answer, marks and table included.
        delivered: bool (n,), chunks of earlier answers.
        path: Path of the document, as the answer names it.
        nearness: float32 (n,), inner products of its chunks with the question; None if the dense arm does not count.
    """
    delivered = np.zeros(len(layout), np.bool_) if delivered is None else delivered
    units = units_of(layout)
    seen = with_nearest(among_neighbours(scores, layout.headings), nearness)
    frame = FRAME_TOKENS + count_tokens(path) + budget // _RUN_TOKENS
    table = outline.table_tokens(layout, ~delivered, budget)
    best, cost = _best(units, seen, delivered)
    if cost > budget - frame - table:  # the best chunk is worth more than the table
        table = 0
    chosen = select(units, seen, max(budget - frame - table, 0), delivered)
    held = delivered.copy()
    held[chosen] = True
    spares = _spares(layout, seen, ~held, frame + budget // outline.SHARE)
    return CompressionPlan(chosen, spares, delivered, table > 0, best if cost > budget - frame else -1)


def units_of(layout: DocumentLayout) -> Units:
    """The chunks as units to select from: the mark of a run, a heading path and a repeated table header cost tokens."""
    spans = np.maximum(layout.ends - layout.starts, 1)
    header = layout.head_ends - layout.head_starts
    holder = np.maximum(np.searchsorted(layout.starts, layout.head_starts, "right") - 1, 0)
    headers = np.ceil(header * (layout.tokens / spans)[holder]).astype(np.int64)
    named = np.where(layout.path_tokens > 0, layout.path_tokens + HEADING_TOKENS, 0)
    return Units(layout.tokens, MARK_TOKENS + headers, layout.headings, named, layout.twins)


def _best(units: Units, scores: Floats, delivered: Bools) -> tuple[int, int]:
    """The best chunk that was not delivered yet, and its cost alone; -1 and 0 if all were delivered."""
    if delivered.all():
        return -1, 0
    best = int(np.argmax(np.where(delivered, -np.inf, scores)))
    return best, int(units.costs[best] + units.openings[best] + units.label_costs[units.labels[best]])


def _spares(layout: DocumentLayout, scores: Floats, free: Bools, room: int) -> Column:
    """Chunks for the room that estimates leave: the best one, the best of the smaller ones, and so on."""
    small = np.flatnonzero(free & (layout.tokens <= room))
    spares: list[int] = []
    for chunk in small[np.argsort(-scores[small], kind="stable")[:_LOOKED_AT]].tolist():
        if layout.tokens[chunk] <= room:
            spares.append(chunk)
            room = int(_SMALLER * layout.tokens[chunk])
        if len(spares) == _SPARES:
            break
    return np.array(spares, np.int64)
