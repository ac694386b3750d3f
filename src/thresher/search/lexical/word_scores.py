"""BM25 of one question over the items that a filter lets through, with alternatives and quotations.

A tool search counts words over the whole collection. Here an item's score depends only on what the filter lets through,
so that a repository gives the same answer whatever else is indexed.

Invariant: pure; an odd quotation mark is an ordinary character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.search.lexical.bm25 import REFERENCE, Postings, inverse_frequency, shared_rows
from thresher.search.lexical.query_expansion import Alternative, ExpandedQuery
from thresher.search.lexical.terms import query_terms
from thresher.search.records import Floats, Ids

QUOTED: Final = 3
ALL_WORDS: Final = 2

Cells: TypeAlias = Mapping[str, tuple[Ids, Floats]]
"""Term to the rows that contain it, int64, sorted, and its BM25 there, float32."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """The scores of the lexical arm.

    Attributes:
        scores: float32 (n,), BM25.
        coverage: float32 (n,), 0 to 1, the share of the query's words, each by its rarity.
        tiers: int8 (n,): `QUOTED` contains every quotation, `ALL_WORDS` every word, 1 some, 0 none.
        cells: The rows and weights of the terms that some item contains.
    """

    scores: Floats
    coverage: Floats
    tiers: NDArray[np.int8]
    cells: Cells


def score_words(query: ExpandedQuery, postings: Mapping[str, Postings], universe: Ids) -> WordScores:
    """Score every item of a universe.

    Args:
        query: The words to look for.
        postings: The postings of each term; terms that no item contains are absent.
        universe: int64 (n,), sorted ids that may be returned.
    """
    cells = {term: found for term, entry in postings.items() if len((found := _cells(entry, universe))[0])}
    size = len(universe)
    scores = _sum(query.terms, cells, size)
    held, covered, total = np.zeros(size, np.int32), np.zeros(size, np.float32), 0.0
    for term in query.terms:
        rows = _rows_with(term, query.alternatives, cells)
        rarity = inverse_frequency(max(size, REFERENCE), len(rows))
        held[rows] += 1
        covered[rows] += rarity
        total += rarity
    for way in query.alternatives:
        scores += np.maximum(_alternative_scores(way, cells, size) - _sum(way.terms, cells, size), 0)
    tiers = (held > 0).astype(np.int8)
    if query.terms:
        tiers[held == len(query.terms)] = ALL_WORDS
    return WordScores(scores, covered / np.float32(total or 1.0), tiers, cells)


def _cells(entry: Postings, universe: Ids) -> tuple[Ids, Floats]:
    """The rows that contain a term, weighed by how many of the universe do."""
    found, rows = shared_rows(entry.ids, universe)
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


def _alternative_scores(alternative: Alternative, cells: Cells, size: int) -> Floats:
    """BM25 of an alternative, 0 for items that do not contain all of it."""
    total = np.zeros(size, np.float32)
    rows = _rows_with_all(alternative.instead, cells)
    total[rows] = _sum(alternative.instead, cells, size)[rows]
    return total


def _rows_with_all(terms: Sequence[str], cells: Cells) -> Ids:
    """Rows that contain every one of some terms."""
    if not terms or any(term not in cells for term in terms):
        return np.empty(0, np.int64)
    rows = cells[terms[0]][0]
    for term in terms[1:]:
        rows = np.intersect1d(rows, cells[term][0], assume_unique=True)
    return rows


def _rows_with(term: str, alternatives: Sequence[Alternative], cells: Cells) -> Ids:
    """Rows that contain a term or an alternative to it."""
    own = cells[term][0] if term in cells else np.empty(0, np.int64)
    others = [rows for way in alternatives if term in way.terms and len(rows := _rows_with_all(way.instead, cells))]
    return np.unique(np.concatenate([own, *others])) if others else own


MAX_QUOTED_ITEMS: Final = 400
"""Items whose texts are read to look up a quotation, the best by their words."""
_MOST: Final = 4
_READ: Final = 4_000
_QUOTATION: Final = re.compile(r"\"([^\"\n]{2,200})\"|“([^”\n]{2,200})”|«([^»\n]{2,200})»|„([^“”\n]{2,200})[“”]")
_WORD: Final = re.compile(r"\w+")
_WEIGHT: Final = 2.0
"""A quotation counts as two words that are as rare as it is."""


def quotations(query: str) -> tuple[str, ...]:
    """Return what a query quotes, in order; a quotation without words is skipped."""
    found = [match[match.lastindex or 0] for match in _QUOTATION.finditer(query[:_READ])]
    return tuple(dict.fromkeys(text for text in found if query_terms(text)))[:_MOST]


def quotation_candidates(quotation: str, words: WordScores) -> Ids:
    """Return the rows that contain all words of a quotation, best first: their texts must be read."""
    rows = _rows_with_all(query_terms(quotation), words.cells)
    return rows[np.argsort(-words.scores[rows], kind="stable")][:MAX_QUOTED_ITEMS]


def is_quoted_in(quotation: str, text: str) -> bool:
    """Return whether a text contains a quotation word for word; case, spaces and punctuation do not count."""
    return _plain(quotation) in _plain(text)


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def with_quotations(words: WordScores, found: Mapping[str, Sequence[int]]) -> WordScores:
    """Return the word scores with those of the quotations added.

    Args:
        words: The word scores.
        found: Quotation to the rows that contain it; a quotation that no item contains is left out.
    """
    scores, tiers = words.scores.copy(), words.tiers.copy()
    size = len(scores)
    held = np.zeros(size, np.int32)
    for rows in found.values():
        places = np.asarray(rows, np.int64)
        scores[places] += np.float32(_WEIGHT * inverse_frequency(size, len(places)))
        held[places] += 1
    tiers[(held == len(found)) & (held > 0)] = QUOTED
    return replace(words, scores=scores, tiers=tiers)
