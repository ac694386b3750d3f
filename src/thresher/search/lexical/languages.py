"""The language of a text, told by its function words, and the stemmers of the languages that are told.

Short lists of the commonest words tell languages apart in any text of a few sentences; what is too short, or mixed, has
no language, and is stemmed as English.

Invariant: pure; the same text has the same language.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, Protocol, cast

import Stemmer

ENGLISH: Final = ""
"""The language of texts in English, and of those whose language is not told."""

STEMMING: Final = 1
"""Raise it when a language, its words or its stemmer change, so that what is indexed is stemmed again."""

_STEMMERS: Final = {
    "da": "danish", "de": "german", "es": "spanish", "fi": "finnish", "fr": "french", "hu": "hungarian",
    "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""ISO 639-1 code to Snowball's name of its stemmer."""

FUNCTION_WORDS: Final[Mapping[str, frozenset[str]]] = {
    code: frozenset(words.casefold().split())
    for line in Path(__file__).with_name("function_words.txt").read_text(encoding="utf-8").splitlines()
    for code, _, words in [line.partition(" ")]
}
"""Words that carry little of what a text is about; those of English are `terms.STOP_WORDS`."""

_ENGLISH_WORDS: Final = frozenset(
    """a about all also am an and any are as at be been but by can do does each for from get given has have how if in
    into is it its may more must no not of on only or other our out set so such than that the their then there these
    they this to use used using was we when where which will with you your""".split()  # noqa: SIM905 - a text is easier to read
)
_COMMON: Final = _ENGLISH_WORDS | frozenset(
    """ad al alt ben c comment con d dell den der die do e el en era et fin for from hab had ham he her here hem hen
    him his hun i ii im j la le les li lo lors los ma mais man mark me mi min mine mit n nun o on os pas plus pour qui
    s sans se son sous sur t ten ton tot un una uns upp var via vi vous war was wo y""".split()  # noqa: SIM905 - a text is easier to read
)
"""Words that are English too, stand in names, or are single letters: they tell no language."""
_TELLING: Final = {code: words - _COMMON for code, words in FUNCTION_WORDS.items()}
_WORD: Final = re.compile(r"[^\W\d_]+")
_READ: Final = 20_000
"""Characters of a text that are read; its beginning tells the language."""
LEAST: Final = 3
"""Telling words that a text must have, of which two differ."""
_SHARE: Final = 0.1
"""Share of a text's words that tell its language; in 19 of 20 pages of a technical manual they are more than that in
ten languages, and fewer in all of four languages without a list here."""
_LEAD: Final = 1.5
"""How many times those of English, whose words stand in names, code and citations of any language."""


def language_of(text: str, among: Collection[str] | None = None, *, least: int = LEAST) -> str:
    """Return the ISO 639-1 code of a text's language; empty for English and for what is not told.

    Args:
        text: The text, of any length.
        among: The only languages that it may have; None for all that are known.
        least: Telling words that it must have.
    """
    counts = Counter(word.casefold() for word in _WORD.findall(text[:_READ]))
    english = sum(count for word, count in counts.items() if word in _ENGLISH_WORDS)
    best, most = ENGLISH, max(least - 1, _LEAD * english, _SHARE * counts.total())
    for code, telling in _TELLING.items():
        if among is not None and code not in among:
            continue
        found = counts.keys() & telling
        total = sum(counts[word] for word in found)
        if total > most and len(found) > 1:
            best, most = code, total
    return best


_LEAST_TELLING: Final = 2
"""Telling words of a query: it is short, and has one of a few languages."""


def query_language(query: str, present: Collection[str]) -> str | None:
    """Return the language of a query, among some and English; None if its words do not tell.

    Args:
        query: The query.
        present: The languages that it may have, besides English.
    """
    if told := language_of(query, present, least=_LEAST_TELLING):
        return told
    english = {word.casefold() for word in _WORD.findall(query[:_READ])} & _ENGLISH_WORDS
    return ENGLISH if len(english) >= _LEAST_TELLING else None


class _Stems(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


class _Stemmers(threading.local):
    """The Snowball stemmers of one thread: PyStemmer's objects must not be shared."""

    def __init__(self) -> None:
        self._made: dict[str, _Stems] = {}

    def of(self, language: str) -> _Stems:
        if (known := self._made.get(language)) is None:
            name = _STEMMERS.get(language, "english")
            known = cast("_Stems", Stemmer.Stemmer(name))  # pyright: ignore[reportUnknownMemberType] - no stubs
            self._made[language] = known
        return known


_stemmers = _Stemmers()


def stem(word: str, language: str = ENGLISH) -> str:
    """Return the stem of a folded word."""
    return _stemmers.of(language).stemWord(word)
