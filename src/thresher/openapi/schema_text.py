"""Schemas as short lines for a reader: a type, what bounds it, and of an object its properties.

Invariant: pure; a line of a schema is one line, whatever other people wrote into it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, cast

from thresher.core import one_line
from thresher.openapi.description import Description
from thresher.openapi.records import Json
from thresher.openapi.references import reference_of
from thresher.openapi.shapes import Shape, listed, mapped, name_of, shape_of

_VALUES: Final = 12
"""Values of an enumeration that are named."""
_NAME: Final = 80
_SAID: Final = 120
_DEEP: Final = 3
"""Levels of types inside of a type."""
_BOUNDS: Final = (
    ("minLength", "min length"),
    ("maxLength", "max length"),
    ("minimum", "min"),
    ("maximum", "max"),
    ("minItems", "min items"),
    ("maxItems", "max items"),
    ("pattern", "pattern"),
    ("default", "default"),
)


def type_of(description: Description, schema: Json, *, level: int = 0) -> str:
    """A schema in a few words, such as `array of Pet`, `string (date-time)` or `one of "a", "b"`."""
    shape = shape_of(description, schema)
    if (ref := reference_of(schema)) is not None and not _is_simple(shape):
        return one_line(name_of(ref), _NAME)
    if "const" in shape.keywords:
        return _value(shape.keywords["const"])
    if values := listed(shape.keywords.get("enum")):
        return _enumeration(values)
    if shape.groups and level < _DEEP:
        return _alternatives(description, shape, level)
    return _plain(description, shape, level)


def _is_simple(shape: Shape) -> bool:
    """Whether a schema says no more than fits into a few words."""
    return not shape.groups and shape.type in {"string", "integer", "number", "boolean"}


def is_simple(description: Description, schema: Json) -> bool:
    """Whether `type_of` says all there is to say of a schema, so that it needs no lines of its own."""
    return _is_simple(shape_of(description, schema))


def _plain(description: Description, shape: Shape, level: int) -> str:
    kind = shape.type
    if kind == "array":
        items = shape.keywords.get("items", {})
        return f"array of {type_of(description, items, level=level + 1) if level < _DEEP else 'any'}"
    if kind == "object":
        named = next(iter(shape.refs), "")
        free = shape.keywords.get("additionalProperties")
        if not shape.properties and isinstance(free, dict) and level < _DEEP:
            return f"map of {type_of(description, free, level=level + 1)}"
        return one_line(name_of(named), _NAME) if named else "object"
    form = shape.keywords.get("format")
    return f"{one_line(kind, _NAME) or 'any'} ({one_line(form, _NAME)})" if isinstance(form, str) else kind or "any"


def _alternatives(description: Description, shape: Shape, level: int) -> str:
    branches = [branch for group in shape.groups for branch in group.branches]
    named = dict.fromkeys(type_of(description, branch, level=level + 1) for branch in branches[: 2 * _VALUES])
    shown = list(named)[:_VALUES]
    return " or ".join(shown) + (f" or {len(named) - _VALUES} more" if len(named) > _VALUES else "")


def _enumeration(values: list[Json]) -> str:
    more = f" and {len(values) - _VALUES} more" if len(values) > _VALUES else ""
    return f"one of {', '.join(_value(one) for one in values[:_VALUES])}{more}"


def bounds_of(description: Description, schema: Json) -> str:
    """What bounds a schema besides its type, such as `max 100, default 50`; empty without."""
    shape = shape_of(description, schema)
    found = [
        f"{words} {_value(shape.keywords[key])}"
        for key, words in _BOUNDS
        if isinstance(shape.keywords.get(key), (str, int, float)) and shape.keywords[key] != ""
    ]
    flags = [words for key, words in _FLAGS if shape.keywords.get(key) is True]
    return ", ".join([*found, *flags])


_FLAGS: Final = (
    ("readOnly", "read only"),
    ("writeOnly", "write only"),
    ("deprecated", "deprecated"),
    ("nullable", "or null"),
)


def lines_of(description: Description, schema: Json) -> Iterator[str]:
    """A schema in lines: what it is, then one line a property."""
    shape = shape_of(description, schema)
    if not shape.properties:
        said = _said(shape.keywords.get("description"))
        yield f"{type_of(description, schema)}{_bracketed(bounds_of(description, schema))}{said}"
        return
    for name, inner in shape.properties.items():
        must = "*" if name in shape.required else ""
        said = _said(_description_of(description, inner))
        bounds = _bracketed(bounds_of(description, inner))
        yield f"{one_line(name, _NAME)}{must}: {type_of(description, inner)}{bounds}{said}"
    for group in shape.groups:
        yield f"and one of: {_alternatives(description, Shape(groups=[group]), 0)}"


def _description_of(description: Description, schema: Json) -> Json:
    """What is said of a property where it stands; what its schema says of itself stands with that."""
    own = mapped(schema).get("description")
    if own is not None or reference_of(schema) is not None:
        return own
    return shape_of(description, schema).keywords.get("description")


def _bracketed(text: str) -> str:
    return f" [{text}]" if text else ""


def _said(text: Json) -> str:
    line = one_line(text, _SAID) if isinstance(text, str) else ""
    return f" - {line}" if line else ""


def _value(value: Json) -> str:
    return one_line(json.dumps(cast("object", value), default=str, ensure_ascii=False), _NAME)
