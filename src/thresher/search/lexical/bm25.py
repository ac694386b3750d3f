"""BM25 over postings, as plain arithmetic.

Invariant: weights are Lucene's form (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, without the
constant factor k1 + 1), with the statistics of one tenant and kind; equal postings give equal scores, whatever their
source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.search.records import Bools, Floats, Ids

K1 = 1.2
"""Saturation of the term frequency; 1.2 beat 1.5 and 2.0 on the development sets of tools."""
B = 0.5
"""Strength of the length norm; tool texts are short, and 0.5 beat 0.75 on the same sets."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The statistics of a whole collection.

    Attributes:
        items: The number of items, N.
        total_length: The sum of their weighted lengths.
    """

    items: int
    total_length: float

    @property
    def average_length(self) -> float:
        """The mean weighted length; 1 for an empty collection."""
        return self.total_length / self.items if self.items and self.total_length else 1.0


@dataclass(frozen=True, slots=True)
class Postings:
    """The items of one term.

    Attributes:
        documents: The number of items in the whole tenant and kind that contain the term.
        idf: The term's inverse document frequency there.
        ids: int64 (n,), sorted, the items that the caller may see.
        weights: float32 (n,), the term's BM25 in each.
        minor: bool (n,), whether the item has the term only in fields that count less than 1.
    """

    documents: int
    idf: float
    ids: Ids
    weights: Floats
    minor: Bools

    def weight_of(self, number: int) -> float:
        """Return the term's BM25 in one item; 0 if the item does not contain it."""
        place = self._place_of(number)
        return 0.0 if place is None else float(self.weights[place])

    def is_minor(self, number: int) -> bool:
        """Return whether an item has the term only in fields that count less than 1."""
        place = self._place_of(number)
        return place is not None and bool(self.minor[place])

    def _place_of(self, number: int) -> int | None:
        place = int(np.searchsorted(self.ids, number))
        return None if place == len(self.ids) or self.ids[place] != number else place


def inverse_frequency(items: int, documents: float) -> float:
    """Return Lucene's idf: ln(1 + (N - n + 0.5) / (n + 0.5)), never negative."""
    return math.log1p(max(items - documents + 0.5, 0.0) / (documents + 0.5))


def postings_of(totals: Totals, documents: int, ids: Ids, frequencies: Floats, lengths: Floats) -> Postings:
    """Weigh one term.

    Args:
        totals: The collection's totals.
        documents: The number of items in the whole tenant and kind that contain the term.
        ids: int64 (n,), sorted.
        frequencies: float32 (n,), of the term, weighted over fields.
        lengths: float32 (n,), weighted lengths of the items.
    """
    idf = inverse_frequency(totals.items, documents)
    norms = np.float32(K1 * (1 - B)) + np.float32(K1 * B / totals.average_length) * lengths
    weights = (np.float32(idf) * frequencies / (frequencies + norms)).astype(np.float32)
    return Postings(documents, idf, ids, weights, frequencies < 1)


def rows_of(ids: Ids, universe: Ids) -> tuple[Ids, Ids]:
    """Find ids in a sorted universe.

    Returns:
        Positions in `ids` that were found, and their rows in `universe`.
    """
    if not len(universe):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.minimum(np.searchsorted(universe, ids), len(universe) - 1)
    found = np.flatnonzero(universe[rows] == ids)
    return found, rows[found]


def shared_rows(ids: Ids, universe: Ids) -> tuple[Ids, Ids]:
    """Find the common ids of two sorted arrays, like `rows_of`; the shorter one is looked up in the longer one."""
    if len(universe) < len(ids):
        rows, found = rows_of(universe, ids)
        return found, rows
    return rows_of(ids, universe)


def score_texts(
    texts: Sequence[Iterable[str]],
    postings: Mapping[str, Postings],
    universe: Ids,
    idf: Callable[[str, Postings], float] | None = None,
) -> Floats:
    """Return the BM25 of every text for every item of a universe.

    Args:
        texts: The distinct terms of each text.
        postings: The postings of each term; terms that no item contains are absent.
        universe: int64 (n,), sorted ids that may be returned; postings outside it are dropped.
        idf: Returns another idf in place of the tenant's own, by term and postings.

    Returns:
        float32 (texts, n); 0 if no term matches.
    """
    scores = np.zeros((len(texts), len(universe)), np.float32)
    # Looked up once per term, since the texts of one message share many.
    cells = {term: _cells(entry, universe, idf(term, entry) if idf else entry.idf) for term, entry in postings.items()}
    for number, terms in enumerate(texts):
        for term in terms:
            if term in cells:
                rows, weights = cells[term]
                scores[number, rows] += weights
    return scores


def _cells(entry: Postings, universe: Ids, idf: float) -> tuple[Ids, Floats]:
    """The rows of a universe that contain a term, and its BM25 there under a given idf."""
    found, rows = shared_rows(entry.ids, universe)
    weights = entry.weights[found]
    return rows, weights if idf == entry.idf or not entry.idf else weights * np.float32(idf / entry.idf)


def matched_terms(terms: Iterable[str], postings: Mapping[str, Postings], number: int) -> tuple[str, ...]:
    """Return the terms that one item contains, strongest first."""
    weights = {term: postings[term].weight_of(number) for term in terms if term in postings}
    return tuple(sorted((term for term, weight in weights.items() if weight > 0), key=lambda term: -weights[term]))
