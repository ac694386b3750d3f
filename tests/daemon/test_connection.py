"""Connections with limits: those who have shown no key neither keep one for long nor take many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.support import eventually
from thresher.daemon.server.connection import Limits, network
from thresher.daemon.server.http import bind, serving
from thresher.peers import PEER

AGES = 3600.0
SOON = 0.2
HASTY = Limits(head_seconds=SOON, body_seconds=SOON, idle_seconds=SOON, kept_seconds=AGES)
SECONDS = 20.0
"""For what must come."""
LARGE = 16_000_000
"""Bytes that no socket takes before they are read."""
HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: x\r\nX-Half"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
GET_AS_OWNER = b"GET /known HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nbegun"
POST_AS_OWNER = b"POST /known HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nbegun"


class Application:
    """Refuses at once, without reading a body; below `/known` it recognises the peer first, as the door does."""

    def __init__(self) -> None:
        self.more = asyncio.Event()
        """Lets the stream of `/known/stream` go on."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        body = b"." * (LARGE if scope["path"] == "/large" else 1)
        if scope["path"].startswith("/known"):
            scope["state"][PEER].recognise()
            while (message := await receive())["type"] == "http.request":
                body += message["body"]
                if not message["more_body"]:
                    break
        length = [] if scope["path"] == "/known/stream" else [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        if not length:
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await self.more.wait()
        await send({"type": "http.response.body", "body": body})


class Client:
    """A client that sends what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, text: bytes) -> None:
        """Send bytes, of which the other end may have had enough."""
        self.writer.write(text)

    async def answer(self) -> bytes:
        """The next answer, as far as its first line."""
        async with asyncio.timeout(SECONDS):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await self.reader.readexactly(length)
            return head.split(b"\r\n")[0]

    async def ended(self) -> bytes:
        """Wait until the server has closed the connection; returns what came before."""
        with suppress(ConnectionError):
            async with asyncio.timeout(SECONDS):
                return await self.reader.read()
        return b""


class Port:
    """A served application."""

    def __init__(self, address: tuple[str, int], application: Application) -> None:
        self.application = application
        self._address = address
        self._clients: list[Client] = []

    async def client(self, text: bytes = b"") -> Client:
        """Connect, and send the first bytes."""
        client = Client(*await asyncio.open_connection(*self._address))
        self._clients.append(client)
        client.send(text)
        return client

    def close(self) -> None:
        """End every client."""
        for client in self._clients:
            client.writer.close()


@asynccontextmanager
async def port(limits: Limits) -> AsyncIterator[Port]:
    """An application behind a port with these limits."""
    door, application = bind("127.0.0.1", 0), Application()
    async with serving(application, door, limits):
        opened = Port(door.getsockname(), application)
        try:
            yield opened
        finally:
            opened.close()


@pytest.mark.parametrize("text", [b"", b"GET", HALF_A_HEAD], ids=["silent", "method", "head"])
async def test_half_a_head_is_not_awaited_for_ever(text: bytes) -> None:
    """Nor is the first byte."""
    async with port(HASTY) as opened:
        client = await opened.client(text)

        assert await client.ended() == b""


@pytest.mark.parametrize(
    ("text", "answers"),
    [(HALF_A_HEAD[:10], 0), (GET + HALF_A_HEAD, 1), (POST, 1)],
    ids=["head", "next head", "body"],
)
async def test_single_bytes_win_no_time(text: bytes, answers: int) -> None:
    """A head or a body that comes byte by byte has the same time as one that does not come."""
    async with port(HASTY) as opened:
        client = await opened.client(text)
        # Read before a byte meets the closed connection: its reset would take with it what is still unread.
        answered = [await client.answer() for _ in range(answers)]
        ended = asyncio.create_task(client.ended())
        while not ended.done():
            client.send(b"a")
            await asyncio.wait([ended], timeout=SOON / 20)

    assert all(b"200" in line for line in answered)
    assert b"HTTP/1.1 200" not in ended.result()


async def test_a_request_of_two_lengths_is_refused_and_its_connection_closed() -> None:
    """What forwarded it may have gone by the other length: the rest would be a request of somebody else's."""
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 31\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with port(Limits()) as opened:
        client = await opened.client(head + b"1\r\na\r\n0\r\n\r\n" + GET)
        answered = await client.ended()

    assert answered.startswith(b"HTTP/1.1 400")
    assert answered.count(b"HTTP/1.1") == 1


async def test_a_body_without_an_end_is_answered_and_closed() -> None:
    """The refusal arrives, for it does not wait for the body; then the rest of the body has its time."""
    async with port(HASTY) as opened:
        client = await opened.client(POST)

        assert b"200" in await client.answer()
        assert await client.ended() == b""


async def test_an_idle_connection_is_kept_for_those_who_are_known() -> None:
    """Clients and proxies count on it; the others connect again."""
    async with port(HASTY) as opened:
        known, unknown = await opened.client(GET_AS_OWNER), await opened.client(GET)
        before = await known.answer(), await unknown.answer()
        await unknown.ended()
        known.send(GET)
        after = await known.answer()

    assert all(b"200" in line for line in (*before, after))


async def test_what_is_known_may_be_slow() -> None:
    """A body that halts, and a stream that says nothing for a while, are not cut off."""
    async with port(HASTY) as opened:
        slow, stream = await opened.client(POST_AS_OWNER), await opened.client(GET.replace(b"/ ", b"/known/stream "))
        begun = await stream.reader.readuntil(b"first")
        unknown = await opened.client()
        await unknown.ended()
        slow.send(b" end")
        answer = await slow.answer()
        opened.application.more.set()
        rest = await stream.reader.readuntil(b"0\r\n\r\n")

    assert b"200" in answer
    assert b"200" in begun
    assert b"." in rest


async def test_what_is_known_does_not_hang_for_ever_either() -> None:
    """Half a request is dropped after as long a silence as a connection is kept."""
    limits = Limits(head_seconds=AGES, body_seconds=AGES, idle_seconds=AGES, kept_seconds=SOON)
    async with port(limits) as opened:
        body, head = await opened.client(POST_AS_OWNER), await opened.client(GET_AS_OWNER + HALF_A_HEAD)

        assert await body.ended() == b""
        assert b"200" in await head.ended()


async def test_an_answer_that_nobody_reads_is_cut_off() -> None:
    """It would be kept in memory for as long as the client likes."""
    async with port(HASTY) as opened:
        client = await opened.client(GET.replace(b"/ ", b"/large "))
        await client.reader.readuntil(b"\r\n\r\n")
        for _ in range(3):  # each of them has the time that the answer has
            await (await opened.client()).ended()

        assert len(await client.ended()) < LARGE


async def test_many_who_speak_at_once_are_all_served() -> None:
    """A proxy that opens its connections together is no attack, whatever the order in which they are read."""
    async with port(Limits(per_address=20)) as opened:
        clients = await asyncio.gather(*(opened.client(GET_AS_OWNER) for _ in range(300)))

        assert all(b"200" in line for line in await asyncio.gather(*(client.answer() for client in clients)))


async def test_five_hundred_half_heads_shut_nobody_out() -> None:
    """The oldest silent connection makes room for the next; one that speaks at once is served meanwhile."""
    limits = Limits(head_seconds=AGES, idle_seconds=AGES, per_address=20, grace_seconds=SOON)
    async with port(limits) as opened:
        owner = await opened.client(GET_AS_OWNER)
        before = await owner.answer()
        silent = [await opened.client(HALF_A_HEAD) for _ in range(500)]
        ends = [asyncio.create_task(one.ended()) for one in silent]
        served = await (await opened.client(GET)).answer()
        await eventually(lambda: sum(end.done() for end in ends) >= 500 - limits.per_address)
        owner.send(GET)
        after = await owner.answer()
        kept = [number for number, end in enumerate(ends) if not end.done()]

    assert all(b"200" in line for line in (before, served, after))
    assert kept == list(range(500 - limits.per_address + 1, 500))
    await asyncio.gather(*ends)


async def test_half_heads_are_closed_within_their_time() -> None:
    """All five hundred of them."""
    async with port(HASTY) as opened:
        silent = [await opened.client(HALF_A_HEAD) for _ in range(500)]

        assert set(await asyncio.gather(*(one.ended() for one in silent))) == {b""}


async def test_all_addresses_together_have_a_bound() -> None:
    """The oldest silent one makes room for the next at once."""
    async with port(Limits(head_seconds=AGES, total=5)) as opened:
        silent = [await opened.client(HALF_A_HEAD) for _ in range(8)]
        ends = [asyncio.create_task(one.ended()) for one in silent]
        await eventually(lambda: sum(end.done() for end in ends) >= 3)

        assert [end.done() for end in ends] == [True] * 3 + [False] * 5


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("127.0.0.1", "127.9.9.9", True),
        ("127.0.0.1", "::1", True),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2", True),
    ],
)
def test_what_counts_as_one_address(one: str, other: str, same: bool) -> None:
    """A host has 2^64 addresses of IPv6, and 2^24 of loopback."""
    assert (network(one) == network(other)) is same
