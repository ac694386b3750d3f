"""`Thread`, the annotation by which a tool asks for the conversation that it is called in.

FastMCP reads it as one of its own dependencies, so it works for every way to make a tool, and no schema shows it.

Invariant: heavy, so it is imported when somebody asks for it.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastmcp.dependencies import Depends
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from thresher.components.passing import heard
from thresher.core import Talk, current_talk, talking_in

Thread: TypeAlias = Annotated[Talk, Depends(current_talk)]


class Hearing(Middleware):
    """Runs tools of components in the conversation that their call names."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Run one tool."""
        request = context.fastmcp_context.request_context if context.fastmcp_context else None
        with talking_in(heard(request.meta if request else None)):
            return await call_next(context)
