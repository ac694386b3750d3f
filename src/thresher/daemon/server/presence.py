"""Counts the clients of the daemon, and ends it after it has been idle for too long.

Invariant: only daemons that a client started end by themselves, and never while a client or a job is present.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager


class Presence:
    """Counts clients and jobs, and calls `leave` once when there have been none for a while.

    Args:
        idle_seconds: The idle time after which `leave` is called; 0 means never.
        leave: Called on the event loop.
    """

    def __init__(self, idle_seconds: float, leave: Callable[[], None]) -> None:
        self._idle_seconds = idle_seconds
        self._leave = leave
        self._timer: asyncio.TimerHandle | None = None
        self._present: dict[str, int] = {}

    def begin(self) -> None:
        """Start to wait for the first client."""
        self._arm()

    def count(self, kind: str) -> int:
        """Return how many of one kind (`mcp`, `control`, `job`) are present."""
        return self._present.get(kind, 0)

    @property
    def clients(self) -> int:
        """Connected clients, sessions and commands together."""
        return self.count("mcp") + self.count("control")

    @contextmanager
    def entered(self, kind: str) -> Generator[None]:
        """Count one of a kind for as long as the block lasts."""
        self._present[kind] = self.count(kind) + 1
        self.end()
        try:
            yield
        finally:
            self._present[kind] -= 1
            self._arm()

    async def follow(self, kind: str, busy: asyncio.Event, idle: asyncio.Event) -> None:
        """Count one of a kind whenever something is busy, until cancelled.

        Args:
            kind: Of which kind.
            busy: Set while it is busy.
            idle: Set while it is not.
        """
        while True:
            await busy.wait()
            with self.entered(kind):
                await idle.wait()

    def end(self) -> None:
        """Stop counting the idle time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        self.end()
        if self._idle_seconds > 0 and not any(self._present.values()):
            self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._leave)
