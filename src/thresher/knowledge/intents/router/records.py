"""What the router works on: training lines in, a fitted router, and the scores of texts out.

Invariant: values only; arrays are read-only once made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.embedding import Matrix

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Training:
    """Lines to fit on.

    Attributes:
        intents: Names, sorted.
        lines: Training lines.
        labels: int32 (lines,), each line's intent as an index of `intents`.
        negatives: Near-miss lines.
        negative_labels: int32 (negatives,), the intent that each is *not*.
        keywords: For each intent, names of things in its domain.
    """

    intents: tuple[str, ...]
    lines: tuple[str, ...]
    labels: Numbers
    negatives: tuple[str, ...]
    negative_labels: Numbers
    keywords: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embeddings of a `Training`: float32 (lines, dimension) and (negatives, dimension), rows of length 1."""

    lines: Matrix
    negatives: Matrix


@dataclass(frozen=True, slots=True)
class TextScores:
    """What the fitted router says of some texts.

    Attributes:
        probability: float32 (texts, intents), the head's: which intent, given that it is one. Rows sum to 1.
        score: float32 (texts, intents), calibrated probability that the text asks for the intent at all.
        similarity: float32 (texts, intents), fitted similarity, 0 to 1.
        nearest: int32 (texts, intents), index of the nearest training line of each intent; -1 where it has none.
        keywords: For each text, intent index to the keywords of it that the text holds.
    """

    probability: Floats
    score: Floats
    similarity: Floats
    nearest: Numbers
    keywords: tuple[dict[int, tuple[str, ...]], ...]
