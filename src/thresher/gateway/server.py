"""Builds the MCP server of the gateway: which handler serves which method.

Invariant: the server is the same object for every client and transport; the caller is in the request (`callers`).

The handlers are registered with the low-level server that FastMCP wraps, and not as FastMCP's own components: those
validate, copy and dispatch each message several times, and return less of an upstream answer than they received.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.http import HostOriginGuardMiddleware
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp_types import (
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    NotificationParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from thresher import __version__
from thresher.core import Expose, acting_or
from thresher.gateway.callers import SCOPE_KEY, ServedCallers
from thresher.gateway.calls import Calls
from thresher.gateway.http import Endpoint
from thresher.gateway.lists import Lists, SkillsExtension
from thresher.gateway.packs import PackTools
from thresher.gateway.peers import Peers, set_level
from thresher.gateway.questions import PARKED_SECONDS, Parking, QuestionRelay
from thresher.gateway.resources import Resources
from thresher.gateway.skills import Skills
from thresher.gateway.subscriptions import Subscriptions
from thresher.knowledge.tools import Components
from thresher.services import Services

MCP_PATH = "/mcp"
NAME = "Thresher"


def build_gateway(services: Services, *, expose: Expose | None = None) -> FastMCP[Any]:
    """Build the server.

    Args:
        services: What it works with.
        expose: What `tools/list` shows; the setting by default.
    """
    parking = Parking(Peers())
    relay = QuestionRelay(services, parking)
    components = Components(services.database, services.secrets)
    skills = Skills(services)

    @asynccontextmanager
    async def lifespan(_: FastMCP[Any]) -> AsyncGenerator[None]:
        yield
        await subscriptions.close()
        await parking.close()
        await packs.close()

    server: FastMCP[Any] = FastMCP(NAME, version=__version__, lifespan=lifespan)
    packs = PackTools(services, server)
    lists = Lists(services, components, packs, skills, expose or services.settings.expose)
    resources = Resources(services, components, relay, skills)
    subscriptions = Subscriptions(services, lists, resources, skills)
    low_level = low_level_of(server)
    low_level.middleware[:] = [ServedCallers(services), _sealed(services)]
    low_level.add_request_handler("tools/call", CallToolRequestParams, Calls(services, relay))
    server.add_extension(SkillsExtension(services, skills, lists))
    _serve_lists(low_level, lists)
    _serve_resources(low_level, resources)
    _serve_subscriptions(low_level, subscriptions)
    return server


def low_level_of(server: FastMCP[Any]) -> Server[Any]:
    """Return the server that FastMCP wraps, as FastMCP's own transports do."""
    return server._mcp_server  # pyright: ignore[reportPrivateUsage] - there is no public way


def _serve_lists(server: Server[Any], lists: Lists) -> None:
    server.add_request_handler("tools/list", PaginatedRequestParams, lists.tools)
    server.add_request_handler("resources/list", PaginatedRequestParams, lists.resources)
    server.add_request_handler("resources/templates/list", PaginatedRequestParams, lists.templates)
    server.add_request_handler("prompts/list", PaginatedRequestParams, lists.prompts)


def _serve_resources(server: Server[Any], resources: Resources) -> None:
    server.add_request_handler("resources/read", ReadResourceRequestParams, resources.read)
    server.add_request_handler("prompts/get", GetPromptRequestParams, resources.prompt)
    server.add_request_handler("completion/complete", CompleteRequestParams, resources.complete)


def _serve_subscriptions(server: Server[Any], subscriptions: Subscriptions) -> None:
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
    server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscriptions.subscribe)
    server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, subscriptions.unsubscribe)
    server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, subscriptions.listen)
    server.add_notification_handler("notifications/initialized", NotificationParams, subscriptions.initialized)


def _sealed(services: Services) -> RequestStateBoundary:
    """Seal the state that clients carry between rounds: for one caller, method and set of arguments, and it expires."""

    def principal(_: ServerRequestContext[Any, Any]) -> str:
        caller = acting_or(services.caller)
        return f"{caller.tenant.id}:{caller.user or ''}"

    policy = RequestStateSecurity.ephemeral(ttl=PARKED_SECONDS)
    policy.bind_principal = principal
    return RequestStateBoundary(policy, default_audience=NAME)


class HTTPApp(Starlette):
    """The gateway over streamable HTTP, as an ASGI app with a lifespan."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(lifespan=endpoint.lifespan)
        self._endpoint = endpoint
        self._guarded = HostOriginGuardMiddleware(endpoint, mode="strict")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; if no door has checked Host and Origin, foreign ones are refused here."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        elif SCOPE_KEY in scope:
            await self._endpoint(scope, receive, send)
        else:
            await self._guarded(scope, receive, send)


def http_app(server: FastMCP[Any]) -> HTTPApp:
    """Return the ASGI app that serves the gateway at `MCP_PATH`."""
    return HTTPApp(Endpoint(low_level_of(server), MCP_PATH))
