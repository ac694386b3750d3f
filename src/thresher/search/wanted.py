"""What a text search looks for: the words of a question, and other ways of saying them.

Invariant: pure; nothing in a user's text is query syntax, and any text gives something to look for or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from thresher.search.terms import query_terms, query_words

Synonyms: TypeAlias = Mapping[str, Sequence[str]]
"""A text to others that mean the same: `{"SVD": ["singular value decomposition"]}`; read in both directions."""

MOST_WAYS: Final = 16
"""Other ways of saying something that one search looks for."""
_KNOWN_TEXTS: Final = 8192


@dataclass(frozen=True, slots=True)
class Way:
    """Terms of a query, and others that together mean the same.

    Attributes:
        said: What the query says.
        other: What an item may say instead, all of it.
    """

    said: tuple[str, ...]
    other: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The words of one text.

    Attributes:
        terms: Distinct, in order of first appearance.
        ways: Other ways of saying some of them.
        written: Term to the word that it was cut from, folded.
    """

    terms: tuple[str, ...]
    ways: tuple[Way, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def all_terms(self) -> list[str]:
        """Every term whose postings are wanted, distinct."""
        return list(dict.fromkeys([*self.terms, *(term for way in self.ways for term in way.other)]))


def wanted_of(text: str, synonyms: Synonyms) -> Wanted:
    """The words of a text.

    Args:
        text: Any.
        synonyms: What means the same.
    """
    words = query_words(text)
    asked = tuple(words)
    held = set(asked)
    ways = (
        Way(said, other)
        for said, other in _pairs(synonyms)
        if said and other and said != other and held.issuperset(said) and not held.issuperset(other)
    )
    return Wanted(asked, tuple(dict.fromkeys(ways))[:MOST_WAYS], words)


def _pairs(synonyms: Synonyms) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    for text, others in synonyms.items():
        for other in others:
            left, right = _terms(text), _terms(other)
            yield left, right
            yield right, left


@lru_cache(_KNOWN_TEXTS)
def _terms(text: str) -> tuple[str, ...]:
    """A glossary's texts are the same at every search."""
    return tuple(query_terms(text))
