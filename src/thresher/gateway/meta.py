"""The gateway's own tools: find_tools, describe_tools, call_tool.

Invariant: their definitions never change with the catalogue, and stay short, since every client pays for them in every
request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from fastmcp.tools.base import ToolResult
from mcp_types import TextContent, ToolAnnotations

from thresher.core import InvalidInput
from thresher.gateway.callers import current_caller
from thresher.gateway.coerce import check, coerce
from thresher.gateway.components import GatewayTool, call
from thresher.gateway.render import describe_content, describe_text, find_content, find_text
from thresher.services import Services

_STRINGS = {"type": "array", "items": {"type": "string"}}

FIND_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "queries": {**_STRINGS, "description": "Short action phrases, one per step"},
        "message": {"type": "string", "description": "User's words, instead of queries"},
        "history": {**_STRINGS, "description": "Last turns, for a very short message"},
        "servers": {**_STRINGS, "description": "Search only these"},
        "limit": {"type": "integer", "default": 8, "minimum": 1, "maximum": 10},
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


def meta_tools(services: Services) -> list[GatewayTool]:
    """The gateway's own tools, in the order in which they are listed."""
    return [_find(services), _describe(services), _call(services)]


def _find(services: Services) -> GatewayTool:
    async def work(arguments: dict[str, Any]) -> ToolResult:
        given = _fitted("find_tools", arguments, FIND_INPUT, lists=("queries", "history", "servers"))
        result = await services.tools.find_tools(current_caller(services), **given)
        return ToolResult([TextContent(type="text", text=find_text(result))], find_content(result))

    return GatewayTool.of(
        work,
        name="find_tools",
        title="Find tools",
        description="Search the tools of all connected servers. Call first when a task needs data or an action.",
        parameters=FIND_INPUT,
        output_schema=FIND_OUTPUT,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )


def _describe(services: Services) -> GatewayTool:
    async def work(arguments: dict[str, Any]) -> ToolResult:
        given = _fitted("describe_tools", arguments, DESCRIBE_INPUT, lists=("names",))
        found = await services.tools.describe_tools(current_caller(services), given["names"])
        return ToolResult([TextContent(type="text", text=describe_text(found))], describe_content(found))

    return GatewayTool.of(
        work,
        name="describe_tools",
        title="Describe tools",
        description="Full schemas of found tools, when a signature is not enough.",
        parameters=DESCRIBE_INPUT,
        output_schema=DESCRIBE_OUTPUT,
        annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
    )


def _call(services: Services) -> GatewayTool:
    async def work(arguments: dict[str, Any]) -> ToolResult:
        given = _fitted("call_tool", arguments, CALL_INPUT)
        return await call(services, given["name"], given.get("arguments") or {})

    return GatewayTool.of(
        work,
        name="call_tool",
        title="Call tool",
        description="Run a tool by a name that find_tools returned.",
        parameters=CALL_INPUT,
        # No output schema: the answer is the upstream tool's own, and its structured content has that tool's form.
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
    )


def _fitted(
    name: str, arguments: Mapping[str, Any], schema: Mapping[str, Any], lists: Sequence[str] = ()
) -> dict[str, Any]:
    """Arguments that fit one of our own schemas; a single string may stand for a list of one."""
    given = coerce(arguments, schema)
    for key in lists:
        if isinstance(value := given.get(key), str):
            given[key] = [value]
    known = cast("Mapping[str, Any]", schema["properties"])
    if unknown := sorted(set(given) - set(known)):
        raise InvalidInput(f"{name} has no argument '{unknown[0]}'.", hint=f"It takes {', '.join(known)}.")
    check(given, schema, f"{name}({', '.join(known)})")
    return given
