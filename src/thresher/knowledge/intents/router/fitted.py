"""A fitted router: the arrays of scoring, their stored form, and the scores of texts.

Invariant: frozen; unpacking a packed router gives the same scores, bit by bit; no pickle. A text's scores depend on no
other text beside it.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from thresher.core import InvalidInput
from thresher.embedding import Matrix
from thresher.knowledge.intents.router.calibration import Calibration, hits_of
from thresher.knowledge.intents.router.head import Head
from thresher.knowledge.intents.router.lexicon import Keywords, keywords_of
from thresher.knowledge.intents.router.records import Bools, Floats, TextScores
from thresher.knowledge.intents.router.similarity import Groups, everyday_level, neighbours
from thresher.knowledge.intents.router.skills import FittedSkills, packed_skills, score_skills, unpacked_skills

LIKELY = 6
"""How many intents of a text, most likely first, are compared line by line if there are many."""
ALL = 8
"""Up to so many intents are all compared line by line."""
_BATCH = 256


def score(fitted: Fitted, vectors: Matrix, texts: Sequence[str], *, thorough: bool = False) -> TextScores:
    """Score texts.

    Args:
        fitted: The router.
        vectors: float32 (texts, dimension), rows of length 1, embedded with the model's query prefix.
        texts: The texts themselves, for keywords.
        thorough: Compare with the lines of every intent, however many there are; without it, if there are more than
            `ALL`, only the `LIKELY` ones of each text have a similarity and a nearest line.
    """
    if not len(texts) or not fitted.intents:
        return _empty(len(texts), len(fitted.intents))
    parts = [
        _scored(fitted, vectors[start : start + _BATCH], texts[start : start + _BATCH], thorough=thorough)
        for start in range(0, len(texts), _BATCH)
    ]
    return parts[0] if len(parts) == 1 else _joined(parts)


def likely(head: Floats, most: int = LIKELY) -> Bools:
    """Return which intents of each text are worth comparing line by line; bool (texts, intents)."""
    if head.shape[1] <= ALL:
        return np.ones(head.shape, np.bool_)
    wanted = np.zeros(head.shape, np.bool_)
    np.put_along_axis(wanted, np.argpartition(-head, most, axis=1)[:, :most], values=True, axis=1)
    return wanted


def _scored(fitted: Fitted, vectors: Matrix, texts: Sequence[str], *, thorough: bool) -> TextScores:
    calibration = fitted.calibration
    head = fitted.head.log_probabilities(vectors)
    held = tuple(fitted.lookup.found(text) for text in texts)
    hits = hits_of(held, len(fitted.intents)) if any(held) else np.zeros((1, len(fitted.intents)), np.float32)
    wanted = np.ones(head.shape, np.bool_) if thorough else likely(head) | (hits > 0)
    found = neighbours(fitted.lines, fitted.misses, everyday_level(fitted.everyday, vectors), vectors, wanted)
    probability = np.exp(calibration.which(head, found.density, hits))
    similarity = np.where(wanted, calibration.whether(found.contrast, hits), np.float32(0))
    scores = TextScores(probability, probability * similarity, similarity, found.nearest, held)
    return _with_skills(fitted, scores, vectors, texts, hits) if fitted.skills.count else scores


def _with_skills(fitted: Fitted, scores: TextScores, vectors: Matrix, texts: Sequence[str], hits: Floats) -> TextScores:
    """Replace what the head says of skills, which it is told only so that it tells the others from them."""
    first = len(fitted.intents) - fitted.skills.count
    found = score_skills(fitted.skills, vectors, texts, hits[:, first:])
    others = scores.probability[:, :first]
    left = 1 - others.sum(axis=1, keepdims=True)
    return TextScores(
        np.hstack([others, found.which * left]),
        np.hstack([scores.score[:, :first], found.which * found.whether]),
        np.hstack([scores.similarity[:, :first], found.whether]),
        np.hstack([scores.nearest[:, :first], found.nearest]),
        scores.keywords,
    )


def _empty(texts: int, intents: int) -> TextScores:
    blank = np.zeros((texts, intents), np.float32)
    return TextScores(
        blank,
        blank,
        blank,
        np.full((texts, intents), -1, np.int32),
        tuple(dict[int, tuple[str, ...]]() for _ in range(texts)),
    )


def _joined(parts: Sequence[TextScores]) -> TextScores:
    return TextScores(
        np.concatenate([part.probability for part in parts]),
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.similarity for part in parts]),
        np.concatenate([part.nearest for part in parts]),
        tuple(held for part in parts for held in part.keywords),
    )


EDITION: Final = 6
"""The version of the stored form and of fitting; a stored fit of another one is fitted again."""

Basis: TypeAlias = Literal["head", "prototype"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Everything that scores a text.

    Attributes:
        intents: Names, in the order of all columns.
        basis: `head`, or `prototype` if the lines are too few to fit one.
        head: The linear head: which intent.
        lines: The training lines by intent, in half precision, so that stored and used values are equal.
        misses: The near misses by intent.
        everyday: Everyday messages.
        calibration: From values to probabilities.
        limits: float32 (intents,), the least score that matches.
        keywords: Names of things in each intent's domain.
        skills: What scores the last intents, which have no training lines of their own.
        lookup: The same, prepared for lookup.
        thresholds: The limits by name, 0 to 1.
    """

    intents: tuple[str, ...]
    basis: Basis
    head: Head
    lines: Groups
    misses: Groups
    everyday: Matrix
    calibration: Calibration
    limits: Floats
    keywords: tuple[tuple[str, ...], ...]
    skills: FittedSkills
    lookup: Keywords = field(init=False, repr=False, compare=False)
    thresholds: Mapping[str, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", keywords_of(self.keywords))
        limits = {name: round(float(limit), 4) for name, limit in zip(self.intents, self.limits, strict=True)}
        object.__setattr__(self, "thresholds", limits)

    def packed(self) -> bytes:
        """Return the fit as bytes, for `unpacked`."""
        told = {
            "edition": EDITION,
            "intents": self.intents,
            "basis": self.basis,
            "keywords": self.keywords,
            "calibration": self.calibration.numbers(),
        }
        buffer = io.BytesIO()
        np.savez(
            buffer,
            told=np.frombuffer(json.dumps(told).encode(), np.uint8),
            centre=self.head.centre,
            weights=self.head.weights,
            bias=self.head.bias,
            usual=self.calibration.usual,
            spread=self.calibration.spread,
            limits=self.limits,
            everyday=self.everyday.astype(np.float16),
            **_columns("lines", self.lines),
            **_columns("misses", self.misses),
            **packed_skills(self.skills),
        )
        return buffer.getvalue()


def unpacked(data: bytes) -> Fitted:
    """Return a fit from its bytes.

    Raises:
        InvalidInput: They are of another edition, or not a fit.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            told: dict[str, Any] = json.loads(arrays["told"].tobytes())
            if told["edition"] != EDITION:
                raise InvalidInput("The stored fit has another form.", hint="Fit again.")
            return _fitted(told, {name: arrays[name] for name in arrays.files})
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"The stored fit cannot be read: {error}.", hint="Fit again.") from None


def _fitted(told: Mapping[str, Any], arrays: Mapping[str, Any]) -> Fitted:
    return Fitted(
        intents=tuple(told["intents"]),
        basis=told["basis"],
        head=Head(arrays["centre"], arrays["weights"], arrays["bias"]),
        lines=_groups("lines", arrays),
        misses=_groups("misses", arrays),
        everyday=arrays["everyday"].astype(np.float32),
        calibration=Calibration(arrays["usual"], arrays["spread"], **told["calibration"]),
        limits=arrays["limits"],
        keywords=tuple(tuple(words) for words in told["keywords"]),
        skills=unpacked_skills(arrays),
    )


def _columns(name: str, groups: Groups) -> dict[str, Any]:
    return {name: groups.rows.astype(np.float16), f"{name}_starts": groups.starts, f"{name}_order": groups.order}


def _groups(name: str, arrays: Mapping[str, Any]) -> Groups:
    return Groups(arrays[name].astype(np.float32), arrays[f"{name}_starts"], arrays[f"{name}_order"])
