"""One MCP session over a pair of byte streams."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastmcp import FastMCP

from thresher.gateway import serve_stream_session, streams

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Wire:
    """The client's end: lines out, lines in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: asyncio.Task[None]) -> None:
        self.reader, self.writer, self.session = reader, writer, session

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send one request and read one answer."""
        self.writer.write(json.dumps(message).encode() + b"\n")
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """Read one line."""
        return json.loads(await asyncio.wait_for(self.reader.readline(), 20))

    async def greet(self) -> dict[str, Any]:
        """Initialise the session."""
        hello = await self.ask(HELLO)
        self.writer.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return hello

    async def leave(self) -> None:
        """Close the stream and wait for the session to end."""
        self.writer.close()
        await asyncio.wait_for(self.session, 20)


def counter() -> FastMCP[Any]:
    """A server with two small tools."""
    server: FastMCP[Any] = FastMCP("counter")

    @server.tool
    def double(number: int) -> int:
        return number * 2

    @server.tool
    def length(text: str) -> int:
        return len(text)

    return server


@asynccontextmanager
async def connected(server: FastMCP[Any]) -> AsyncIterator[Wire]:
    """A client whose session runs in this process."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    far = await asyncio.open_connection(sock=theirs, limit=2**26)
    session = asyncio.create_task(serve_stream_session(server, reader, writer, None))
    wire = Wire(*far, session)
    try:
        yield wire
    finally:
        await wire.leave()


def call(request: int, name: str, **arguments: Any) -> dict[str, Any]:
    """A tools/call request."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request, "method": "tools/call", "params": params}


async def test_a_client_greets_lists_and_calls() -> None:
    """A whole session of the handshake era works over the streams."""
    async with connected(counter()) as wire:
        hello = await wire.greet()
        tools = await wire.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        result = await wire.ask(call(3, "double", number=21))

    assert hello["result"]["protocolVersion"] == "2025-11-25"
    assert {tool["name"] for tool in tools["result"]["tools"]} == {"double", "length"}
    assert result["result"]["content"][0]["text"] == "42"


async def test_ten_sessions_share_one_server_and_a_lost_one_harms_none() -> None:
    """A client that is cut off in mid-session leaves the other nine working."""
    server = counter()
    async with connected(server) as first, connected(server) as second:
        others = [connected(server) for _ in range(8)]
        wires = [await other.__aenter__() for other in others]
        for wire in (first, second, *wires):
            await wire.greet()
        second.writer.transport.abort()
        await asyncio.wait_for(second.session, 20)
        results = await asyncio.gather(*(wire.ask(call(5, "double", number=i)) for i, wire in enumerate(wires)))
        for other in others:
            await other.__aexit__(None, None, None)

    assert [r["result"]["content"][0]["text"] for r in results] == [str(i * 2) for i in range(8)]


async def test_a_line_that_is_no_json_does_not_end_the_session() -> None:
    """Malformed and blank lines are passed over; the next request is answered."""
    async with connected(counter()) as wire:
        await wire.greet()
        wire.writer.write(b'this is no json\n\n{"jsonrpc": 7}\n')
        wire.writer.write(json.dumps(call(9, "double", number=4)).encode() + b"\n")
        answer = await wire.answer()
        while answer.get("id") != 9:
            answer = await wire.answer()

    assert answer["result"]["content"][0]["text"] == "8"


async def test_a_megabyte_argument_passes_whole() -> None:
    """Messages longer than a reader's line limit are read in pieces."""
    async with connected(counter()) as wire:
        await wire.greet()
        answer = await wire.ask(call(2, "length", text="x" * 1_000_000))

    assert answer["result"]["content"][0]["text"] == "1000000"


async def test_a_message_without_end_closes_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that never ends its line is cut off before it takes the memory, and learns why."""
    monkeypatch.setattr(streams, "MESSAGE_LIMIT", 100_000)
    async with connected(counter()) as wire:
        await wire.greet()
        wire.writer.write(b"x" * 400_000)
        refusal = await wire.answer()
        await asyncio.wait_for(wire.session, 20)

        assert refusal["id"] is None
        assert "A message is longer than 100000 bytes." in refusal["error"]["message"]
        assert wire.session.exception() is None


async def test_a_message_of_too_many_values_closes_its_session() -> None:
    """Before it is decoded, which nobody else could be served beside."""
    async with connected(counter()) as wire:
        await wire.greet()
        wire.writer.write(b'{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":[' + b"[]," * 250_001 + b"[]]}}\n")
        refusal = await wire.answer()

    assert "more than 250,000 values" in refusal["error"]["message"]


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        (b"hello", None, -32700),
        (b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}', 5, -32600),
        (b'{"jsonrpc":"2.0","id":6,"method":"ping","params":{"a":' + b"[" * 300 + b"]" * 300 + b"}}", 6, -32600),
    ],
)
async def test_a_line_that_is_no_request_is_answered(line: bytes, id_: int | None, code: int) -> None:
    """Its client would wait for ever; the session goes on."""
    async with connected(counter()) as wire:
        await wire.greet()
        wire.writer.write(line + b"\n")
        refusal = await wire.answer()
        wire.writer.write(b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
        after = await wire.answer()

    assert (refusal["id"], refusal["error"]["code"]) == (id_, code)
    assert after["id"] == 9


async def test_a_cancellation_of_nothing_that_could_be_a_request_ends_no_session() -> None:
    """A client may write anything there."""
    async with connected(counter()) as wire:
        await wire.greet()
        for odd in ({"a": 1}, [1], None):
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": odd}}
            wire.writer.write(json.dumps(cancel).encode() + b"\n")
        wire.writer.write(b'{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
        answer = await wire.answer()

    assert answer["id"] == 9


async def test_what_is_under_way_is_answered_after_the_client_has_said_its_last() -> None:
    """A half-closed stream is drained; a cancelled request is not waited for, and the session then ends."""
    server = counter()
    begun, go_on = asyncio.Event(), asyncio.Event()

    @server.tool
    async def slow() -> str:
        begun.set()
        await go_on.wait()
        return "done"

    async with connected(server) as wire:
        await wire.greet()
        for request in (2, 3):
            wire.writer.write(json.dumps(call(request, "slow")).encode() + b"\n")
        await asyncio.wait_for(begun.wait(), 20)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
        wire.writer.write(json.dumps(cancel).encode() + b"\n")
        wire.writer.write_eof()
        go_on.set()
        answer = await wire.answer()
        await asyncio.wait_for(wire.session, 20)

    assert answer["result"]["content"][0]["text"] == "done"
