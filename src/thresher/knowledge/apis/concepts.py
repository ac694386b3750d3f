"""What people and other vendors call the things that APIs act on.

A line of `concepts.txt` is the usual name of a thing in APIs and other words for it. A query is about those concepts
whose words it says, or whose line means nearly the same; their names are then searched beside the query.

Invariant: our own general knowledge, nothing of any one description; data and look-ups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from thresher.search import Floats, terms

_SAID: Final = 0.07
"""What a concept gains whose words the query says, on the scale of cosines."""
_LONGER: Final = 0.5
"""What each further word of the longest match adds, as a part of that."""
_WITHIN: Final = 0.3
"""What a match counts that lies inside a longer one, as a match of so many words."""
_MOST: Final = 4
_SHARPNESS: Final = 0.03
_LEAST: Final = 0.1
"""Share, after a softmax of that sharpness, that a concept needs to be searched for."""
_GAP: Final = 2
"""Words of a phrase may stand so far apart in a query."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A thing that APIs act on.

    Attributes:
        name: As APIs call it.
        phrases: Other words for it.
    """

    name: str
    phrases: tuple[str, ...]

    @property
    def line(self) -> str:
        """Everything that is said of it, as the encoder reads it."""
        return f"{self.name}: {', '.join(self.phrases)}"


def read_concepts(text: str) -> tuple[Concept, ...]:
    """The concepts of a file: a name, a colon, and phrases between commas; lines with # are left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    pairs = [line.partition(":") for line in lines]
    return tuple(
        Concept(name.strip(), tuple(phrase.strip() for phrase in phrases.split(",") if phrase.strip()))
        for name, _, phrases in pairs
    )


CONCEPTS: Final = read_concepts(Path(__file__).with_name("concepts.txt").read_text(encoding="utf-8"))


def chosen(query: str, nearness: Floats | None, concepts: Sequence[Concept] = CONCEPTS) -> tuple[Concept, ...]:
    """The concepts that a query is about, the likeliest first.

    Args:
        query: Any text.
        nearness: float32 (concepts,), cosine of the query and each concept's line; None where no vectors are at hand:
            then only words decide.
        concepts: To choose from.
    """
    said = _said(query) if concepts is CONCEPTS else matches(query, index_of(concepts))
    if nearness is None:
        best = sorted(said, key=lambda place: -said[place])[:_MOST]
        return tuple(concepts[place] for place in best)
    scores = nearness.astype(np.float64)
    for place, length in said.items():
        scores[place] += _SAID * (1 + _LONGER * (length - 1))
    best = np.argsort(-scores, kind="stable")[:_MOST]
    shares = np.exp((scores[best] - scores[best[0]]) / _SHARPNESS)
    return tuple(
        concepts[int(place)] for place, share in zip(best, shares / shares.sum(), strict=True) if share > _LEAST
    )


Phrases = Mapping[str, Sequence[tuple[tuple[str, ...], int]]]
"""First term of a phrase to its terms and the place of its concept."""


def index_of(concepts: Iterable[Concept]) -> Phrases:
    """Every phrase by its first term; one of several words of which but one says something is left out."""
    index: dict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
    for place, concept in enumerate(concepts):
        for phrase in (concept.name, *concept.phrases):
            said = tuple(terms(phrase))
            if said and not (len(said) == 1 and " " in phrase):
                index[said[0]].append((said, place))
    return index


def matches(query: str, index: Phrases) -> dict[int, float]:
    """The concepts whose words a query says: place to the length of the longest match, in words."""
    said = terms(query)
    spans = [
        (start, end, len(phrase), place)
        for start, term in enumerate(said)
        for phrase, place in index.get(term, ())
        if (end := _end_of(phrase, said, start)) is not None
    ]
    found: dict[int, float] = {}
    for start, end, length, place in spans:
        inside = any(first <= start and end <= last and most > length for first, last, most, _ in spans)
        found[place] = max(found.get(place, 0.0), _WITHIN if inside else float(length))
    return found


def _end_of(phrase: tuple[str, ...], said: Sequence[str], start: int) -> int | None:
    """The place of a phrase's last word where it begins at `start`, its words in order with small gaps; else None."""
    place = start
    for term in phrase[1:]:
        ahead = said[place + 1 : place + 1 + _GAP]
        if term not in ahead:
            return None
        place += 1 + ahead.index(term)
    return place


_INDEX: Final = index_of(CONCEPTS)


def _said(query: str) -> dict[int, float]:
    return matches(query, _INDEX)
