"""Text to index terms: words and identifiers split, folded and stemmed; scripts without spaces in character pairs.

A word is stemmed by the language of its text, which function words tell: short lists of the commonest words tell
languages apart in any text of a few sentences. What is too short, or mixed, has no language, and is stemmed as English.

Invariant: pure, and the same for stored texts and queries; a term is never empty, contains no space, and is no longer
than `LONGEST` characters. The same text has the same language.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
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
"""Words that carry little of what a text is about; those of English are `STOP_WORDS`."""

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
_LETTERS: Final = re.compile(r"[^\W\d_]+")
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
    counts = Counter(word.casefold() for word in _LETTERS.findall(text[:_READ]))
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
    english = {word.casefold() for word in _LETTERS.findall(query[:_READ])} & _ENGLISH_WORDS
    return ENGLISH if len(english) >= _LEAST_TELLING else None


class _Stems(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - PyStemmer's name


class _Stemmers(threading.local):
    """The Snowball stemmers of one thread: PyStemmer's objects must not be shared."""

    def __init__(self) -> None:
        self.made: dict[str, _Stems] = {}


_stemmers = _Stemmers()


def stem(word: str, language: str = ENGLISH) -> str:
    """Return the stem of a folded word."""
    if (known := _stemmers.made.get(language)) is None:
        name = _STEMMERS.get(language, "english")
        known = cast("_Stems", Stemmer.Stemmer(name))  # pyright: ignore[reportUnknownMemberType] - no stubs
        _stemmers.made[language] = known
    return known.stemWord(word)


LONGEST: Final = 64
"""Characters kept of a word; longer ones are data, and an index key must stay below 2,700 bytes."""

STOP_WORDS: Final = frozenset(
    """a an and are as at be been but by can could d did do does for from had has have how i if in into is it its
    just ll m me my no not of on or our please re s shall should so some t than that the their them then there these
    they this those to too us ve was we were what when where which who whom why will with would you your""".split()  # noqa: SIM905 - a text is easier to read
)
"""English function words; they carry no capability."""

_WORD: Final = re.compile(r"[^\W_]+")
_WRITTEN: Final = re.compile(r"[^\W_]+(?:['\u2019]s\b)?")
"""A word as it is written, with the ending of its possessive."""
_POSSESSIVE: Final = re.compile(r"['’]s\b")  # noqa: RUF001 - the typographic apostrophe is meant
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


def terms(text: str, language: str = ENGLISH) -> list[str]:
    """Return the index terms of a text, in order and with repeats.

    Words are split at case changes and between letters and digits, case-folded, freed of stop words and stemmed.
    Scripts written without spaces give overlapping pairs of characters.

    Args:
        text: The text.
        language: Its language, as `language_of` tells it: words are stemmed by it, and its stop words go too.
    """
    stops = FUNCTION_WORDS.get(language, frozenset[str]())
    return [word if whole else stem(word, language) for word, whole in _words(text) if word not in stops]


def query_terms(text: str) -> list[str]:
    """Return the distinct terms of a query, in order of first occurrence: a repeat in a message is no evidence."""
    return list(dict.fromkeys(terms(text)))


def query_words(text: str) -> dict[str, str]:
    """Return the distinct terms of a query, each with the folded word of its first occurrence."""
    words: dict[str, str] = {}
    for word, whole in _words(text):
        words.setdefault(word if whole else stem(word), word)
    return words


def without_terms(text: str, dropped: Collection[str]) -> str:
    """Return a text, on one line, without the words whose terms are all among some terms."""

    def kept(match: re.Match[str]) -> str:
        found = terms(match[0])
        return "" if found and all(term in dropped for term in found) else match[0]

    return " ".join(_WRITTEN.sub(kept, text).split())


def stemmed(word: str) -> str:
    """Return the term of a folded word."""
    return stem(word)


def split_name(name: str) -> str:
    """Return an identifier as words: `getUserByID_v2` becomes `get User By ID v 2`."""
    return " ".join(re.sub(r"[\W_]+", " ", _HUMP.sub(" ", _normal(name))).split())


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """Each word that is not a stop word, and whether it is a pair of characters, which has no stem."""
    for word in _WORD.findall(_POSSESSIVE.sub("", _normal(text))):
        spaced = word
        for run in _UNSPACED.findall(word):
            yield from ((pair, True) for pair in _pairs(run))
            spaced = spaced.replace(run, " ")
        for part in _HUMP.sub(" ", spaced).split():
            if (folded := part.casefold()) not in STOP_WORDS:
                yield folded[:LONGEST], False


def _normal(text: str) -> str:
    """Compatibility form (full-width letters, ligatures); lone surrogates become question marks."""
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))


def _pairs(run: str) -> list[str]:
    """Overlapping pairs of characters, or the single character."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
