"""Names of tables and columns as words: split, folded, brought to one number, and compared when one is shortened.

Invariant: pure, and of one name at a time; what a schema as a whole says of a name is worked out in `naming`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_IRREGULAR = {
    "people": "person", "persons": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse",
    "indices": "index", "indexes": "index", "vertices": "vertex", "matrices": "matrix", "criteria": "criterion",
    "media": "medium", "analyses": "analysis", "bases": "base", "diagnoses": "diagnosis", "statuses": "status",
    "addresses": "address", "buses": "bus", "series": "series", "species": "species", "news": "news",
    "movies": "movie", "cookies": "cookie", "caches": "cache", "axes": "axis", "leaves": "leaf", "lives": "life",
    "shelves": "shelf", "staff": "staff", "goods": "good", "aliases": "alias", "campuses": "campus",
    "viruses": "virus", "bonuses": "bonus", "lenses": "lens", "gases": "gas", "geese": "goose", "feet": "foot",
}  # fmt: skip
_KEPT_ENDINGS = ("ss", "us", "is", "as", "os", "ys")
_ES_ENDINGS = ("ches", "shes", "sses", "xes", "zzes")
_LOOSE_ENDINGS = ("nen", "en", "er", "es", "e", "n", "s")
"""Of German and Romance plurals and joints; English ones are `stem`'s."""
_LEAST_LOOSE = 3
_LONGEST = 200
"""Characters of a name that are read; engines allow 128 at most."""
_LEAST_SHORT = 2
_LEAST_PREFIX = 3


@lru_cache(maxsize=65_536)
def split(name: str) -> tuple[str, ...]:
    """The words of a name, lower case, without accents; digits are words of their own.

    Snake case, camel case, dots, blanks and dashes all divide; `CUSTOMERID` and `custid` stay one word.
    """
    plain = unicodedata.normalize("NFKD", name[:_LONGEST].replace("ß", "ss"))
    folded = "".join(letter for letter in plain if not unicodedata.combining(letter))
    if not folded.isascii():
        return tuple(re.findall(r"\w+", folded.lower().replace("_", " ")))
    if folded == folded.upper():
        folded = folded.lower()
    return tuple(part.lower() for part in _PART.findall(folded))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The singular of an English word; other words stay as they are."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= _LEAST_LOOSE or not word.endswith("s") or word.endswith(_KEPT_ENDINGS):
        return word
    if word.endswith("ies") and len(word) > len("ties"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_ES_ENDINGS) else word[:-1]


@lru_cache(maxsize=65_536)
def loose(word: str) -> str:
    """What plurals, cases and joints of other languages leave alone: `kunde`, `kunden`, `kundennr` share `kund`."""
    folded = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    for ending in _LOOSE_ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= _LEAST_LOOSE:
            return folded[: -len(ending)]
    return folded


def shortens(short: str, word: str) -> float:
    """How well a word may be the short form of another, 0 to 1; 0 when it cannot.

    A beginning (`cust`, `emp`), or the letters in order from the first one (`dept`, `mgr`, `acct`), which must leave
    out mostly vowels or the word's end.
    """
    if len(short) < _LEAST_SHORT or len(short) >= len(word) or short[0] != word[0]:
        return 0.0
    if word.startswith(short):
        return 0.9 if len(short) >= _LEAST_PREFIX else 0.4
    if not _in_order(short, word):
        return 0.0
    return 0.8 if _skeleton(word).startswith(_skeleton(short)) and len(short) >= _LEAST_PREFIX else _gap(short, word)


def _gap(short: str, word: str) -> float:
    """Letters in order, but consonants are passed over: good when first and last agree, as in `dept`, `acct`."""
    if len(short) < _LEAST_PREFIX:
        return 0.4 if short == _skeleton(word)[: len(short)] or short[-1] == word[-1] else 0.0
    return 0.6 if short[-1] == word[-1] or word.startswith(short[:3]) else 0.3


def _in_order(short: str, word: str) -> bool:
    letters = iter(word)
    return all(letter in letters for letter in short)


def _skeleton(word: str) -> str:
    return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiouy")
