"""A cache of postings, so that a search reads only those of new terms.

Invariant: an entry belongs to one tenant, kind, user and id range, and to one version of the collection; a search gives
the same answer with and without the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cachetools import LRUCache

from thresher.search.lexical.bm25 import Postings

Key: TypeAlias = tuple[int, str, str | None, int, int]
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
        self._collections: LRUCache[Key, _CachedCollection] = LRUCache(
            limit_bytes, lambda collection: collection.nbytes
        )

    @property
    def nbytes(self) -> int:
        """The memory that all entries take together."""
        return int(self._collections.currsize)

    def get(self, key: Key, terms: Iterable[str]) -> tuple[int, dict[str, TermPostings]]:
        """Return what is cached of some terms, and its version; -1 if nothing is."""
        if (collection := self._collections.get(key)) is None:
            return -1, {}
        return collection.version, {term: collection.words[term] for term in terms if term in collection.words}

    def keep(self, key: Key, version: int, words: Mapping[str, TermPostings]) -> None:
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
