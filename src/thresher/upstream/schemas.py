"""Finds what makes an input schema unusable, before a model's provider refuses a whole request for its sake.

Invariant: pure; time grows with the size of the schema, and nesting is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = ("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties")
_DEPTH = 64


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Why a tool's input schema is no JSON Schema of an object; empty when nothing is wrong with its structure."""
    kind: Any = schema.get("type", "object")
    if kind not in ("object", ["object"]):
        return f"inputSchema: its type is {str(kind)[:40]!r} and not 'object'"
    return next(_problems(schema, "inputSchema", 0), "")


def _problems(schema: Any, where: str, depth: int) -> Iterator[str]:
    if depth > _DEPTH:
        yield f"{where}: it is nested too deeply"
        return
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where}: it is no schema"
        return
    found = cast("Mapping[str, Any]", schema)
    yield from _keywords(found, where)
    for name, part in _parts(found):
        yield from _problems(part, f"{where}.{name}", depth + 1)


def _keywords(schema: Mapping[str, Any], where: str) -> Iterator[str]:
    kinds: object = schema.get("type", [])
    for kind in cast("list[object]", kinds) if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in _TYPES:
            yield f"{where}.type: {str(kind)[:40]!r} is no type"
    required: object = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in cast("list[object]", required)):
        yield f"{where}.required: it is no list of names"
    if not isinstance(schema.get("enum", []), list):
        yield f"{where}.enum: it is no list"
    for name in _MAPS:
        if not isinstance(schema.get(name, {}), Mapping):
            yield f"{where}.{name}: it is no object"
    for name in _LISTS:
        if not isinstance(schema.get(name, []), list):
            yield f"{where}.{name}: it is no list"


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _MAPS:
        for key, part in _entries(schema.get(name)):
            # In old drafts a dependency was a list of names.
            yield f"{name}.{key}", part
    for name in _LISTS:
        value: object = schema.get(name)
        if isinstance(value, list):
            yield from ((f"{name}.{at}", part) for at, part in enumerate(cast("list[Any]", value)))
    for name in _SINGLE:
        if name in schema:
            yield name, schema[name]
    items: object = schema.get("items", True)
    # A list of schemas was allowed up to draft 2019-09.
    several = cast("list[Any]", items) if isinstance(items, list) else [items]
    yield from (("items", part) for part in several)


def _entries(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), part) for key, part in cast("Mapping[Any, Any]", value).items())
