"""The connectors of a process, opened on demand and closed when idle; and which addresses a caller may use.

A connection opens files and reaches hosts as this process. The owner of the process may do both anyway; a caller with a
key is limited to what the settings name.

Invariant: a connector is never closed while in use, and never used after its address has changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from thresher.connectors import Connector, ConnectorOptions, DatabaseAddress, check_below, open_connector, read_address
from thresher.core import Caller, DatabaseUnavailable, NotAllowed, Settings, Tenant
from thresher.knowledge.databases.queries import StoredConnection
from thresher.store import SecretBox

_HARMLESS: Final = frozenset(
    {
        *("sslmode", "channel_binding", "target_session_attrs", "host", "port", "charset", "service_name", "protocol"),
        *("driver", "Encrypt", "TrustServerCertificate", "ssl_server_dn_match"),
    }
)
"""Options that do not name a local file."""


def may_connect(caller: Caller, address: DatabaseAddress, settings: Settings) -> None:
    """Check that a caller may connect to an address.

    Raises:
        NotAllowed: The caller has a key, and the settings do not name the file or host.
    """
    if caller.keyed:
        check_named(address, settings)


def check_named(address: DatabaseAddress, settings: Settings) -> None:
    """Check that the settings name the file or host of an address.

    Raises:
        NotAllowed: They do not.
    """
    if address.file is not None:
        check_below(address.file, settings.database_files)
    else:
        _check_hosts(address, settings)


def _check_hosts(address: DatabaseAddress, settings: Settings) -> None:
    allowed = {host.lower() for host in settings.database_hosts}
    reached = list(zip(address.hosts, address.ports, strict=True))
    if not reached or any(
        host.lower() not in allowed and f"{host.lower()}:{port}" not in allowed for host, port in reached
    ):
        raise NotAllowed(
            "With a key, you can only connect to databases on hosts that the server's owner named.",
            hint="Ask the owner to add the connection, or to name its host in THRESHER_DATABASE_HOSTS.",
        )
    if wrong := sorted(set(address.query) - _HARMLESS):
        raise NotAllowed(
            f"With a key, an address may not have the option {wrong[0]}: it names a file of the server.",
            hint="Leave it out, or ask the server's owner to add the connection.",
        )


MOST: Final = 16
"""Maximum connectors; each has a few sessions."""
IDLE_SECONDS: Final = 300.0
_WAIT_SECONDS: Final = 15.0


@dataclass(slots=True)
class _OpenConnector:
    """An open connector and its users."""

    key: tuple[int, int]
    connector: Connector
    changes: int
    users: int = 0
    used: float = field(default_factory=time.monotonic)


class ConnectorPool:
    """Provides connectors.

    Args:
        secrets: Opens sealed addresses.
        settings: Which files and hosts a connection may reach that was added with a key.
        most: Maximum connectors.
        idle_seconds: A connector unused for this long is closed.
    """

    def __init__(
        self, secrets: SecretBox, settings: Settings, *, most: int = MOST, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._most = most
        self._idle_seconds = idle_seconds
        self._open: dict[tuple[int, int], _OpenConnector] = {}
        self._turn = asyncio.Condition()
        self._sweeper: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def use(self, tenant: Tenant, held: StoredConnection) -> AsyncGenerator[Connector]:
        """The connector of a connection, for the duration of the block.

        Raises:
            InvalidInput: The address is no longer valid.
            ConfigurationError: Its driver is missing, or it was sealed with another key.
            NotFound: Its file is missing.
            NotAllowed: It was added with a key, and the settings no longer name its file or host.
            DatabaseUnavailable: Too many other connections are in use.
        """
        one = await self._take((tenant.id, held.id), held)
        try:
            yield one.connector
        finally:
            await asyncio.shield(self._give_back(one))

    async def drop(self, tenant: Tenant, connection: int) -> None:
        """Close the connector of a removed connection, even while it is in use."""
        async with self._turn:
            one = self._open.pop((tenant.id, connection), None)
            self._turn.notify_all()
        if one is not None:
            await one.connector.close()

    async def close(self) -> None:
        """Close all connectors."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        async with self._turn:
            gone = list(self._open.values())
            self._open.clear()
        await asyncio.gather(*(one.connector.close() for one in gone), return_exceptions=True)

    async def _take(self, key: tuple[int, int], held: StoredConnection) -> _OpenConnector:
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

    async def _opened(self, key: tuple[int, int], held: StoredConnection) -> _OpenConnector:
        url = self._secrets.open(held.sealed)
        if held.keyed:
            check_named(await asyncio.to_thread(read_address, url), self._settings)
        folders = self._settings.database_files if held.keyed else None
        options = ConnectorOptions(allow_functions=held.functions, folders=folders)
        # In a thread, because the first connector of an engine imports its driver.
        connector = await asyncio.to_thread(open_connector, url, options=options)
        one = self._open[key] = _OpenConnector(key, connector, held.changes)
        return one

    async def _make_room(self, key: tuple[int, int]) -> None:
        def idle() -> list[_OpenConnector]:
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

    async def _retire(self, one: _OpenConnector) -> None:
        """Stop handing out a connector; its last user closes it."""
        self._open.pop(one.key, None)
        if not one.users:
            await one.connector.close()

    async def _give_back(self, one: _OpenConnector) -> None:
        async with self._turn:
            one.users -= 1
            one.used = time.monotonic()
            if not one.users and self._open.get(one.key) is not one:
                await one.connector.close()
            self._turn.notify_all()

    async def _sweep(self) -> None:
        """Close idle connectors."""
        while True:
            await asyncio.sleep(self._idle_seconds / 4)
            async with self._turn:
                oldest = time.monotonic() - self._idle_seconds
                for one in [one for one in self._open.values() if not one.users and one.used < oldest]:
                    await self._retire(one)


class StatementLimiter:
    """Limits how many statements of each caller run at once, over all connections.

    A server's memory is shared: a caller must not fill it with parallel statements, nor take all sessions of a
    connection.

    Args:
        most: Maximum statements of one caller.
        wait_seconds: How long a further statement waits.
    """

    def __init__(self, most: int, *, wait_seconds: float = _WAIT_SECONDS) -> None:
        self._most = most
        self._wait_seconds = wait_seconds
        self._rooms: WeakValueDictionary[tuple[int, str], asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, caller: Caller) -> AsyncGenerator[None]:
        """Hold one of the caller's slots for the duration of the block.

        Raises:
            DatabaseUnavailable: No slot became free in time.
        """
        room = self._rooms.setdefault((caller.tenant.id, caller.user or ""), asyncio.Semaphore(self._most))
        try:
            async with asyncio.timeout(self._wait_seconds):
                await room.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                f"{self._most} of your statements are already running.",
                hint="Wait until one has ended, or have THRESHER_QUERIES_AT_ONCE raised.",
            ) from None
        try:
            yield
        finally:
            room.release()
