"""The connectors of a process: opened when they are needed, a bounded number of them, closed when nobody asks.

Invariant: a connector is never closed while somebody uses it, and never used with an address that was changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from thresher.connectors import Connector, ConnectorOptions, open_connector, read_address
from thresher.core import Caller, DatabaseUnavailable, Settings, Tenant
from thresher.knowledge.databases.access import check_named
from thresher.knowledge.databases.queries import Held
from thresher.store import SecretBox

MOST: Final = 16
"""Connectors at once; each has a few sessions of its own."""
IDLE_SECONDS: Final = 300.0
_WAIT_SECONDS: Final = 15.0


@dataclass(slots=True)
class _Open:
    """A connector, and who uses it."""

    key: tuple[int, int]
    connector: Connector
    changes: int
    users: int = 0
    used: float = field(default_factory=time.monotonic)


class Sessions:
    """Hands out connectors.

    Args:
        secrets: Opens addresses.
        settings: Which files and hosts a connection may reach that somebody with a key has made.
        most: Connectors at once.
        idle_seconds: One that was not used for so long is closed.
    """

    def __init__(
        self, secrets: SecretBox, settings: Settings, *, most: int = MOST, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._most = most
        self._idle_seconds = idle_seconds
        self._open: dict[tuple[int, int], _Open] = {}
        self._turn = asyncio.Condition()
        self._sweeper: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def use(self, tenant: Tenant, held: Held) -> AsyncGenerator[Connector]:
        """The connector of a connection, for as long as the block lasts.

        Raises:
            InvalidInput: The address cannot be used any more.
            ConfigurationError: Its driver is missing, or it was sealed with another key.
            NotFound: Its file is gone.
            NotAllowed: It was made with a key, and the settings do not name its file or host any more.
            DatabaseUnavailable: Too many other connections are in use.
        """
        one = await self._take((tenant.id, held.id), held)
        try:
            yield one.connector
        finally:
            await asyncio.shield(self._give_back(one))

    async def drop(self, tenant: Tenant, connection: int) -> None:
        """Close the connector of a connection that is gone; whoever uses it is cut off."""
        async with self._turn:
            one = self._open.pop((tenant.id, connection), None)
            self._turn.notify_all()
        if one is not None:
            await one.connector.close()

    async def close(self) -> None:
        """Close all of them."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        async with self._turn:
            gone = list(self._open.values())
            self._open.clear()
        await asyncio.gather(*(one.connector.close() for one in gone), return_exceptions=True)

    async def _take(self, key: tuple[int, int], held: Held) -> _Open:
        async with self._turn:
            one = self._open.get(key)
            if one is not None and one.changes != held.changes:
                await self._retire(one)
                one = None
            if one is None:
                await self._make_room(key)
                one = self._open.get(key) or await self._opened(key, held)
            one.users += 1
            if self._sweeper is None:
                self._sweeper = asyncio.create_task(self._sweep())
            return one

    async def _opened(self, key: tuple[int, int], held: Held) -> _Open:
        url = self._secrets.open(held.sealed)
        if held.keyed:
            check_named(await asyncio.to_thread(read_address, url), self._settings)
        folders = self._settings.database_files if held.keyed else None
        options = ConnectorOptions(allow_functions=held.functions, folders=folders)
        # In a thread, for the first connector of an engine imports its driver.
        connector = await asyncio.to_thread(open_connector, url, options=options)
        one = self._open[key] = _Open(key, connector, held.changes)
        return one

    async def _make_room(self, key: tuple[int, int]) -> None:
        def idle() -> list[_Open]:
            return sorted((one for one in self._open.values() if not one.users), key=lambda one: one.used)

        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._turn.wait_for(lambda: key in self._open or len(self._open) < self._most or idle())
        except TimeoutError:
            raise DatabaseUnavailable(
                f"All {self._most} connectors are in use by other connections.", hint="Ask again in a moment."
            ) from None
        if key not in self._open and len(self._open) >= self._most:
            await self._retire(idle()[0])

    async def _retire(self, one: _Open) -> None:
        """Give a connector to nobody any more; the last who uses it closes it."""
        self._open.pop(one.key, None)
        if not one.users:
            await one.connector.close()

    async def _give_back(self, one: _Open) -> None:
        async with self._turn:
            one.users -= 1
            one.used = time.monotonic()
            if not one.users and self._open.get(one.key) is not one:
                await one.connector.close()
            self._turn.notify_all()

    async def _sweep(self) -> None:
        """Close what nobody asks any more."""
        while True:
            await asyncio.sleep(self._idle_seconds / 4)
            async with self._turn:
                oldest = time.monotonic() - self._idle_seconds
                for one in [one for one in self._open.values() if not one.users and one.used < oldest]:
                    await self._retire(one)


class Turns:
    """Bounds how many statements each caller has running at once, over all connections.

    A server's memory is shared: a caller may neither fill it with parallel statements nor take all sessions of a
    connection from the others.

    Args:
        most: Statements of one caller at once.
        wait_seconds: How long a further one waits.
    """

    def __init__(self, most: int, *, wait_seconds: float = _WAIT_SECONDS) -> None:
        self._most = most
        self._wait_seconds = wait_seconds
        self._rooms: WeakValueDictionary[tuple[int, str], asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, caller: Caller) -> AsyncGenerator[None]:
        """Hold one of the caller's turns for as long as the block lasts.

        Raises:
            DatabaseUnavailable: None became free in time.
        """
        room = self._rooms.setdefault((caller.tenant.id, caller.user or ""), asyncio.Semaphore(self._most))
        try:
            async with asyncio.timeout(self._wait_seconds):
                await room.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                f"{self._most} of your statements are running already.",
                hint="Wait until one has ended, or have THRESHER_QUERIES_AT_ONCE raised.",
            ) from None
        try:
            yield
        finally:
            room.release()
