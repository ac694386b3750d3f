"""Fits a router: the head, its calibration, and the thresholds, from lines that are held out in turn.

Invariant: pure; a line is never judged by a fit that has seen it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.router.calibration import (
    HeldOutTexts,
    calibrated,
    hits_of,
    limits_of,
    sides_of,
    spread_of,
)
from thresher.knowledge.intents.router.fitted import Basis, Fitted, likely
from thresher.knowledge.intents.router.head import Head, fit_head
from thresher.knowledge.intents.router.lexicon import keywords_of
from thresher.knowledge.intents.router.records import EVERYDAY, Bools, Floats, Numbers, Training, Vectors
from thresher.knowledge.intents.router.similarity import Groups, everyday_level, grouped, neighbours
from thresher.knowledge.intents.router.skills import THRESHOLD, fit_skills

FOLDS: Final = 5
MANY: Final = 3_000
"""Above so many lines one fold in five is held out once; below, each in turn."""
FALSE_ALARMS: Final = 0.05
_FEW: Final = 20
_USUAL: Final = 0.6
_SPREAD: Final = 0.05
"""Without everyday messages: the packaged model's values for them, without subtracting their level."""


@dataclass(frozen=True, slots=True)
class _Set:
    """The input of one fit: vectors in stored precision, and labels."""

    intents: int
    lines: Matrix
    labels: Numbers
    misses: Matrix
    miss_labels: Numbers
    everyday: Matrix

    @property
    def everyday_labels(self) -> Numbers:
        """Labels of everyday messages among judged texts."""
        return -np.ones(len(self.everyday), np.int32)

    def without(self, lines: Bools, misses: Bools) -> _Set:
        """Return the set without some lines and near misses."""
        return _Set(
            self.intents,
            self.lines[~lines],
            self.labels[~lines],
            self.misses[~misses],
            self.miss_labels[~misses],
            self.everyday,
        )


@dataclass(frozen=True, slots=True)
class _Hits:
    """Keywords of each intent in the texts: float32 (texts, intents) for each kind."""

    lines: Floats
    misses: Floats
    everyday: Floats


@dataclass(frozen=True, slots=True)
class _Parts:
    """The fitted arrays, before calibration."""

    head: Head
    lines: Groups
    misses: Groups


@dataclass(frozen=True, slots=True)
class _Fold:
    """The held-out lines and near misses, as bool of all, and the fit without them."""

    lines: Bools
    misses: Bools
    parts: _Parts


@dataclass(frozen=True, slots=True)
class Turns:
    """Which fold holds out each text, 0 to `FOLDS` - 1.

    Attributes:
        lines: int32 (lines,).
        misses: int32 (negatives,).
    """

    lines: Numbers
    misses: Numbers


@dataclass(frozen=True, slots=True)
class HeldOutFit:
    """A fit without some texts, under the calibration and the limits of the fit with all of them.

    Attributes:
        lines: bool (lines,), which lines it has not seen.
        misses: bool (negatives,), which near misses it has not seen.
        fitted: The router.
    """

    lines: Bools
    misses: Bools
    fitted: Fitted


def fit(training: Training, vectors: Vectors, *, false_alarms: float = FALSE_ALARMS) -> Fitted:
    """Fit a router.

    Args:
        training: Lines, near misses and keywords; an intent may have one line, and there may be one intent, or none.
        vectors: Their embeddings, and those of `EVERYDAY` and of the skills' views.
        false_alarms: The share of other messages that may match, 0 to 1, as judged by held-out lines.
    """
    return _fit(training, vectors, dealt(training), false_alarms)[0]


def cross_validate(
    training: Training, vectors: Vectors, turns: Turns, starts: Sequence[Head] = ()
) -> tuple[HeldOutFit, ...]:
    """Fit a router without each fold in turn, as `fit` does to set its limits.

    Args:
        training: As for `fit`.
        vectors: As for `fit`.
        turns: Which fold holds out each text. Of more than `MANY` lines only fold 0 is held out.
        starts: For each fold a head of the same intents that has seen none of its texts; the fit begins there.
    """
    whole, folds = _fit(training, vectors, turns, FALSE_ALARMS, starts)
    return tuple(
        HeldOutFit(
            fold.lines,
            fold.misses,
            replace(whole, head=fold.parts.head, lines=fold.parts.lines, misses=fold.parts.misses),
        )
        for fold in folds
    )


def dealt(training: Training) -> Turns:
    """Return the usual folds: the lines of one intent are dealt out in order, and so are all near misses."""
    turns = np.zeros(len(training.labels), np.int32)
    for intent in range(len(training.intents)):
        places = np.flatnonzero(training.labels == intent)
        turns[places] = np.arange(len(places)) % FOLDS
    return Turns(turns, np.arange(len(training.negatives), dtype=np.int32) % FOLDS)


def _fit(
    training: Training, vectors: Vectors, turns: Turns, false_alarms: float, starts: Sequence[Head] = ()
) -> tuple[Fitted, Sequence[_Fold]]:
    skills = fit_skills(training, vectors)
    whole = _stored(training, vectors)
    held = list(_folds(whole, turns))
    begin = starts if len(starts) == len(held) else [None] * len(held)
    folds = [
        _Fold(lines, misses, _parts(whole.without(lines, misses), start))
        for (lines, misses), start in zip(held, begin, strict=True)
    ]
    parts = _parts(whole, folds[0].parts.head if folds else None)
    usual, spread = _usual(whole, parts)
    sides = sides_of(_judged(whole, parts, folds, _hits(training, whole)), usual, spread)
    calibration = calibrated(sides, usual, spread)
    limits = limits_of(sides, calibration, false_alarms)
    limits[len(limits) - skills.count :] = THRESHOLD
    fitted = Fitted(
        intents=training.intents,
        basis=_basis(whole),
        head=parts.head,
        lines=parts.lines,
        misses=parts.misses,
        everyday=whole.everyday,
        calibration=calibration,
        limits=limits,
        keywords=training.keywords,
        skills=skills,
    )
    return fitted, folds


def _stored(training: Training, vectors: Vectors) -> _Set:
    """Return the vectors in stored precision, so that a fit read back gives the same scores."""
    dimension = vectors.lines.shape[1] if len(vectors.lines) else 0
    return _Set(
        len(training.intents),
        _half(vectors.lines, dimension),
        training.labels,
        _half(vectors.negatives, dimension),
        training.negative_labels,
        _half(vectors.background[: len(vectors.background) if dimension else 0], dimension),
    )


def _half(rows: Matrix, dimension: int) -> Matrix:
    return rows.astype(np.float16).astype(np.float32) if len(rows) else np.empty((0, dimension), np.float32)


def _parts(given: _Set, start: Head | None = None) -> _Parts:
    return _Parts(
        _head(given, start),
        grouped(given.lines, given.labels, given.intents),
        grouped(given.misses, given.miss_labels, given.intents),
    )


def _head(given: _Set, start: Head | None) -> Head:
    if given.intents > 1:
        return fit_head(given.lines, given.labels, given.intents, start=start)
    centre = np.zeros(given.lines[:1].size, np.float32)
    blank = np.zeros((len(centre), given.intents), np.float32)
    return Head(centre, blank, blank[:1].sum(axis=0))


def _basis(given: _Set) -> Basis:
    """A head needs two intents, and two lines of each at least."""
    counts = np.bincount(given.labels, minlength=given.intents)
    return "head" if given.intents > 1 and counts.min() > 1 else "prototype"


def _usual(given: _Set, parts: _Parts) -> tuple[Floats, Floats]:
    """Return median and spread of everyday messages' contrast with every intent, each left out of its own level."""
    if len(given.everyday) < _FEW or not given.intents:
        return np.full(given.intents, _USUAL, np.float32), np.full(given.intents, _SPREAD, np.float32)
    level = everyday_level(given.everyday, given.everyday, itself=True)
    wanted = np.ones((len(given.everyday), given.intents), np.bool_)
    return spread_of(neighbours(parts.lines, parts.misses, level, given.everyday, wanted).contrast)


def _hits(training: Training, given: _Set) -> _Hits:
    """Count keywords in all judged texts."""
    lookup, texts = keywords_of(training.keywords), EVERYDAY[: len(given.everyday)]
    lines, misses, everyday = (
        hits_of([lookup.found(text) for text in kind], given.intents)
        for kind in (training.lines, training.negatives, texts)
    )
    return _Hits(lines, misses, everyday)


def _judged(given: _Set, parts: _Parts, folds: Sequence[_Fold], hits: _Hits) -> HeldOutTexts:
    """Judge every line by a fit without it, and everyday messages."""
    level = everyday_level(given.everyday, given.everyday, itself=True)
    seen = [_seen(parts, given.everyday, level, given.everyday_labels, hits.everyday)]
    for fold in folds:
        texts = np.vstack([given.lines[fold.lines], given.misses[fold.misses]])
        labels = np.concatenate([given.labels[fold.lines], -2 - given.miss_labels[fold.misses]]).astype(np.int32)
        held = np.vstack([hits.lines[fold.lines], hits.misses[fold.misses]])
        seen.append(_seen(fold.parts, texts, everyday_level(given.everyday, texts), labels, held))
    return HeldOutTexts.joined(seen)


def _folds(given: _Set, turns: Turns) -> Iterator[tuple[Bools, Bools]]:
    """Yield which lines and near misses each fold holds out; the only line of an intent never is."""
    alone = np.bincount(given.labels, minlength=given.intents)[given.labels] < 2
    for fold in range(1 if len(given.lines) > MANY else FOLDS):
        lines, misses = (turns.lines == fold) & ~alone, turns.misses == fold
        if lines.any() or misses.any():
            yield lines, misses


def _seen(parts: _Parts, texts: Matrix, level: Floats, labels: Numbers, hits: Floats) -> HeldOutTexts:
    head = parts.head.log_probabilities(texts)
    wanted = likely(head)
    rows = np.flatnonzero(labels != -1)
    named = np.where(labels < -1, -2 - labels, labels)
    wanted[rows, named[rows]] = True
    found = neighbours(parts.lines, parts.misses, level, texts, wanted)
    return HeldOutTexts(labels, head, found.density, found.contrast, hits)
