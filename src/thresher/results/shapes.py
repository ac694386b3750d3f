"""What a JSON value consists of, in a line: types, counts, ranges, the values of fields that have few, examples.

Invariant: pure; a count or a range is that of all elements, or says that it is of a sample.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from thresher.embedding import count_tokens
from thresher.results.json_parts import write_json
from thresher.search import query_terms

_DEPTHS: Final = (1, 2, 3, 4, 5, 6, 7, 8)
_FIELDS: Final = (24, 12, 6, 4)
_CELLS: Final = 60_000
"""Values that are looked at for one shape; of more, a sample is."""
_KINDS: Final = 6
"""Most different values of a field that are all named, with their counts."""
_NAMED: Final = 300
"""Most different values of a field of which the commonest, and those that a question names, are counted."""
_SUMS: Final = frozenset({"sum", "total", "averag", "mean", "overal", "altogeth"})
_EXAMPLE: Final = 32
_OBJECTS: Final = 25_000
_LOOKED_AT: Final = 300
"""Most objects whose values are counted, and whose names of members are."""
_MAP: Final = 16


def shape_of(value: Any, most: int, question: str = "") -> str:
    """The shape of a value within some tokens: the deepest that fits, with as many fields as fit.

    Args:
        value: The value.
        most: Most tokens.
        question: Values that it names are counted, though their field has many; sums, if it asks for some.
    """
    asked = frozenset(query_terms(question))
    best, known = "", dict[tuple[str, ...], str]()
    for fields in _FIELDS:
        reached, line = 0, ""
        for depth in _DEPTHS:
            try:
                deeper = _Shape(fields, 5 * most, asked, known).of(value, depth)
            except _TooLongError:
                break
            if count_tokens(deeper) > most:
                break
            if deeper == line:
                return line
            reached, line = depth, deeper
        best = line if reached > 1 else best or line
        if reached > 1:
            return best
    return best or _Shape(2, 10 * most, asked, known).of(value, 0)


class _TooLongError(Exception):
    """A shape has more characters than any that fits."""


def constants(values: Sequence[Any]) -> dict[str, Any]:
    """The members that all elements of a list have with the same short value."""
    if len(values) < 3 or not all(isinstance(one, dict) for one in values):
        return {}
    first: Mapping[str, Any] = values[0]
    same = {key: one for key, one in first.items() if not isinstance(one, dict | list) and len(str(one)) <= 80}
    for other in values[1:]:
        same = {key: one for key, one in same.items() if key in other and _equal(other[key], one)}
        if not same:
            break
    return same


def _equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right


class _Shape:
    def __init__(self, fields: int, longest: int, asked: frozenset[str], known: dict[tuple[str, ...], str]) -> None:
        self._known = known  # what scalars have in common, by their place, which every depth needs again
        self._place: list[str] = []
        self._asked = asked
        self._fields = fields
        self._longest = longest
        self._cells = _CELLS

    def of(self, value: Any, depth: int) -> str:
        match value:
            case dict() if not value:
                return "{}"
            case dict():
                return self._object([cast("dict[str, Any]", value)], depth)
            case list():
                return self._list([cast("list[Any]", value)], depth)
            case _:
                return _scalar(value)

    def _list(self, lists: Sequence[Sequence[Any]], depth: int) -> str:
        lengths = [len(one) for one in lists]
        count = f"{lengths[0]}" if len(lists) == 1 else f"{min(lengths)}-{max(lengths)}"
        items = lists[0] if len(lists) == 1 else [item for one in lists for item in one]
        if not items or depth <= 0:
            return f"[{count}]"
        return f"[{count} x {self._values(items, depth - 1)}]"

    def _object(self, objects: Sequence[Mapping[str, Any]], depth: int) -> str:
        if depth <= 0:
            return f"{{{max(map(len, objects))} members}}"
        if len(objects) > _OBJECTS:
            objects = objects[:: len(objects) // _OBJECTS + 1]
        keys = list(dict.fromkeys(key for one in objects[:_LOOKED_AT] for key in one))
        if len(keys) >= _MAP and _is_map(objects):
            named = ", ".join(write_json(_cut(key)) for key in keys[: max(self._fields // 4, 2)])
            members = [member for one in objects[:50] for member in one.values()]
            return f"{{{len(keys)} members: {named}, … each {self._values(members, depth - 1)}}}"
        shown = keys[: self._fields]
        fields: list[str] = []
        room = self._longest
        for key in shown:
            values = [one[key] for one in objects if key in one]
            some = "" if len(values) == len(objects) else f" (in {len(values)})"
            self._place.append(key)
            fields.append(f"{_cut(key)}: {self._values(values, depth - 1)}{some}")
            self._place.pop()
            room -= len(fields[-1])
            if room < 0:
                raise _TooLongError
        more = f", +{len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
        return f"{{{', '.join(fields)}{more}}}"

    def _values(self, values: Sequence[Any], depth: int) -> str:
        """What several values of one place have in common."""
        if len(values) == 1:
            return self.of(values[0], depth)
        sampled = ""
        if len(values) > self._cells:
            sampled, values = "about ", values[:: len(values) // max(self._cells, 200) + 1]
        self._cells -= len(values)
        kinds = Counter[type[Any]](map(type, values))
        if len(kinds) > 1 and set(kinds) - {int, float, type(None)}:
            named = {kind: [one for one in values if type(one) is kind][:200] for kind in kinds}
            return " | ".join(
                f"{self._values(some, depth) if len(some) > 1 else self.of(some[0], depth)}" for some in named.values()
            )
        first = values[0] if values[0] is not None else next((one for one in values if one is not None), None)
        if isinstance(first, dict):
            return self._object([one for one in values if one is not None], depth)
        if isinstance(first, list):
            return self._list([one for one in values if one is not None], depth)
        place = tuple(self._place)
        if place not in self._known:
            self._known[place] = _scalars(values, self._asked)
        return sampled + self._known[place]


def _is_map(objects: Sequence[Mapping[str, Any]]) -> bool:
    """Whether members are elements: they are all objects, or lists, or the keys of several objects differ."""
    first = list(objects[0].values())[:20]
    alike = all(type(one) is type(first[0]) for one in first)
    return alike and (isinstance(first[0], dict | list) or len(first) >= _MAP)


def _scalars(values: Sequence[Any], asked: frozenset[str]) -> str:
    counts = Counter(values)
    known = [one for one in values if one is not None]
    if len(counts) == 1:
        return f"{_scalar(values[0])} in all"
    few = len(counts) <= _KINDS and len(values) > len(counts) + 1
    if few and all(len(str(one)) <= _EXAMPLE for one in counts):
        return " | ".join(f"{write_json(one)} x{count}" for one, count in counts.most_common())
    if isinstance(known[0], int | float):
        total = f", sum {math.fsum(known):.10g}, mean {math.fsum(known) / len(known):.6g}" if asked & _SUMS else ""
        return f"{min(known)} … {max(known)}{total}"
    if len(counts) <= _NAMED and len(values) > 2 * len(counts):
        first = counts.most_common(3)
        meant = [(one, count) for one, count in counts.items() if one and _is_named(str(one), asked)]
        shown = dict([*meant[:_KINDS], *first])
        each = " | ".join(f"{_scalar(one)} x{count}" for one, count in shown.items())
        return f"{each} | … {len(counts)} values"
    short = [one for one in known if len(one) <= _EXAMPLE]
    return f"str {write_json(short[0] if short else _cut(known[0]))}"


def _is_named(value: str, asked: frozenset[str]) -> bool:
    low = value.lower()
    return any(stem in low for stem in asked)


def _scalar(value: Any) -> str:
    return write_json(_cut(value)) if isinstance(value, str) else write_json(value)


def _cut(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]}…"
