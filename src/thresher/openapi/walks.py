"""Goes over a document's mappings, but not into what is free to be anything: examples, defaults, extensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, cast

from thresher.openapi.pointers import join
from thresher.openapi.records import Json

_FREE: Final = frozenset({"example", "default", "enum", "const"})
_NAMING: Final = frozenset(
    {"properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "schemas", "responses"}
    | {"parameters", "requestBodies", "headers", "securitySchemes", "links", "callbacks", "pathItems", "paths"}
    | {"webhooks", "content", "encoding", "variables", "securityDefinitions", "mediaTypes"}
)
"""Keys below which keys are names that people chose, and mean nothing."""


def mappings_in(root: Mapping[str, Json]) -> Iterator[tuple[Mapping[str, Json], str]]:
    """Each mapping that is part of the description, with its pointer; holders before what they hold."""
    waiting: list[tuple[Json, str, bool]] = [(root, "", False)]
    while waiting:
        value, pointer, names = waiting.pop()
        if isinstance(value, dict):
            fields = cast("dict[str, Json]", value)
            if not names:
                yield fields, pointer
            waiting.extend(_below(fields, pointer, names))
        elif isinstance(value, list):
            listed = cast("list[Json]", value)
            waiting.extend((each, f"{pointer}/{index}", False) for index, each in enumerate(listed))


def _below(fields: Mapping[str, Json], pointer: str, names: bool) -> Iterator[tuple[Json, str, bool]]:
    for key, value in fields.items():
        if not isinstance(value, dict | list):
            continue
        if names:
            yield value, join(pointer, key), False
        elif key == "examples":
            yield from _references(value, join(pointer, key))
        elif key not in _FREE and not key.startswith("x-"):
            yield value, join(pointer, key), key in _NAMING and isinstance(value, dict)


def _references(value: Json, pointer: str) -> Iterator[tuple[Json, str, bool]]:
    """Of a mapping of examples, those that are references; what others hold is free."""
    if isinstance(value, dict):
        for name, each in cast("dict[str, Json]", value).items():
            if isinstance(each, dict) and "$ref" in each:
                yield each, join(pointer, name), False
