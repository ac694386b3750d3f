"""What it costs to check a value against a schema, told before it is checked.

A schema may name another one twice, and that one the next: sixty short schemas then ask for more looks than anybody has
time for, and a checker cannot be stopped. So the looks are counted first, each pair of schema and value once.

Invariant: pure; counting takes no more steps than there are such pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast

from thresher.openapi.records import Json

MOST: Final = 1_000_000
"""Looks at a value; a checker makes so many in a tenth of a second."""
_PAIRS: Final = 100_000
"""Pairs that are counted; where there are more, counting would itself take too long."""
_SEVERAL: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SAME: Final = ("not", "if", "then", "else")
_EACH: Final = ("additionalProperties", "items", "contains", "unevaluatedProperties", "unevaluatedItems")
_TWICE: Final = frozenset({"unevaluatedProperties", "unevaluatedItems"})
"""Keywords for which all that stands beside them is looked at once more."""
_HOLDS: Final = frozenset(
    {"$ref", "properties", "patternProperties", "dependentSchemas", "propertyNames", *_SEVERAL, *_SAME, *_EACH}
)
"""Keywords that hold schemas."""

Pair: TypeAlias = tuple[Json, Json]


class Costs:
    """Counts the looks that checking takes.

    Args:
        schema: JSON Schema whose references are `#/$defs/NAME`.
    """

    def __init__(self, schema: Json) -> None:
        self._schema = schema
        self._named = _entries(_entries(schema).get("$defs"))

    def of(self, value: Json) -> int:
        """Looks that checking a value takes; more than `MOST` where nobody should wait for it."""
        try:
            return _Count(self._named).of(self._schema, value)
        except RecursionError:
            return MOST + 1


class _Count:
    def __init__(self, named: Mapping[str, Json]) -> None:
        self._named = named
        self._known: dict[tuple[int, int], int] = {}

    def of(self, schema: Json, value: Json) -> int:
        """Looks at a value for one schema; more than `MOST` where it asks for itself, or where there are too many."""
        key = (id(schema), id(value))
        if key in self._known:
            return self._known[key]
        if len(self._known) > _PAIRS:
            return MOST + 1
        self._known[key] = MOST + 1
        looks = _own(schema, value)
        for inner, part in self._below(_entries(schema), value):
            looks += _own(inner, part) if _HOLDS.isdisjoint(_entries(inner)) else self.of(inner, part)
            if looks > MOST:
                return looks
        self._known[key] = looks = 2 * looks if _TWICE & _entries(schema).keys() else looks
        return looks

    def _below(self, fields: Mapping[str, Json], value: Json) -> Iterator[Pair]:
        """The schemas that a schema holds, each with the part of the value that it is held against."""
        ref = fields.get("$ref")
        if isinstance(ref, str):
            yield self._named.get(ref.rpartition("/")[2]), value
        for keyword in _SEVERAL:
            branches = _listed(fields.get(keyword))
            parts = _listed(value) if keyword == "prefixItems" else [value] * len(branches)
            yield from zip(branches, parts, strict=False)
        yield from ((fields[keyword], value) for keyword in _SAME if keyword in fields)
        yield from ((inner, value) for inner in _entries(fields.get("dependentSchemas")).values())
        yield from _named_parts(fields, value)
        within = _listed(value) or list(_entries(value).values())
        yield from ((fields[keyword], part) for keyword in _EACH if keyword in fields for part in within)
        if "propertyNames" in fields:
            yield from ((fields["propertyNames"], name) for name in _entries(value))


def _named_parts(fields: Mapping[str, Json], value: Json) -> Iterator[Pair]:
    """The properties that a value has, each with its schemas."""
    properties, patterns = _entries(fields.get("properties")), _entries(fields.get("patternProperties"))
    for name, part in _entries(value).items():
        if name in properties:
            yield properties[name], part
        yield from ((inner, part) for inner in patterns.values())


def _own(schema: Json, value: Json) -> int:
    """Looks for what a schema says itself: one, more for each name or value that it lists or that must differ."""
    fields = _entries(schema)
    looks = 1 + len(_listed(fields.get("required"))) if "required" in fields else 1
    if "enum" in fields:
        looks += len(_listed(fields["enum"])) // 8
    if "uniqueItems" in fields:
        looks += len(_listed(value))
    return looks


def _entries(value: Json) -> Mapping[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _listed(value: Json) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []
