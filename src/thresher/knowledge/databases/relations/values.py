"""Keys found by values alone, for columns whose names say nothing: all their values are values of one key.

Invariant: only values that do not meet by chance count: words, codes, uuids, numbers with wide gaps. The index is
bounded, and a column costs a look at a few of its values before any set is compared.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from thresher.connectors import Column, Profile, Profiles, Table
from thresher.knowledge.databases.relations.records import NameMatch, ParentKey

VALUES_ALONE: Final = 0.3
"""Worth of no name at all beside values that tell."""
_LEAST: Final = 8
"""Different values that a column must have."""
_PROBES: Final = 3
_MOST_VALUES: Final = 1_000_000
_ALL: Final = 0.995
_NUMBER: Final = re.compile(r"-?\d{1,40}")
_WIDE: Final = 2
_LARGE: Final = 1_000
_MOST_KEYS: Final = 4


def telling(values: frozenset[str]) -> bool:
    """Whether values are such that others do not meet them by chance: not the numbers from one upwards, not years."""
    numbers = [int(value) for value in values if _NUMBER.fullmatch(value)]
    if len(numbers) < len(values):
        return True
    low, high = min(numbers, default=0), max(numbers, default=0)
    return high - low + 1 >= _WIDE * len(numbers) and high >= _LARGE * _WIDE


class ValueIndex:
    """The keys of a schema by their values.

    Args:
        keys: All keys.
        tables: The schema.
        profiles: Samples.
    """

    def __init__(self, keys: Sequence[ParentKey], tables: Sequence[Table], profiles: Profiles) -> None:
        self._values: dict[int, frozenset[str]] = {}
        self._keys: dict[str, list[int]] = defaultdict(list)
        room = _MOST_VALUES
        for number, key in enumerate(keys):
            table = tables[key.table]
            profile = profiles.columns.get((table.schema, table.name, key.column.name))
            values = _whole(profile)
            if len(values) >= _LEAST and len(values) <= room and telling(values):
                room -= len(values)
                self._values[number] = values
                for value in values:
                    self._keys[value].append(number)

    def matches(self, column: Column, profile: Profile | None, *, called_like_a_key: bool) -> Iterator[NameMatch]:
        """Keys that hold all values of a column.

        Args:
            column: The column.
            profile: Its sample.
            called_like_a_key: Whether its name has a key word; numbers are compared only then.
        """
        values = profile.values if profile is not None else None
        if not values or len(values) < _LEAST or (column.family not in ("text", "uuid") and not called_like_a_key):
            return
        if not telling(values):
            return
        for number in self._holding(values)[:_MOST_KEYS]:
            yield NameMatch(number, VALUES_ALONE, "the names have nothing in common")

    def _holding(self, values: frozenset[str]) -> list[int]:
        seen = Counter(number for value in sorted(values)[:_PROBES] for number in self._keys.get(value, ()))
        least = _ALL * len(values)
        candidates = sorted(number for number, count in seen.items() if count == _PROBES)
        return [number for number in candidates if len(values & self._values[number]) >= least]


def _whole(profile: Profile | None) -> frozenset[str]:
    """All values of a key, where they are known."""
    if profile is None or not profile.complete or profile.values is None:
        return frozenset()
    return profile.values
