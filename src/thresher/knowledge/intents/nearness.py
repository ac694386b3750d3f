"""Finds training lines that say nearly the same, by their words or by their vectors.

Invariant: pure. Time grows with the number of near pairs and not with that of all pairs (words), or with the square of
the lines in blocks of bounded size (vectors).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import Matrix

NEAR_WORDS: Final = 0.8
"""Least share of common words (Jaccard) that makes two lines nearly the same."""
NEAR_VECTORS: Final = 0.85
"""Least nearness of vectors, on a scale whose 0 is the usual cosine of two lines of the same set and whose 1 is
equality: cosines themselves cannot be compared between encoders."""
_BLOCK: Final = 1_024
_SAMPLE: Final = 512
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lines, by index, the first the lower, and how near they are, 0 to 1."""

    first: int
    second: int
    nearness: float


def plain_line(text: str) -> str:
    """What makes two lines equal: letters and digits, whatever their case, marks and white space."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def near_by_words(lines: Sequence[str], *, least: float = NEAR_WORDS) -> list[Pair]:
    """Pairs whose sets of words overlap.

    Candidates share one of the rarest words of each: two sets of a Jaccard index of at least t share one of the first
    |x| - ceil(t |x|) + 1 words of x in any fixed order (prefix filtering, Chaudhuri et al. 2006).

    Args:
        lines: Any texts; those without words are near to nothing.
        least: Least Jaccard index, above 0.

    Returns:
        Nearest first.
    """
    words = [frozenset(plain_line(line).split()) for line in lines]
    counts = Counter(word for line in words for word in line)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    pairs: list[Pair] = []
    for second, line in enumerate(words):
        ordered = sorted(line, key=lambda word: (counts[word], word))
        prefix = ordered[: len(line) - math.ceil(least * len(line)) + 1]
        for first in {first for word in prefix for first in holders[word]}:
            nearness = len(line & words[first]) / len(line | words[first])
            if nearness >= least:
                pairs.append(Pair(first, second, nearness))
        for word in prefix:
            holders[word].append(second)
    return _nearest_first(pairs)


def near_by_vectors(vectors: Matrix, *, least: float = NEAR_VECTORS) -> list[Pair]:
    """Pairs whose vectors lie close.

    Args:
        vectors: float32 (lines, dimension), rows of length 1.
        least: Least nearness, see `NEAR_VECTORS`.

    Returns:
        Nearest first.
    """
    usual = _usual_cosine(vectors)
    return _nearest_first(list(_close(vectors, usual, usual + least * (1 - usual))))


def _close(vectors: Matrix, usual: float, least: float) -> Iterator[Pair]:
    for start in range(0, len(vectors), _BLOCK):
        rows = vectors[start : start + _BLOCK]
        for other in range(start, len(vectors), _BLOCK):
            cosines = rows @ vectors[other : other + _BLOCK].T
            for row, column in np.argwhere(cosines >= least).tolist():
                first, second = start + row, other + column
                if first < second:
                    yield Pair(first, second, float((cosines[row, column] - usual) / (1 - usual)))


def _usual_cosine(vectors: Matrix) -> float:
    """Median over the pairs of an even sample; 0 where there are too few lines to tell."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    if len(sample) < 3:
        return 0.0
    above = np.triu_indices(len(sample), k=1)
    return min(0.9, max(0.0, float(np.median((sample @ sample.T)[above]))))


def _nearest_first(pairs: list[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: (-pair.nearness, pair.first, pair.second))
