"""Callers who give up while their connection is being made."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support import Databases, eventually
from thresher.core import StoreUnavailable
from thresher.store import Database, connect_watched

ANSWERS = 4
"""What the server says until a connection can be used: who are you, prove it, welcome, and one statement's answer."""


class Relay:
    """Stands between a client and the server, and keeps what the server says from one answer on.

    Attributes:
        address: libpq address of the database through it.
        kept: Set once something is kept.
    """

    def __init__(self, address: str, keep_from: int) -> None:
        self._server = conninfo_to_dict(address)
        self._keep_from = keep_from
        self._free, self.kept = asyncio.Event(), asyncio.Event()
        self._address = address
        self.address = ""
        self._pumps: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Relay:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._listener.sockets[0].getsockname()[1]
        direct = {"sslmode": "disable", "gssencmode": "disable"}
        self.address = make_conninfo(self._address, host="127.0.0.1", port=port, **direct)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()
        self._listener.close()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def release(self) -> None:
        """Let go of everything, for good."""
        self._free.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = str(self._server["host"]), self._server["port"]
        if host.startswith("/"):
            back, forth = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            back, forth = await asyncio.open_connection(host, int(str(port)))
        for pump in (self._pump(reader, forth), self._answer(back, writer)):
            self._pumps.add(asyncio.create_task(pump))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers = 0
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                answers += 1
                if answers >= self._keep_from:
                    self.kept.set()
                    await self._free.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@pytest.fixture
def no_collector() -> Iterator[None]:
    """The garbage collector, which may come late, tidies up nothing."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def name(databases: Databases) -> AsyncIterator[str]:
    """A clean database's name."""
    name = await databases.create()
    yield name
    await databases.drop(name)


async def clients(databases: Databases) -> int:
    """How many connections there are, those that still sign in included; those have no database yet."""
    asked = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
    return int(str((await databases.admin(asked))[0][0]))


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("answer", range(1, ANSWERS + 1))
@pytest.mark.parametrize("opened", [Database.open, connect_watched], ids=["pool", "watched"])
async def test_a_cancelled_caller_leaves_no_connection(
    databases: Databases, name: str, opened: Callable[[str], Awaitable[object]], answer: int
) -> None:
    """Whatever the server had said until then: no place there stays taken for nothing."""
    before = await clients(databases)
    async with Relay(databases.url(name), answer) as relay:
        caller = asyncio.ensure_future(opened(relay.address))
        await relay.kept.wait()
        caller.cancel()
        await asyncio.wait([caller])
        relay.release()

        async def gone() -> bool:
            return await clients(databases) == before

        await eventually(gone)

    assert caller.cancelled()


async def test_a_waiting_caller_gets_a_connection(databases: Databases, name: str) -> None:
    """A server that takes its time is waited for."""
    async with Relay(databases.url(name), 1) as relay:
        caller = asyncio.create_task(connect_watched(relay.address))
        await relay.kept.wait()
        relay.release()

        async with await caller as connection:
            assert await (await connection.execute("select 1")).fetchone() == (1,)


async def test_a_server_that_falls_silent_is_not_waited_for(
    databases: Databases, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after it has let somebody in; its place is free again."""
    monkeypatch.setattr("thresher.store.connections.SECONDS", 2)
    before = await clients(databases)
    async with Relay(databases.url(name), ANSWERS) as relay:
        with pytest.raises(StoreUnavailable, match="no answer within 2 s"):
            await connect_watched(relay.address)

        async def gone() -> bool:
            return await clients(databases) == before

        await eventually(gone)


async def test_an_address_without_a_server_is_reported(databases: Databases, name: str) -> None:
    """The error says what it is."""
    async with Relay(databases.url(name), 1) as relay:
        address = relay.address
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await connect_watched(address)
