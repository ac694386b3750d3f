"""Metrics of ranked lists, decisions and times.

Invariant: pure; a figure without data is None, never 0. `docs/reference/evaluation.md` defines each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None without values."""
    known = list(values)
    return math.fsum(known) / len(known) if known else None


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927).

    Args:
        share: 0 to 1; a mean of shares counts as one of as many decisions.
        count: How many it is of; at least one.
    """
    spread = _Z * _Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / count + spread / count / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


_Z = 1.96


def refused_at(positive: Sequence[float], negative: Sequence[float], answered: float) -> float | None:
    """The share of negatives below the score that a share of the positives reaches; None when either is empty.

    Args:
        positive: Scores of the messages that some tool fits.
        negative: Scores of the messages that no tool fits.
        answered: The share of the positives that stay at or above it, 0 to 1.
    """
    least = percentile(positive, 1 - answered)
    return None if least is None else mean(score < least for score in negative)


def recall_at(ranked: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """The share of the relevant tools among the first `depth`, 0 to 1.

    Args:
        ranked: Tool keys, best first, without duplicates.
        relevant: Keys of the tools that fit; at least one.
        depth: How many ranks count.
    """
    return len(set(ranked[:depth]) & set(relevant)) / len(set(relevant))


def ndcg_at(ranked: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """Normalised discounted cumulative gain with binary gains (Järvelin and Kekäläinen, 2002), 0 to 1."""
    wanted = set(relevant)
    gain = math.fsum(1 / math.log2(place + 2) for place, key in enumerate(ranked[:depth]) if key in wanted)
    ideal = math.fsum(1 / math.log2(place + 2) for place in range(min(len(wanted), depth)))
    return gain / ideal


def all_in(ranked: Sequence[str], relevant: Collection[str], depth: int) -> float:
    """1 if every relevant tool is among the first `depth`, else 0."""
    return float(set(relevant) <= set(ranked[:depth]))


def auc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """Area under the ROC curve: how often a positive scores above a negative, ties counting half.

    The rank-sum form (Mann and Whitney, 1947).

    Args:
        positive: Scores of the messages that some tool fits.
        negative: Scores of the messages that no tool fits.

    Returns:
        0 to 1; None when either is empty.
    """
    if not positive or not negative:
        return None
    ranks = _ranks([*positive, *negative])
    above = math.fsum(ranks[: len(positive)]) - len(positive) * (len(positive) + 1) / 2
    return above / (len(positive) * len(negative))


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, 1 for the smallest; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks


def percentile(values: Sequence[float], share: float) -> float | None:
    """The percentile of values, interpolated linearly; None without values.

    Args:
        values: In any order.
        share: 0 to 1.
    """
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
