"""The shape of data: what types stand where, as a JSON Schema without any value.

Invariant: pure and bounded; field names are kept only where they look like names that a program gave, for keys can be
data, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, cast

from thresher.core import JSON

_DEPTH = 6
_FIELDS = 40
"""An object with more keys is a map."""
_ITEMS = 20
"""Elements of a list that are looked at."""
_FIELD: Final = re.compile(r"[A-Za-z_$@][A-Za-z_$@-]*\d{0,3}[A-Za-z_-]*")
_FIELD_CHARACTERS = 40

ANYTHING: Final[JSON] = {}
"""The schema of what is not known."""


def shape_of(value: object, depth: int = 0) -> JSON:
    """The shape of a JSON value."""
    match value:
        case None:
            return {"type": "null"}
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case _ if depth == _DEPTH:
            return ANYTHING
        case Mapping():
            given = cast("Mapping[str, object]", value)
            shapes = {key: shape_of(one, depth + 1) for key, one in list(given.items())[: 4 * _FIELDS]}
            if len(given) <= _FIELDS and all(map(_is_field, given)):
                return {"type": "object", "properties": shapes, "required": sorted(shapes)}
            return {"type": "object", "additionalProperties": _together(list(shapes.values()))}
        case Sequence():
            items = [shape_of(one, depth + 1) for one in cast("Sequence[object]", value)[:_ITEMS]]
            return {"type": "array", "items": _together(items)} if items else {"type": "array"}
        case _:
            return ANYTHING


def merged(first: JSON, second: JSON) -> JSON:
    """The shape of what has either shape; what only one of two objects has is not required."""
    if first == second or not second:
        return first
    if not first:
        return second
    one, other = first.get("type"), second.get("type")
    if {one, other} == {"integer", "number"}:
        return {"type": "number"}
    if one == other == "array":
        items = merged(first.get("items") or {}, second.get("items") or {})
        return {"type": "array", "items": items} if items else {"type": "array"}
    if one == other == "object":
        return _merged_objects(first, second)
    branches = {str(branch.get("type")): branch for branch in (*_branches(first), *_branches(second))}
    for branch in (*_branches(first), *_branches(second)):
        kind = str(branch.get("type"))
        branches[kind] = merged(branches[kind], branch)
    several = [branches[kind] for kind in sorted(branches)]
    return {"anyOf": several} if len(several) > 1 else several[0]


def _merged_objects(first: JSON, second: JSON) -> JSON:
    if "properties" in first and "properties" in second:
        own, others = first["properties"], second["properties"]
        names = [*own, *(name for name in others if name not in own)]
        if len(names) <= _FIELDS:
            fields = {name: merged(own.get(name, ANYTHING), others.get(name, ANYTHING)) for name in names}
            required = sorted({*first["required"]} & {*second["required"]})
            return {"type": "object", "properties": fields, "required": required}
    values = [
        one
        for shape in (first, second)
        for one in (shape["properties"].values() if "properties" in shape else (shape["additionalProperties"],))
    ]
    return {"type": "object", "additionalProperties": _together(values)}


def _together(shapes: Sequence[JSON]) -> JSON:
    return reduce(merged, shapes, ANYTHING)


def _branches(shape: JSON) -> Sequence[JSON]:
    return cast("Sequence[JSON]", shape.get("anyOf") or [shape])


def _is_field(key: object) -> bool:
    return isinstance(key, str) and len(key) <= _FIELD_CHARACTERS and _FIELD.fullmatch(key) is not None
