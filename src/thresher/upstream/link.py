"""Connections that are opened on first use and again after a loss, and the leases of those that belong to one client.

A client that a server can ask something needs a session of its own, so that the question reaches the right client.

Invariant: at most one attempt to connect runs at a time; a former child process is gone before its successor starts,
unless requests are still under way on it. A leased connection is used for calls of one peer id only; there are never
more than the limit, and one user never has all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any

from mcp_types import ClientCapabilities

from thresher.core import Breaker, UpstreamError, event
from thresher.upstream.connection import ServerConnection, ServerContext
from thresher.upstream.handshake import Era
from thresher.upstream.oauth import SignInNeeded
from thresher.upstream.peer import Peer, question_capabilities

_logger = logging.getLogger("thresher.upstream")


class ServerMemory:
    """What is remembered of a server across sessions.

    Attributes:
        era: The protocol kind of its shared session: the newest that it supports.
        sessions: Whether it also supports the older kind; None if that was not tried yet.
        breaker: Counts failures in a row.
    """

    def __init__(self, breaker: Breaker, era: Era = "") -> None:
        self.era: Era = era
        self.sessions: bool | None = None
        self.breaker = breaker


class ServerLink:
    """A connection that is opened on demand, and again after a loss.

    Args:
        context: What all connections with the server share.
        memory: What is remembered of the server.
        capabilities: See `ServerConnection`.
        opened: Called with each new connection, and whether there was one before.
    """

    def __init__(
        self,
        context: ServerContext,
        memory: ServerMemory,
        capabilities: ClientCapabilities | None,
        opened: Callable[[ServerConnection, bool], None] | None = None,
    ) -> None:
        self._context = context
        self._memory = memory
        self._capabilities = capabilities
        self._opened = opened
        self._connection: ServerConnection | None = None
        self._opening: asyncio.Task[ServerConnection] | None = None
        self._leaving: set[ServerConnection] = set()
        self._retiring: set[asyncio.Task[None]] = set()
        self._before = False
        self._failed = False
        self._closed = False

    @property
    def state(self) -> str:
        """The state as far as it is known without asking the server; see `ServerState`."""
        if self._closed:
            return "closed"
        if self._opening is not None and not self._opening.done():
            return "connecting"
        if self._memory.breaker.open:
            return "open"
        if self._failed:
            return "failed"
        if self._connection is None:
            return "idle"
        return "ready" if self._connection.alive else "lost"

    @property
    def current(self) -> ServerConnection | None:
        """The live connection; None without one."""
        connection = self._connection
        return connection if connection is not None and connection.alive else None

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._connection.pid if self._connection else None

    async def connection(self) -> ServerConnection:
        """Return the live connection, opening it if necessary; concurrent callers wait for the same attempt.

        Raises:
            UpstreamError: It cannot be opened, or the link is closed.
        """
        if self._closed:
            raise self._is_closed()
        if self._connection is not None and self._connection.alive:
            return self._connection
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"connect {self._context.config.name}")
            self._opening.add_done_callback(_seen)
        return await self._attempt(self._opening)

    async def _attempt(self, opening: asyncio.Task[ServerConnection]) -> ServerConnection:
        try:
            # Cancelling one caller must not end the attempt for the others.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if opening.cancelled() and caller is not None and not caller.cancelling():
                raise self._is_closed() from None
            raise

    def _is_closed(self) -> UpstreamError:
        return UpstreamError(f"The session with server '{self._context.config.name}' was closed.", hint="Try again.")

    async def _open(self) -> ServerConnection:
        breaker, name = self._memory.breaker, self._context.config.name
        await self._leave_old()
        if seconds := breaker.attempt():
            raise self._context.failures.left_alone(breaker.failures, seconds, breaker.reason)
        connection = ServerConnection(self._context, self._capabilities)
        started = perf_counter()
        try:
            await connection.open(self._memory.era)
        except UpstreamError as error:
            self._failed = True
            if isinstance(error, SignInNeeded):
                breaker.gave_up()  # the server works, and a person who signs in must not have to wait
            else:
                breaker.failed(error.message)
            event(_logger, "upstream_failed", level=logging.WARNING, server=name, error=error.message)
            raise
        except BaseException:
            breaker.gave_up()
            raise
        breaker.connected()
        self._failed = False
        self._connection = connection
        if self._capabilities is None:
            self._memory.era = connection.agreement.era
        else:
            self._memory.sessions = not connection.agreement.stateless
        ms = round(1000 * (perf_counter() - started), 1)
        event(_logger, "upstream_ready", server=name, protocol=connection.agreement.version, pid=connection.pid, ms=ms)
        if self._opened is not None:
            self._opened(connection, self._before)
        self._before = True
        return connection

    async def _leave_old(self) -> None:
        """Give up the former connection; requests under way on it may finish."""
        old, self._connection = self._connection, None
        if old is None:
            return
        if old.ended:
            if not old.worked:
                self._memory.breaker.failed("it ended before it had answered anything.")
            # Its child must be gone before the next one starts: both may need the same file or port.
            await old.close()
            return
        self._leaving.add(old)
        task = asyncio.create_task(old.retire(self._context.settings.upstream_call_seconds))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
        task.add_done_callback(lambda _: self._leaving.discard(old))

    async def rest(self) -> None:
        """Close the connection; the next use opens another."""
        if self._opening is None or self._opening.done():
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.close()

    async def retire(self) -> None:
        """Wait for requests under way, then close; the link accepts no new ones."""
        self._closed = True
        if self._connection is not None:
            await self._connection.retire(self._context.settings.upstream_call_seconds)
        await self.close()

    async def close(self) -> None:
        """End the connection and its process at once; the link accepts no further requests."""
        self._closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait({self._opening})
        connections = [*self._leaving, *([self._connection] if self._connection else [])]
        await asyncio.gather(*(connection.close() for connection in connections))
        if self._retiring:
            await asyncio.wait(self._retiring)


def _seen(task: asyncio.Task[Any]) -> None:
    # All waiting callers may be gone; asyncio would report the exception as never retrieved.
    if not task.cancelled():
        task.exception()


@dataclass(slots=True, eq=False)
class _Lease:
    owner: str
    link: ServerLink
    capabilities: ClientCapabilities
    users: int = 0
    used_at: float = 0.0


class Leases:
    """The leased sessions with one server.

    Args:
        server: The server's name, for errors.
        new: Creates a link that declares these capabilities.
        bound: Maximum number of sessions; one user has at most three quarters of them.
        wait: Seconds that a further client waits.
    """

    def __init__(self, server: str, new: Callable[[ClientCapabilities], ServerLink], bound: int, wait: float) -> None:
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
    async def of(self, peer: Peer) -> AsyncGenerator[ServerLink]:
        """The peer's own session for the duration of a call.

        Raises:
            UpstreamError: All sessions, or this user's share of them, stay in use for too long.
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
        capabilities = question_capabilities(peer.capabilities)
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

    def _start(self, link: ServerLink) -> None:
        task = asyncio.create_task(link.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def release(self, peer: str) -> None:
        """End a peer's session, even if it is in use."""
        lease = self._held.pop(peer, None)
        if lease is not None:
            await lease.link.close()
            async with self._changed:
                self._changed.notify_all()

    def rest(self, seconds: float) -> None:
        """Start to close sessions that were idle for longer than this."""
        now = monotonic()
        for peer, lease in [*self._held.items()]:
            if not lease.users and now - lease.used_at > seconds:
                self._part(peer)

    async def close(self) -> None:
        """End all leased sessions."""
        links = [lease.link for lease in self._held.values()]
        self._held.clear()
        await asyncio.gather(*(link.close() for link in links))
        if self._ending:
            await asyncio.wait(self._ending)
