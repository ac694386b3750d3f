"""What the router works on: training lines in, a fitted router, and the scores of texts out.

Invariant: values only; arrays are read-only once made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.embedding import Matrix

Floats: TypeAlias = NDArray[np.float32]
Numbers: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]


def read_lines(text: str) -> tuple[str, ...]:
    """The lines of a text file, trimmed and distinct; blank ones and those that begin with # are left out."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


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


def _nothing() -> Matrix:
    return np.empty((0, 0), np.float32)


@dataclass(frozen=True, slots=True)
class Vectors:
    """The embeddings of a `Training`, each text with the model's query prefix; rows of length 1.

    Messages are embedded with that prefix as well: then the search for tools and the router share the embedding of a
    message, and the head loses nothing by it (decision 0012).

    Attributes:
        lines: float32 (lines, dimension).
        negatives: float32 (negatives, dimension).
        background: float32 (n, dimension), of `everyday.EVERYDAY`; without it thresholds rest on the lines alone.
    """

    lines: Matrix
    negatives: Matrix
    background: Matrix = field(default_factory=_nothing)


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
