"""The linear head: multinomial logistic regression on embeddings, fitted by L-BFGS.

Invariant: pure; equal arrays give equal weights on one machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.embedding import Matrix
from thresher.knowledge.intents.router.records import Floats, Numbers

STRENGTH: Final = 10.0
"""Inverse strength of the ridge, scikit-learn's C; from 5 to 50 the validation parts differ by less than 0.4 points."""
_MEMORY: Final = 10
_STEPS: Final = 150
_ENOUGH: Final = 1e-6
_ARMIJO: Final = 1e-4
_SHORTEST: Final = 1e-6

_Slope: TypeAlias = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True)
class Head:
    """Which intent, given that it is one.

    Attributes:
        centre: float32 (dimension,), subtracted from every vector: embeddings share a large common part, and the fit
            needs a third of the steps without it.
        weights: float32 (dimension, intents).
        bias: float32 (intents,).
    """

    centre: Floats
    weights: Floats
    bias: Floats

    def log_probabilities(self, vectors: Matrix) -> Floats:
        """Return the logarithms of the head's probabilities, float32 (texts, intents)."""
        return log_softmax((vectors - self.centre) @ self.weights + self.bias)


def log_softmax(values: NDArray[np.floating[Any]]) -> Floats:
    """Return rows of logarithms of probabilities, float32 (n, k), from any finite rows."""
    shifted = values - values.max(axis=1, keepdims=True, initial=-np.inf)
    return (shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))).astype(np.float32)


def fit_head(
    vectors: Matrix, labels: Numbers, intents: int, *, strength: float = STRENGTH, start: Head | None = None
) -> Head:
    """Fit the head.

    All lines of an intent weigh the same together, so that a pack with many lines does not outvote the others. The
    ridge follows the effective number of lines of such weights (Kish's effective sample size), which is their number if
    all intents have equally many: if a few have nearly all lines, the rest is not overfitted.

    Args:
        vectors: float32 (lines, dimension), rows of length 1; at least one.
        labels: int32 (lines,), below `intents`.
        intents: How many there are; one without a line gets a small probability.
        strength: Inverse strength of the ridge.
        start: A head of most of these lines; the fit begins there and ends sooner.
    """
    centre = vectors.mean(axis=0)
    inputs = np.hstack([vectors - centre, np.ones((len(vectors), 1), np.float32)]).astype(np.float32)
    weights = evenly(labels)
    lines = 1.0 / float(weights @ weights)
    slope = _loss(inputs, labels, weights, 1.0 / (strength * lines))
    solution = _descend(slope, _begin(start, centre, intents))
    return Head(centre.astype(np.float32), solution[:-1].copy(), solution[-1].copy())


def evenly(labels: Numbers) -> Floats:
    """Return weights that sum to 1, float32 (lines,): the lines of each intent weigh the same together."""
    weights = 1.0 / np.bincount(labels)[labels]
    return (weights / weights.sum()).astype(np.float32)


def _begin(start: Head | None, centre: Floats, intents: int) -> Floats:
    """Return weights and bias to begin with, moved to another centre."""
    if start is None:
        return np.zeros((len(centre) + 1, intents), np.float32)
    bias = start.bias + (centre - start.centre) @ start.weights
    return np.vstack([start.weights, bias]).astype(np.float32)


def _loss(inputs: Floats, labels: Numbers, weights: Floats, ridge: float) -> _Slope:
    """Return the weighted mean cross-entropy, with a ridge on all but the last row, and its gradient, as a function."""
    rows = np.arange(len(labels))
    shrunk = np.full((inputs.shape[1], 1), ridge, np.float32)
    shrunk[-1] = 0.0

    def slope(solution: Floats) -> tuple[float, Floats]:
        values = inputs @ solution
        values -= values.max(axis=1, keepdims=True)
        own = values[rows, labels].copy()
        np.exp(values, out=values)
        sums = values.sum(axis=1)
        loss = float(weights @ (np.log(sums) - own)) + 0.5 * float(np.vdot(shrunk * solution, solution))
        values *= (weights / sums)[:, None]
        values[rows, labels] -= weights
        return loss, inputs.T @ values + shrunk * solution

    return slope


def _descend(slope: _Slope, solution: Floats) -> Floats:
    """Minimise by L-BFGS (Nocedal, 1980) with backtracking, until a step gains less than a millionth of the loss."""
    loss, gradient = slope(solution)
    pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(_STEPS):
        direction = _direction(gradient, pairs)
        descent = float(np.vdot(gradient, direction))
        length = 1.0
        while True:
            tried = (solution - direction * np.float32(length)).astype(np.float32)
            new_loss, new_gradient = slope(tried)
            if new_loss <= loss - _ARMIJO * length * descent:
                break
            length /= 2
            if length < _SHORTEST:
                return solution
        step, change = tried - solution, new_gradient - gradient
        if (curvature := float(np.vdot(step, change))) > 0:
            pairs.append((step, change, 1.0 / curvature))
        gained = loss - new_loss
        solution, loss, gradient = tried, new_loss, new_gradient
        if gained < _ENOUGH * max(abs(loss), 1e-3):
            break
    return solution


def _direction(gradient: Floats, pairs: deque[tuple[Floats, Floats, float]]) -> Floats:
    """The two-loop recursion: the gradient times the approximate inverse of the curvature."""
    direction = gradient.copy()
    if not pairs:
        return direction / np.float32(max(float(np.sqrt(np.vdot(gradient, gradient))), 1e-12))
    taken: list[float] = []
    for step, change, inverse in reversed(pairs):
        share = inverse * float(np.vdot(step, direction))
        taken.append(share)
        direction -= change * np.float32(share)
    step, change, inverse = pairs[-1]
    direction *= np.float32(1.0 / (inverse * float(np.vdot(change, change))))
    for (step, change, inverse), share in zip(pairs, reversed(taken), strict=True):
        direction += step * np.float32(share - inverse * float(np.vdot(change, direction)))
    return direction
