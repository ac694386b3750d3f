"""Turns a tool's definition into what is searched: three texts to embed, and one text for the words.

One vector over everything that is known about a tool drowns its name in parameters. So its name is embedded alone, then
a brief and the full text, and the index keeps the weighted sum of the three.

Invariant: pure; the same definition always gives the same texts, since their hash decides what is embedded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from thresher.core import Tool
from thresher.knowledge.tools.naming import plain_name
from thresher.search import Slot

NAME_WEIGHT = 0.4
BRIEF_WEIGHT = 0.3
FULL_WEIGHT = 0.3
"""Shares of the three texts. A name share of 0.3 to 0.45 is level on the development sets; 0 costs 9 points of recall@5
on MetaTool's pairs. The brief helps where descriptions ramble, the full text where tools differ only in detail."""

_MAX_ENUM = 24
_MAX_DEPTH = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=。)|\n\s*\n")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_PUNCTUATION = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ToolText:
    """What the search index gets of a tool.

    Attributes:
        texts: Texts to embed, without the encoder's query prefix.
        weights: One weight a text, adding up to 1.
        lexical: The text whose terms are indexed.
    """

    texts: tuple[str, ...]
    weights: tuple[float, ...]
    lexical: str


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    description: str
    values: tuple[str, ...]


def enrich(tool: Tool, server_description: str = "") -> ToolText:
    """Build the texts of one tool.

    Args:
        tool: Its definition.
        server_description: What the server says of itself; its first sentence is used.
    """
    parameters = list(_parameters(tool.input_schema, 1))
    about = first_sentence(server_description)
    words = split_name(tool.name) or tool.name
    titled = tool.title and split_name(tool.title).casefold() != words.casefold()
    server = plain_name(tool.server)
    before = f"{split_name(server)}. " if server else ""
    label = f"{before}{words} ({tool.title})" if titled else f"{before}{words}"
    listed = ", ".join(split_name(one.name) for one in parameters)
    after = f" Parameters: {listed} {about}" if listed else f" {about}"
    brief = f"{label}: {first_sentence(tool.description)}{after}".strip()
    full = f"{label}: {tool.description}{after}".strip()
    # The name counts twice: a word of it says more than a word of the description.
    named = (server, tool.name, tool.name, tool.title, tool.description, about)
    lexical = " ".join((*named, *(" ".join((one.name, one.description, *one.values)) for one in parameters)))
    return ToolText((words, brief, full), (NAME_WEIGHT, BRIEF_WEIGHT, FULL_WEIGHT), lexical)


def slots_of(schema: Mapping[str, object]) -> tuple[Slot, ...]:
    """What a tool wants to be given: the parameters of its schema's first level."""
    listed = schema.get("required")
    required = {str(name) for name in cast("list[object]", listed)} if isinstance(listed, list) else set[str]()
    properties = _mapping(schema.get("properties"))
    return tuple(_slot(name, _mapping(value), required=name in required) for name, value in properties.items())


def split_name(name: str) -> str:
    """An identifier as words: `getUserByID_v2` becomes `get User By ID v 2`."""
    return " ".join(_PUNCTUATION.sub(" ", _HUMP.sub(" ", unicodedata.normalize("NFKC", name))).split())


def first_sentence(text: str) -> str:
    """The first sentence or paragraph of a text."""
    return _SENTENCE.split(text.strip(), maxsplit=1)[0].strip()


def _slot(name: str, detail: Mapping[str, object], *, required: bool) -> Slot:
    parameter = _parameter(name, detail)
    kind = detail.get("type")
    if isinstance(kind, list) and kind:
        kind = cast("list[object]", kind)[0]
    text = parameter.description
    return Slot(name, text, first_sentence(text), kind if isinstance(kind, str) else "", required, parameter.values)


def _parameters(schema: Mapping[str, object], depth: int) -> Iterator[_Parameter]:
    """Parameters of a schema, nested ones after their parent."""
    for name, value in _mapping(schema.get("properties")).items():
        detail = _mapping(value)
        yield _parameter(name, detail)
        if depth < _MAX_DEPTH:
            yield from _parameters(detail, depth + 1)
            yield from _parameters(_mapping(detail.get("items")), depth + 1)


def _parameter(name: str, detail: Mapping[str, object]) -> _Parameter:
    description = detail.get("description")
    values = detail.get("enum")
    listed = tuple(str(one) for one in cast("list[object]", values)[:_MAX_ENUM]) if isinstance(values, list) else ()
    return _Parameter(name, description if isinstance(description, str) else "", listed)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
