"""The values of front matter as a pack needs them.

Invariant: pure; of a value of the wrong kind nothing is guessed: it counts as not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from thresher.knowledge.intents.naming import name_of
from thresher.knowledge.intents.yaml_subset import Value

LONGEST_VALUE: Final = 4_000


def text_of(fields: Mapping[str, Value], key: str) -> str:
    """The text of a key; a list's texts with blanks between them."""
    value = fields.get(key, "")
    if isinstance(value, list):
        return " ".join(part for part in value if isinstance(part, str)).strip()
    return value.strip() if isinstance(value, str) else ""


def listed(value: Value) -> list[str]:
    """The texts of a list; a single text is a list of one."""
    if isinstance(value, str):
        return [value]
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []


def metadata_of(fields: Mapping[str, Value]) -> tuple[dict[str, str], list[str]]:
    """Keys and texts of `metadata`, and what was left out, one sentence each."""
    given = fields.get("metadata", "")
    if not isinstance(given, dict):
        return {}, ["Its metadata is no list of keys and values and was left out."] if given else []
    metadata: dict[str, str] = {}
    mended: list[str] = []
    for key, value in given.items():
        if isinstance(value, str):
            metadata[key] = value[:LONGEST_VALUE]
        elif isinstance(value, list) and all(isinstance(part, str) for part in value):
            metadata[key] = ", ".join(cast("list[str]", value))[:LONGEST_VALUE]
        else:
            mended.append(f"Its metadata '{name_of(key)}' is no text and was left out.")
    return metadata, mended


def tools_of(value: Value) -> tuple[str, ...]:
    """Tools by name; blanks and commas part them, but not inside brackets: `Bash(git add:*)` is one."""
    if not isinstance(value, str):
        return tuple(listed(value))
    tools, depth = [""], 0
    for character in value:
        depth = max(0, depth + {"(": 1, ")": -1}.get(character, 0))
        if depth == 0 and (character.isspace() or character == ","):
            tools.append("")
        else:
            tools[-1] += character
    return tuple(dict.fromkeys(tool for tool in tools if tool))
