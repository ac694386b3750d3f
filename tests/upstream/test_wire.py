"""The small HTTP client and the reader of events, against what real servers and broken ones send."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.upstream.transport.errors import Broken, Unreachable
from thresher.upstream.transport.events import EventReader, ServerEvent
from thresher.upstream.transport.exchange import LibraryExchange
from thresher.upstream.transport.wire import WireClient

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@asynccontextmanager
async def serving(*answers: bytes, then_close: bool = False) -> AsyncIterator[tuple[httpx2.URL, list[bytes]]]:
    """A server that gives each request the next answer, and notes the requests; one connection at a time counts."""
    heard: list[bytes] = []
    waiting = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(b"(connected)")
        try:
            while waiting:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                heard.append(head + await reader.readexactly(size))
                writer.write(waiting.pop(0))
                await writer.drain()
                if then_close:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield httpx2.URL(f"http://127.0.0.1:{port}/mcp?a=1"), heard
    finally:
        server.close()


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


PLAIN = answer(b"hello", "Content-Length: 5")
CHUNKED = answer(b"2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: 1\r\n\r\n", "Transfer-Encoding: chunked")
PACKED = gzip.compress(b"hello")


@pytest.mark.parametrize(
    "sent",
    [
        PLAIN,
        CHUNKED,
        answer(PACKED, f"Content-Length: {len(PACKED)}", "Content-Encoding: gzip"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN,
        answer(b"hello", "content-LENGTH:5", "X: a", "X: b"),
    ],
)
async def test_answers_of_all_kinds_are_read_and_the_connection_is_used_again(sent: bytes) -> None:
    """With each way to determine their length."""
    async with serving(sent, sent) as (url, heard):
        wire = WireClient({"X-Key": "k"}, 5.0)

        for _ in range(2):
            found = await wire.send("POST", url, {"accept": "a"}, b"{}")
            assert (found.status, await found.read(100)) == (200, b"hello")

        await wire.close()
        assert heard.count(b"(connected)") == 1
        request = heard[1]
        assert request.startswith(b"POST /mcp?a=1 HTTP/1.1\r\nhost: 127.0.0.1:")
        assert b"\r\ncontent-length: 2\r\naccept: a\r\nX-Key: k\r\n" in request
        assert request.endswith(b"accept-encoding: identity\r\n\r\n{}")


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    """As HTTP/1.0 had it."""
    async with serving(answer(b"hello"), then_close=True) as (url, _):
        wire = WireClient({}, 5.0)

        assert await (await wire.send("GET", url, {}, b"")).read(100) == b"hello"

        await wire.close()


async def test_a_connection_that_the_server_has_closed_is_not_used_again() -> None:
    """Detected before a request is sent over it, because then it would be unknown whether it was carried out."""
    async with serving(PLAIN, PLAIN, then_close=True) as (url, heard):
        wire = WireClient({}, 5.0)

        for _ in range(2):
            assert await (await wire.send("POST", url, {}, b"{}")).read(100) == b"hello"

        await wire.close()
        assert heard.count(b"(connected)") == 2


async def test_a_stream_that_is_left_early_gives_its_connection_back_when_it_ends_at_once() -> None:
    """Most servers end a stream with the answer in it; a new connection would cost more than the call."""
    async with serving(CHUNKED, PLAIN) as (url, heard):
        wire = WireClient({}, 5.0)
        first = await wire.send("POST", url, {}, b"{}")
        async for _ in first.chunks():
            break
        await first.finish()
        await first.close()
        await asyncio.wait({*wire._tasks})  # pyright: ignore[reportPrivateUsage] - the end that is being waited for

        await (await wire.send("POST", url, {}, b"{}")).read(100)

        await wire.close()
        assert heard.count(b"(connected)") == 1


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"SMTP ready\r\n\r\n", "does not speak HTTP"),
        (b"", "closed the connection without an answer"),
        (answer(b"he", "Content-Length: 5"), "broke off"),
        (answer(b"5\r\nhe", "Transfer-Encoding: chunked"), "broke off"),
        (answer(b"-5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), "negative"),
        (answer(b"zz\r\nhello", "Transfer-Encoding: chunked"), "invalid literal"),
        (answer(b"hello", "Content-Length: five"), "no valid length"),
        (answer(b"hello", "Content-Length: 5", "Content-Encoding: br"), "was not asked for"),
        (answer(b"hello", "Content-Length: 5", "Content-Encoding: gzip"), "incorrect header"),
        (answer(b"", *[f"X-{at}: {'x' * 1000}" for at in range(100)]), "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * 2_000_000, "chunk exceed|limit|broke off"),
    ],
)
async def test_what_breaks_the_protocol_is_a_broken_answer(sent: bytes, said: str) -> None:
    """Never a crash, never a hang, never a second use."""
    async with serving(sent, then_close=True) as (url, _):
        wire = WireClient({}, 5.0)

        with pytest.raises(Broken, match=said):
            await (await wire.send("POST", url, {}, b"{}")).read(100)

        await wire.close()


@pytest.mark.parametrize(
    "sent",
    [
        answer(b"x" * 200, "Content-Length: 200"),
        answer(b"c8\r\n" + b"x" * 200 + b"\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
        answer(gzip.compress(bytes(10_000_000)), "Content-Encoding: gzip"),
    ],
)
async def test_a_body_is_bounded_after_decompression(sent: bytes) -> None:
    """A small answer can unpack to a monstrous one."""
    async with serving(sent, then_close=True) as (url, _):
        wire = WireClient({}, 5.0)

        found = await wire.send("POST", url, {}, b"{}")
        with pytest.raises(Broken, match="more than"):
            await found.read(100)

        await found.close()
        await wire.close()


async def test_headers_cannot_smuggle_in_a_request() -> None:
    """A value with a line end is left out; the protocol's own headers cannot be set from outside."""
    async with serving(PLAIN) as (url, heard):
        wire = WireClient({"X-Bad": "a\r\nX-Evil: 1", "Content-Length": "99", "Host": "virtual.example"}, 5.0)

        await (await wire.send("POST", url, {"y-bad": "b\nX-Evil: 2"}, b"{}")).read(100)

        await wire.close()
        assert b"Evil" not in heard[1]
        assert heard[1].count(b"ontent-") == 1
        assert b"Host: virtual.example" in heard[1]


async def test_user_and_password_of_an_address_become_basic_authorization() -> None:
    """Percent signs undone; a configured header wins."""
    async with serving(PLAIN, PLAIN) as (url, heard):
        address = url.copy_with(userinfo=b"me:p%40ss")
        for headers in ({}, {"Authorization": "Bearer x"}):
            wire = WireClient(headers, 5.0)
            await (await wire.send("POST", address, {}, b"{}")).read(100)
            await wire.close()

        first, second = (request for request in heard if request != b"(connected)")
        assert b"authorization: Basic bWU6cEBzcw==" in first
        assert b"Basic" not in second


async def test_nothing_there_is_unreachable() -> None:
    """By both clients."""
    async with serving() as (url, _):
        pass
    for exchange in (WireClient({}, 2.0), LibraryExchange({}, 2.0)):
        with pytest.raises(Unreachable):
            await exchange.send("POST", url, {}, b"{}")
        await exchange.close()


async def test_the_library_does_the_same_where_a_proxy_is_needed() -> None:
    """Same answers, same troubles."""
    async with serving(CHUNKED, answer(b"5\r\nhe", "Transfer-Encoding: chunked"), then_close=True) as (url, _):
        exchange = LibraryExchange({"X-Key": "k"}, 5.0)
        found = await exchange.send("POST", url, {"accept": "a"}, b"{}")
        assert (found.status, found.headers["transfer-encoding"], await found.read(100)) == (200, "chunked", b"hello")

        broken = await exchange.send("POST", url, {}, b"{}")
        with pytest.raises(Broken):
            await broken.read(100)
        await broken.close()
        await exchange.close()


def read(*pieces: bytes) -> list[ServerEvent]:
    """All events out of these pieces."""
    reader = EventReader(1000)
    return [event for piece in pieces for event in reader.feed(piece)]


STREAM = (
    b'\xef\xbb\xbf: hi\r\nid: 7\r\nevent: message\rdata: {"a":\ndata:1}\r\n\r\n'
    b"retry: 10\ndata\n\nid\ndata: x\n\nunfinished: "
)


def test_lines_without_data_count_too() -> None:
    """A server may send them without an end."""
    with pytest.raises(Broken, match="an event of more than"):
        read(*[b"data\n" * 100] * 11)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_events_are_the_same_however_they_are_cut(cuts: list[int]) -> None:
    """With all three kinds of line ends, a byte order mark and comments."""
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(edges)]

    assert read(*pieces) == [
        ServerEvent(b'{"a":\n1}', "message", "7"),
        ServerEvent(b"", "message", "7"),
        ServerEvent(b"x", "message", ""),
    ]


def test_an_event_is_bounded() -> None:
    """In one line or in many."""
    for piece in (b"data: " + b"x" * 2000, b"data: x\n" * 2000):
        with pytest.raises(Broken, match="an event of more than"):
            read(piece)
