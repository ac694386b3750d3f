"""Which rows answer a question for the largest, the latest or the fewest of something.

Invariant: pure; no row is named unless the question has such a word and a column can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from thresher.search import query_terms

_HIGH: Final = re.compile(
    r"\b(?:largest|biggest|highest|greatest|most|maximum|max|longest|latest|newest|last|recent|top|heaviest"
    r"|slowest|tallest|priciest|expensive|best|worst|peak)\b",
    re.IGNORECASE,
)
_LOW: Final = re.compile(
    r"\b(?:smallest|lowest|least|minimum|min|shortest|oldest|earliest|first|fewest|cheapest|lightest|fastest|youngest)\b",
    re.IGNORECASE,
)
_HINTS: Final[Mapping[str, frozenset[str]]] = {
    words: frozenset(stems.split())
    for words, stems in (
        ("longest shortest slowest fastest", "length durat millisecond second ms minut time elaps size took"),
        ("latest newest oldest earliest recent first last", "date creat updat time timestamp at publish releas year"),
        ("expensive cheapest priciest", "price cost amount total fee"),
        ("largest biggest smallest heaviest lightest", "size byte count total popul amount area weight"),
    )
}
"""Stems that columns are named by, for words that say what is compared."""
_DATE: Final = re.compile(r"\d{4}-\d\d(?:-\d\d)?\b|\d{4}/\d\d/\d\d")
_LOOKED_AT: Final = 20
_COLUMNS: Final = 3
_MOST: Final = 50_000


def asks_extreme(question: str) -> bool:
    """Whether a question has a word for the largest or the smallest of something."""
    return _HIGH.search(question) is not None or _LOW.search(question) is not None


def extremes(rows: Sequence[Any], question: str) -> list[int]:
    """The rows to deliver first, best first.

    Args:
        rows: Elements of a list.
        question: What the caller wants to know.
    """
    high, low = _HIGH.search(question), _LOW.search(question)
    word = high or low
    if word is None or not 1 < len(rows) <= _MOST or not all(isinstance(row, dict) for row in rows[:_LOOKED_AT]):
        return []
    first = cast("Sequence[Mapping[str, Any]]", rows[:_LOOKED_AT])
    columns = [name for name in first[0] if _comparable([row.get(name) for row in first])]
    asked = set(query_terms(question))
    hinted = next((stems for words, stems in _HINTS.items() if word[0].lower() in words.split()), frozenset[str]())
    named = {name: set(query_terms(name)) for name in columns}
    ranked = sorted(
        columns, key=lambda name: (-len(named[name] & asked), -len(named[name] & hinted), "id" in named[name])
    )
    best = (
        [name for name in ranked if named[name] & asked] or [name for name in ranked if named[name] & hinted] or ranked
    )
    found: list[int] = []
    for name in best[:_COLUMNS]:
        values = (cast("Mapping[str, Any]", row).get(name) if isinstance(row, dict) else None for row in rows)
        keyed = [(key, number) for number, one in enumerate(values) if (key := _key(one)) is not None]
        kind = type(keyed[0][0]) if keyed else float
        same = [one for one in keyed if isinstance(one[0], kind)]
        if same:
            found.append((max if high is not None else min)(same, key=lambda one: one[0])[1])  # pyright: ignore[reportArgumentType] - of one type
    return list(dict.fromkeys(found))


def _comparable(values: Sequence[Any]) -> bool:
    known = [one for one in values if one is not None and one != ""]
    return bool(known) and all(_key(one) is not None for one in known)


def _key(value: Any) -> float | str | None:
    match value:
        case bool():
            return None
        case int() | float():
            return float(value) if abs(value) < 1e300 else None
        case str() if _DATE.match(value):
            return value
        case str() if len(value) < 24 and value[:1] in "-0123456789.":
            try:
                return float(value)
            except ValueError:
                return None
        case list() | dict():
            return float(len(value))  # pyright: ignore[reportUnknownArgumentType] - JSON
        case _:
            return None
