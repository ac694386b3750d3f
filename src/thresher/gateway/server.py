"""Builds the MCP server of the gateway, and the app that serves it over streamable HTTP.

Invariant: the server is the same object for every client and transport; who asks is in the services.
"""

from __future__ import annotations

from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.server.http import StarletteWithLifespan
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from mcp_types import DiscoverRequest, DiscoverResult, InitializeRequest, InitializeResult

from thresher import __version__
from thresher.gateway.callers import Identified, current_caller
from thresher.gateway.errors import ErrorBoundary
from thresher.gateway.provider import CatalogueProvider, Expose
from thresher.services import Services

MCP_PATH = "/mcp"

_OVERVIEW_SERVERS = 12

R = TypeVar("R", InitializeResult, DiscoverResult)


def build_gateway(services: Services, *, expose: Expose = "meta") -> FastMCP[Any]:
    """Build the server.

    Args:
        services: What it works with.
        expose: `meta`: clients see the gateway's own tools and the core tools. `all`: the whole catalogue too.
    """
    server: FastMCP[Any] = FastMCP(
        "Thresher",
        version=__version__,
        providers=[CatalogueProvider(services, expose)],
        middleware=[ErrorBoundary(), Instructions(services)],
        mask_error_details=True,
        dereference_schemas=False,  # upstream schemas pass as they are
    )
    server._mcp_server.middleware.insert(0, Identified(services))  # pyright: ignore[reportPrivateUsage]
    # The default swallows a provider's error and lists nothing: the client would believe that all tools are gone.
    server.provider_error_strategy = "raise"
    return server


def http_app(server: FastMCP[Any]) -> StarletteWithLifespan:
    """The ASGI app for a loopback address; requests with a foreign Host or Origin are refused."""
    return server.http_app(path=MCP_PATH, host_origin_protection=True)


class Instructions(Middleware):
    """Tells a client, when it connects, to look for tools, and names the servers that have some.

    The overview stands here and not in a tool's description, so that tools/list stays the same while servers come
    and go.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def on_initialize(
        self,
        context: MiddlewareContext[InitializeRequest],
        call_next: CallNext[InitializeRequest, InitializeResult | None],
    ) -> InitializeResult | None:
        """Sessions of the handshake era read instructions here."""
        result = await call_next(context)
        return result and await self._instructed(result)

    async def on_discover(
        self,
        context: MiddlewareContext[DiscoverRequest],
        call_next: CallNext[DiscoverRequest, DiscoverResult | dict[str, Any]],
    ) -> DiscoverResult | dict[str, Any]:
        """Stateless clients read them here."""
        result = await call_next(context)
        return await self._instructed(result) if isinstance(result, DiscoverResult) else result

    async def _instructed(self, result: R) -> R:
        overview = await self._services.tools.overview(current_caller(self._services))
        return result.model_copy(update={"instructions": instructions(overview)})


def instructions(overview: dict[str, int]) -> str:
    """What a model reads of the whole server.

    Args:
        overview: Number of enabled tools by server.
    """
    names = sorted(overview, key=lambda name: (-overview[name], name))
    more = f" and {len(names) - _OVERVIEW_SERVERS} more" if len(names) > _OVERVIEW_SERVERS else ""
    servers = f" ({', '.join(names[:_OVERVIEW_SERVERS])}{more})" if names else ""
    return (
        f"Thresher holds {sum(overview.values())} tools of other servers{servers}. When a task needs data or an "
        "action, call find_tools first with one short action phrase per step, then call_tool with a name it returned. "
        "Search before you say that something cannot be done."
    )
