"""Makes what a server listed fit to be stored: text that PostgreSQL and JSON can hold, one tool a name.

Invariant: what a model reads stays as the server wrote it, but for characters that no database can hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, cast

from thresher.core import Tool
from thresher.embedding import count_tokens
from thresher.knowledge.tools.definitions import definition_hash
from thresher.knowledge.tools.enrichment import enrich
from thresher.knowledge.tools.formatting import definition_text, line
from thresher.knowledge.tools.queries import ToolWrite
from thresher.scanner import ALONE, PeerTools, scan

_DEPTH = 100


def cleaned(tools: Iterable[Tool]) -> list[Tool]:
    """The tools without NUL characters, lone surrogates and endless nesting; of two of one name the first stays."""
    first: dict[str, Tool] = {}
    for tool in tools:
        name = _text(tool.name)
        if name.strip():
            first.setdefault(name, _cleaned(name, tool))
    return list(first.values())


def _cleaned(name: str, tool: Tool) -> Tool:
    return Tool(
        server=tool.server,
        name=name,
        title=_text(tool.title),
        description=_text(tool.description),
        input_schema=_value(tool.input_schema, 0),
        output_schema=None if tool.output_schema is None else _value(tool.output_schema, 0),
        annotations=_value(tool.annotations, 0),
    )


def _text(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _value(value: Any, depth: int) -> Any:
    if depth > _DEPTH:
        return None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {_text(str(name)): _value(entry, depth + 1) for name, entry in entries}
    if isinstance(value, list | tuple):
        return [_value(entry, depth + 1) for entry in cast("list[Any]", value)]
    return value


def write_of(tool: Tool, server_description: str, peers: PeerTools | None = ALONE) -> ToolWrite:
    """What is stored of a tool: the enriched text and its hash, the definition's hash without the server, its cost.

    Args:
        tool: A cleaned tool.
        server_description: What its server is for.
        peers: The tools of other servers that the scanner compares with; None to leave the scan out.
    """
    text = enrich(tool, server_description)
    enriched = "\n".join((*text.texts, text.lexical))
    return ToolWrite(
        tool=tool,
        enriched=enriched,
        content_hash=hashlib.sha256(enriched.encode()).digest(),
        definition_hash=definition_hash(tool),
        tokens=count_tokens(definition_text(tool.name, tool)),
        line=line("", tool),
        findings=() if peers is None else scan(tool, peers),
    )
