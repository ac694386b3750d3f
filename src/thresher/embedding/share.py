"""Deals texts to threads so that each gets about the same work; a pure function."""

from __future__ import annotations

from collections.abc import Sequence


def deal(lengths: Sequence[int], hands: int) -> list[list[int]]:
    """Deal indices in turns, longest first, to at most `hands` lists; none of them is empty.

    Args:
        lengths: How much work each index is.
        hands: Lists at most, at least 1.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    return [order[start::hands] for start in range(min(hands, len(order)))]
