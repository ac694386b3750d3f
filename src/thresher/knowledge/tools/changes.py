"""Refreshes a server soon after it has said that its lists changed.

Invariant: one refresh of a server runs at a time, many announcements make one, and none is lost; a server that
announces a change after each listing is asked ever more seldom.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from thresher.core import Caller, Tenant, ThresherError, event
from thresher.knowledge.tools.models import Refreshed
from thresher.upstream import Changed, ServerConfig

logger = logging.getLogger("thresher.knowledge")

QUIET_SECONDS = 0.1
"""A server that rebuilds its list announces each step: what counts is the last one. Clients that listen wait for it."""
LONGEST_SECONDS = 3.0
"""A server that never falls quiet is listed all the same."""
PAUSE_SECONDS = 60.0
"""The longest pause before a server that announces a change after every listing is listed again."""

_Key: TypeAlias = tuple[int, str, str]


@dataclass(slots=True)
class _Server:
    """What is known of one server's announcements; times are the loop's.

    Attributes:
        announced: When the last one came that no listing has covered; None when there is none.
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


class Changes:
    """The announcements of all servers; one per process, on one event loop."""

    def __init__(self, refresh: Callable[[Caller, str], Awaitable[Refreshed]]) -> None:
        self._refresh = refresh
        self._servers: dict[_Key, _Server] = {}

    def note(self, config: ServerConfig, changed: Changed) -> None:
        """Take an announcement; never waits. The content of one resource is no part of the catalogue."""
        if changed.what == "resource":
            return
        key = (config.tenant, config.identity, config.name)
        server = self._servers.setdefault(key, _Server())
        now = asyncio.get_running_loop().time()
        if server.announced is None:
            server.rounds = min(server.rounds + 1, 16) if now - server.listed < 2 * server.quiet else 0
        server.announced = now
        if server.task is None:
            server.task = asyncio.create_task(self._follow(key, server), name=f"changes of {config.name}")

    async def close(self) -> None:
        """Give up what is under way; the next start lists every server anyway."""
        tasks = [server.task for server in self._servers.values() if server.task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._servers.clear()

    async def _follow(self, key: _Key, server: _Server) -> None:
        tenant, identity, name = key
        caller = Caller(Tenant(tenant, ""), identity or None)
        loop = asyncio.get_running_loop()
        try:
            while server.announced is not None:
                await _quiet(server)
                server.announced = None
                try:
                    await self._refresh(caller, name)
                except ThresherError as error:
                    event(logger, "change not followed", level=logging.WARNING, server=name, reason=str(error))
                server.listed = loop.time()
        finally:
            server.task = None


async def _quiet(server: _Server) -> None:
    """Wait until a server has said nothing for a while, but not for ever."""
    loop = asyncio.get_running_loop()
    until = loop.time() + max(LONGEST_SECONDS, server.quiet)
    while server.announced is not None:
        rest = min(server.announced + server.quiet, until) - loop.time()
        if rest <= 0:
            return
        await asyncio.sleep(rest)
