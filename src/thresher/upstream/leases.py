"""Sessions of the older kind that belong to one client each, so that a server's question reaches the right one.

Invariant: a connection is used for the calls of one peer id and no other; there are never more than the bound, and one
user never has all of them.
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
    owner: str
    link: Link
    capabilities: ClientCapabilities
    users: int = 0
    used_at: float = 0.0


class Leases:
    """The leased sessions with one server.

    Args:
        server: Its name, for errors.
        new: Makes a link that declares these capabilities.
        bound: How many there may be; one user has at most three quarters of them.
        wait: Seconds that a further client waits.
    """

    def __init__(self, server: str, new: Callable[[ClientCapabilities], Link], bound: int, wait: float) -> None:
        self._server = server
        self._new = new
        self._bound = bound
        self._share = max(1, bound - bound // 4)
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
            UpstreamError: All sessions, or all of this user's share, are in use for longer than one can wait.
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
                    if held is None and self._room(peer.owner):
                        held = self._held[peer.id] = _Lease(peer.owner, self._new(capabilities), capabilities)
                    if held is not None and held.capabilities == capabilities:
                        held.users += 1
                        return held
                    await self._changed.wait()
        except TimeoutError:
            theirs = sum(lease.owner == peer.owner for lease in self._held.values())
            which = f"of your {self._share}" if theirs >= self._share < self._bound else f"{self._bound}"
            raise UpstreamError(
                f"All {which} sessions that clients may have with server '{self._server}' are in use.",
                hint="Try again when one of their calls has ended.",
            ) from None

    def _room(self, owner: str) -> bool:
        theirs = {peer: lease for peer, lease in self._held.items() if lease.owner == owner}
        if len(theirs) < self._share and len(self._held) < self._bound:
            return True
        candidates = self._held if len(theirs) < self._share else theirs
        idle = [(lease.used_at, peer) for peer, lease in candidates.items() if not lease.users]
        if not idle:
            return False
        self._part(min(idle)[1])
        return True

    def _part(self, peer: str) -> None:
        self._start(self._held.pop(peer).link)

    def _start(self, link: Link) -> None:
        task = asyncio.create_task(link.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def release(self, peer: str) -> None:
        """End a peer's session, whatever it does."""
        lease = self._held.pop(peer, None)
        if lease is not None:
            await lease.link.close()
            async with self._changed:
                self._changed.notify_all()

    def rest(self, seconds: float) -> None:
        """Begin to end the sessions that were idle for so long."""
        now = monotonic()
        for peer, lease in [*self._held.items()]:
            if not lease.users and now - lease.used_at > seconds:
                self._part(peer)

    async def close(self) -> None:
        """End all."""
        links = [lease.link for lease in self._held.values()]
        self._held.clear()
        await asyncio.gather(*(link.close() for link in links))
        if self._ending:
            await asyncio.wait(self._ending)
