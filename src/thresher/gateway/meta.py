"""The gateway's own tools: find_tools, describe_tools, call_tool and call_tool_write.

Invariant: their definitions never change with the catalogue, and stay short, since every client pays for them in every
request.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mcp_types import Tool, ToolAnnotations

from thresher.core import Settings

_STRINGS = {"type": "array", "items": {"type": "string"}}

FIND_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "queries": {**_STRINGS, "description": "Short action phrases, one per step"},
        "message": {"type": "string", "description": "User's words, instead of queries"},
        "history": {**_STRINGS, "description": "Last turns, for a very short message"},
        "servers": {**_STRINGS, "description": "Search only these"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1, "description": "Least probability of a fit"},
        "include_core_tools": {"type": "boolean", "default": True},
    },
}
FIND_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "signature": {"type": "string"},
                    "score": {"type": "number"},
                    "why": {"type": "string"},
                    "write": {"type": "boolean"},
                    "query": {"type": "integer"},
                    "also": _STRINGS,
                },
                "required": ["name", "signature", "score", "why"],
            },
        },
        "searched": {"type": "integer"},
        "abstained": {"type": "boolean"},
        "degraded": {"type": "string"},
        "fallback": {"type": "boolean"},
        "held_back": _STRINGS,
        "trace_id": {"type": "string"},
    },
    "required": ["tools", "searched", "abstained", "trace_id"],
}
DESCRIBE_INPUT: dict[str, Any] = {"type": "object", "properties": {"names": _STRINGS}, "required": ["names"]}
DESCRIBE_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object"},
                    "annotations": {"type": "object"},
                },
                "required": ["name", "inputSchema"],
            },
        },
        "unknown": {"type": "object", "additionalProperties": _STRINGS},
    },
    "required": ["tools"],
}
CALL_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["name"],
}


SCHEMAS: dict[str, dict[str, Any]] = {
    "find_tools": FIND_INPUT,
    "describe_tools": DESCRIBE_INPUT,
    "call_tool": CALL_INPUT,
    "call_tool_write": CALL_INPUT,
}
"""The input schemas by name, but for defaults that a setting gives."""

_SEARCH = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


def schema_of(name: str, settings: Settings) -> dict[str, Any]:
    """The input schema of a meta-tool."""
    return _find_input(settings.find_limit) if name == "find_tools" else SCHEMAS[name]


@cache
def _find_input(limit: int) -> dict[str, Any]:
    properties: dict[str, Any] = FIND_INPUT["properties"]
    entry = {**properties["limit"], "default": limit}
    return {**FIND_INPUT, "properties": {**properties, "limit": entry}}


def meta_tools(settings: Settings) -> list[Tool]:
    """The definitions, in the order in which they are listed; without the search where nothing is to be chosen."""
    tools = [_find(settings), _describe(), *_calls()]
    return tools[1:] if settings.selection == "off" else tools


def _find(settings: Settings) -> Tool:
    return Tool(
        name="find_tools",
        title="Find tools",
        description="Search the tools of all connected servers. Call first when a task needs data or an action.",
        input_schema=schema_of("find_tools", settings),
        output_schema=FIND_OUTPUT,
        annotations=_SEARCH,
    )


def _describe() -> Tool:
    return Tool(
        name="describe_tools",
        title="Describe tools",
        description="Full schemas of found tools, when a signature is not enough.",
        input_schema=DESCRIBE_INPUT,
        output_schema=DESCRIBE_OUTPUT,
        annotations=_SEARCH,
    )


def _calls() -> list[Tool]:
    """No output schemas: the answer is the upstream tool's own, and its structured content has that tool's form."""
    return [
        Tool(
            name="call_tool",
            title="Call tool",
            description="Run a read-only tool that find_tools named.",
            input_schema=CALL_INPUT,
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=True),
        ),
        Tool(
            name="call_tool_write",
            title="Call tool that writes",
            description="Run a tool marked ! by find_tools: it may change something.",
            input_schema=CALL_INPUT,
            annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
        ),
    ]
