"""The scores of texts, from a fitted router.

Invariant: pure; a text's scores depend on no other text beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.router.calibration import hits_of
from thresher.knowledge.intents.router.fitted import Fitted
from thresher.knowledge.intents.router.records import Bools, Floats, TextScores
from thresher.knowledge.intents.router.similarity import everyday_level, neighbours

LIKELY = 6
"""How many intents of a text, likeliest first, are compared line by line where there are many."""
ALL = 8
"""Up to so many intents are all compared line by line."""
_BATCH = 256


def score(fitted: Fitted, vectors: Matrix, texts: Sequence[str], *, thorough: bool = False) -> TextScores:
    """Score texts.

    Args:
        fitted: The router.
        vectors: float32 (texts, dimension), rows of length 1, embedded with the model's query prefix.
        texts: The texts themselves, for keywords.
        thorough: Compare with the lines of every intent, however many there are; without it, where there are more than
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
    """Which intents of each text are worth comparing line by line; bool (texts, intents)."""
    if head.shape[1] <= ALL:
        return np.ones(head.shape, np.bool_)
    wanted = np.zeros(head.shape, np.bool_)
    np.put_along_axis(wanted, np.argpartition(-head, most, axis=1)[:, :most], values=True, axis=1)
    return wanted


def _scored(fitted: Fitted, vectors: Matrix, texts: Sequence[str], *, thorough: bool) -> TextScores:
    calibration = fitted.calibration
    head = fitted.head.log_probabilities(vectors)
    held = tuple(fitted.lookup.found(text) for text in texts)
    hits = hits_of(held, len(fitted.intents)) if any(held) else 0.0
    wanted = np.ones(head.shape, np.bool_) if thorough else likely(head) | (np.asarray(hits) > 0)
    found = neighbours(fitted.lines, fitted.misses, everyday_level(fitted.everyday, vectors), vectors, wanted)
    probability = np.exp(calibration.which(head, found.density, hits))
    similarity = np.where(wanted, calibration.whether(found.contrast, hits), np.float32(0))
    return TextScores(probability, probability * similarity, similarity, found.nearest, held)


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
