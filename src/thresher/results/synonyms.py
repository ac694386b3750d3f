"""Other expressions for the words of a question: a result says "rejected" where its reader asks what was turned down.

Invariant: pure but for the table, which is read once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from thresher.search import STOP_WORDS, stemmed

_WORD: Final = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_LONGEST: Final = 4
"""Words of the longest expression that is looked up."""
_MOST_WORDS: Final = 60
"""Words of a question that are looked up."""
_LEAST: Final = 3
"""Characters from which a single word of the table is looked for."""
_JOINED: Final = 6
"""Characters from which neighbours are looked for as one word."""
_UNSAID: Final = STOP_WORDS | frozenset(
    "out up off down more how many much show tell name say get give find mean list same".split()  # noqa: SIM905 - a text is easier to read
)
"""Words that have no other expressions by themselves: they ask, or belong to a verb."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Words that follow one another.

    Attributes:
        words: As they are written, in lower case.
        stems: Their stems.
    """

    words: tuple[str, ...]
    stems: tuple[str, ...]


def synonyms_of(question: str) -> dict[tuple[str, ...], Sequence[Expression]]:
    """Return the expressions of a question that others stand for, by their stems.

    Words of a longer expression are not looked up by themselves. Neighbours have the word that they are together, such
    as `can i use` and `caniuse`.

    Args:
        question: Any text.
    """
    said = _expression(question)
    words, stems = said.words[:_MOST_WORDS], said.stems[:_MOST_WORDS]
    table = _table()
    found: dict[tuple[str, ...], dict[Expression, None]] = {}
    taken: set[int] = set()
    for size in range(_LONGEST, 0, -1):
        for first in range(len(words) - size + 1):
            some, key = words[first : first + size], stems[first : first + size]
            others = table.get(key, ())
            if size == 1 and (first in taken or some[0] in _UNSAID):
                continue
            if others and size > 1:
                taken.update(range(first, first + size))
            joined = "".join(some)
            if 1 < size < _LONGEST and some[-1] not in STOP_WORDS and joined.isalpha() and len(joined) >= _JOINED:
                others = (*others, Expression((joined,), (joined,)))
            if others:
                found.setdefault(key, {}).update(dict.fromkeys(others))
    return {key: tuple(others) for key, others in found.items()}


def _expression(text: str) -> Expression:
    words = tuple(word.lower() for word in _WORD.findall(text.replace("’", "'")))  # noqa: RUF001 - the typographic apostrophe is meant
    return Expression(words, tuple(map(stemmed, words)))


@cache
def _table() -> Mapping[tuple[str, ...], Sequence[Expression]]:
    """By the stems of an expression, those that stand in a line with it."""
    table: dict[tuple[str, ...], dict[Expression, None]] = {}
    for line in (files(__package__ or "") / "synonyms.txt").read_text(encoding="utf-8").splitlines():
        some = [_expression(one) for one in line.split(",")] if not line.startswith("#") else []
        for one in some:
            others = (other for other in some if other.stems != one.stems and _is_telling(other))
            table.setdefault(one.stems, {}).update(dict.fromkeys(others))
    return {key: tuple(others) for key, others in table.items()}


def _is_telling(one: Expression) -> bool:
    text = " ".join(one.words)
    return len(text) >= _LEAST and text not in STOP_WORDS
