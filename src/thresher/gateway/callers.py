"""Identifies the caller of the request that is being served.

Invariant: a request is served for the caller that its own door named - the HTTP request's, or the stream's - and never
for that of another request on the same connection or server.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Any, cast
from uuid import uuid4

from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from thresher.core import FINGERPRINT, Caller, acting_for, acting_or, current_talk, talking_in
from thresher.services import Services

SCOPE_KEY = "thresher.caller"
"""The scope's entry for the caller that the ASGI door has checked."""

KEY_SCOPE = "thresher.key"
"""The scope's entry for the fingerprint of the request's key."""

_ID = "thresher.id"


def current_caller(services: Services) -> Caller:
    """Return the caller of the current request; outside of one, or inside this process, the local caller."""
    return acting_or(services.caller)


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


class Identified:
    """Server middleware: each message is served for the caller of its own HTTP request or stream.

    Only a session inside this process can be part of a conversation. A client without a session is distinguished
    from others by what the door knows of it and by the name it gives itself.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Serve one message."""
        caller, talk = current_caller(self._services), current_talk()
        if (request := cast("Request | None", ctx.request)) is not None:
            caller, talk = request.scope.get(SCOPE_KEY) or self._services.caller, None
        client = connection_id(ctx) or caller.client
        if client.startswith(FINGERPRINT):
            client += sha256(client_name(ctx).encode("utf-8", "replace")).hexdigest()[:16]
        with acting_for(replace(caller, client=client)), talking_in(talk):
            return await call_next(ctx)
