"""Other words, of people and vendors, for the things that APIs act on.

A line of `concepts.txt` holds the usual name of a thing in APIs and other words for it. A query is about the concepts
whose words it contains or whose line has a similar meaning; their names are searched along with the query.

Invariant: general knowledge, taken from no single description; data and lookups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from thresher.search import Floats, terms

_MATCHED: Final = 0.07
"""What a concept gains if the query contains its words, in units of cosine."""
_LONGER: Final = 0.5
"""What each further word of the longest match adds, relative to that."""
_WITHIN: Final = 0.3
"""The length, in words, of a match that lies inside a longer one."""
_MOST: Final = 4
_SHARPNESS: Final = 0.03
_LEAST: Final = 0.1
"""Minimum share, after a softmax of that sharpness, of a concept to search for."""
_GAP: Final = 2
"""Maximum distance between the words of a phrase in a query."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A thing that APIs act on.

    Attributes:
        name: Its usual name in APIs.
        phrases: Other words for it.
    """

    name: str
    phrases: tuple[str, ...]

    @property
    def line(self) -> str:
        """Name and phrases in the form that the encoder reads."""
        return f"{self.name}: {', '.join(self.phrases)}"


def read_concepts(text: str) -> tuple[Concept, ...]:
    """Read lines of a name, a colon, and comma-separated phrases; lines with # are comments."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    pairs = [line.partition(":") for line in lines]
    return tuple(
        Concept(name.strip(), tuple(phrase.strip() for phrase in phrases.split(",") if phrase.strip()))
        for name, _, phrases in pairs
    )


CONCEPTS: Final = read_concepts(Path(__file__).with_name("concepts.txt").read_text(encoding="utf-8"))


def chosen(query: str, nearness: Floats | None, concepts: Sequence[Concept] = CONCEPTS) -> tuple[Concept, ...]:
    """Return the concepts that a query is about, the likeliest first.

    Args:
        query: Any text.
        nearness: float32 (concepts,), cosine of the query and each concept's line; None without vectors, then words
            alone decide.
        concepts: The concepts to choose from.
    """
    found = matches(query, _built_in_index()) if concepts is CONCEPTS else matches(query, index_of(concepts))
    if nearness is None:
        best = sorted(found, key=lambda place: -found[place])[:_MOST]
        return tuple(concepts[place] for place in best)
    scores = nearness.astype(np.float64)
    for place, length in found.items():
        scores[place] += _MATCHED * (1 + _LONGER * (length - 1))
    best = np.argsort(-scores, kind="stable")[:_MOST]
    shares = np.exp((scores[best] - scores[best[0]]) / _SHARPNESS)
    return tuple(
        concepts[int(place)] for place, share in zip(best, shares / shares.sum(), strict=True) if share > _LEAST
    )


Phrases = Mapping[str, Sequence[tuple[tuple[str, ...], int]]]
"""First term of a phrase to its terms and the position of its concept."""


def index_of(concepts: Iterable[Concept]) -> Phrases:
    """Index phrases by their first term, except phrases of several words that have a single term."""
    index: dict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
    for place, concept in enumerate(concepts):
        for phrase in (concept.name, *concept.phrases):
            phrase_terms = tuple(terms(phrase))
            if phrase_terms and not (len(phrase_terms) == 1 and " " in phrase):
                index[phrase_terms[0]].append((phrase_terms, place))
    return index


def matches(query: str, index: Phrases) -> dict[int, float]:
    """Return the concepts whose words a query contains: position to the length of the longest match, in words."""
    query_terms = terms(query)
    spans = [
        (start, end, len(phrase), place)
        for start, term in enumerate(query_terms)
        for phrase, place in index.get(term, ())
        if (end := _end_of(phrase, query_terms, start)) is not None
    ]
    found: dict[int, float] = {}
    for start, end, length, place in spans:
        inside = any(first <= start and end <= last and most > length for first, last, most, _ in spans)
        found[place] = max(found.get(place, 0.0), _WITHIN if inside else float(length))
    return found


def _end_of(phrase: tuple[str, ...], query_terms: Sequence[str], start: int) -> int | None:
    """Return the position of the last word of a phrase that starts at `start`, with small gaps; otherwise None."""
    place = start
    for term in phrase[1:]:
        ahead = query_terms[place + 1 : place + 1 + _GAP]
        if term not in ahead:
            return None
        place += 1 + ahead.index(term)
    return place


@cache
def _built_in_index() -> Phrases:
    return index_of(CONCEPTS)
