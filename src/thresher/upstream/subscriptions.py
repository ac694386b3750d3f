"""Listens to changes of a server: its lists, and the resources that clients subscribe to.

Invariant: a subscription survives a reconnect, and all subscribers are notified once after it, because changes may have
been missed; the server knows of a resource exactly as long as it has subscribers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from thresher.core import InvalidInput, UpstreamError
from thresher.upstream.connection import ServerConnection
from thresher.upstream.failures import RequestRefused

OnUpdate: TypeAlias = Callable[[str], None]
MAX_RESOURCES = 1_000
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0


class ChangeSubscriptions:
    """The subscriptions at one server, on its current connection.

    Args:
        seconds: Time limit for the server's answer to a subscription.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._wanted: dict[str, set[OnUpdate]] = {}
        self._connection: ServerConnection | None = None
        self._listening: asyncio.Task[None] | None = None
        self._restoring: asyncio.Task[None] | None = None

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def opened(self, connection: ServerConnection) -> None:
        """Renew the subscriptions on a new connection."""
        self._connection = connection
        if connection.agreement.stateless:
            self._listen()
        elif self._wanted:
            self._restoring = asyncio.create_task(self._restore(connection))
        for uri in [*self._wanted]:
            self.updated(uri)

    async def add(self, connection: ServerConnection, uri: str, on_update: OnUpdate) -> None:
        """Subscribe.

        Raises:
            InvalidInput: There are too many subscriptions.
            UpstreamError: The server refuses, or cannot be reached.
        """
        if uri in self._wanted:
            self._wanted[uri].add(on_update)
            return
        if len(self._wanted) >= MAX_RESOURCES:
            raise InvalidInput(f"There are already {MAX_RESOURCES} subscriptions at this server.", hint="End some.")
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
        """End a subscription, if there is one."""
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
        """Notify the subscribers of a resource, or of one that contains it."""
        wanted = [uri] if uri in self._wanted else [known for known in self._wanted if uri.startswith(known)]
        for known in wanted:
            for function in [*self._wanted[known]]:
                function(uri)

    async def _restore(self, connection: ServerConnection) -> None:
        for uri in [*self._wanted]:
            try:
                await connection.request("resources/subscribe", {"uri": uri}, seconds=self._seconds)
            except UpstreamError:
                if not connection.alive:
                    return

    def _listen(self) -> None:
        """Request all current subscriptions again (2026-07-28: one request that stays open)."""
        if self._listening is not None:
            self._listening.cancel()
        connection = self._connection
        wanted = self._filter(connection) if connection is not None else {}
        if connection is not None and wanted:
            self._listening = asyncio.create_task(self._keep_listening(connection, wanted))

    def _filter(self, connection: ServerConnection) -> dict[str, Any]:
        offers = connection.agreement.offers
        lists = {
            f"{kind}ListChanged": True for kind in ("tools", "prompts", "resources") if offers(kind, "listChanged")
        }
        return {**lists, "resourceSubscriptions": sorted(self._wanted)} if self._wanted else lists

    async def _keep_listening(self, connection: ServerConnection, wanted: dict[str, Any]) -> None:
        pause = _FIRST_PAUSE
        while connection.alive:
            started = asyncio.get_running_loop().time()
            try:
                await connection.listen({"notifications": wanted})
            except RequestRefused:
                return
            except UpstreamError:
                pass
            lasted = asyncio.get_running_loop().time() - started
            pause = _FIRST_PAUSE if lasted > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Stop listening."""
        tasks = [task for task in (self._listening, self._restoring) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
