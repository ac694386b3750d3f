"""Calibration: from the values of head and neighbours to probabilities, and the least score that matches.

Nobody has lines for other messages. Three kinds stand in for them: everyday messages, near misses, and the lines of
every intent scored as if that intent did not exist; those are siblings, harder than most messages from elsewhere, and
count less.

Invariant: pure. Every constant was chosen on training and validation parts (decision 0012), none on a test part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.intents.router.head import evenly, log_softmax
from thresher.knowledge.intents.router.records import Floats, Numbers

KEYWORD: Final = 1.0
"""Log odds that one keyword adds, to which intent and to whether any; at most two count."""
_FLOOR: Final = 1e-6
_STEEPEST: Final = 60.0

KeywordHits: TypeAlias = Sequence[dict[int, tuple[str, ...]]]
"""For each text, intent index to the keywords of it that the text holds."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How values become probabilities.

    Attributes:
        usual: float32 (intents,), median contrast of everyday messages with the intent.
        spread: float32 (intents,), how far they scatter about it.
        heat: Factor of the head's log odds; a head of few lines is less sure than it is right.
        nearest: Factor of the log share of the nearest lines.
        slope: Of the log odds of "any" in units of `spread`.
        bias: Its constant.
    """

    usual: Floats
    spread: Floats
    heat: float
    nearest: float
    slope: float
    bias: float

    def numbers(self) -> dict[str, float]:
        """Return the plain numbers, by name."""
        return {name: getattr(self, name) for name in ("heat", "nearest", "slope", "bias")}

    def which(self, head: Floats, density: Floats, hits: Floats | float = 0.0) -> Floats:
        """Return the logarithm of the probability of each intent, given that it is one.

        Args:
            head: float32 (texts, intents), the head's log probabilities.
            density: float32 (texts, intents), see `Neighbours`.
            hits: float32 (texts, intents), keywords held.
        """
        return log_softmax(self.heat * head + self.nearest * log_share(density) + KEYWORD * hits)

    def distance(self, contrast: Floats) -> Floats:
        """Return how far a contrast is above everyday messages, in units of their spread; float32 (texts, intents)."""
        return (contrast - self.usual) / self.spread

    def whether(self, contrast: Floats, hits: Floats | float = 0.0) -> Floats:
        """Return the probability that a text asks for anything the intent covers, float32 (texts, intents)."""
        return sigmoid(self.bias + self.slope * self.distance(contrast) + KEYWORD * hits)


def sigmoid(values: Floats) -> Floats:
    """The logistic function, safe for any finite values."""
    return (1.0 / (1.0 + np.exp(-np.clip(values, -_STEEPEST, _STEEPEST)))).astype(np.float32)


def log_share(density: Floats) -> Floats:
    """Logarithm of each intent's share of the nearest lines, not below that of a millionth."""
    total = density.sum(axis=1, keepdims=True) + np.float32(_FLOOR)
    return np.log(density / total + np.float32(_FLOOR))


def hits_of(found: KeywordHits, intents: int) -> Floats:
    """Count the keywords of each intent in a text, at most two; float32 (texts, intents)."""
    hits = np.zeros((len(found), intents), np.float32)
    for text, words in enumerate(found):
        for intent, held in words.items():
            hits[text, intent] = min(len(held), 2)
    return hits


def spread_of(contrast: Floats) -> tuple[Floats, Floats]:
    """Return the usual contrast of everyday messages with each intent, and how far they scatter.

    The median, drawn half way to that of all intents, and one robust spread for all (1.4826 times the median
    deviation): otherwise an intent that everyday messages often ask for would count as near everything.

    Args:
        contrast: float32 (messages, intents), at least one of each.
    """
    own = np.median(contrast, axis=0)
    usual = (own + np.median(own)) / 2
    deviation = float(np.median(np.median(np.abs(contrast - own), axis=0))) * 1.4826
    return usual.astype(np.float32), np.full(len(own), max(deviation, 1e-3), np.float32)


HEATS: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
NEAREST: Final = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Factors of the heat."""
USUAL_HEAT: Final = 3.0
ENOUGH: Final = 20
"""With fewer held-out lines the usual heat is used; also how many own lines outweigh what all intents share."""
OWN: Final = np.array([2.5, 3.5, 4.3, 4.8, 5.3, 5.8, 6.3, 6.9, 7.7, 8.8], np.float32)
OTHER: Final = np.array([-1.2, -0.4, 0.2, 0.7, 1.2, 1.6, 2.0, 2.5, 3.1, 4.2], np.float32)
"""Usual distances of own lines and other messages, at tenths of their number: assumed before any line is held out.
Measured with 2 to 10 intents of 3 to 150 lines each, drawn from the training part of CLINC150."""
PRIOR: Final = 20.0
"""How many lines these count as."""
LEAST: Final = 0.01
MOST: Final = 0.05
"""A threshold is where at least so many and at most so many of an intent's own lines would be missed."""
BOUNDS: Final = (0.25, 0.5)
"""And between these: beyond them the figures are too uncertain. The lower one is that of an intent without lines, and
rises to the upper one with their number: the fewer there are, the less they cover of what people ask."""
_OTHERS_PRIOR: Final = 0.1
_SIBLINGS: Final = 0.25
_ASKING: Final = 0.1
"""An everyday message that is nearer to an intent than this share of its own lines asks for it, and is not foreign to
it."""
_NEWTON_STEPS: Final = 25
_RIDGE: Final = 1e-3
_FLATTEST: Final = 0.2
_START_BIAS: Final = -4.0
_START_SLOPE: Final = 1.2


@dataclass(frozen=True, slots=True)
class HeldOutTexts:
    """Texts as judged by a fit that has not seen them.

    Attributes:
        labels: int32 (texts,), the intent of a line; -1 for an everyday message; -2 - intent for a near miss.
        head: float32 (texts, intents), the head's log probabilities.
        density: float32 (texts, intents), of `Neighbours`.
        contrast: float32 (texts, intents), of `Neighbours`.
        hits: float32 (texts, intents), keywords held.
    """

    labels: Numbers
    head: Floats
    density: Floats
    contrast: Floats
    hits: Floats

    @staticmethod
    def joined(parts: Sequence[HeldOutTexts]) -> HeldOutTexts:
        """Join several."""
        return HeldOutTexts(
            np.concatenate([part.labels for part in parts]),
            np.concatenate([part.head for part in parts]),
            np.concatenate([part.density for part in parts]),
            np.concatenate([part.contrast for part in parts]),
            np.concatenate([part.hits for part in parts]),
        )

    def rows(self, chosen: NDArray[np.bool_]) -> HeldOutTexts:
        """Return some of the texts."""
        return HeldOutTexts(
            self.labels[chosen], self.head[chosen], self.density[chosen], self.contrast[chosen], self.hits[chosen]
        )

    def masked(self) -> HeldOutTexts:
        """Return the lines as if their own intents did not exist."""
        rows = np.arange(len(self.labels))
        head, density, contrast = self.head.copy(), self.density.copy(), self.contrast.copy()
        head[rows, self.labels], density[rows, self.labels], contrast[rows, self.labels] = -np.inf, 0.0, -1.0
        hits = self.hits.copy()
        hits[rows, self.labels] = 0.0
        return HeldOutTexts(self.labels, log_softmax(head), density, contrast, hits)


@dataclass(frozen=True, slots=True)
class Sides:
    """The held-out texts, by what they stand for.

    Attributes:
        lines: Lines of the intents.
        others: Each kind of other messages.
        shares: The weight of each of these kinds.
    """

    lines: HeldOutTexts
    others: tuple[HeldOutTexts, ...]
    shares: tuple[float, ...]

    @property
    def weights(self) -> Floats:
        """Weight of each of the others' texts, in sum 1, or 0 if there are none."""
        total = max(sum(self.shares), 1e-9)
        kinds = [
            np.full(len(kind.labels), share / total / len(kind.labels), np.float32)
            for kind, share in zip(self.others, self.shares, strict=True)
        ]
        return np.concatenate([*kinds, np.zeros(0, np.float32)])


def sides_of(judged: HeldOutTexts, usual: Floats, spread: Floats) -> Sides:
    """Sort held-out texts by kind; a kind without texts is left out.

    Args:
        judged: The held-out texts.
        usual: float32 (intents,), see `Calibration`.
        spread: float32 (intents,).
    """
    lines = judged.rows(judged.labels >= 0)
    plain = Calibration(usual, spread, USUAL_HEAT, 0.0, 0.0, 0.0)
    own = np.concatenate([_own(plain.distance(lines.contrast), lines.labels), np.repeat(OWN, int(PRIOR) // len(OWN))])
    everyday = judged.rows(judged.labels == -1)
    strange = plain.distance(everyday.contrast).max(axis=1, initial=-np.inf) < np.quantile(own, _ASKING)
    kinds = [(everyday.rows(strange), 1.0), (judged.rows(judged.labels < -1), 1.0)]
    if judged.head.shape[1] > 1:
        kinds.append((lines.masked(), _SIBLINGS))
    kept = [(kind, share) for kind, share in kinds if len(kind.labels)]
    return Sides(lines, tuple(kind for kind, _ in kept), tuple(share for _, share in kept))


def calibrated(sides: Sides, usual: Floats, spread: Floats) -> Calibration:
    """Fit the calibration.

    Args:
        sides: The held-out texts.
        usual: float32 (intents,), see `Calibration`.
        spread: float32 (intents,).
    """
    heat, nearest = _heat(sides.lines)
    plain = Calibration(usual, spread, heat, nearest, 0.0, 0.0)
    own = _own(plain.distance(sides.lines.contrast), sides.lines.labels)
    others = [_best_distance(plain, kind) for kind in sides.others]
    prior = np.full(len(OWN), PRIOR / len(OWN), np.float32)
    bias, slope = _logistic(
        np.concatenate([own, OWN]),
        np.concatenate([np.ones(len(own), np.float32), prior]),
        np.concatenate([*others, OTHER]),
        np.concatenate([sides.weights * np.float32(max(len(own), PRIOR)), prior]),
    )
    return Calibration(usual, spread, heat, nearest, slope, bias)


def limits_of(sides: Sides, calibration: Calibration, false_alarms: float) -> Floats:
    """Return the least score that matches, of each intent; float32 (intents,).

    It is the score that the given share of other messages reaches, of those that the intent is best for; where these
    are few, all others count more. It is moved into the range given by `LEAST` and `MOST` of the intent's own lines and
    by `BOUNDS`.
    """
    own = _own(_scores(calibration, sides.lines), sides.lines.labels)
    scores = [_scores(calibration, kind) for kind in sides.others]
    best = np.concatenate([*(kind.max(axis=1) for kind in scores), _expected(calibration, OTHER)])
    asked = np.concatenate([*(kind.argmax(axis=1) for kind in scores), np.full(len(OTHER), -1)])
    weights = np.concatenate([sides.weights, np.full(len(OTHER), _OTHERS_PRIOR / len(OTHER), np.float32)])
    all_own = np.concatenate([own, _expected(calibration, OWN)])
    own_weights = np.concatenate([np.ones(len(own)), np.full(len(OWN), PRIOR / len(OWN))]).astype(np.float32)
    alarm = quantile(best, 1 - false_alarms, weights)
    bounds = [quantile(all_own, share, own_weights) for share in (LEAST, MOST)]

    def limit(intent: int) -> float:
        lines = own[sides.lines.labels == intent]
        low, high = (_drawn(lines, share, usual) for share, usual in zip((LEAST, MOST), bounds, strict=True))
        wanted = _drawn(best[asked == intent], 1 - false_alarms, alarm)
        least = _drawn(np.full(len(lines), BOUNDS[1], np.float32), 0.5, BOUNDS[0])
        return float(np.clip(np.clip(wanted, low, max(low, high)), least, BOUNDS[1]))

    return np.array([limit(intent) for intent in range(len(calibration.usual))], np.float32)


def quantile(values: Floats, share: float, weights: Floats) -> float:
    """Return the least value that has at least a share of the weight at or below it.

    Args:
        values: float32 (n,), at least one.
        share: 0 to 1.
        weights: float32 (n,), positive.
    """
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    place = int(np.searchsorted(sums, share * float(sums[-1])))
    return float(values[order][min(place, len(values) - 1)])


def _own(values: Floats, labels: Numbers) -> Floats:
    """Return the value of each line for its own intent."""
    return values[np.arange(len(labels)), labels]


def _drawn(values: Floats, share: float, usual: float) -> float:
    """Return a quantile of few values, drawn towards that of all: `ENOUGH` of them count as much as the rest."""
    if not len(values):
        return usual
    return (len(values) * float(np.quantile(values, share)) + ENOUGH * usual) / (len(values) + ENOUGH)


def _heat(lines: HeldOutTexts) -> tuple[float, float]:
    """Return the heat of the head and the weight of the nearest lines, by the log loss of held-out lines.

    The lines of each intent weigh the same together, as in the head: otherwise the intent with most lines would decide,
    and near lines favour it.
    """
    if len(lines.labels) < ENOUGH or lines.head.shape[1] < 2:
        return USUAL_HEAT, 0.0
    rows, weights = np.arange(len(lines.labels)), evenly(lines.labels)
    blank = np.zeros(0, np.float32)

    def loss(heat: float, nearest: float) -> float:
        tried = Calibration(blank, blank, heat, nearest, 0.0, 0.0)
        return -float(weights @ tried.which(lines.head, lines.density, lines.hits)[rows, lines.labels])

    return min(((heat, heat * share) for heat in HEATS for share in NEAREST), key=lambda pair: loss(*pair))


def _best_distance(calibration: Calibration, texts: HeldOutTexts) -> Floats:
    """Return the distance of each text to the intent that it would get."""
    best = calibration.which(texts.head, texts.density, texts.hits).argmax(axis=1)
    named = np.where(texts.labels < -1, -2 - texts.labels, best)
    return calibration.distance(texts.contrast)[np.arange(len(named)), named]


def _scores(calibration: Calibration, texts: HeldOutTexts) -> Floats:
    """Return the scores of texts, as the router would compute them."""
    which = calibration.which(texts.head, texts.density, texts.hits)
    return np.exp(which) * calibration.whether(texts.contrast, texts.hits)


def _expected(calibration: Calibration, distances: Floats) -> Floats:
    """Return the scores for distances if there is no doubt which intent it is."""
    return sigmoid(calibration.bias + calibration.slope * distances)


def _logistic(own: Floats, own_weights: Floats, others: Floats, other_weights: Floats) -> tuple[float, float]:
    """Return bias and (positive) slope of a weighted logistic regression on one value, by Newton's method."""
    values = np.concatenate([own, others]).astype(np.float64)
    signs = np.concatenate([np.ones(len(own)), -np.ones(len(others))])
    weights = np.concatenate([own_weights, other_weights]).astype(np.float64)
    inputs = np.stack([np.ones_like(values), values], axis=1)

    def loss(solution: NDArray[np.float64]) -> float:
        return float(weights @ np.logaddexp(0.0, -signs * (inputs @ solution)))

    solution = np.array([_START_BIAS, _START_SLOPE])
    before = loss(solution)
    for _ in range(_NEWTON_STEPS):
        wrong = 1 / (1 + np.exp(np.clip(signs * (inputs @ solution), -50, 50)))
        gradient = -inputs.T @ (weights * signs * wrong)
        curvature = (inputs * (weights * wrong * (1 - wrong))[:, None]).T @ inputs + _RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient).astype(np.float64)
        while (after := loss(solution - step)) > before and np.abs(step).max() > _RIDGE:
            step = step / 2
        if after >= before:
            break
        solution, before = solution - step, after
    return float(solution[0]), max(float(solution[1]), _FLATTEST)
