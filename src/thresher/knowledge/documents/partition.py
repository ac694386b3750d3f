"""Cuts a row of units into groups near a target size, at the cheapest places.

Invariant: pure; the groups partition the row; time grows with the number of units times those of one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def partition(sizes: Sequence[int], prices: Sequence[float], target: int, most: int) -> list[tuple[int, int]]:
    """Groups of neighbours of least total cost.

    A group costs the square of its distance from the target, relative to it, and the price of the cut before it.

    Args:
        sizes: Of each unit, above 0.
        prices: Of a cut before each unit; the first is not counted.
        target: Best size of a group.
        most: Largest size of a group of several units.

    Returns:
        First unit and the unit after the last, for each group.
    """
    best, origin = [0.0] * (len(sizes) + 1), [0] * (len(sizes) + 1)
    for end in range(1, len(sizes) + 1):
        size, best[end] = 0, float("inf")
        for start in range(end - 1, -1, -1):
            size += sizes[start]
            if size > most and start < end - 1:
                break
            cost = best[start] + ((size - target) / target) ** 2 + (prices[start] if start else 0.0)
            if cost < best[end]:
                best[end], origin[end] = cost, start
    cuts = [len(sizes)]
    while cuts[-1]:
        cuts.append(origin[cuts[-1]])
    return list(pairwise(reversed(cuts)))
