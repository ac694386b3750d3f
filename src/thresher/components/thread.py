"""`Thread`, the annotation by which a tool gets the conversation that it is called in.

FastMCP reads it as one of its own dependencies, so it works for every way to make a tool, and no schema shows it.

Invariant: heavy, so it is only imported when it is used.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastmcp.dependencies import Depends
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from thresher.components.meta import talk_of
from thresher.core import Talk, current_talk, talking_in

Thread: TypeAlias = Annotated[Talk, Depends(current_talk)]


class ConversationMiddleware(Middleware):
    """Runs tools of components in the conversation that their call names."""

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Run one tool."""
        request = context.fastmcp_context.request_context if context.fastmcp_context else None
        with talking_in(talk_of(request.meta if request else None)):
            return await call_next(context)
