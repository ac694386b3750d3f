"""Query expansion: other expressions for the words of a question, and guesses for words that no item contains.

Invariant: pure; a user's text has no query syntax, and a guess is only made for a word that no item contains.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from thresher.search.lexical.terms import ENGLISH, FUNCTION_WORDS, query_language, query_words, stem, stemmed, terms

Synonyms: TypeAlias = Mapping[str, Sequence[str]]
"""A text to others with the same meaning: `{"SVD": ["singular value decomposition"]}`; valid in both directions."""

MAX_ALTERNATIVES: Final = 16
"""The maximum number of alternatives in one search."""
MAX_INFLECTED: Final = 64
"""The words of a query that are stemmed by other languages too."""
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


def expand_query(text: str, synonyms: Synonyms, languages: Collection[str] = ()) -> ExpandedQuery:
    """Return the words of a text with their alternatives.

    Args:
        text: Any text.
        synonyms: Expressions with the same meaning.
        languages: The languages of items, besides English; see `spoken_words`.
    """
    words, languages = spoken_words(text, languages)
    terms = tuple(words)
    held = set(terms)
    alternatives = (
        Alternative(terms, instead)
        for terms, instead in _pairs(synonyms, languages)
        if terms and instead and terms != instead and held.issuperset(terms) and not held.issuperset(instead)
    )
    same = tuple(dict.fromkeys(alternatives))[:MAX_ALTERNATIVES]
    return ExpandedQuery(terms, (*same, *_inflections(words, languages)), words)


def spoken_words(text: str, languages: Collection[str]) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the words of a query, term to folded word, and the languages besides English by which to stem them.

    Args:
        text: The query. A query in one of the languages is stemmed by that one, and its stop words are left out; one in
            English by none; one whose language its words do not tell by all of them.
        languages: The languages of items, besides English.
    """
    words = query_words(text)
    if not languages:
        return words, ()
    told = query_language(text, languages)
    if told is None:
        return words, sorted(languages)
    stops = FUNCTION_WORDS.get(told, frozenset[str]())
    kept = {term: word for term, word in words.items() if word not in stops}
    return kept or words, [told] if told else []


def other_stems(word: str, term: str, languages: Collection[str]) -> list[str]:
    """Return the distinct terms of a folded word in some languages, besides its English one."""
    stems = (stem(word, language) for language in languages if word not in FUNCTION_WORDS[language])
    return [one for one in dict.fromkeys(stems) if one != term]


def _inflections(words: Mapping[str, str], languages: Collection[str]) -> list[Alternative]:
    """The words of a query as other languages stem them."""
    some = list(words.items())[:MAX_INFLECTED] if languages else ()
    return [Alternative((term,), (other,)) for term, word in some for other in other_stems(word, term, languages)]


def _pairs(synonyms: Synonyms, languages: Collection[str]) -> Iterable[tuple[tuple[str, ...], tuple[str, ...]]]:
    for text, others in synonyms.items():
        for instead in others:
            left, right = _terms(text), _terms(instead)
            for language in (ENGLISH, *languages):
                yield left, _terms(instead, language)
                yield right, _terms(text, language)


@lru_cache(_KNOWN_TEXTS)
def _terms(text: str, language: str = ENGLISH) -> tuple[str, ...]:
    """Cached, since the texts of a glossary are the same in every search."""
    return tuple(dict.fromkeys(terms(text, language)))


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
