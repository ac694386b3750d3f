"""Evidence from sampled values: whether one column's values are all values of another, and keys found by values alone.

Only distinctive values identify a key: words, codes, UUIDs, numbers with wide gaps.

Invariant: pure; an incomplete sample proves nothing about missing values. The index is bounded, and a few values of a
column are probed before sets are compared.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from thresher.connectors import Column, Profile, Profiles, Table
from thresher.knowledge.databases.models import Evidence
from thresher.knowledge.databases.relations.records import NameMatch, ParentKey

COVERED = 0.6
COVERED_TELLING = 1.4
"""For distinctive values, which do not match by chance as small whole numbers do."""
NEARLY = -0.2
PARTLY = -1.8
HARDLY = -4.5
MOST = COVERED_TELLING
OUT_OF_RANGE = -4.5
OUT_OF_SAMPLE = -0.8
IN_RANGE = 0.2
TOO_MANY = -3.0
_NEARLY = 0.9
_PARTLY = 0.5
_ENOUGH = 3
_TELLING = 8


def judge_values(child: Profile, parent: Profile, *, whole: bool) -> Iterator[Evidence]:
    """Evidence from sampled values.

    Args:
        child: The sample of the column.
        parent: The sample of the key.
        whole: Whether the sample holds all rows of the key's table.
    """
    if child.distinct == 0 or child.count == (child.nulls or 0):
        return
    if child.values and parent.values is not None and parent.complete:
        yield _coverage(child.values, parent.values)
    else:
        yield from _range(child, parent, whole=whole)
    if parent.complete and parent.distinct is not None and (child.distinct or 0) > parent.distinct:
        text = f"{child.distinct} different values, the key has {parent.distinct}"
        yield Evidence("cardinality", text, TOO_MANY)


def _coverage(child: frozenset[str], parent: frozenset[str]) -> Evidence:
    share = len(child & parent) / len(child)
    text = f"{share:.0%} of {len(child):,} different values are values of the key"
    if share >= _ALL:
        return Evidence("coverage", text, _covered(child, parent))
    return Evidence("coverage", text, NEARLY if share >= _NEARLY else PARTLY if share >= _PARTLY else HARDLY)


def _covered(child: frozenset[str], parent: frozenset[str]) -> float:
    """The weight of full coverage: few values prove little, and small whole numbers occur in every key."""
    amount = min(1.0, len(child) / _TELLING)
    if not distinctive(child):
        spread = min(1.0, len(child) / max(1, len(parent)) + 0.3)
        return round(COVERED * max(amount, 0.4) * spread, 2)
    return round(COVERED_TELLING * max(amount, 0.5 if len(child) >= _ENOUGH else 0.3), 2)


def _range(child: Profile, parent: Profile, *, whole: bool) -> Iterator[Evidence]:
    bounds = [_number(value) for value in (child.low, child.high, parent.low, parent.high)]
    low, high, least, most = bounds
    if low is None or high is None or least is None or most is None:
        return
    if low < least or high > most:
        text = f"values from {low} to {high}, the key's from {least} to {most}"
        yield Evidence("range", text, OUT_OF_RANGE if whole else OUT_OF_SAMPLE)
    else:
        yield Evidence("range", f"values from {low} to {high} lie within the key's", IN_RANGE)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


VALUES_ALONE: Final = 0.3
"""The weight of a match by values alone."""
_LEAST: Final = 8
"""Minimum distinct values of a column."""
_PROBES: Final = 3
_MOST_VALUES: Final = 1_000_000
_ALL: Final = 0.995
_NUMBER: Final = re.compile(r"-?\d{1,40}")
_WIDE: Final = 2
_LARGE: Final = 1_000
_MOST_KEYS: Final = 4


def distinctive(values: frozenset[str]) -> bool:
    """Whether values are unlikely to match by chance, unlike consecutive numbers from one or years."""
    numbers = [int(value) for value in values if _NUMBER.fullmatch(value)]
    if len(numbers) < len(values):
        return True
    low, high = min(numbers, default=0), max(numbers, default=0)
    return high - low + 1 >= _WIDE * len(numbers) and high >= _LARGE * _WIDE


class ValueIndex:
    """The keys of a schema by their values.

    Args:
        keys: All keys.
        tables: The tables of the schema.
        profiles: Samples of the columns.
    """

    def __init__(self, keys: Sequence[ParentKey], tables: Sequence[Table], profiles: Profiles) -> None:
        self._values: dict[int, frozenset[str]] = {}
        self._keys: dict[str, list[int]] = defaultdict(list)
        room = _MOST_VALUES
        for number, key in enumerate(keys):
            table = tables[key.table]
            profile = profiles.columns.get((table.schema, table.name, key.column.name))
            values = _whole(profile)
            if len(values) >= _LEAST and len(values) <= room and distinctive(values):
                room -= len(values)
                self._values[number] = values
                for value in values:
                    self._keys[value].append(number)

    def matches(self, column: Column, profile: Profile | None, *, called_like_a_key: bool) -> Iterator[NameMatch]:
        """Keys that contain all values of a column.

        Args:
            column: The column.
            profile: Its sample.
            called_like_a_key: Whether its name has a key word; numbers are only compared if it has.
        """
        values = profile.values if profile is not None else None
        if not values or len(values) < _LEAST or (column.family not in ("text", "uuid") and not called_like_a_key):
            return
        if not distinctive(values):
            return
        for number in self._holding(values)[:_MOST_KEYS]:
            yield NameMatch(number, VALUES_ALONE, "the names have nothing in common")

    def _holding(self, values: frozenset[str]) -> list[int]:
        seen = Counter(number for value in sorted(values)[:_PROBES] for number in self._keys.get(value, ()))
        least = _ALL * len(values)
        candidates = sorted(number for number, count in seen.items() if count == _PROBES)
        return [number for number in candidates if len(values & self._values[number]) >= least]


def _whole(profile: Profile | None) -> frozenset[str]:
    """All values of a key; empty if they are not known."""
    if profile is None or not profile.complete or profile.values is None:
        return frozenset()
    return profile.values
