"""Finds texts that read alike among many, without comparing each with each.

Texts are sets of words; likeness is the weight of the words that two share over that of all they have, a word weighing
the more the fewer texts have it. Two texts as alike as asked must share one of the first few of their rarest words
(prefix filtering, Chaudhuri et al. 2006), so only those that do are compared.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

LIKE: Final = 0.9
"""Likeness from which two texts are twins."""
WORDS: Final = 3
"""Words that a text has at least to be compared."""
NAMED: Final = 3
"""Twins of one text that are named."""
COMPARED: Final = 400
"""Texts that one is compared with."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The twins of one text.

    Attributes:
        place: Of the text.
        others: Places of the first few of its twins, the most alike first.
        count: How many it has.
    """

    place: int
    others: tuple[int, ...]
    count: int


def twins(texts: Sequence[frozenset[str]]) -> Iterator[Twins]:
    """The texts that have twins."""
    same: dict[frozenset[str], list[int]] = {}
    for place, text in enumerate(texts):
        if len(text) >= WORDS:
            same.setdefault(text, []).append(place)
    distinct = list(same)
    near = _near(distinct)
    for number, text in enumerate(distinct):
        groups = [same[text], *(same[distinct[other]] for other in near.get(number, ()))]
        count = sum(len(group) for group in groups) - 1
        first = list(itertools.islice(itertools.chain.from_iterable(groups), NAMED + 1))
        for place in same[text] if count else ():
            others = [each for each in first if each != place]
            yield Twins(place, tuple(others[:NAMED]), count)


def _near(texts: Sequence[frozenset[str]]) -> dict[int, list[int]]:
    """Texts that are alike but not the same."""
    counts = Counter(word for text in texts for word in text)
    weights = {word: math.log(1 + len(texts) / count) for word, count in counts.items()}
    totals = [sum(weights[word] for word in text) for text in texts]
    holders: dict[str, list[int]] = {}
    found: dict[int, list[tuple[float, int]]] = {}
    for number, text in enumerate(texts):
        rare = _prefix(text, weights, totals[number])
        candidates = {other: None for word in rare for other in holders.get(word, ())[-COMPARED:]}
        for other in list(candidates)[:COMPARED]:
            shared = sum(weights[word] for word in text & texts[other])
            likeness = shared / (totals[number] + totals[other] - shared)
            if likeness >= LIKE:
                found.setdefault(number, []).append((-likeness, other))
                found.setdefault(other, []).append((-likeness, number))
        for word in rare:
            holders.setdefault(word, []).append(number)
    return {number: [other for _, other in sorted(pairs)] for number, pairs in found.items()}


def _prefix(text: frozenset[str], weights: Mapping[str, float], total: float) -> list[str]:
    """The rarest words of a text, up to those without which no twin could share enough."""
    ordered = sorted(text, key=lambda word: (-weights[word], word))
    left = total
    for place, word in enumerate(ordered):
        if left < LIKE * total:
            return ordered[:place]
        left -= weights[word]
    return ordered
