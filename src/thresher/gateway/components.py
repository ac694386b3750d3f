"""The two sorts of tools that the gateway shows: its own, and upstream tools under their exposed names.

Invariant: what an upstream tool answers - blocks, structured content, error flag - reaches the client unchanged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from mcp_types import CallToolResult, ToolAnnotations
from mcp_types import Tool as MCPTool
from pydantic import PrivateAttr, ValidationError

from thresher.core import JSON, Said, event
from thresher.gateway.callers import current_caller
from thresher.gateway.coerce import check, coerce
from thresher.gateway.errors import explained
from thresher.knowledge.tools import Definition, line
from thresher.services import Services
from thresher.upstream import CallOutcome

logger = logging.getLogger("thresher.gateway")

Handler: TypeAlias = Callable[[dict[str, Any]], Awaitable[ToolResult]]


class GatewayTool(Tool):
    """A tool whose schemas are written out, and whose work is one function of the arguments."""

    _handler: Handler = PrivateAttr()

    @classmethod
    def of(cls, handler: Handler, **fields: Any) -> GatewayTool:
        """Build a tool from its definition and its work."""
        tool = cls(**fields)
        tool._handler = handler
        return tool

    def to_mcp_tool(self, **overrides: Any) -> MCPTool:
        """The definition as listed, without the library's own metadata: each listed byte is read by a model."""
        return super().to_mcp_tool(**{"_meta": None, **overrides})

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Do the work; everything that goes wrong becomes a tool error."""
        with explained():
            return await self._handler(arguments)


def upstream_tool(services: Services, definition: Definition) -> GatewayTool:
    """An upstream tool as listed: the server's own definition under the exposed name."""
    tool = definition.tool

    async def work(arguments: dict[str, Any]) -> ToolResult:
        return await call(services, definition.name, arguments)

    return GatewayTool.of(
        work,
        name=definition.name,
        title=tool.title or None,
        description=tool.description,
        parameters=dict(tool.input_schema),
        output_schema=_output_schema(tool.output_schema),
        annotations=_annotations(tool.annotations),
    )


async def call(services: Services, name: str, arguments: JSON) -> ToolResult:
    """Call an upstream tool by its exposed name.

    Raises:
        NotFound: No enabled tool has this name.
        InvalidInput: The arguments do not fit its schema.
        UpstreamError: Its server cannot be reached, or refused.
    """
    started, state = time.perf_counter(), "failed"
    try:
        outcome = await _call(services, name, arguments)
        state = "tool error" if outcome.is_error else "ok"
    finally:
        milliseconds = round((time.perf_counter() - started) * 1000, 2)
        event(logger, "call_tool", tenant=current_caller(services).tenant.id, tool=name, state=state, ms=milliseconds)
    structured = cast("dict[str, Any]", outcome.structured) if isinstance(outcome.structured, dict) else None
    return ToolResult.from_mcp_result(
        CallToolResult(
            content=outcome.content,
            structured_content=structured,
            is_error=outcome.is_error,
            _meta=cast("Any", outcome.meta),
        )
    )


async def _call(services: Services, name: str, arguments: JSON) -> CallOutcome:
    resolved = await services.tools.resolve(current_caller(services), name)
    tool = resolved.tool
    fitted = coerce(arguments, tool.input_schema)
    event(logger, "call_arguments", level=logging.DEBUG, tool=name, arguments=Said(fitted))
    check(fitted, tool.input_schema, line(name, tool).partition(" - ")[0])
    return await services.upstreams.call_tool(resolved.config, tool.name, fitted)


def _output_schema(schema: JSON | None) -> dict[str, Any] | None:
    # A client checks structured content against it; one that is no object schema would fail every answer.
    return dict(schema) if schema is not None and schema.get("type") == "object" else None


def _annotations(annotations: JSON) -> ToolAnnotations | None:
    try:
        return ToolAnnotations.model_validate(dict(annotations)) if annotations else None
    except ValidationError:
        return None  # hints that no client could read
