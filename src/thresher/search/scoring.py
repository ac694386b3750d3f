"""BM25 of one question over what a filter lets through, with other ways of saying it.

A tool search counts words over the whole collection; here an item's score depends only on what the filter lets
through, so that a repository answers the same whatever else is indexed beside it.

Invariant: pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.search.arrays import Floats, Ids
from thresher.search.background import REFERENCE
from thresher.search.bm25 import Postings, inverse_frequency, rows_of
from thresher.search.wanted import Wanted, Way

QUOTED: Final = 3
ALL_WORDS: Final = 2

Cells: TypeAlias = Mapping[str, tuple[Ids, Floats]]
"""Term to the rows that hold it, int64, sorted, and its BM25 there, float32."""


@dataclass(frozen=True, slots=True)
class ByWords:
    """What the words say.

    Attributes:
        scores: float32 (n,), BM25.
        coverage: float32 (n,), 0 to 1, the share of the query's words, each by how rare it is.
        tiers: int8 (n,): `QUOTED` holds every quotation, `ALL_WORDS` every word, 1 some, 0 none.
        cells: Of the terms that some item holds.
    """

    scores: Floats
    coverage: Floats
    tiers: NDArray[np.int8]
    cells: Cells


def by_words(wanted: Wanted, postings: Mapping[str, Postings], universe: Ids) -> ByWords:
    """Score every item of a universe.

    Args:
        wanted: What is looked for.
        postings: What is known of each term; terms that no item holds are absent.
        universe: int64 (n,), sorted ids that may be returned.
    """
    cells = {term: found for term, entry in postings.items() if len((found := _cells(entry, universe))[0])}
    size = len(universe)
    scores = _sum(wanted.terms, cells, size)
    held, covered, total = np.zeros(size, np.int32), np.zeros(size, np.float32), 0.0
    for term in wanted.terms:
        rows = _holding(term, wanted.ways, cells)
        rarity = inverse_frequency(max(size, REFERENCE), len(rows))
        held[rows] += 1
        covered[rows] += rarity
        total += rarity
    for way in wanted.ways:
        scores += np.maximum(_other(way, cells, size) - _sum(way.said, cells, size), 0)
    tiers = (held > 0).astype(np.int8)
    if wanted.terms:
        tiers[held == len(wanted.terms)] = ALL_WORDS
    return ByWords(scores, covered / np.float32(total or 1.0), tiers, cells)


def _cells(entry: Postings, universe: Ids) -> tuple[Ids, Floats]:
    """The rows that hold a term, weighed by how many of the universe do."""
    if len(universe) < len(entry.ids):  # the shorter list is looked up in the longer
        rows, found = rows_of(universe, entry.ids)
    else:
        found, rows = rows_of(entry.ids, universe)
    idf = inverse_frequency(len(universe), len(rows))
    scale = np.float32(idf / entry.idf if entry.idf else 1.0)
    return rows, entry.weights[found] * scale


def _sum(terms: Sequence[str], cells: Cells, size: int) -> Floats:
    total = np.zeros(size, np.float32)
    for term in terms:
        if term in cells:
            rows, weights = cells[term]
            total[rows] += weights
    return total


def _other(way: Way, cells: Cells, size: int) -> Floats:
    """BM25 of another way of saying it, 0 where an item does not hold all of it."""
    total = np.zeros(size, np.float32)
    rows = _together(way, cells)
    total[rows] = _sum(way.other, cells, size)[rows]
    return total


def _together(way: Way, cells: Cells) -> Ids:
    """Rows that hold every term of another way."""
    if any(term not in cells for term in way.other):
        return np.empty(0, np.int64)
    rows = cells[way.other[0]][0]
    for term in way.other[1:]:
        rows = np.intersect1d(rows, cells[term][0], assume_unique=True)
    return rows


def _holding(term: str, ways: Sequence[Way], cells: Cells) -> Ids:
    """Rows that hold a term or say it in another way."""
    own = cells[term][0] if term in cells else np.empty(0, np.int64)
    others = [rows for way in ways if term in way.said and len(rows := _together(way, cells))]
    return np.unique(np.concatenate([own, *others])) if others else own
