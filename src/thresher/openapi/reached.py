"""The named schemas that a part of an operation reaches, and one of them small enough to be read.

Invariant: pure; the nearest come first, each once, whatever holds itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from thresher.openapi.description import Description
from thresher.openapi.records import Json
from thresher.openapi.references import reference_of
from thresher.openapi.shapes import mapped

_MOST: Final = 400
_VALUES: Final = 200_000
"""Values that are looked at for references."""
_LONGEST: Final = 160
"""Characters of a description inside of a schema."""
_LEFT_OUT: Final = frozenset(
    {"example", "examples", "xml", "externalDocs", "x-examples", "x-enum-varnames", "x-enum-descriptions", "title"}
)


def schemas_reached(description: Description, schemas: Iterable[Json]) -> tuple[str, ...]:
    """References to the named schemas that some schemas lead to, the nearest first."""
    found: dict[str, None] = {}
    level = [ref for schema in schemas for ref in references_in(schema)]
    while level and len(found) < _MOST:
        new = [ref for ref in dict.fromkeys(level) if ref not in found]
        found |= dict.fromkeys(new[: _MOST - len(found)])
        level = [inner for ref in new if len(found) < _MOST for inner in references_in(description.resolve(ref))]
    return tuple(ref for ref in found if description.resolve(ref))


def references_in(value: Json) -> Iterator[str]:
    """The references that a schema holds itself, level by level."""
    level: list[Json] = [value]
    left = _VALUES
    while level and left > 0:
        following: list[Json] = []
        for one in level:
            left -= 1
            if (ref := reference_of(one)) is not None:
                yield ref
            if isinstance(one, dict):
                following += [inner for key, inner in mapped(one).items() if key not in _LEFT_OUT]
            elif isinstance(one, list):
                following += cast("list[Json]", one)
        level = following


def brief_schema(schema: Json) -> Json:
    """A schema without examples, and with the beginnings of its descriptions."""
    if isinstance(schema, list):
        return [brief_schema(one) for one in cast("list[Json]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _short(value) if key == "description" else _inner(key, value)
        for key, value in mapped(schema).items()
        if key == "$ref" or not (key in _LEFT_OUT or key.startswith("x-"))
    }


def _inner(key: str, value: Json) -> Json:
    """The value of a keyword; names of properties are no keywords."""
    if key in {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}:
        return {name: brief_schema(one) for name, one in _entries(value).items()}
    return value if key in {"enum", "const", "default", "required"} else brief_schema(value)


def _entries(value: Json) -> Mapping[str, Json]:
    return mapped(value)


def _short(value: Json) -> Json:
    if not isinstance(value, str):
        return brief_schema(value)
    line = " ".join(value[: 4 * _LONGEST].split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
