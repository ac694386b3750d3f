"""Keeps one connection with a server open: connects at the first use, and again after a loss.

Invariant: at most one attempt to connect at a time, whoever asks; a former child is gone before its successor starts,
unless requests are still under way on it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any

from mcp_types import ClientCapabilities

from thresher.core import Breaker, UpstreamError, event
from thresher.upstream.connection import Connection, Surroundings
from thresher.upstream.handshake import Era
from thresher.upstream.oauth import SignInNeeded

_logger = logging.getLogger("thresher.upstream")


class Memory:
    """What is remembered of a server beyond its sessions.

    Attributes:
        era: The kind of protocol that its shared session speaks: the newest that it can.
        sessions: Whether it speaks the older kind too; None before anybody tried.
        breaker: How often it has failed in a row.
    """

    def __init__(self, breaker: Breaker) -> None:
        self.era: Era = ""
        self.sessions: bool | None = None
        self.breaker = breaker


class Link:
    """A connection that comes back.

    Args:
        around: What all connections with the server share.
        memory: What is remembered of it.
        capabilities: As for `Connection`.
        opened: Called with each new connection, and whether there was one before.
    """

    def __init__(
        self,
        around: Surroundings,
        memory: Memory,
        capabilities: ClientCapabilities | None,
        opened: Callable[[Connection, bool], None] | None = None,
    ) -> None:
        self._around = around
        self._memory = memory
        self._capabilities = capabilities
        self._opened = opened
        self._connection: Connection | None = None
        self._opening: asyncio.Task[Connection] | None = None
        self._leaving: set[Connection] = set()
        self._retiring: set[asyncio.Task[None]] = set()
        self._before = False
        self._failed = False
        self._closed = False

    @property
    def state(self) -> str:
        """What is known now, without asking the server; see `ServerState`."""
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
    def current(self) -> Connection | None:
        """The connection, while there is one that lives."""
        connection = self._connection
        return connection if connection is not None and connection.alive else None

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._connection.pid if self._connection else None

    async def connection(self) -> Connection:
        """The live connection, opened first if need be; callers that come meanwhile wait for the same attempt.

        Raises:
            UpstreamError: It cannot be opened, or the link is closed.
        """
        if self._closed:
            raise self._is_closed()
        if self._connection is not None and self._connection.alive:
            return self._connection
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open(), name=f"connect {self._around.config.name}")
            self._opening.add_done_callback(_seen)
        return await self._attempt(self._opening)

    async def _attempt(self, opening: asyncio.Task[Connection]) -> Connection:
        try:
            # A caller that gives up must not end the attempt for the others.
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if opening.cancelled() and caller is not None and not caller.cancelling():
                raise self._is_closed() from None
            raise

    def _is_closed(self) -> UpstreamError:
        return UpstreamError(f"The session with server '{self._around.config.name}' was closed.", hint="Try again.")

    async def _open(self) -> Connection:
        breaker, name = self._memory.breaker, self._around.config.name
        await self._leave_old()
        if seconds := breaker.attempt():
            raise self._around.failures.left_alone(breaker.failures, seconds, breaker.reason)
        connection = Connection(self._around, self._capabilities)
        started = perf_counter()
        try:
            await connection.open(self._memory.era)
        except UpstreamError as error:
            self._failed = True
            if isinstance(error, SignInNeeded):
                breaker.gave_up()  # the server is well, and a person who signs in shall not have to wait
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
        """Part with the former connection; requests that are still under way on it may end."""
        old, self._connection = self._connection, None
        if old is None:
            return
        if old.ended:
            if not old.worked:
                self._memory.breaker.failed("it went away before it had answered anything.")
            # Its child must be gone before the next one starts: both may want the same file or port.
            await old.close()
            return
        self._leaving.add(old)
        task = asyncio.create_task(old.retire(self._around.settings.upstream_call_seconds))
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
        """Let the requests under way end, then close; nothing new can be asked of the link."""
        self._closed = True
        if self._connection is not None:
            await self._connection.retire(self._around.settings.upstream_call_seconds)
        await self.close()

    async def close(self) -> None:
        """End the connection and its process at once; nothing can be asked of the link afterwards."""
        self._closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait({self._opening})
        connections = [*self._leaving, *([self._connection] if self._connection else [])]
        await asyncio.gather(*(connection.close() for connection in connections))
        if self._retiring:
            await asyncio.wait(self._retiring)


def _seen(task: asyncio.Task[Any]) -> None:
    # Everybody who waited may have given up; asyncio would complain of an error that nobody read.
    if not task.cancelled():
        task.exception()
