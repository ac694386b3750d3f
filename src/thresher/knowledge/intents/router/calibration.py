"""What the router's figures mean: from the head's and the neighbours' values to probabilities.

Invariant: pure; every constant that was fitted on benchmark data says so, and none on their test parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from thresher.knowledge.intents.router.head import log_softmax
from thresher.knowledge.intents.router.records import Floats

KEYWORD: Final = 1.0
"""What one keyword adds to the log odds, of which intent and of whether any; two at most count."""
_FLOOR: Final = 1e-6
_STEEPEST: Final = 60.0

Found: TypeAlias = Sequence[dict[int, tuple[str, ...]]]
"""For each text, intent index to the keywords of it that the text holds."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How values become probabilities.

    Attributes:
        usual: float32 (intents,), contrast that everyday messages have with the intent, their median.
        spread: float32 (intents,), how far they scatter about it.
        heat: Times the head's log odds; a head of few lines is less sure than it is right.
        nearest: Times the log share of the nearest lines.
        slope: Of the log odds of "any" in units of `spread`.
        bias: Its constant.
    """

    usual: Floats
    spread: Floats
    heat: float
    nearest: float
    slope: float
    bias: float

    def told(self) -> dict[str, float]:
        """The plain numbers, by name."""
        return {name: getattr(self, name) for name in ("heat", "nearest", "slope", "bias")}

    def which(self, head: Floats, density: Floats, hits: Floats | float = 0.0) -> Floats:
        """Logarithm of the probability of each intent, given that it is one.

        Args:
            head: float32 (texts, intents), the head's log probabilities.
            density: float32 (texts, intents), see `Neighbours`.
            hits: float32 (texts, intents), keywords held.
        """
        return log_softmax(self.heat * head + self.nearest * log_share(density) + KEYWORD * hits)

    def distance(self, contrast: Floats) -> Floats:
        """How far above everyday messages a contrast lies, in units of their spread; float32 (texts, intents)."""
        return (contrast - self.usual) / self.spread

    def whether(self, contrast: Floats, hits: Floats | float = 0.0) -> Floats:
        """Probability that a text asks for any of what the intent does, float32 (texts, intents)."""
        return sigmoid(self.bias + self.slope * self.distance(contrast) + KEYWORD * hits)


def sigmoid(values: Floats) -> Floats:
    """The logistic function, safe for any finite values."""
    return (1.0 / (1.0 + np.exp(-np.clip(values, -_STEEPEST, _STEEPEST)))).astype(np.float32)


def log_share(density: Floats) -> Floats:
    """Logarithm of each intent's share of the nearest lines, not below that of a millionth."""
    total = density.sum(axis=1, keepdims=True) + np.float32(_FLOOR)
    return np.log(density / total + np.float32(_FLOOR))


def hits_of(found: Found, intents: int) -> Floats:
    """How many keywords of each intent a text holds, two at most; float32 (texts, intents)."""
    hits = np.zeros((len(found), intents), np.float32)
    for text, words in enumerate(found):
        for intent, held in words.items():
            hits[text, intent] = min(len(held), 2)
    return hits


def spread_of(contrast: Floats) -> tuple[Floats, Floats]:
    """What contrast everyday messages usually have with each intent, and how far they scatter.

    The median, drawn half way to that of all intents, and one robust spread for all (1.4826 times the median
    deviation): an intent that everyday messages often ask for would otherwise be held to be near everything.

    Args:
        contrast: float32 (messages, intents), at least one of each.
    """
    own = np.median(contrast, axis=0)
    usual = (own + np.median(own)) / 2
    deviation = float(np.median(np.median(np.abs(contrast - own), axis=0))) * 1.4826
    return usual.astype(np.float32), np.full(len(own), max(deviation, 1e-3), np.float32)
