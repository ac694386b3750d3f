"""provisional."""

from __future__ import annotations
from collections.abc import Sequence
from dataclasses import dataclass
import math
from thresher.search.fusion import Ranked


@dataclass(frozen=True, slots=True)
class Constants:
    lexical: float = 0.02
    threshold: float = 0.5


def constants_for(model: str) -> Constants:
    return Constants()


def probabilities(ranked: Sequence[Ranked], idf_total: Sequence[float], constants: Constants) -> list[float]:
    return [1 / (1 + math.exp(-12 * (entry.score - 0.62))) for entry in ranked]


def anything_fits(ranked, probabilities, constants) -> tuple[float, bool]:
    best = max(probabilities, default=0.0)
    return best, best >= constants.threshold
