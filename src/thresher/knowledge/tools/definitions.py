"""A tool's definition as a value: its hash, and the form in which one that waits for approval is kept.

Invariant: two definitions have one hash exactly when a model reads the same in both; the order of keys and of required
parameters is not read, and the server's name is no part of a definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from thresher.core import JSON, Tool, plain
from thresher.knowledge.tools.formatting import compact


def definition_hash(tool: Tool) -> bytes:
    """SHA-256 of the definition; equal for the same tool on two servers."""
    parts = [tool.name, tool.title, tool.description, tool.input_schema, tool.output_schema, tool.annotations]
    text = json.dumps(_canonical(plain(parts)), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return {name: _sorted(entry) if name == "required" else _canonical(entry) for name, entry in entries}
    return [_canonical(entry) for entry in cast("list[Any]", value)] if isinstance(value, list) else value


def _sorted(value: Any) -> Any:
    """The names of required parameters in one order; a property that is itself called `required` stays as it is."""
    if isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value)):
        return sorted(cast("list[str]", value))
    return _canonical(value)


def pending_text(tool: Tool, digest: bytes) -> str:
    """A definition that waits, as JSON text: its hash, and what a model would read of it."""
    return compact(
        {
            "hash": digest.hex(),
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations,
        }
    )


def tool_of(server: str, name: str, pending: JSON) -> Tool:
    """The definition that `pending_text` wrote."""
    return Tool(
        server,
        name,
        pending["title"],
        pending["description"],
        pending["inputSchema"],
        pending["outputSchema"],
        pending["annotations"],
    )
