"""One request over HTTP and the messages that are sent in answer to it.

Invariant: the answer is plain JSON unless a message has to precede it; then it is an event stream that ends with the
answer. Messages are sent whole and in order.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.runner import modern_error_data
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, ErrorData, RequestId
from starlette.requests import Request

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Message: TypeAlias = Mapping[str, Any]

KEEP_ALIVE_SECONDS = 15.0
"""The longest silence of an event stream: proxies close silent connections."""
WATCH_SECONDS = 0.05
"""Only if an answer takes longer is the client's connection watched; most take less."""

EVENT_STREAM: list[tuple[bytes, bytes]] = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_CANCELLED = ErrorData(code=-32800, message="Request cancelled")
"""For a cancelled request of a session: in the handshake era every request gets an answer."""


class Channel(Protocol):
    """A session that can send questions to its client."""

    async def ask(
        self, send: Callable[[Message], Awaitable[None]], method: str, params: Any, timeout: float | None
    ) -> Any:
        """Send a request with `send` and wait for the client's response."""
        ...


def encoded(message: Message) -> bytes:
    """Return a message as JSON."""
    return json.dumps(message, separators=(",", ":")).encode()


def event_of(message: Message) -> bytes:
    """Return a message as one event."""
    return b"event: message\r\ndata: " + encoded(message) + b"\r\n\r\n"


async def answer(send: Send, status: int, body: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """Send a whole answer; with a body it is JSON."""
    lines = [(b"content-length", str(len(body)).encode()), *(headers or [])]
    if body:
        lines.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, status: int, code: int, message: str, *, request_id: RequestId | None = None) -> None:
    """Send a JSON-RPC error with a status of its own."""
    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    await answer(send, status, encoded(error))


class Exchange:
    """The dispatch context of one request.

    Args:
        scope: The HTTP request.
        receive: Reports that the client disconnects.
        send: Takes the answer.
        message: The decoded JSON-RPC request.
        session: Sends questions to the client; None in the stateless era, which has none.
        headers: Further headers of the answer.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        message: Message,
        session: Channel | None = None,
        headers: list[tuple[bytes, bytes]] | None = None,
    ) -> None:
        self.request_id: RequestId = message["id"]
        self.transport = TransportContext(kind="streamable-http", can_send_request=session is not None)
        self.message_metadata: MessageMetadata = ServerMessageMetadata(request_context=Request(scope))
        self.cancel_requested = anyio.Event()
        self._receive = receive
        self._send = send
        self._session = session
        self._headers = headers or []
        self._progress_token = progress_token_from_params(message.get("params"))
        self._work = anyio.CancelScope()
        self._writing = asyncio.Lock()
        self._streaming = False
        self._done = False
        self._left = False
        self._questions = 0
        self._beside: set[asyncio.Task[None]] = set()

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked a question within its request."""
        return self._session is not None and not self._done

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Ask the client a question within its request.

        Raises:
            MCPError: It refused, or has disconnected.
        """
        if self._session is None or self._done:
            raise NoBackChannelError(method)
        if self._left:
            raise disconnected()
        self._questions += 1
        try:
            return await self._session.ask(self._notify, method, params, (opts or {}).get("timeout"))
        finally:
            self._questions -= 1

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,  # noqa: ARG002 - the protocol's
    ) -> None:
        """Send the client a message before the answer."""
        await self._notify(
            {"jsonrpc": "2.0", "method": method} | ({"params": dict(params)} if params is not None else {})
        )

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to a client that asked for reports."""
        if self._progress_token is None:
            return
        params = {"progressToken": self._progress_token, "progress": progress, "total": total, "message": message}
        await self.notify("notifications/progress", {key: value for key, value in params.items() if value is not None})

    def cancel(self) -> None:
        """Stop the work: the client no longer wants an answer."""
        self.cancel_requested.set()
        self._work.cancel()

    async def serve(self, work: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Do the work and answer; an exception becomes the answer's error."""
        timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._start_watching)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.request_id}
        error: ErrorData | None = _CANCELLED
        try:
            with self._work:
                try:
                    message["result"] = await work()
                    error = None
                except Exception as raised:  # noqa: BLE001 - the face: an error is an answer
                    error = modern_error_data(raised)
        finally:
            timer.cancel()
            self._done = True
            for task in self._beside:
                task.cancel()
        if error is not None:
            message["error"] = error.model_dump(by_alias=True, exclude_none=True)
        if error is not _CANCELLED or self._session is not None:
            await self._finish(message, error)

    async def _finish(self, message: dict[str, Any], error: ErrorData | None) -> None:
        if self._streaming:
            async with self._writing:
                await self._send({"type": "http.response.body", "body": event_of(message), "more_body": False})
            return
        stateless = self._session is None and error is not None
        status = ERROR_CODE_HTTP_STATUS.get(error.code, 200) if stateless and error is not None else 200
        await answer(self._send, status, encoded(message), self._headers)

    async def _notify(self, message: Message) -> None:
        if not self._done:
            await self._write(event_of(message))

    async def _write(self, event: bytes) -> None:
        async with self._writing:
            if not self._streaming:
                self._streaming = True
                headers = [*EVENT_STREAM, *self._headers]
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": event, "more_body": True})

    def _start_watching(self) -> None:
        for beside in (self._watch(), self._keep_alive()):
            task = asyncio.create_task(beside)
            self._beside.add(task)
            task.add_done_callback(self._beside.discard)

    async def _watch(self) -> None:
        """Cancel when the client disconnects: in the stateless era always, in a session only while it is asked."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._left = True
        if self._session is None or self._questions:
            self.cancel()

    async def _keep_alive(self) -> None:
        while not self._done:
            await asyncio.sleep(KEEP_ALIVE_SECONDS)
            with suppress(OSError):
                await self._write(b": ping\r\n\r\n")


def disconnected() -> MCPError:
    """Return the error for code that waits for an answer of a client that has disconnected."""
    return MCPError(code=CONNECTION_CLOSED, message="The client has disconnected.")
