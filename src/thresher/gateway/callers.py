"""Identifies the caller of the request that is being served, and instructs clients that connect.

Invariant: a request is served for the caller that its own door named - the HTTP request's, or the stream's - and never
for that of another request on the same connection or server.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast
from uuid import uuid4

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from thresher.core import FINGERPRINT, acting_for, acting_or, talking_in
from thresher.services import Services

SCOPE_KEY = "thresher.caller"
"""The scope's entry for the caller that the ASGI door has checked."""

KEY_SCOPE = "thresher.key"
"""The scope's entry for the fingerprint of the request's key."""

_ID = "thresher.id"
_OVERVIEW_SERVERS = 12


def modern(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the request is of the stateless era."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def connection_of(context: ServerRequestContext[Any, Any]) -> Connection:
    """Return the client's connection; the session that the library passes to handlers exposes less."""
    return context.session._connection  # pyright: ignore[reportPrivateUsage] - the session has no public way to it


def connection_id(context: ServerRequestContext[Any, Any]) -> str:
    """Return the name of the client's connection: the same for a 2025-era session, empty in the stateless era."""
    if modern(context):
        return ""
    connection = connection_of(context)
    known = connection.state.get(_ID)
    return cast("str", known) if known else connection.state.setdefault(_ID, connection.session_id or uuid4().hex)


def client_name(context: ServerRequestContext[Any, Any]) -> str:
    """Return the name and version of the client, as it states them; empty if it does not."""
    stated = connection_of(context).client_params
    return " ".join(filter(None, (stated.client_info.name, stated.client_info.version))) if stated is not None else ""


class ServedCallers:
    """Server middleware: each message is served for the caller of its own HTTP request or stream.

    Only a session inside this process can be part of a conversation. A client without a session is distinguished
    from others by what the door knows of it and by the name it gives itself.

    When it connects, a client is instructed to search for tools, and the servers with tools are named. That overview is
    not in a tool's description, so that tools/list stays the same when servers are added or removed.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Serve one message."""
        caller, conversation = acting_or(self._services.caller), nullcontext[None]()
        if (request := cast("Request | None", ctx.request)) is not None:
            caller, conversation = request.scope.get(SCOPE_KEY) or self._services.caller, talking_in(None)
        client = connection_id(ctx) or caller.client
        if client.startswith(FINGERPRINT):
            client += sha256(client_name(ctx).encode("utf-8", "replace")).hexdigest()[:16]
        caller = replace(caller, client=client)
        with acting_for(caller), conversation:
            result = await call_next(ctx)
            if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
                choosing = self._services.settings.selection != "off"
                overview = await self._services.tools.overview(caller)
                result = {**result, "instructions": instructions(overview, choosing=choosing)}
        return result


def instructions(overview: dict[str, int], *, choosing: bool = True) -> str:
    """Return what a model reads about the whole server.

    Args:
        overview: Number of enabled tools by server.
        choosing: Whether there is a search to call first.
    """
    names = sorted(overview, key=lambda name: (-overview[name], name))
    more = f" and {len(names) - _OVERVIEW_SERVERS} more" if len(names) > _OVERVIEW_SERVERS else ""
    servers = f" ({', '.join(names[:_OVERVIEW_SERVERS])}{more})" if names else ""
    holds = f"Thresher holds {sum(overview.values())} tools{servers}."
    first = (
        "On each new message of the user call process_prompt first, with the user's words, and follow the rules it "
        "answers with; on PASS_THROUGH go on as usual."
    )
    if not choosing:
        return f"{first} {holds}"
    return (
        f"{first} {holds} Your tool list need not name them: when a task needs data or "
        "an action, call find_tools with one short action phrase per step, "
        "then call_tool or call_tool_write, as its answer says, with a name it returned. Search before you say that "
        "something cannot be done."
    )
