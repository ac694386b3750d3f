"""Finds training lines that say nearly the same, by their words or by their vectors.

Invariant: pure. Time and answer are bounded, however many lines are alike: by words it grows with the lines, by vectors
with their square, in blocks of bounded size.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.embedding import Matrix

NEAR_WORDS: Final = 0.8
"""Least share of common words (Jaccard) that makes two lines nearly the same."""
NEAR_VECTORS: Final = 0.85
"""Least nearness of vectors, on a scale whose 0 is the usual cosine of two lines of the same set and whose 1 is
equality: cosines themselves cannot be compared between encoders."""
_HELD: Final = 200
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


def near_by_words(lines: Sequence[str], groups: Sequence[int], *, least: float = NEAR_WORDS) -> list[Pair]:
    """For each line the nearest earlier one of each group, by the overlap of their sets of words.

    Candidates share one of the rarest words of each: two sets of a Jaccard index of at least t share one of the first
    |x| - ceil(t |x|) + 1 words of x in any fixed order (prefix filtering, Chaudhuri et al. 2006). Of the lines that
    share a word, the latest `_HELD` different ones of each group are looked at.

    Args:
        lines: Any texts; those without words are near to nothing.
        groups: The group of each.
        least: Least Jaccard index, above 0.

    Returns:
        Nearest first.
    """
    words = [frozenset(plain_line(line).split()) for line in lines]
    counts = Counter(word for line in words for word in line)
    holders: defaultdict[tuple[int, str], deque[int]] = defaultdict(lambda: deque(maxlen=_HELD))
    known: set[tuple[int, frozenset[str]]] = set()
    pairs: list[Pair] = []
    distinct = sorted(set(groups))
    for second, line in enumerate(words):
        ordered = sorted(line, key=lambda word: (counts[word], word))
        prefix = ordered[: len(line) - math.ceil(least * len(line)) + 1]
        for group in distinct:
            candidates = {first for word in prefix for first in holders.get((group, word), ())}
            nearest = min(((-_overlap(line, words[first]), first) for first in candidates), default=(0.0, -1))
            if -nearest[0] >= least:
                pairs.append(Pair(nearest[1], second, -nearest[0]))
        if (groups[second], line) not in known:
            known.add((groups[second], line))
            for word in prefix:
                holders[groups[second], word].append(second)
    return _nearest_first(pairs)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def near_by_vectors(vectors: Matrix, groups: Sequence[int], *, least: float = NEAR_VECTORS) -> list[Pair]:
    """For each line the nearest earlier one of each group, where their vectors lie close.

    Args:
        vectors: float32 (lines, dimension), rows of length 1.
        groups: The group of each line.
        least: Least nearness, see `NEAR_VECTORS`.

    Returns:
        Nearest first.
    """
    usual = _usual_cosine(vectors)
    labels = np.asarray(groups, np.int64)
    pairs: list[Pair] = []
    for group in set(groups):
        places = np.flatnonzero(labels == group)
        for start in range(0, len(vectors), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(vectors)))
            cosines = np.where(places < rows[:, None], vectors[rows] @ vectors[places].T, -1.0)
            best = cosines.argmax(axis=1)
            nearness = (cosines[np.arange(len(rows)), best] - usual) / (1 - usual)
            near = np.flatnonzero(nearness >= least)
            pairs += [Pair(int(places[best[row]]), start + int(row), float(nearness[row])) for row in near]
    return _nearest_first(pairs)


def _usual_cosine(vectors: Matrix) -> float:
    """Median over the pairs of an even sample; 0 where there are too few lines to tell."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    if len(sample) < 3:
        return 0.0
    above = np.triu_indices(len(sample), k=1)
    return min(0.9, max(0.0, float(np.median((sample @ sample.T)[above]))))


def _nearest_first(pairs: list[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: (-pair.nearness, pair.first, pair.second))
