"""BM25: what it knows of a kind, postings and a cache of them, and scores as plain arithmetic.

BM25's idf counts the tenant's own items. Among the two tools of a time server "time" occurs in every item and says
nothing, so a probability fitted on a large collection would refuse every question. For the probability, and never for
the order, a small collection is therefore extended arithmetically with items in which words are as common as in a
background sample; a large one is scaled down to the same size.

Invariant: weights are Lucene's form (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, without the
constant factor k1 + 1), with the statistics of one tenant and kind; equal postings give equal scores, whatever their
source. A cached posting belongs to one tenant, kind, user and id range, and to one version of the collection: a search
gives the same answer with and without the cache. A kind without profile is searched like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from cachetools import LRUCache

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
    cells: dict[str, tuple[Ids, Floats]] = {}
    for term, entry in postings.items():  # once per term, since the texts of one message share many
        found, rows = shared_rows(entry.ids, universe)
        weights, wanted = entry.weights[found], idf(term, entry) if idf else entry.idf
        same = wanted == entry.idf or not entry.idf
        cells[term] = rows, weights if same else weights * np.float32(wanted / entry.idf)
    for number, terms in enumerate(texts):
        for term in terms:
            if term in cells:
                rows, weights = cells[term]
                scores[number, rows] += weights
    return scores


def matched_terms(terms: Iterable[str], postings: Mapping[str, Postings], number: int) -> tuple[str, ...]:
    """Return the terms that one item contains, strongest first."""
    weights = {term: postings[term].weight_of(number) for term in terms if term in postings}
    return tuple(sorted((term for term, weight in weights.items() if weight > 0), key=lambda term: -weights[term]))


PostingsKey: TypeAlias = tuple[int, str, str | None, int, int]
"""Tenant, kind and user: the rows that row-level security and ownership let through; lowest and highest id read."""

_ENTRY_BYTES = 200
"""What a cached term takes besides its arrays, even if no item contains it: its text, record and dict entry."""


@dataclass(frozen=True, slots=True)
class TermPostings:
    """One term of a collection.

    Attributes:
        documents: The number of items in the whole tenant and kind that contain it.
        postings: Its items; None if no item contains the term.
    """

    documents: int
    postings: Postings | None = None

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        held = self.postings
        return _ENTRY_BYTES + (0 if held is None else held.ids.nbytes + held.weights.nbytes + held.minor.nbytes)


ABSENT = TermPostings(0)
"""A term that no item contains."""


@dataclass(slots=True)
class _CachedCollection:
    """The cached terms of one collection at one version."""

    version: int
    words: dict[str, TermPostings] = field(default_factory=dict[str, TermPostings])
    nbytes: int = _ENTRY_BYTES


class PostingsCache:
    """Postings by tenant, kind, user and id range; the least recently used collections are dropped first."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._collections: LRUCache[PostingsKey, _CachedCollection] = LRUCache(
            limit_bytes, lambda collection: collection.nbytes
        )

    @property
    def nbytes(self) -> int:
        """The memory that all entries take together."""
        return int(self._collections.currsize)

    def get(self, key: PostingsKey, terms: Iterable[str]) -> tuple[int, dict[str, TermPostings]]:
        """Return what is cached of some terms, and its version; -1 if nothing is."""
        if (collection := self._collections.get(key)) is None:
            return -1, {}
        return collection.version, {term: collection.words[term] for term in terms if term in collection.words}

    def keep(self, key: PostingsKey, version: int, words: Mapping[str, TermPostings]) -> None:
        """Cache terms read at a version; those of an older version are dropped, and newer ones stay."""
        collection = self._collections.get(key)
        if collection is not None and collection.version > version:
            return
        if collection is None or collection.version < version:
            collection = _CachedCollection(version)
        for term, word in words.items():
            if term not in collection.words:
                collection.words[term] = word
                collection.nbytes += word.nbytes
        if collection.nbytes > self._limit:
            self._collections.pop(key, None)
        else:
            self._collections[key] = collection  # also to count what it takes now


def within_budget(words: Mapping[str, TermPostings], budget: int, most: int) -> dict[str, Postings]:
    """Return the postings that one search uses: rarest terms first, until they reach the budget; the rarest always.

    Args:
        words: Every term of the search.
        budget: The number of postings, counted in the whole tenant and kind.
        most: The number of items that were read: a term has no more postings.
    """
    taken: dict[str, Postings] = {}
    before = 0
    for term, word in sorted(words.items(), key=lambda pair: (pair[1].documents, pair[0])):
        if before >= budget:
            break
        if word.postings is not None:
            taken[term] = word.postings
        before += min(word.documents, most)
    return taken


REFERENCE: Final = 1_000
"""The size to which a collection is scaled; the heads are fitted at it."""


@dataclass(frozen=True, slots=True)
class Background:
    """Word statistics of a sample of one kind's items.

    Attributes:
        shares: Term to the share of items that contain it, 0 to 1; rare terms are left out and count as 0.
    """

    shares: Mapping[str, float] = field(default_factory=dict[str, float])

    def usual_idf(self, term: str) -> float:
        """Return the inverse document frequency of a term in the background alone."""
        return inverse_frequency(REFERENCE, REFERENCE * self.shares.get(term, 0.0))

    def idf(self, term: str, items: int, documents: int) -> float:
        """Return the inverse document frequency of a term in a collection scaled to `REFERENCE` items.

        Args:
            term: An index term.
            items: The size of the collection.
            documents: The number of its items that contain the term.
        """
        if items >= REFERENCE:
            return inverse_frequency(REFERENCE, documents * REFERENCE / items)
        return inverse_frequency(REFERENCE, documents + (REFERENCE - items) * self.shares.get(term, 0.0))


def shares_of(table: str) -> dict[str, float]:
    """Parse a table: each line has the number of items in a thousand and the terms they contain; # starts a comment."""
    lines = [line.split() for line in table.splitlines() if not line.startswith("#")]
    return {term: int(line[0]) / 1000 for line in lines if line for term in line[1:]}


TOOL_WORDS: Final = Path(__file__).with_name("tool_words.txt")
"""Written by `python -m benchmarks.fits words`."""

TOOL_BACKGROUND: Final = Background(shares_of(TOOL_WORDS.read_text(encoding="utf-8")))
"""The background of tools."""
NO_BACKGROUND: Final = Background()
"""For a kind without sample: a small collection is extended with items that share no word with it."""


@dataclass(frozen=True, slots=True)
class KindProfile:
    """How one kind is indexed.

    Attributes:
        field_weights: Field name to weight in BM25; other fields weigh 1.
        group_prefix: Items that share a facet with this prefix form a group; empty: no groups.
        background: How common words are in items of this kind in general.
    """

    field_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    group_prefix: str = ""
    background: Background = NO_BACKGROUND

    def group_of(self, facets: Iterable[str]) -> str | None:
        """Return the facet that names an item's group, or None."""
        if not self.group_prefix:
            return None
        return min((label for label in facets if label.startswith(self.group_prefix)), default=None)


_OPERATION: Mapping[str, float] = {"title": 2.0, "parameters": 0.3, "schemas": 0.3, "properties": 0.3}
"""Names of parameters, schemas and properties are many, and say less than a title."""

PROFILES: Mapping[str, KindProfile] = {
    "tool": KindProfile({"likely": 0.4}, "server:", TOOL_BACKGROUND),
    "operation": KindProfile(field_weights=_OPERATION),
}
_PLAIN = KindProfile()


def profile_of(kind: str) -> KindProfile:
    """Return the profile of a kind."""
    return PROFILES.get(kind, _PLAIN)


def groups_of(profile: KindProfile, facets: Sequence[frozenset[str]]) -> Ids:
    """Return one group number per item, -1 for none, int64; items with equal labels are evaluated once."""
    names = {labels: profile.group_of(labels) for labels in set(facets)}
    numbers = {name: number for number, name in enumerate(sorted(filter(None, names.values())))}
    return np.fromiter((numbers.get(names[labels] or "", -1) for labels in facets), np.int64, len(facets))
