"""Scores of ranked lists against cases with alternatives, and paired bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Case

Scores = NDArray[np.float64]
RESAMPLES = 10_000
SEED = 7


def recall(ranked: Sequence[str], case: Case, depth: int = 5) -> float:
    """The share of needed tools of which at least one acceptable key stands among the first `depth`."""
    first = set(ranked[:depth])
    return sum(bool(first & keys) for keys in case.relevant) / len(case.relevant)


def graded_ndcg(ranked: Sequence[str], case: Case, depth: int = 10) -> float:
    """NDCG with gains 2^grade - 1, as the golden set's publisher computes it."""
    gains = [2 ** case.grades.get(key, 0) - 1 for key in ranked[:depth]]
    ideal = sorted((2**grade - 1 for grade in case.grades.values()), reverse=True)[:depth]
    return _discounted(gains) / _discounted(ideal)


def _discounted(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def interval(scores: Scores) -> tuple[float, float]:
    """The 95 % bootstrap interval of a mean; of a difference, when the scores are paired differences."""
    random = np.random.default_rng(SEED)
    means = np.fromiter(
        (scores[random.integers(0, len(scores), len(scores))].mean() for _ in range(RESAMPLES)), np.float64, RESAMPLES
    )
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def summary(scores: Scores) -> dict[str, object]:
    """Mean and interval, rounded for reading."""
    return {"mean": round(float(scores.mean()), 4), "interval": [round(bound, 4) for bound in interval(scores)]}


def lead(ours: Scores, theirs: Scores) -> dict[str, object]:
    """The paired difference of means; ahead only where its lower bound is above 0."""
    low, high = interval(ours - theirs)
    return {
        "difference": round(float((ours - theirs).mean()), 4),
        "interval": [round(low, 4), round(high, 4)],
        "ahead": low > 0,
    }
