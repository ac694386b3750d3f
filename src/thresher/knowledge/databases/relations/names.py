"""Reads names of tables and columns: words, stems, abbreviations, and the prefixes that a whole schema shares.

Invariant: pure, and linear in the number of tables and columns.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from thresher.connectors import Table
from thresher.knowledge.databases.relations.lexicon import (
    GLUED_KEYS,
    KEY_WORDS,
    LEADING_KEYS,
    NOT_GLUED,
    OUTER_MARKS,
    TABLE_MARKS,
    KeyKind,
)
from thresher.knowledge.databases.relations.records import ColumnName

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
"""Endings of German and Romance plurals and compounds; `stem` handles English ones."""
_LEAST_LOOSE = 3
_LONGEST = 200
"""Characters of a name that are read; engines allow at most 128."""
_LEAST_SHORT = 2
_LEAST_PREFIX = 3


@lru_cache(maxsize=65_536)
def split(name: str) -> tuple[str, ...]:
    """The words of a name in lower case and without accents; digits are separate words.

    Snake case, camel case, dots, blanks and dashes separate words; `CUSTOMERID` and `custid` stay one word.
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
    """A word without the endings of other languages' plurals and cases: `kunde` and `kunden` give `kund`."""
    folded = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    for ending in _LOOSE_ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= _LEAST_LOOSE:
            return folded[: -len(ending)]
    return folded


def shortens(short: str, word: str) -> float:
    """How well a word may abbreviate another, 0 to 1; 0 if it cannot.

    A prefix (`cust`, `emp`), or letters in order from the first one (`dept`, `mgr`, `acct`), which mostly leave out
    vowels or the word's end.
    """
    if len(short) < _LEAST_SHORT or len(short) >= len(word) or short[0] != word[0]:
        return 0.0
    if word.startswith(short):
        return 0.9 if len(short) >= _LEAST_PREFIX else 0.4
    if not _in_order(short, word):
        return 0.0
    return 0.8 if _skeleton(word).startswith(_skeleton(short)) and len(short) >= _LEAST_PREFIX else _gap(short, word)


def _gap(short: str, word: str) -> float:
    """Letters in order with consonants left out: good if the first and last letters agree, as in `dept`, `acct`."""
    if len(short) < _LEAST_PREFIX:
        return 0.4 if short == _skeleton(word)[: len(short)] or short[-1] == word[-1] else 0.0
    return 0.6 if short[-1] == word[-1] or word.startswith(short[:3]) else 0.3


def _in_order(short: str, word: str) -> bool:
    letters = iter(word)
    return all(letter in letters for letter in short)


def _skeleton(word: str) -> str:
    return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiouy")


_FEW_TABLES = 4
_SHARED = 0.6
_SHARED_COLUMNS = 0.7
_SHORT_MARK = 3
_GLUED_MARK = 2
_LEAST_GLUED_CORE = 2


def table_words(tables: Sequence[Table]) -> list[tuple[str, ...]]:
    """Stems of each table's name, without marks like `tbl_` and prefixes that a schema's tables share."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, table in enumerate(tables):
        groups[table.schema].append(number)
    found: list[tuple[str, ...]] = [()] * len(tables)
    for numbers in groups.values():
        named = _without_glued_mark([split(tables[number].name) for number in numbers])
        shared = _shared_marks(named)
        for number, words in zip(numbers, named, strict=True):
            found[number] = tuple(stem(word) for word in _unmarked(words, shared)) or (tables[number].name.lower(),)
    return found


def _unmarked(words: tuple[str, ...], shared: frozenset[str]) -> tuple[str, ...]:
    while len(words) > 1 and (words[0] in TABLE_MARKS or words[0] in shared or words[0].isdigit()):
        words = words[1:]
    return words


def _shared_marks(named: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """First words that most tables share, or short ones that some share, unless a table itself has that name."""
    first = Counter(words[0] for words in named if len(words) > 1)
    alone = {stem(words[0]) for words in named if len(words) == 1}
    return frozenset(
        word
        for word, count in first.items()
        if stem(word) not in alone
        and (
            (count >= _FEW_TABLES and count > _SHARED * len(named))
            or (count >= _FEW_TABLES and len(word) <= _SHORT_MARK and count > len(named) / 5)
        )
    )


def _without_glued_mark(named: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Remove a common prefix without a separator, as in `tblkunden`, if all of a schema's tables have it."""
    whole = [words[0] if words else "" for words in named]
    mark = _beginning(min(whole), max(whole)) if len(named) >= _FEW_TABLES else ""
    if len(mark) < _GLUED_MARK or any(word == mark for word in whole):
        return list(named)
    return [(words[0][len(mark) :], *words[1:]) for words in named]


def _beginning(first: str, last: str) -> str:
    """The common prefix of the first and the last of sorted words, which all of them share."""
    size = next((n for n, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:size]


def column_prefix(table: Table) -> str:
    """The first word of nearly all columns of a table, such as `l` in `l_orderkey`; empty without one."""
    named = [split(column.name) for column in table.columns]
    first = Counter(words[0] for words in named if len(words) > 1)
    if not first or len(named) < 2:
        return ""
    word, count = first.most_common(1)[0]
    return word if count >= max(2, _SHARED_COLUMNS * len(named)) and word not in LEADING_KEYS else ""


@lru_cache(maxsize=65_536)
def read_column(name: str, prefix: str = "") -> tuple[ColumnName, ...]:
    """The readings of a column's name, plainest first; at least one.

    Args:
        name: The name in the catalog.
        prefix: The result of `column_prefix` for its table.
    """
    words = split(name)
    readings = dict.fromkeys(_readings(words))
    if prefix and len(words) > 1 and words[0] == prefix:
        readings |= dict.fromkeys(_readings(words[1:]))
    return tuple(readings) or (ColumnName((), "", name.lower()),)


def _readings(words: tuple[str, ...]) -> Iterator[ColumnName]:
    if not words:
        return
    whole = "".join(stem(word) for word in words)
    core, kind = _without_key_words(words)
    yield ColumnName(_stems(core), kind, whole)
    if not kind and (glued := _unglued(words)):
        yield ColumnName(_stems(glued[0]), glued[1], whole, glued=True)


def _without_key_words(words: tuple[str, ...]) -> tuple[tuple[str, ...], KeyKind]:
    core, kind = words, ""
    while len(core) > 1 and core[-1].isdigit():
        core = core[:-1]
    while core and core[-1] in KEY_WORDS:
        kind, last, core = KEY_WORDS[core[-1]], core[-1], core[:-1]
        if last not in OUTER_MARKS:
            break
    while len(core) > 1 and (core[0] in OUTER_MARKS or (not kind and core[0] in LEADING_KEYS)):
        kind = kind or KEY_WORDS.get(core[0], "id")
        core = core[1:]
    if len(core) == 1 and core[0] in LEADING_KEYS and kind:
        core = ()
    return core, kind


def _unglued(words: tuple[str, ...]) -> tuple[tuple[str, ...], KeyKind] | None:
    last = words[-1]
    if last in NOT_GLUED:
        return None
    for ending in GLUED_KEYS:
        if last.endswith(ending) and len(last) - len(ending) >= _LEAST_GLUED_CORE:
            return (*words[:-1], last[: -len(ending)]), KEY_WORDS[ending]
    for beginning in ("id", "fk"):
        if len(words) == 1 and last.startswith(beginning) and len(last) - len(beginning) > _LEAST_GLUED_CORE:
            return (last[len(beginning) :],), "id"
    return None


def _stems(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(stem(word) for word in words if not word.isdigit())
