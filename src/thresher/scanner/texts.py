"""Yields every text of a definition that a model may read.

Invariant: complete - names and values in schemas count as much as descriptions - and bounded, however deep or wide the
schema is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from thresher.core import JSON, Tool

Role: TypeAlias = Literal["name", "prose", "value"]
"""`name`: an identifier. `prose`: a title or description. `value`: a default, an example or an enumeration value."""

_DRY = frozenset({"type", "format", "$ref", "$schema", "$id"})
_VALUES = frozenset({"default", "enum", "const", "examples", "example", "pattern"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class ScanText:
    """A text of a definition, its place and its role. `name` is the property that a value belongs to."""

    where: str
    text: str
    role: Role
    name: str = ""


def texts(tool: Tool) -> Iterator[ScanText]:
    """Yield every text of a tool's definition."""
    yield ScanText("/name", tool.name, "name")
    if tool.title:
        yield ScanText("/title", tool.title, "prose")
    yield ScanText("/description", tool.description, "prose")
    yield from _schema(tool.input_schema, "/inputSchema", "", 0)
    if tool.output_schema is not None:
        yield from _schema(tool.output_schema, "/outputSchema", "", 0)
    yield from _strings(tool.annotations, "/annotations", "", 0)


def _schema(schema: Any, where: str, name: str, depth: int) -> Iterator[ScanText]:
    if depth > _DEPTH:
        return
    if isinstance(schema, list):
        for place, entry in enumerate(cast("list[Any]", schema)):
            yield from _schema(entry, f"{where}/{place}", name, depth + 1)
    if not isinstance(schema, Mapping):
        return
    for word, value in cast("JSON", schema).items():
        yield from _member(word, value, f"{where}/{_escaped(word)}", name, depth)


def _member(word: str, value: Any, where: str, name: str, depth: int) -> Iterator[ScanText]:
    """Yield the texts of one keyword of a schema; unknown keywords are read too."""
    if word in _VALUES:
        yield from _strings(value, where, name, depth + 1)
    elif word in _NAMED and isinstance(value, Mapping):
        yield from _properties(cast("JSON", value), where, depth)
    elif isinstance(value, Mapping | list):
        yield from _schema(value, where, name, depth + 1)
    elif isinstance(value, str) and word not in _DRY:
        yield ScanText(where, value, "prose", name)


def _properties(properties: JSON, where: str, depth: int) -> Iterator[ScanText]:
    for name, schema in properties.items():
        here = f"{where}/{_escaped(name)}"
        yield ScanText(here, name, "name")
        yield from _schema(schema, here, name, depth + 1)


def _strings(value: Any, where: str, name: str, depth: int) -> Iterator[ScanText]:
    """Yield all strings in a value, and `true`, since a switch may be on by default."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        yield ScanText(where, value, "value", name)
    elif value is True:
        yield ScanText(where, "true", "value", name)
    elif isinstance(value, Mapping):
        for word, entry in cast("JSON", value).items():
            yield from _strings(entry, f"{where}/{_escaped(word)}", name or word, depth + 1)
    elif isinstance(value, list):
        for place, entry in enumerate(cast("list[Any]", value)):
            yield from _strings(entry, f"{where}/{place}", name, depth + 1)


def _escaped(word: str) -> str:
    """Escape a key as a segment of a JSON pointer (RFC 6901)."""
    return word.replace("~", "~0").replace("/", "~1")
