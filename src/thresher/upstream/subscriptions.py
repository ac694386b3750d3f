"""Hears what changes on a server: its lists, and the resources that somebody has subscribed to.

Invariant: a subscription outlives a reconnect, and after one everybody is told once, since changes may have been
missed; the server knows of a resource exactly while somebody wants to hear of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from thresher.core import InvalidInput, UpstreamError
from thresher.upstream.connection import Connection
from thresher.upstream.failures import Refused

OnUpdate: TypeAlias = Callable[[str], None]
MAX_RESOURCES = 1_000
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0


class Subscriptions:
    """What is listened to at one server, on whichever connection it has at the time.

    Args:
        seconds: For a server's answer to a (un)subscription.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._wanted: dict[str, set[OnUpdate]] = {}
        self._connection: Connection | None = None
        self._listening: asyncio.Task[None] | None = None
        self._restoring: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def opened(self, connection: Connection) -> None:
        """Listen on a new connection to what was wanted of the former."""
        self._connection = connection
        if connection.agreement.stateless:
            self._listen()
        elif self._wanted:
            self._restoring = asyncio.create_task(self._restore(connection))
        for uri in [*self._wanted]:
            self.updated(uri)

    async def add(self, connection: Connection, uri: str, on_update: OnUpdate) -> None:
        """Subscribe.

        Raises:
            InvalidInput: There are too many subscriptions.
            UpstreamError: The server refuses, or cannot be reached.
        """
        if uri in self._wanted:
            self._wanted[uri].add(on_update)
            return
        if len(self._wanted) >= MAX_RESOURCES:
            raise InvalidInput(f"There are {MAX_RESOURCES} subscriptions at this server already.", hint="End some.")
        self._wanted[uri] = {on_update}
        if connection.agreement.stateless:
            self._listen()
            return
        try:
            await connection.request("resources/subscribe", {"uri": uri}, seconds=self._seconds)
        except BaseException:
            self._wanted.pop(uri, None)
            raise

    async def remove(self, uri: str, on_update: OnUpdate) -> None:
        """End one subscription; does nothing when there is none."""
        functions = self._wanted.get(uri)
        if functions is None:
            return
        functions.discard(on_update)
        if functions:
            return
        del self._wanted[uri]
        connection = self._connection
        if connection is None or not connection.alive:
            return
        if connection.agreement.stateless:
            self._listen()
        else:
            await connection.request("resources/unsubscribe", {"uri": uri}, seconds=self._seconds)

    def updated(self, uri: str) -> None:
        """Tell those who want to hear of a resource, or of one that it is a part of."""
        wanted = [uri] if uri in self._wanted else [known for known in self._wanted if uri.startswith(known)]
        for known in wanted:
            for function in [*self._wanted[known]]:
                function(uri)

    async def _restore(self, connection: Connection) -> None:
        for uri in [*self._wanted]:
            try:
                await connection.request("resources/subscribe", {"uri": uri}, seconds=self._seconds)
            except UpstreamError:
                if not connection.alive:
                    return

    def _listen(self) -> None:
        """Ask anew for what is wanted now (2026-07-28: one request that stays open)."""
        if self._listening is not None:
            self._listening.cancel()
        connection = self._connection
        wanted = self._filter(connection) if connection is not None else {}
        if connection is not None and wanted:
            self._listening = asyncio.create_task(self._keep_listening(connection, wanted))

    def _filter(self, connection: Connection) -> dict[str, Any]:
        offers = connection.agreement.offers
        lists = {
            f"{kind}ListChanged": True for kind in ("tools", "prompts", "resources") if offers(kind, "listChanged")
        }
        return {**lists, "resourceSubscriptions": sorted(self._wanted)} if self._wanted else lists

    async def _keep_listening(self, connection: Connection, wanted: dict[str, Any]) -> None:
        pause = _FIRST_PAUSE
        while connection.alive:
            started = asyncio.get_running_loop().time()
            try:
                await connection.listen({"notifications": wanted})
            except Refused:
                return
            except UpstreamError:
                pass
            lasted = asyncio.get_running_loop().time() - started
            pause = _FIRST_PAUSE if lasted > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Stop to listen."""
        tasks = [task for task in (self._listening, self._restoring) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
