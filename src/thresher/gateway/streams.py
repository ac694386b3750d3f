"""Serves one MCP session over a pair of byte streams: newline-delimited JSON, as on standard input and output.

Invariant: a session owns nothing but its streams; however it ends, other sessions on the same server go on.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp import FastMCP
from fastmcp.server.context import reset_transport, set_transport
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from thresher.core import Caller, CallerText, InvalidInput, acting_for, event, has_more_values, talking_in

logger = logging.getLogger("thresher.gateway")

MESSAGE_LIMIT = 16 * 1024 * 1024
"""Bytes in one message: far above any real call, low enough that one client cannot exhaust memory."""

VALUE_LIMIT = 250_000
"""Values in one message: it is decoded on the event loop, which meanwhile serves no other client."""

DRAIN_SECONDS = 120.0
"""How long running requests may still be answered after the client's last message."""

_CHUNK = 64 * 1024


class _Outstanding:
    """The requests of a session without an answer."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._none = asyncio.Event()
        self._none.set()

    def asked(self, received: SessionMessage | Exception) -> None:
        """Note a request, and drop one that the client has cancelled: it is never answered."""
        message = received.message if isinstance(received, SessionMessage) else None
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
            self._none.clear()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def answered(self, answer: SessionMessage) -> None:
        """Note an answer."""
        if isinstance(answer.message, JSONRPCResponse | JSONRPCError):
            self._settle(answer.message.id)

    def _settle(self, request: Any) -> None:
        if isinstance(request, int | str):  # a client may write anything here
            self._ids.discard(request)
        if not self._ids:
            self._none.set()

    async def settled(self) -> None:
        """Wait until nothing is outstanding, within bounds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._none.wait(), DRAIN_SECONDS)


async def serve_stream_session(
    server: FastMCP[Any],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    caller: Caller | None,
) -> None:
    """Serve one client until its stream ends; many sessions may share the server.

    Args:
        server: The gateway, as `build_gateway` returns it.
        reader: The client's lines; the reader's own line limit does not apply.
        writer: Takes the answers; closed when the session ends.
        caller: The caller, as the door that accepted the stream identified it. None: the local caller, since the door,
            like the local socket, only accepts the account that the process runs under.
    """
    token = set_transport("stdio")
    try:
        async with AsyncExitStack() as stack:
            stack.enter_context(talking_in(None))
            if caller is not None:
                stack.enter_context(acting_for(replace(caller, client=uuid4().hex)))
            await stack.enter_async_context(server._lifespan_manager())  # pyright: ignore[reportPrivateUsage] - no public way to own streams
            await _session(server, reader, writer)
    finally:
        reset_transport(token)
        writer.close()


async def _session(server: FastMCP[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    low_level = server._mcp_server  # pyright: ignore[reportPrivateUsage] - FastMCP's own transports use it so
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, answers_out = anyio.create_memory_object_stream[SessionMessage](0)
    outstanding = _Outstanding()
    async with anyio.create_task_group() as session:
        session.start_soon(_receive, reader, writer, received_in, outstanding)
        async with anyio.create_task_group() as sending:
            sending.start_soon(_send, answers_out, writer, session, outstanding)
            await low_level.run(received, answers, low_level.create_initialization_options())
            await answers.aclose()
        session.cancel_scope.cancel()


async def _receive(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    into: MemoryObjectSendStream[SessionMessage | Exception],
    outstanding: _Outstanding,
) -> None:
    async with into:
        try:
            async for line in _lines(reader):
                message = _message(line)
                if isinstance(message, Exception) and (refusal := _refusal(line)) is not None:
                    writer.write(json.dumps({"jsonrpc": "2.0", **refusal}).encode() + b"\n")
                    continue
                outstanding.asked(message)
                await into.send(message)
            await outstanding.settled()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session has ended
        except (ConnectionError, InvalidInput) as error:
            event(
                logger,
                "session_broken",
                level=logging.WARNING,
                kind=type(error).__name__,
                reason=CallerText(str(error)),
            )
            if isinstance(error, InvalidInput):  # the client is connected, and learns why the session ends
                refusal = {"code": INVALID_REQUEST, "message": str(error)}
                writer.write(json.dumps({"jsonrpc": "2.0", "id": None, "error": refusal}).encode() + b"\n")


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    pieces: list[bytes] = []
    size = 0
    while chunk := await reader.read(_CHUNK):
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            pieces.append(end)
            line = b"".join(pieces)
            pieces, size = [], 0
            if line.strip():
                yield line
        pieces.append(rest)
        size += len(rest)
        if size > MESSAGE_LIMIT:
            raise InvalidInput(f"A message is longer than {MESSAGE_LIMIT} bytes.", hint="Send less in one call.")


def _message(line: bytes) -> SessionMessage | Exception:
    if has_more_values(line, VALUE_LIMIT):
        raise InvalidInput(f"A message has more than {VALUE_LIMIT:,} values.", hint="Send less in one call.")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def _refusal(line: bytes) -> dict[str, Any] | None:
    """Return the answer to a line that is not a valid message; None if no answer is awaited."""
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, "error": {"code": PARSE_ERROR, "message": "The line is not valid JSON."}}
    if not isinstance(value, dict) or not {"id", "method"} <= value.keys():
        return None
    request = cast("dict[str, Any]", value)["id"]
    is_id = isinstance(request, int | str) and not isinstance(request, bool)
    error = {"code": INVALID_REQUEST, "message": "The message is not a JSON-RPC request that can be read."}
    return {"id": request if is_id else None, "error": error}


async def _send(
    answers: MemoryObjectReceiveStream[SessionMessage],
    writer: asyncio.StreamWriter,
    session: TaskGroup,
    outstanding: _Outstanding,
) -> None:
    async with answers:
        try:
            async for answer in answers:
                text = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(text.encode() + b"\n")
                await writer.drain()
                outstanding.answered(answer)
        except ConnectionError:
            session.cancel_scope.cancel()  # the client has disconnected
