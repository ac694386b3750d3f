"""Scores the parts of one result by the words of a question.

The index of the other kinds has counted every word before a question comes. A result is read once, so only the words
of the question are looked for, in the text as it is: the arithmetic is the index's BM25, over these postings.

Invariant: pure; the time is that of a few passes over the text in C, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.results.parts import Parts
from thresher.search import Floats, Ids, Totals, postings_of, query_terms

_SHORT: Final = 4
"""Characters from which a stem is also found inside a word: `user` in `getUserName`."""
_MOST_TERMS: Final = 40
_MOST_PLACES: Final = 30_000
"""A word that occurs more often says nothing about where; its places are not collected."""
_LABEL: Final = 0.6
"""Weight of a word in the label of a part, next to one in the part."""
_EXACT: Final = 1.5
"""Weight of a name that the question writes as the result does: `ERR_42`, `/users/{id}`, `2024-05-01`, `v1.2.3`."""
_NAME: Final = re.compile(r"[\"'`“]([^\"'`”]{2,80})[\"'`”]|(?<![\w])(/?\w+(?:[-_./:@{}#+]+\w+)+[}/]?)")
_ASKING: Final = frozenset(
    """mani much give tell show find list name valu what which kind mean state say mention line entri record element
    item""".split()  # noqa: SIM905 - a text is easier to read
)
"""Stems that ask rather than name."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The scores of the parts.

    Attributes:
        scores: float32 (n,), higher is better; 0 for a part without any word of the question.
        coverage: float32 (n,), 0 to 1, the share of the question's words, each by its rarity.
        places: int64, sorted, where in the text the rarer words stand.
    """

    scores: Floats
    coverage: Floats
    places: Ids


def patterns_of(question: str) -> dict[str, tuple[str, float]]:
    """What to look for: by term its pattern over lower-case text, and its weight."""
    patterns: dict[str, tuple[str, float]] = {}
    for match in _NAME.finditer(question):
        name = (match[1] or match[2]).strip().lower()
        if len(name) > 2:
            before = r"(?<![a-z0-9])" if name[0].isalnum() else ""
            after = r"(?![a-z0-9])" if name[-1].isalnum() else ""
            patterns[f"={name}"] = (before + re.escape(name) + after, _EXACT)
    for term in query_terms(question):
        if term not in _ASKING or len(patterns) == 0:
            patterns[term] = (_pattern(term), 1.0)
    return dict(list(patterns.items())[:_MOST_TERMS])


def _pattern(term: str) -> str:
    if not term.isascii() or not term.isalnum():
        return re.escape(term)
    if term.isdigit():
        return rf"(?<!\d){term}(?!\d)"
    stem = re.escape(term)
    if len(term) > _SHORT and term.endswith("i"):
        stem = f"{re.escape(term[:-1])}[iy]"
    if len(term) < _SHORT:
        return rf"(?<![a-z]){stem}(?:s|es|ed|ing)?(?![a-z])"
    return stem


def match(parts: Parts, question: str) -> Matches:
    """Score every part.

    Args:
        parts: The parts.
        question: What the caller wants to know.
    """
    size = len(parts)
    nothing = np.zeros(size, np.float32)
    patterns = patterns_of(question)
    if not size or not patterns:
        return Matches(nothing, nothing, np.empty(0, np.int64))
    hay, labels = _lower(parts.text), _lower("\n".join(name.replace("\n", " ") for name in parts.names))
    breaks = np.array([0, *(place.start() + 1 for place in re.finditer("\n", labels))], np.int64)
    lengths = (parts.ends - parts.starts).astype(np.float32)
    totals = Totals(size, float(lengths.sum()))
    rows = np.arange(size, dtype=np.int64)
    scores, covered, total, rare = nothing.copy(), nothing.copy(), 0.0, []
    for term, (pattern, weight) in patterns.items():
        places = _places(hay, pattern)
        named = _places(labels, pattern)
        if places is None or named is None:
            continue
        counts = _counted(places, parts)
        if len(named):
            of_labels = np.bincount(np.searchsorted(breaks, named, "right") - 1, minlength=len(breaks))
            counts += _LABEL * np.minimum(of_labels, 1).astype(np.float32)[parts.labels]
        holders = rows[counts > 0]
        if not len(holders):
            continue
        posting = postings_of(totals, len(holders), holders, counts[holders], lengths[holders])
        scores[holders] += np.float32(weight) * posting.weights
        covered[holders] += np.float32(weight * posting.idf) * np.minimum(counts[holders], 1.0)
        total += weight * posting.idf
        if len(holders) < size / 4 or term.startswith("="):
            rare.append(places)
    coverage = covered / np.float32(total) if total else covered
    places = np.sort(np.concatenate(rare)) if rare else np.empty(0, np.int64)
    return Matches((scores * (0.5 + coverage)).astype(np.float32), coverage.astype(np.float32), places)


def _lower(text: str) -> str:
    low = text.lower()
    return low if len(low) == len(text) else text.replace("İ", "i").lower()


def _places(hay: str, pattern: str) -> NDArray[np.int64] | None:
    """Where a pattern matches; None if almost everywhere."""
    found: list[int] = []
    for place in re.finditer(pattern, hay):
        found.append(place.start())
        if len(found) > _MOST_PLACES:
            return None
    return np.array(found, np.int64)


def _counted(places: NDArray[np.int64], parts: Parts) -> Floats:
    """float32 (n,), how often a word stands in each part."""
    at = np.searchsorted(parts.starts, places, "right") - 1
    at = at[(at >= 0)]
    within = places[len(places) - len(at) :] < parts.ends[at]
    return np.bincount(at[within], minlength=len(parts)).astype(np.float32)


def best_names(names: Sequence[str], question: str) -> list[int]:
    """Which of some short names share words with a question, most first."""
    asked = set(query_terms(question))
    shared = [(len(asked.intersection(query_terms(name))), -number) for number, name in enumerate(names)]
    return [-number for count, number in sorted(shared, reverse=True) if count]
