"""The fitted similarity: how near a text is to an intent's lines, compared with everyday messages.

The similarity to a group of lines is the cosine to their mean, each weighted by exp(sharpness * cosine): near 0 it is
the prototype, far up the nearest line, and between them it follows packs that hold several topics. From the similarity
to the intent's lines a share of that to everyday messages is subtracted, and what near misses have above those
(decision 0012 has the figures).

Invariant: pure; a line is never compared with itself if the caller says where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.embedding import Matrix
from thresher.knowledge.intents.router.records import Bools, Floats, Numbers

OWN_SHARPNESS: Final = 15.0
EVERYDAY_SHARPNESS: Final = 10.0
EVERYDAY_SHARE: Final = 0.4
NEAR_MISS_SHARE: Final = 0.6
NEIGHBOUR_SHARPNESS: Final = 80.0
"""Sharpness of the nearest lines beside the head: almost the nearest only."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows in groups: those of group g are `rows[starts[g]:starts[g + 1]]`.

    Attributes:
        rows: float32 (n, dimension), rows of length 1.
        starts: int32 (groups + 1,), ascending.
        order: int32 (n,), where each row stood before it was grouped.
    """

    rows: Matrix
    starts: Numbers
    order: Numbers

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    def of(self, group: int) -> Matrix:
        """The rows of one group."""
        return self.rows[self.starts[group] : self.starts[group + 1]]


def grouped(rows: Matrix, labels: Numbers, groups: int) -> Groups:
    """Sort rows into groups; inside one they keep their order."""
    order = np.argsort(labels, kind="stable").astype(np.int32)
    starts = np.searchsorted(labels[order], np.arange(groups + 1)).astype(np.int32)
    return Groups(np.ascontiguousarray(rows[order]), starts, order)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The comparison of some texts with the lines of each intent.

    Attributes:
        contrast: float32 (texts, intents), the similarity of the module's docstring.
        nearest: int32 (texts, intents), the nearest line's index in the training; -1 if it was not looked for.
        density: float32 (texts, intents), sum of exp(sharpness * (cosine - 1)) over the intent's lines, divided by the
            root of their number.
    """

    contrast: Floats
    nearest: Numbers
    density: Floats


def kernel_cosine(cosines: Floats, rows: Matrix, vectors: Matrix, sharpness: float) -> Floats:
    """Return the cosine of each vector to its own weighted mean of the rows.

    Args:
        cosines: float32 (texts, rows), of `vectors` and `rows`; -inf leaves a row out.
        rows: float32 (rows, dimension), of length 1; at least one that is not left out.
        vectors: float32 (texts, dimension), of length 1.
        sharpness: How fast the weight falls with the cosine.

    Returns:
        float32 (texts,).
    """
    weights = np.exp(np.float32(sharpness) * (cosines - cosines.max(axis=1, keepdims=True)))
    means = weights @ rows
    lengths = np.sqrt(np.vecdot(means, means))
    return np.vecdot(means, vectors) / np.maximum(lengths, np.float32(1e-9))


def everyday_level(everyday: Matrix, vectors: Matrix, *, itself: bool = False) -> Floats:
    """Return the similarity to everyday messages, float32 (texts,); 0 without any.

    Args:
        everyday: float32 (n, dimension).
        vectors: float32 (texts, dimension).
        itself: The vectors are the everyday messages themselves, in order; each is left out of its own level.
    """
    if len(everyday) < 1 + itself:
        return np.zeros(len(vectors), np.float32)
    cosines = vectors @ everyday.T
    if itself:
        np.fill_diagonal(cosines, -np.inf)
    return kernel_cosine(cosines, everyday, vectors, EVERYDAY_SHARPNESS)


def neighbours(lines: Groups, misses: Groups, level: Floats, vectors: Matrix, wanted: Bools) -> Neighbours:
    """Compare texts with the lines of the intents.

    Args:
        lines: The training lines by intent.
        misses: The near misses by intent.
        level: float32 (texts,), similarity to everyday messages.
        vectors: float32 (texts, dimension).
        wanted: bool (texts, intents), which pairs to compare; the rest gets a contrast of -1.
    """
    shape = wanted.shape
    found = Neighbours(np.full(shape, -1.0, np.float32), np.full(shape, -1, np.int32), np.zeros(shape, np.float32))
    for intent in np.flatnonzero(wanted.any(axis=0)).tolist():
        texts = np.flatnonzero(wanted[:, intent])
        own, some = lines.of(intent), vectors[texts]
        if not len(own):
            continue
        cosines = some @ own.T
        near = kernel_cosine(cosines, own, some, OWN_SHARPNESS)
        best = cosines.argmax(axis=1)
        found.nearest[texts, intent] = lines.order[lines.starts[intent] + best]
        powers = np.exp(np.float32(NEIGHBOUR_SHARPNESS) * (cosines - 1))
        found.density[texts, intent] = powers.sum(axis=1) / np.float32(len(own) ** 0.5)
        found.contrast[texts, intent] = (
            near - EVERYDAY_SHARE * level[texts] - _missed(misses, intent, level, some, texts)
        )
    return found


def _missed(misses: Groups, intent: int, level: Floats, vectors: Matrix, texts: NDArray[np.intp]) -> Floats | float:
    """Return what near misses of an intent have above everyday messages, times its share."""
    rows = misses.of(intent)
    if not len(rows):
        return 0.0
    near = kernel_cosine(vectors @ rows.T, rows, vectors, OWN_SHARPNESS)
    return np.float32(NEAR_MISS_SHARE) * np.maximum(near - level[texts], 0)
