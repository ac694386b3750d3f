"""When servers are listed again by themselves: soon after they announce a change, and after a failed listing.

Invariant: one refresh of a server runs at a time, many announcements cause one, and none is lost. A server that
announces a change after each listing, or fails again and again, is listed less and less often. Nothing waits for a
retry, and no retry for another; a server that is listed, removed or disabled meanwhile is not retried.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from thresher.core import Caller, InvalidInput, NotFound, Tenant, ThresherError, event
from thresher.knowledge.tools.models import Refreshed
from thresher.upstream import Changed, ServerConfig

logger = logging.getLogger("thresher.knowledge")

QUIET_SECONDS = 0.1
"""A server that rebuilds its list announces each step; only the last one counts. Listening clients wait for it."""
MAX_WAIT_SECONDS = 3.0
"""A server that keeps announcing changes is listed after this time."""
PAUSE_SECONDS = 60.0
"""The longest pause before a server that announces a change after every listing is listed again."""

_ChangeKey: TypeAlias = tuple[int, str, str]


@dataclass(slots=True)
class _ChangedServer:
    """The announcements of one server; times are the loop's.

    Attributes:
        announced: When the last one came that no listing has covered; None if there is none.
        listed: When the last listing ended.
        rounds: How many listings in a row were each followed by an announcement at once.
        task: Waits and lists.
    """

    announced: float | None = None
    listed: float = field(default=float("-inf"))
    rounds: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def quiet(self) -> float:
        """Seconds without an announcement before the server is listed."""
        return min(QUIET_SECONDS * 2**self.rounds, PAUSE_SECONDS)


class ChangeWatcher:
    """The announcements of all servers; one per process, on one event loop."""

    def __init__(self, refresh: Callable[[Caller, str], Awaitable[Refreshed]]) -> None:
        self._refresh = refresh
        self._servers: dict[_ChangeKey, _ChangedServer] = {}

    def note(self, config: ServerConfig, changed: Changed) -> None:
        """Record an announcement; never waits. The content of a resource is not part of the catalogue."""
        if changed.what == "resource":
            return
        key = (config.tenant, config.identity, config.name)
        server = self._servers.setdefault(key, _ChangedServer())
        now = asyncio.get_running_loop().time()
        if server.announced is None:
            server.rounds = min(server.rounds + 1, 16) if now - server.listed < 2 * server.quiet else 0
        server.announced = now
        if server.task is None:
            server.task = asyncio.create_task(self._follow(key, server), name=f"changes of {config.name}")

    async def close(self) -> None:
        """Cancel pending refreshes; the next start lists every server anyway."""
        tasks = [server.task for server in self._servers.values() if server.task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._servers.clear()

    async def _follow(self, key: _ChangeKey, server: _ChangedServer) -> None:
        tenant, identity, name = key
        caller = Caller(Tenant(tenant, ""), identity or None)
        loop = asyncio.get_running_loop()
        try:
            while server.announced is not None:
                await _wait_until_quiet(server)
                server.announced = None
                try:
                    await self._refresh(caller, name)
                except ThresherError as error:
                    event(logger, "change not followed", level=logging.WARNING, server=name, reason=str(error))
                server.listed = loop.time()
        finally:
            server.task = None


async def _wait_until_quiet(server: _ChangedServer) -> None:
    """Wait until a server has announced nothing for a while, up to a limit."""
    loop = asyncio.get_running_loop()
    until = loop.time() + max(MAX_WAIT_SECONDS, server.quiet)
    while server.announced is not None:
        rest = min(server.announced + server.quiet, until) - loop.time()
        if rest <= 0:
            return
        await asyncio.sleep(rest)


FIRST_SECONDS = 5.0
"""The pause after a first failure; each further one doubles it."""
MAX_PAUSE_SECONDS = 600.0
"""The longest pause: how long a repaired server may go unnoticed."""
SPREAD = 0.25
"""Pauses vary by this share, so that servers that failed together do not return together."""

_FailureKey: TypeAlias = tuple[int, int]


@dataclass(slots=True, eq=False)
class _FailedServer:
    """A server whose last listing failed; `due` is the loop's time."""

    caller: Caller
    name: str
    failures: int
    due: float
    trying: bool = False


class Retries:
    """The servers of all tenants that could not be listed; one per process, on one event loop.

    Args:
        refresh: Lists one server of a caller and calls `note` with the outcome.
    """

    def __init__(self, refresh: Callable[[Caller, str], Awaitable[Any]]) -> None:
        self._refresh = refresh
        self._servers: dict[_FailureKey, _FailedServer] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def note(self, caller: Caller, server_id: int, name: str, *, failed: bool) -> None:
        """Record the outcome of a listing; never waits.

        Args:
            caller: The server's tenant and owner.
            server_id: Its row.
            name: Its name.
            failed: Whether it has to be listed again.
        """
        known = self._servers.pop((caller.tenant.id, server_id), None)
        if not failed or self._closed:
            return
        failures = 1 if known is None else known.failures + 1
        due = asyncio.get_running_loop().time() + pause(failures) * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311 - no secret
        self._servers[caller.tenant.id, server_id] = _FailedServer(caller, name, failures, due)
        self._changed.set()
        if self._task is None:
            self._task = asyncio.create_task(self._watch(), name="listings tried again")

    async def close(self) -> None:
        """Cancel pending retries and accept no more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._servers.clear()

    async def _watch(self) -> None:
        async with asyncio.TaskGroup() as tries:
            while True:
                self._changed.clear()
                now = asyncio.get_running_loop().time()
                for key, server in self._servers.items():
                    if server.due <= now and not server.trying:
                        server.trying = True
                        tries.create_task(self._try(key, server))
                coming = [server.due for server in self._servers.values() if not server.trying]
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min(coming, default=None)):
                        await self._changed.wait()

    async def _try(self, key: _FailureKey, server: _FailedServer) -> None:
        try:
            await self._refresh(server.caller, server.name)
        except (NotFound, InvalidInput):
            event(logger, "retries ended", server=server.name, reason="removed or disabled")
        except ThresherError as error:
            event(logger, "retry failed", level=logging.WARNING, server=server.name, reason=str(error))
            self.note(server.caller, key[1], server.name, failed=True)
        if self._servers.get(key) is server:
            del self._servers[key]  # no listing of this server was noted: the name belongs to another one by now


def pause(failures: int) -> float:
    """Return the seconds before the next try, after this many failures in a row."""
    return min(FIRST_SECONDS * 2.0 ** min(failures - 1, 32), MAX_PAUSE_SECONDS)
