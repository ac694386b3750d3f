"""Chooses the chunks of a document that answer a question inside a token budget.

Invariant: pure; chunks are taken whole, and never one that was given before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.documents.layout import Column, Layout
from thresher.search import Bools, Floats, Units, select

MARK_TOKENS: Final = 6
"""Of the line above a run, without headings: brackets, two line numbers, line breaks."""
FRAME_TOKENS: Final = 40
"""Kept for the name of the document, the words about the rest, and the cursor."""
MAP_SHARE: Final = 16
"""The map of what is left out may take this part of a budget."""
_SPARES: Final = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What an answer is to hold.

    Attributes:
        chosen: int64, ordinals in the order in which they were chosen; the last is given up first.
        spares: int64, ordinals that may still fit when all is counted exactly, best first.
        given: bool (n,), chunks that earlier answers held.
    """

    chosen: Column
    spares: Column
    given: Bools

    def reads(self, layout: Layout) -> list[int]:
        """Ordinals of all chunks whose texts are needed to write the answer, in order: headers of tables too."""
        wanted = np.concatenate([self.chosen, self.spares])
        heads = wanted[layout.head_ends[wanted] > layout.head_starts[wanted]]
        first = np.searchsorted(layout.starts, layout.head_starts[heads], "right") - 1
        last = np.searchsorted(layout.starts, layout.head_ends[heads], "left") - 1
        read = set(wanted.tolist())
        for start, end in zip(first.tolist(), last.tolist(), strict=True):
            read.update(range(start, end + 1))
        return sorted(read)


def plan(layout: Layout, scores: Floats, budget: int, given: Bools | None = None) -> Plan:
    """Choose chunks.

    Args:
        layout: Of the document.
        scores: float32 (n,) of its chunks, from `ranking.fuse`.
        budget: Tokens of the whole answer, marks and map included.
        given: bool (n,), chunks that earlier answers held.
    """
    given = np.zeros(len(layout), np.bool_) if given is None else given
    units = units_of(layout)
    room = budget - FRAME_TOKENS - map_tokens(layout, budget)
    chosen = select(units, scores, max(room, 0), given)
    held = given.copy()
    held[chosen] = True
    spares = select(units, scores, min(max(budget - room, 0), budget), held)[:_SPARES]
    return Plan(chosen, spares, given)


def units_of(layout: Layout) -> Units:
    """The chunks as units to select from: a mark opens a run, a heading path is named once, headers of tables cost."""
    spans = np.maximum(layout.ends - layout.starts, 1)
    header = layout.head_ends - layout.head_starts
    holder = np.clip(np.searchsorted(layout.starts, layout.head_starts, "right") - 1, 0, max(len(layout) - 1, 0))
    rate = layout.tokens / spans
    openings = MARK_TOKENS + np.ceil(header * rate[holder] if len(layout) else header).astype(np.int64)
    return Units(layout.tokens, openings, layout.headings, layout.path_tokens, layout.twins)


def map_tokens(layout: Layout, budget: int) -> int:
    """Tokens kept for the map: none where the document has no headings to name."""
    return budget // MAP_SHARE if len(layout.paths) > 2 else 0
