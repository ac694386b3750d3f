"""Keeps the postings of words lately asked for, so that a search reads only those it has not met.

Invariant: what is kept belongs to one tenant, kind, user and span of ids, and to one version of the collection; an
answer with kept postings is the answer without them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from thresher.search.bm25 import Postings

Key: TypeAlias = tuple[int, str, str | None, int, int]
"""Tenant, kind and user: the rows that row-level security and ownership let through; lowest and highest id read."""

_ENTRY_BYTES = 200
"""What a kept term takes besides its arrays, a term that no item holds too: its text, its record, its place."""


@dataclass(frozen=True, slots=True)
class Word:
    """One term of a collection.

    Attributes:
        documents: Items of the whole tenant and kind that hold it; 0 for a term that none does.
        postings: Its items; None for a term that none holds.
    """

    documents: int
    postings: Postings | None = None

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        arrays = 0 if self.postings is None else self.postings.ids.nbytes + self.postings.weights.nbytes
        return _ENTRY_BYTES + arrays


ABSENT = Word(0)
"""A term that no item holds."""


@dataclass(slots=True)
class Shelf:
    """The words kept of one collection at one version."""

    version: int
    words: dict[str, Word] = field(default_factory=dict[str, Word])
    nbytes: int = _ENTRY_BYTES


class Words:
    """Shelves by tenant, kind, user and span of ids, the least recently used ones leaving first."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._shelves: OrderedDict[Key, Shelf] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Memory that all shelves take together."""
        return sum(shelf.nbytes for shelf in self._shelves.values())

    def known(self, key: Key, terms: Iterable[str]) -> tuple[int, dict[str, Word]]:
        """What is kept of some terms, and the version that it belongs to; -1 for nothing."""
        if (shelf := self._shelves.get(key)) is None:
            return -1, {}
        self._shelves.move_to_end(key)
        return shelf.version, {term: shelf.words[term] for term in terms if term in shelf.words}

    def keep(self, key: Key, version: int, words: Mapping[str, Word]) -> None:
        """Keep words read at a version; those of an older version go, and a newer shelf stays as it is."""
        shelf = self._shelves.get(key)
        if shelf is not None and shelf.version > version:
            return
        if shelf is None or shelf.version < version or shelf.nbytes > self._limit:
            shelf = self._shelves[key] = Shelf(version)
        for term, word in words.items():
            if term not in shelf.words:
                shelf.words[term] = word
                shelf.nbytes += word.nbytes
        self._shelves.move_to_end(key)
        while self._shelves and self.nbytes > self._limit:
            self._shelves.popitem(last=False)


def within(words: Mapping[str, Word], budget: int, most: int) -> dict[str, Postings]:
    """The postings that one search takes: rarest terms first, until they reach the budget; the rarest always.

    Args:
        words: Every term of the search.
        budget: Postings, counted in the whole tenant and kind.
        most: Items that were looked at: a term has no more postings.
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
