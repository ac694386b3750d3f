"""Fills a budget with parts: chosen by estimated costs, counted as written.

Invariant: pure; what is returned has at most as many tokens as the budget, or no parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from thresher.search import Floats, Units, select

_ROUNDS: Final = 4
_FULL: Final = 0.95
_OVER: Final = 0.97

Write: TypeAlias = Callable[[Sequence[int]], tuple[str, int]]
"""Writes an answer with some parts; returns it and its tokens."""


def filled(units: Units, scores: Floats, budget: int, frame: int, write: Write) -> tuple[list[int], str, int]:
    """Choose the parts with which an answer fills its budget best.

    Costs are estimates. Where an answer turns out smaller than they said, it is chosen again with the room that was
    left; where it is larger, the parts that were taken last go.

    Args:
        units: The parts, with their estimated costs.
        scores: float32 (n,), higher is better.
        budget: Most tokens of the answer.
        frame: Tokens of an answer without parts.
        write: Writes an answer.

    Returns:
        The parts in the order in which they were taken, the answer, and its tokens.
    """
    room = float(max(budget - frame, 0))
    kept: list[int] = []
    text, tokens = write(kept)
    for _ in range(_ROUNDS):
        chosen = select(units, scores, int(room)).tolist()
        written, spent = write(chosen)
        while spent > budget and chosen:
            over = spent - budget
            while chosen and over > 0:
                over -= max(1, int(_OVER * units.costs[chosen.pop()]))
            written, spent = write(chosen)
        if spent <= budget and len(chosen) >= len(kept):
            kept, text, tokens = chosen, written, spent
        if tokens >= _FULL * budget or spent > budget or len(kept) == len(units):
            break
        room *= (budget - frame) / max(tokens - frame, 1)
        room = min(room, 4.0 * budget)
    write(kept)
    return kept, text, tokens
