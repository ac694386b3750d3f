"""Turns errors into what MCP clients understand; no other module of the gateway does.

Invariant: a client reads what happened, what to do about it and a trace id; of an error that nobody foresaw it reads
the trace id alone, and the log holds the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from fastmcp.exceptions import FastMCPError, NotFoundError, ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, CallToolRequestParams, ListToolsRequest

from thresher.core import Said, ThresherError, current_trace, event, traced

logger = logging.getLogger("thresher.gateway")


@contextmanager
def explained() -> Generator[None]:
    """Raise everything as a tool error with a hint and a trace id."""
    with traced() as trace:
        try:
            yield
        except ThresherError as error:
            event(logger, "refused", code=error.code, message=Said(error.message))
            raise ToolError(f"{error} [trace {trace}]", log_level=logging.DEBUG) from error
        except (FastMCPError, MCPError, NotFoundError):
            raise
        except Exception as error:
            raise ToolError(_unforeseen(error), log_level=logging.DEBUG) from error


def _unforeseen(error: Exception) -> str:
    logger.error("unforeseen", exc_info=error, extra={"fields": {"kind": type(error).__name__}})
    return f"Something went wrong inside Thresher. Its log tells more under this trace id. [trace {current_trace()}]"


class ErrorBoundary(Middleware):
    """The outermost layer: gives each request a trace id and translates what the layers below let through."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Calls answer with a tool error, so that the model can read it and try again."""
        with explained():
            return await call_next(context)

    async def on_list_tools(
        self,
        context: MiddlewareContext[ListToolsRequest],
        call_next: CallNext[ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        """A listing has no place for a tool error: it fails as a request, and never comes back empty."""
        try:
            with explained():
                return await call_next(context)
        except ToolError as error:
            raise MCPError(code=INTERNAL_ERROR, message=str(error)) from error
