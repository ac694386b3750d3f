"""Query expansion: other expressions for the words of a question, and guesses for words that no item contains.

Invariant: pure; a user's text has no query syntax, and a guess is only made for a word that no item contains.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from thresher.search.lexical.terms import query_terms, query_words, stemmed

Synonyms: TypeAlias = Mapping[str, Sequence[str]]
"""A text to others with the same meaning: `{"SVD": ["singular value decomposition"]}`; valid in both directions."""

MAX_ALTERNATIVES: Final = 16
"""The maximum number of alternatives in one search."""
_KNOWN_TEXTS: Final = 8192


@dataclass(frozen=True, slots=True)
class Alternative:
    """Terms of a query, and others that together mean the same.

    Attributes:
        terms: What the query says.
        instead: What an item may say instead, all of it.
    """

    terms: tuple[str, ...]
    instead: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpandedQuery:
    """The words of one text.

    Attributes:
        terms: Distinct, in order of first occurrence.
        alternatives: Other expressions for some of them.
        written: Term to the folded word it comes from.
    """

    terms: tuple[str, ...]
    alternatives: tuple[Alternative, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def all_terms(self) -> list[str]:
        """Every term whose postings are needed, distinct."""
        return list(dict.fromkeys([*self.terms, *(term for way in self.alternatives for term in way.instead)]))


def expand_query(text: str, synonyms: Synonyms) -> ExpandedQuery:
    """Return the words of a text with their alternatives.

    Args:
        text: Any text.
        synonyms: Expressions with the same meaning.
    """
    words = query_words(text)
    terms = tuple(words)
    held = set(terms)
    alternatives = (
        Alternative(terms, instead)
        for terms, instead in _pairs(synonyms)
        if terms and instead and terms != instead and held.issuperset(terms) and not held.issuperset(instead)
    )
    return ExpandedQuery(terms, tuple(dict.fromkeys(alternatives))[:MAX_ALTERNATIVES], words)


def _pairs(synonyms: Synonyms) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    for text, others in synonyms.items():
        for instead in others:
            left, right = _terms(text), _terms(instead)
            yield left, right
            yield right, left


@lru_cache(_KNOWN_TEXTS)
def _terms(text: str) -> tuple[str, ...]:
    """Cached, since the texts of a glossary are the same in every search."""
    return tuple(query_terms(text))


MAX_UNKNOWN: Final = 3
"""Unknown words of a query that are guessed, the longest first; each costs about 2 ms."""
_PREFIX: Final = 3
"""The minimum number of characters of a prefix."""
_SLIP: Final = 6
"""Characters from which a letter of a word may be missing, superfluous, or swapped with the next: most short words are
one letter away from others with another meaning (`event` and `even`)."""
_WRONG_LETTER: Final = 8
"""Characters from which a letter may be wrong."""
_LETTERS: Final = string.ascii_lowercase
_AFTER: Final = "\U0010ffff"


def prefix_range(term: str) -> tuple[str, str] | None:
    """Return the bounds, both excluded, between which the longer forms of a term sort in byte order."""
    return (term, term + _AFTER) if len(term) >= _PREFIX else None


def misspellings(word: str) -> list[str]:
    """Return terms of the words that are one typo away from this one.

    Args:
        word: The folded word of the query.
    """
    if len(word) < _SLIP or not word.isascii() or not word.isalpha():
        return []
    return sorted({stemmed(near) for near in _near(word)} - {stemmed(word)})


def _near(word: str) -> set[str]:
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    deleted = {left + right[1:] for left, right in halves if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in halves if len(right) > 1}
    added = {left + letter + right for left, right in halves for letter in _LETTERS}
    long = len(word) >= _WRONG_LETTER
    changed = {left + letter + right[1:] for left, right in halves if right and long for letter in _LETTERS}
    return deleted | swapped | added | changed
