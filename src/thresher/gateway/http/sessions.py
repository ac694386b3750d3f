"""The sessions of the handshake era (up to 2025-11-25) over HTTP.

Invariant: a session belongs to the caller and key that opened it; for all others it does not exist. It ends at the
request of its client, or after a time without requests; then nothing of it is left.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any
from uuid import uuid4

from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner, aclose_shielded
from mcp.shared.dispatcher import CallOptions, coerce_request_id
from mcp.shared.exceptions import NoBackChannelError
from mcp_types import REQUEST_TIMEOUT, ErrorData

from thresher.core import Caller
from thresher.gateway.http.exchange import (
    EVENT_STREAM,
    KEEP_ALIVE_SECONDS,
    Exchange,
    Message,
    Send,
    disconnected,
    event_of,
)

IDLE_SECONDS = 30 * 60.0
"""The longest time between two requests of a session."""
MAX_SESSIONS = 10_000
SESSIONS_EACH = 1_000
"""The most sessions of one caller: a client that never ends its sessions must not use up those of others."""
_BACKLOG = 256
"""The most messages that wait for the client to listen; the oldest are dropped, since all only report changes."""


class Session:
    """One client's session: the state of its handshake, and the ways to reach it.

    Args:
        server: The gateway.
        state: The state of the server's lifespan.
        caller: The caller that opened it.
        key: The fingerprint of the key that it was opened with; empty without one.
    """

    def __init__(self, server: Server[Any], state: Any, caller: Caller | None, key: str) -> None:
        self.id = uuid4().hex
        self.caller = caller
        self.key = key
        self.connection = Connection.for_loop(self, session_id=self.id)
        self.runner = ServerRunner(server, self.connection, state)
        self.under_way: dict[Any, Exchange] = {}
        self.used = monotonic()
        self._questions: dict[Any, asyncio.Future[Any]] = {}
        self._asked = 0
        self._backlog: deque[bytes] = deque(maxlen=_BACKLOG)
        self._news = asyncio.Event()
        self._listener: object | None = None
        self.ended = False

    @property
    def idle(self) -> bool:
        """Whether it ends because it has been without a request for too long."""
        unused = not self.under_way and self._listener is None
        return unused and monotonic() - self.used > IDLE_SECONDS

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002 - the protocol's
    ) -> None:
        """Send the client a message that belongs to no request."""
        self._post({"jsonrpc": "2.0", "method": method} | ({"params": dict(params)} if params is not None else {}))

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client a question that belongs to no request.

        Raises:
            MCPError: It does not listen, refused, or has disconnected.
        """
        if self._listener is None:
            raise NoBackChannelError(method)

        async def send(message: Message) -> None:
            self._post(message)

        return await self.ask(send, method, params, (opts or {}).get("timeout"))

    async def ask(
        self, send: Callable[[Message], Awaitable[None]], method: str, params: Any, timeout: float | None
    ) -> dict[str, Any]:
        """Send a request to the client and wait for its response.

        Raises:
            MCPError: It refused, did not answer in time, or has disconnected.
        """
        if self.ended:
            raise disconnected()
        self._asked += 1
        number = self._asked
        response: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions[number] = response
        try:
            request = {"jsonrpc": "2.0", "id": number, "method": method}
            await send(request | ({"params": params} if params is not None else {}))
            async with asyncio.timeout(timeout):
                return await response
        except TimeoutError:
            raise MCPError(code=REQUEST_TIMEOUT, message=f"Request {method!r} timed out") from None
        finally:
            del self._questions[number]

    def responded(self, message: Message) -> None:
        """Take the client's response to a question; others are dropped."""
        number = message.get("id")
        waiting = self._questions.get(coerce_request_id(number)) if isinstance(number, int | str) else None
        if waiting is None or waiting.done():
            return
        if "error" in message:
            error = ErrorData.model_validate(message["error"])
            waiting.set_exception(MCPError(code=error.code, message=error.message, data=error.data))
        else:
            waiting.set_result(message.get("result") or {})

    def cancelled(self, request_id: Any) -> None:
        """Cancel a request: the client no longer wants an answer."""
        if isinstance(request_id, int | str) and (exchange := self.under_way.get(coerce_request_id(request_id))):
            exchange.cancel()

    async def listen(self, send: Send) -> None:
        """Send messages that belong to no request as events, until the session ends or the client listens again."""
        me = self._listener = object()
        self._news.set()  # an older stream sees that it was replaced
        await send({"type": "http.response.start", "status": 200, "headers": [*EVENT_STREAM, self.header]})
        try:
            while self._listener is me and not self.ended:
                self._news.clear()
                while self._backlog:
                    await send({"type": "http.response.body", "body": self._backlog.popleft(), "more_body": True})
                try:
                    await asyncio.wait_for(self._news.wait(), KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    await send({"type": "http.response.body", "body": b": ping\r\n\r\n", "more_body": True})
        finally:
            if self._listener is me:
                self._listener = None
                self.used = monotonic()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    @property
    def header(self) -> tuple[bytes, bytes]:
        """The header that names the session."""
        return (b"mcp-session-id", self.id.encode())

    async def end(self) -> None:
        """Stop all running requests, and release everything."""
        if self.ended:
            return
        self.ended = True
        self._news.set()
        for waiting in self._questions.values():
            if not waiting.done():
                waiting.set_exception(disconnected())
        for exchange in list(self.under_way.values()):
            exchange.cancel()
        await aclose_shielded(self.connection)

    def _post(self, message: Message) -> None:
        self._backlog.append(event_of(message))
        self._news.set()


class Sessions:
    """The open sessions."""

    def __init__(self) -> None:
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, session: Session) -> None:
        """Store a session whose handshake is done."""
        self._open[session.id] = session

    def get(self, session_id: str, caller: Caller | None, key: str) -> Session | None:
        """Return a session if this caller opened it with this key."""
        session = self._open.get(session_id)
        if session is None or session.caller != caller or session.key != key:
            return None
        session.used = monotonic()
        return session

    async def end(self, session: Session) -> None:
        """End one session."""
        self._open.pop(session.id, None)
        await session.end()

    async def make_room(self, caller: Caller | None) -> None:
        """End the caller's least recently used session if it has reached the limit."""
        own = [session for session in self._open.values() if session.caller == caller]
        if len(own) >= SESSIONS_EACH:
            await self.end(min(own, key=lambda session: (bool(session.under_way), session.used)))

    async def sweep(self) -> None:
        """End sessions that are not in use."""
        for session in [session for session in self._open.values() if session.idle]:
            await self.end(session)

    async def close(self) -> None:
        """End all sessions."""
        for session in list(self._open.values()):
            await self.end(session)
