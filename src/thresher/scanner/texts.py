"""Walks a definition and yields every text in it that a model may read.

Invariant: nothing that a client could show to a model is left out: names and values of schemas count as much as
descriptions. The walk ends, however deep or wide the schema is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from thresher.core import JSON, Tool

Role: TypeAlias = Literal["name", "prose", "value"]
"""`name`: an identifier. `prose`: a title or description. `value`: a default, an example, one of an enumeration."""

_DRY = frozenset({"type", "format", "$ref", "$schema", "$id"})
_VALUES = frozenset({"default", "enum", "const", "examples", "example", "pattern"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a definition: where it stands, and as what. `name` is the property that a value belongs to."""

    where: str
    text: str
    role: Role
    name: str = ""


def texts(tool: Tool) -> Iterator[Text]:
    """Every text of a tool's definition."""
    yield Text("/name", tool.name, "name")
    if tool.title:
        yield Text("/title", tool.title, "prose")
    yield Text("/description", tool.description, "prose")
    yield from _schema(tool.input_schema, "/inputSchema", "", 0)
    if tool.output_schema is not None:
        yield from _schema(tool.output_schema, "/outputSchema", "", 0)
    yield from _strings(tool.annotations, "/annotations", "", 0)


def _schema(schema: Any, where: str, name: str, depth: int) -> Iterator[Text]:
    if depth > _DEPTH:
        return
    if isinstance(schema, list):
        for place, entry in enumerate(cast("list[Any]", schema)):
            yield from _schema(entry, f"{where}/{place}", name, depth + 1)
    if not isinstance(schema, Mapping):
        return
    for word, value in cast("JSON", schema).items():
        yield from _member(word, value, f"{where}/{_escaped(word)}", name, depth)


def _member(word: str, value: Any, where: str, name: str, depth: int) -> Iterator[Text]:
    """One keyword of a schema; what is no word of JSON Schema is the server's own, and read all the same."""
    if word in _VALUES:
        yield from _strings(value, where, name, depth + 1)
    elif word in _NAMED and isinstance(value, Mapping):
        yield from _properties(cast("JSON", value), where, depth)
    elif isinstance(value, Mapping | list):
        yield from _schema(value, where, name, depth + 1)
    elif isinstance(value, str) and word not in _DRY:
        yield Text(where, value, "prose", name)


def _properties(properties: JSON, where: str, depth: int) -> Iterator[Text]:
    for name, schema in properties.items():
        here = f"{where}/{_escaped(name)}"
        yield Text(here, name, "name")
        yield from _schema(schema, here, name, depth + 1)


def _strings(value: Any, where: str, name: str, depth: int) -> Iterator[Text]:
    """Strings anywhere in a value; true too, since a switch may be on unless told."""
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        yield Text(where, value, "value", name)
    elif value is True:
        yield Text(where, "true", "value", name)
    elif isinstance(value, Mapping):
        for word, entry in cast("JSON", value).items():
            yield from _strings(entry, f"{where}/{_escaped(word)}", name or word, depth + 1)
    elif isinstance(value, list):
        for place, entry in enumerate(cast("list[Any]", value)):
            yield from _strings(entry, f"{where}/{place}", name, depth + 1)


def _escaped(word: str) -> str:
    """A key as a step of a JSON pointer (RFC 6901)."""
    return word.replace("~", "~0").replace("/", "~1")
