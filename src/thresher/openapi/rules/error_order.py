"""Chooses the errors of an example to report: those that a validator which stops at the first error would find.

Spectral validates with Ajv and prints with better-ajv-errors. The order of keywords below, and which errors of
alternatives are dropped, decide at which place an example is reported as invalid, so both follow them. Without any
one of these steps the reported places differ from Spectral's (decision 0024).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import jsonschema_rs

from thresher.openapi.records import Json
from thresher.openapi.rules.example_schemas import NAMED, defined

Error = jsonschema_rs.ValidationError
Kind = jsonschema_rs.ValidationErrorKind

_GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("", ("const", "enum", "not", "anyOf", "oneOf", "allOf", "if", "then", "else")),
    ("number", ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "format")),
    ("string", ("maxLength", "minLength", "pattern", "format")),
    (
        "array",
        (
            "maxItems", "minItems", "prefixItems", "additionalItems", "items", "contains", "uniqueItems",
            "maxContains", "minContains", "unevaluatedItems",
        ),
    ),
    (
        "object",
        (
            "maxProperties", "minProperties", "required", "propertyNames", "additionalProperties", "properties",
            "patternProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
        ),
    ),
)  # fmt: skip
_RANKS: Final[Mapping[str, int]] = {
    keyword: 100 * group + place
    for group, (_, keywords) in reversed(list(enumerate(_GROUPS, 1)))
    for place, keyword in enumerate(keywords, 1)
}
_OF_TYPE: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    kind: (100 * group, keywords) for group, (kind, keywords) in enumerate(_GROUPS, 1) if kind
}
TOLD: Final = 1_000
"""Most errors of one example that are ordered."""
_PARTS: Final = re.compile(r"/[\w$_-]+(?:/\d+)?", re.A)


def reported_errors(schema: Mapping[str, Any], value: Json, errors: Sequence[Error]) -> list[Error]:
    """Return the errors to report for a value: the first one found, with those of its alternatives."""
    return _filtered(_met(schema, value, errors, [TOLD]))


def _met(schema: Mapping[str, Any], value: Json, errors: Sequence[Error], left: list[int]) -> list[Error]:
    """Return the first error, after those of its alternatives; `left` counts down the errors still to visit."""
    left[0] -= len(errors)
    first = min(errors, key=lambda error: _rank(schema, value, error))
    kind = first.kind
    branches: Sequence[Sequence[Error]] = ()
    if left[0] <= 0:
        return [first]
    if isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid):
        branches = kind.context
    elif isinstance(kind, Kind.OneOfMultipleValid):
        branches = _until_second(kind.context)
    found = [each for branch in branches if branch for each in _met(schema, value, branch, left)]
    return [*found, first]


def _until_second(branches: Sequence[Sequence[Error]]) -> list[Sequence[Error]]:
    """Return the branches up to the second valid one, where a validator stops."""
    kept: list[Sequence[Error]] = []
    fits = 0
    for branch in branches:
        fits += not branch
        if fits == 2:
            break
        kept.append(branch)
    return kept


def _rank(schema: Mapping[str, Any], value: Json, error: Error) -> tuple[int, ...]:
    """Return the sort key of an error: the ranks of the keywords on its path, and the positions within their values."""
    ranks: list[int] = []
    here: Any = schema
    seen = iter(error.instance_path)
    steps = iter(error.evaluation_path)
    for step in steps:
        if not isinstance(here, dict):
            break
        fields = cast("dict[str, Any]", here)
        keyword = str(step)
        if keyword == "$ref":
            here = defined(schema, fields["$ref"])
            continue
        ranks.append(_keyword(fields, keyword))
        here, more, value = _below(fields, keyword, steps, seen, value)
        ranks += more
    return tuple(ranks)


def _below(
    fields: Mapping[str, Any], keyword: str, steps: Iterator[str | int], seen: Iterator[str | int], value: Json
) -> tuple[Any, list[int], Json]:
    """Return the schema under a keyword on an error's path, the positions that rank it, and its value."""
    held: Any = fields.get(keyword)
    if keyword in NAMED and isinstance(held, dict):
        schemas = cast("dict[str, Any]", held)
        name = next(steps, None)
        if name not in schemas:
            return None, [], value
        place = list(schemas).index(str(name))
        if keyword == "dependentSchemas":
            return schemas[str(name)], [place], value
        inner, there = _step(value, next(seen, None))
        return schemas[str(name)], [place, there], inner
    if isinstance(held, list) and keyword in {"allOf", "anyOf", "oneOf", "prefixItems", "items"}:
        places = cast("list[Any]", held)
        place = next(steps, None)
        if not isinstance(place, int) or place >= len(places):
            return None, [], value
        if keyword in {"prefixItems", "items"}:
            value, _ = _step(value, next(seen, None))
        return places[place], [place], value
    if isinstance(held, dict) and keyword in {
        "items",
        "additionalItems",
        "additionalProperties",
        "unevaluatedItems",
        "unevaluatedProperties",
    }:
        inner, there = _step(value, next(seen, None))
        return cast("Any", held), [there], inner
    return cast("Any", held), [], value


def _step(value: Json, key: str | int | None) -> tuple[Json, int]:
    """Return the value under a key and its position among its siblings."""
    if isinstance(value, list) and isinstance(key, int):
        items = cast("list[Json]", value)
        return (items[key] if key < len(items) else None), key
    if isinstance(value, dict) and key in value:
        entries = cast("dict[str, Json]", value)
        return entries[str(key)], list(entries).index(str(key))
    return None, 0


def _keyword(fields: Mapping[str, Any], keyword: str) -> int:
    """Return the rank of a keyword; `type` comes first, or right before the keywords of its type if there are any."""
    if keyword != "type":
        return _RANKS.get(keyword, 9_000)
    said = fields.get("type")
    types = cast("list[Any]", said) if isinstance(said, list) else [said]
    if len(types) != 1 or types[0] not in _OF_TYPE:
        return 0
    group, keywords = _OF_TYPE[str(types[0])]
    return group if any(each in fields for each in keywords) else 0


@dataclass(slots=True)
class _ErrorLevel:
    """The errors at one place of the value, and the places below it."""

    errors: list[Error] | None = field(default_factory=list[Error])
    below: dict[str, _ErrorLevel] = field(default_factory=dict[str, "_ErrorLevel"])


def _filtered(errors: Sequence[Error]) -> list[Error]:
    """Drop the least specific errors, as better-ajv-errors does."""
    root = _ErrorLevel(errors=None)
    for error in errors:
        level = root
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in error.instance_path)
        parts = _PARTS.findall(pointer) if pointer else [""]
        for part in parts:
            level = level.below.setdefault(part, _ErrorLevel())
        if parts:
            cast("list[Error]", level.errors).append(error)
    _filter(root, None, "")
    return list(_left(root))


def _filter(level: _ErrorLevel, above: _ErrorLevel | None, key: str) -> None:
    if level.errors and level.below and any(isinstance(error.kind, Kind.AnyOf) for error in level.errors):
        level.errors = None
    if (
        level.errors
        and all(isinstance(error.kind, Kind.Enum) for error in level.errors)
        and above
        and len(above.below) > 1
    ):
        del above.below[key]
    for name, below in list(level.below.items()):
        _filter(below, level, name)


def _left(level: _ErrorLevel) -> Iterator[Error]:
    errors = level.errors or []
    if errors and all(isinstance(error.kind, Kind.Enum) for error in errors):
        yield errors[0]
        return
    for below in level.below.values():
        yield from _left(below)
    yield from errors
