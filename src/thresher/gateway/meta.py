"""The gateway's own tools: process_prompt, get_context, find_tools, describe_tools, call_tool and call_tool_write.

Invariant: their definitions never change with the catalogue, and stay short, since every client pays for them in every
request.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from mcp_types import Tool, ToolAnnotations

from thresher.context import DEFAULT_BUDGET
from thresher.core import Settings

_STRINGS = {"type": "array", "items": {"type": "string"}}

PROMPT_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string"},
        "history": {**_STRINGS, "description": "Last turns"},
        "queries": {**_STRINGS, "description": "One phrase per task"},
        "files": _STRINGS,
    },
    "required": ["prompt"],
}
PROMPT_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "result": {"type": "string"},
        "pass_through": {"type": "boolean"},
        "confidence": {"type": "number"},
        "intents": {"type": "array", "items": {"type": "object"}},
        "rules": {"type": "array", "items": {"type": "object"}},
        "context": {"type": "object"},
        "request": {"type": "string"},
        "tools": {"type": "array", "items": {"type": "object"}},
        "notes": _STRINGS,
        "trace_id": {"type": "string"},
    },
    "required": ["pass_through", "confidence", "trace_id"],
}
CONTEXT_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "budget": {"type": "integer", "default": DEFAULT_BUDGET},
        "history": _STRINGS,
        "queries": _STRINGS,
        "cursor": {"type": "string"},
    },
    "required": ["message"],
}
CONTEXT_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rules": {"type": "array", "items": {"type": "object"}},
        "tools": {"type": "array", "items": {"type": "object"}},
        "left_out": {"type": "array", "items": {"type": "object"}},
        "next": {"type": "string"},
        "intents": {"type": "object"},
        "confidence": {"type": "number"},
        "notes": _STRINGS,
        "timings": {"type": "object"},
        "trace_id": {"type": "string"},
        "spent": {"type": "integer"},
    },
    "required": ["rules", "tools", "left_out", "spent", "trace_id"],
}
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
                    "server": {"type": "string"},
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
    "process_prompt": PROMPT_INPUT,
    "get_context": CONTEXT_INPUT,
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
    found = [] if settings.selection == "off" else [_find(settings)]
    return [*_enriching(), *found, _describe(), *_calls()]


def _enriching() -> list[Tool]:
    return [
        Tool(
            name="process_prompt",
            title="Process prompt",
            description="Rules and tools for a user message, or PASS_THROUGH. Call first on each new message.",
            input_schema=PROMPT_INPUT,
            output_schema=PROMPT_OUTPUT,
            annotations=_SEARCH,
        ),
        Tool(
            name="get_context",
            title="Get context",
            description="process_prompt within a token budget; cursors fetch what it left out.",
            input_schema=CONTEXT_INPUT,
            output_schema=CONTEXT_OUTPUT,
            annotations=_SEARCH,
        ),
    ]


def _find(settings: Settings) -> Tool:
    return Tool(
        name="find_tools",
        title="Find tools",
        description="Search all tools: servers, documents, databases, APIs. Call first when a task needs any.",
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
