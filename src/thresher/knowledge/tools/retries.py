"""Lists servers again that could not be listed, ever more seldom, until they answer.

Invariant: nobody waits for a retry, and no retry for another; a server that is listed, removed or disabled meanwhile
is not tried again.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from thresher.core import Caller, InvalidInput, NotFound, ThresherError, event

logger = logging.getLogger("thresher.knowledge")

FIRST_SECONDS = 5.0
"""The pause after a first failure; each further one doubles it."""
LONGEST_SECONDS = 600.0
"""The longest pause: what a server that was repaired costs in patience."""
SPREAD = 0.25
"""Pauses vary by this share, so that servers that failed together do not come back together."""

_Key: TypeAlias = tuple[int, int]


@dataclass(slots=True, eq=False)
class _Server:
    """A server whose last listing failed; `due` is the loop's time."""

    caller: Caller
    name: str
    failures: int
    due: float
    trying: bool = False


class Retries:
    """The servers of all tenants that could not be listed; one per process, on one event loop.

    Args:
        refresh: Lists one server of a caller and notes here how that went.
    """

    def __init__(self, refresh: Callable[[Caller, str], Awaitable[Any]]) -> None:
        self._refresh = refresh
        self._servers: dict[_Key, _Server] = {}
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def note(self, caller: Caller, server_id: int, name: str, *, failed: bool) -> None:
        """Take how a listing went; never waits.

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
        self._servers[caller.tenant.id, server_id] = _Server(caller, name, failures, due)
        self._news.set()
        if self._task is None:
            self._task = asyncio.create_task(self._watch(), name="listings tried again")

    async def close(self) -> None:
        """Give up what is under way, and take nothing more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._servers.clear()

    async def _watch(self) -> None:
        async with asyncio.TaskGroup() as tries:
            while True:
                self._news.clear()
                now = asyncio.get_running_loop().time()
                for key, server in self._servers.items():
                    if server.due <= now and not server.trying:
                        server.trying = True
                        tries.create_task(self._try(key, server))
                coming = [server.due for server in self._servers.values() if not server.trying]
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(min(coming, default=None)):
                        await self._news.wait()

    async def _try(self, key: _Key, server: _Server) -> None:
        try:
            await self._refresh(server.caller, server.name)
        except (NotFound, InvalidInput):
            event(logger, "retries ended", server=server.name, reason="removed or disabled")
        except ThresherError as error:
            event(logger, "retry failed", level=logging.WARNING, server=server.name, reason=str(error))
            self.note(server.caller, key[1], server.name, failed=True)
        if self._servers.get(key) is server:
            del self._servers[key]  # no listing of this server was noted: the name means another one by now


def pause(failures: int) -> float:
    """Seconds before the next try, after so many failures in a row."""
    return min(FIRST_SECONDS * 2.0 ** min(failures - 1, 32), LONGEST_SECONDS)
