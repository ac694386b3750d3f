"""Sessions of the older kind that belong to one client each, so that a server's question reaches the right one.

Invariant: a connection is used for the calls of one peer id and no other; there are never more than the bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic

from mcp_types import ClientCapabilities

from thresher.core import UpstreamError
from thresher.upstream.link import Link
from thresher.upstream.peer import Peer, asked_for


@dataclass(slots=True, eq=False)
class _Lease:
    link: Link
    capabilities: ClientCapabilities
    users: int = 0
    used_at: float = 0.0


class Leases:
    """The leased sessions with one server.

    Args:
        server: Its name, for errors.
        new: Makes a link that declares these capabilities.
        bound: How many there may be.
        wait: Seconds that a further client waits.
    """

    def __init__(self, server: str, new: Callable[[ClientCapabilities], Link], bound: int, wait: float) -> None:
        self._server = server
        self._new = new
        self._bound = bound
        self._wait = wait
        self._held: dict[str, _Lease] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._held)

    @asynccontextmanager
    async def of(self, peer: Peer) -> AsyncGenerator[Link]:
        """The peer's own session for the time of a call.

        Raises:
            UpstreamError: All sessions are in use by others, for longer than one can wait.
        """
        lease = await self._lease(peer)
        try:
            yield lease.link
        finally:
            lease.users -= 1
            lease.used_at = monotonic()
            async with self._changed:
                self._changed.notify_all()

    async def _lease(self, peer: Peer) -> _Lease:
        capabilities = asked_for(peer.capabilities)
        try:
            async with asyncio.timeout(self._wait), self._changed:
                while True:
                    held = self._held.get(peer.id)
                    if held is not None and held.capabilities != capabilities and not held.users:
                        self._part(peer.id)
                        held = None
                    if held is None and self._room():
                        held = self._held[peer.id] = _Lease(self._new(capabilities), capabilities)
                    if held is not None and held.capabilities == capabilities:
                        held.users += 1
                        return held
                    await self._changed.wait()
        except TimeoutError:
            raise UpstreamError(
                f"All {self._bound} sessions that clients may have with server '{self._server}' are in use.",
                hint="Try again when one of their calls has ended.",
            ) from None

    def _room(self) -> bool:
        if len(self._held) < self._bound:
            return True
        idle = [(lease.used_at, owner) for owner, lease in self._held.items() if not lease.users]
        if not idle:
            return False
        self._part(min(idle)[1])
        return True

    def _part(self, owner: str) -> None:
        self._start(self._held.pop(owner).link)

    def _start(self, link: Link) -> None:
        task = asyncio.create_task(link.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def release(self, owner: str) -> None:
        """End a peer's session, whatever it does."""
        lease = self._held.pop(owner, None)
        if lease is not None:
            await lease.link.close()
            async with self._changed:
                self._changed.notify_all()

    def rest(self, seconds: float) -> None:
        """Begin to end the sessions that were idle for so long."""
        now = monotonic()
        for owner, lease in [*self._held.items()]:
            if not lease.users and now - lease.used_at > seconds:
                self._part(owner)

    async def close(self) -> None:
        """End all."""
        links = [lease.link for lease in self._held.values()]
        self._held.clear()
        await asyncio.gather(*(link.close() for link in links))
        if self._ending:
            await asyncio.wait(self._ending)
