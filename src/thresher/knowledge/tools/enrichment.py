"""Turns a tool's definition into the texts that are searched.

Invariant: pure; the same definition always gives the same texts, since their hash decides what is embedded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from thresher.core import Tool

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[_\-./:\s]+")


@dataclass(frozen=True, slots=True)
class Enriched:
    """What the search index gets of a tool.

    Attributes:
        texts: Each becomes a vector.
        fields: Field name -> text, for the lexical arm.
    """

    texts: tuple[str, ...]
    fields: Mapping[str, str]


def enrich(tool: Tool, server_description: str = "") -> Enriched:
    """Build the searched texts of one tool."""
    name = split_name(tool.name)
    server = split_name(tool.server)
    parameters = parameter_text(tool.input_schema.get("properties"))
    text = "\n".join(
        part
        for part in (f"{server}: {name}", tool.title, tool.description, server_description, parameters)
        if part.strip()
    )
    fields = {
        "name": name,
        "server": f"{server} {server_description}".strip(),
        "description": f"{tool.title} {tool.description}".strip(),
        "parameters": parameters,
    }
    return Enriched((text,), fields)


def split_name(name: str) -> str:
    """`listOpenIssues`, `list_open-issues` -> `list open issues`."""
    return _SEPARATORS.sub(" ", _CAMEL.sub(" ", name)).strip().lower()


def parameter_text(properties: object) -> str:
    """Names and descriptions of the parameters in one line."""
    if not isinstance(properties, Mapping):
        return ""
    entries = cast("Mapping[str, Any]", properties).items()
    return ", ".join(f"{split_name(name)} {_description(entry)}".strip() for name, entry in entries)


def _description(entry: object) -> str:
    text = cast("Mapping[str, object]", entry).get("description") if isinstance(entry, Mapping) else ""
    return text if isinstance(text, str) else ""
