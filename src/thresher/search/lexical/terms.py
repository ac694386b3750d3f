"""Text to index terms: words and identifiers split, folded and stemmed; scripts without spaces in character pairs.

Invariant: pure, and the same for stored texts and queries; a term is never empty, contains no space, and is no longer
than `LONGEST` characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Final

from thresher.search.lexical.languages import ENGLISH, FUNCTION_WORDS, stem

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
