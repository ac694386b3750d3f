"""The ASGI application of the gateway: determines the era of a request, and serves it.

Invariant: the body decides the route, and headers must agree with it; a refused request reaches no handler. One
client's invalid request affects no other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.inbound import (
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCNotification,
    JSONRPCRequest,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from thresher.core import Caller, has_more_values
from thresher.gateway.callers import KEY_SCOPE, SCOPE_KEY
from thresher.gateway.http.exchange import Exchange, Receive, Scope, Send, answer, encoded, refuse
from thresher.gateway.http.sessions import IDLE_SECONDS, MAX_SESSIONS, Session, Sessions

BODY_LIMIT = 16 * 1024 * 1024
"""Bytes in one request, as on a stream: far above any real call."""
HANDSHAKE_LIMIT = 64 * 1024
"""Characters of an `initialize`, which is stored for the life of the session."""
VALUE_LIMIT = 250_000
"""Values in one request: it is decoded on the event loop, which meanwhile serves no other client."""

_ACCEPTS_JSON = ("application/json", "application/*", "*/*")
_ACCEPTS_EVENTS = ("text/event-stream", "text/*", "*/*")


class Refused(Exception):
    """A request that is answered with an error before it reaches a handler."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class Endpoint:
    """Serves the gateway over streamable HTTP.

    Args:
        server: The gateway's low-level server.
        path: The path that it serves.
    """

    def __init__(self, server: Server[Any], path: str) -> None:
        self._server = server
        self._paths = (path, f"{path}/")
        self._sessions = Sessions()
        self._state: Any = None

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncGenerator[None]:
        """Serve during the block; then end all sessions."""
        async with self._server.lifespan(self._server) as self._state:
            sweeping = asyncio.create_task(self._sweep())
            try:
                yield
            finally:
                sweeping.cancel()
                await asyncio.wait([sweeping])
                await self._sessions.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        if scope["path"] not in self._paths:
            await answer(send, 404)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            await self._serve(scope, receive, send, headers)
        except Refused as refused:
            await refuse(send, refused.status, refused.code, refused.message)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        version = headers.get("mcp-protocol-version")
        stateless = version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS
        match scope["method"]:
            case "POST":
                _check_types(headers)
                message = _decoded(await _body(receive))
                if stateless:
                    await self._stateless(scope, receive, send, headers, message)
                else:
                    await self._in_session(scope, receive, send, headers, message)
            case "GET" if not stateless:
                await self._listen(scope, receive, send, headers)
            case "DELETE" if not stateless:
                await self._sessions.end(self._session(scope, headers))
                await answer(send, 200)
            case _:
                await answer(send, 405, headers=[(b"allow", b"POST" if stateless else b"GET, POST, DELETE")])

    async def _stateless(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str], message: dict[str, Any]
    ) -> None:
        """Serve a request of 2026-07-28, which contains its whole context."""
        if "id" not in message:
            rejection = unsupported_protocol_version_rejection(headers.get("mcp-protocol-version", ""))
            _check(JSONRPCNotification, message)
            # Notifications have no effect here: a client cancels by closing the answer.
            await (answer(send, 202) if rejection is None else _reject(send, rejection, None))
            return
        request = _check(JSONRPCRequest, message)
        duplicated = find_duplicated_routing_header(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        if duplicated is not None:
            raise Refused(400, HEADER_MISMATCH, f"{duplicated} header appears more than once")
        route = classify_inbound_request(message, headers=headers)
        if isinstance(route, InboundLadderRejection):
            await _reject(send, route, request["id"])
            return
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        exchange = Exchange(scope, receive, send, request)
        method, params = request["method"], request.get("params")
        await exchange.serve(
            lambda: serve_one(self._server, exchange, method, params, connection=connection, lifespan_state=self._state)
        )

    async def _in_session(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str], message: dict[str, Any]
    ) -> None:
        """Serve a message of the handshake era."""
        if message.get("method") == "initialize" and "id" in message:
            await self._open(scope, receive, send, message)
            return
        session = self._session(scope, headers)
        if "method" not in message:
            session.responded(message)
            await answer(send, 202, headers=[session.header])
        elif "id" not in message:
            _check(JSONRPCNotification, message)
            await answer(send, 202, headers=[session.header])
            await self._notified(session, scope, receive, send, message)
        else:
            await self._ask(session, scope, receive, send, _check(JSONRPCRequest, message))

    async def _open(self, scope: Scope, receive: Receive, send: Send, message: dict[str, Any]) -> None:
        if len(str(message)) > HANDSHAKE_LIMIT:
            raise Refused(413, INVALID_REQUEST, f"A handshake has at most {HANDSHAKE_LIMIT:,} characters.")
        await self._sessions.make_room(scope.get(SCOPE_KEY))
        if len(self._sessions) >= MAX_SESSIONS:
            await self._sessions.sweep()
        if len(self._sessions) >= MAX_SESSIONS:
            raise Refused(503, INTERNAL_ERROR, "Too many sessions are open. Close some, or try again later.")
        session = Session(self._server, self._state, scope.get(SCOPE_KEY), scope.get(KEY_SCOPE, ""))
        await self._ask(session, scope, receive, send, _check(JSONRPCRequest, message))
        if session.connection.client_params is None:
            await session.end()  # the handshake failed

    async def _ask(self, session: Session, scope: Scope, receive: Receive, send: Send, request: dict[str, Any]) -> None:
        exchange = Exchange(scope, receive, send, request, session, [session.header])
        key = coerce_request_id(request["id"])
        method, params = request["method"], request.get("params")

        async def work() -> dict[str, Any]:
            result = await session.runner.on_request(exchange, method, params)
            if method == "initialize":
                self._sessions.add(session)  # before the client knows its id
            return result

        session.under_way[key] = exchange
        try:
            await exchange.serve(work)
        finally:
            if session.under_way.get(key) is exchange:
                del session.under_way[key]

    async def _notified(
        self, session: Session, scope: Scope, receive: Receive, send: Send, message: dict[str, Any]
    ) -> None:
        notification = JSONRPCNotification.model_validate(message)
        if notification.method == "notifications/cancelled":
            session.cancelled((notification.params or {}).get("requestId"))
        notice = Exchange(scope, receive, send, {"id": None, **message}, session)
        await session.runner.on_notify(notice, notification.method, notification.params)

    async def _listen(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        if not _accepts(headers, _ACCEPTS_EVENTS):
            raise Refused(406, INVALID_REQUEST, "Not Acceptable: Client must accept text/event-stream")
        session = self._session(scope, headers)
        listening = asyncio.ensure_future(session.listen(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({listening, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (listening, leaving):
                task.cancel()
            await asyncio.wait({listening, leaving})

    def _session(self, scope: Scope, headers: Mapping[str, str]) -> Session:
        session_id = headers.get("mcp-session-id")
        if session_id is None:
            raise Refused(400, INVALID_REQUEST, "Bad Request: Missing session ID")
        caller: Caller | None = scope.get(SCOPE_KEY)
        if (session := self._sessions.get(session_id, caller, scope.get(KEY_SCOPE, ""))) is None:
            raise Refused(404, INVALID_REQUEST, "Session not found")
        return session

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(IDLE_SECONDS / 30)
            await self._sessions.sweep()


async def _reject(send: Send, rejection: InboundLadderRejection, request_id: Any) -> None:
    error = ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
    body = {"jsonrpc": "2.0", "id": request_id, "error": error.model_dump(by_alias=True, exclude_none=True)}
    await answer(send, 400, encoded(body))


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size, more = 0, True
    while more:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise Refused(400, INVALID_REQUEST, "The request did not arrive whole.")
        piece: bytes = part.get("body", b"")
        pieces.append(piece)
        size += len(piece)
        more = part.get("more_body", False)
        if size > BODY_LIMIT:
            raise Refused(413, INVALID_REQUEST, f"A request may have {BODY_LIMIT} bytes. Send less in one call.")
    return b"".join(pieces)


def _decoded(body: bytes) -> dict[str, Any]:
    if has_more_values(body, VALUE_LIMIT):
        raise Refused(413, INVALID_REQUEST, f"A request may have {VALUE_LIMIT:,} values. Send less in one call.")
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, PARSE_ERROR, "Parse error") from None
    if not isinstance(message, dict):
        raise Refused(400, INVALID_REQUEST, "Body must be a single JSON-RPC message object")
    return cast("dict[str, Any]", message)


def _check(model: type[BaseModel], message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose envelope is valid."""
    try:
        model.model_validate(message)
    except ValidationError:
        raise Refused(400, INVALID_REQUEST, "Body must be a single JSON-RPC request or notification object") from None
    return message


def _check_types(headers: Mapping[str, str]) -> None:
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, INVALID_REQUEST, "Unsupported Media Type: Content-Type must be application/json")
    if not (_accepts(headers, _ACCEPTS_JSON) and _accepts(headers, _ACCEPTS_EVENTS)):
        raise Refused(
            406, INVALID_REQUEST, "Not Acceptable: Client must accept both application/json and text/event-stream"
        )


def _accepts(headers: Mapping[str, str], kinds: tuple[str, ...]) -> bool:
    accepted = [kind.partition(";")[0].strip().lower() for kind in headers.get("accept", "").split(",")]
    return any(kind in accepted for kind in kinds)
