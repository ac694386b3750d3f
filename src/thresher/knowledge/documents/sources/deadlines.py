"""Ends what waits for somebody else, once its time is up.

Invariant: a connection that was guarded is broken off at the deadline, wherever the thread that uses it waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Deadline:
    """A time after which connections are broken off.

    Args:
        seconds: From now.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._ends: list[Callable[[], None]] = []
        self._passed = False
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._passed

    def guard(self, end: Callable[[], None]) -> None:
        """Have something ended when the time is up; at once where it is.

        Args:
            end: Called from another thread; may raise what a connection raises that has ended already.
        """
        with self._lock:
            if not self._passed:
                self._ends.append(end)
                return
        _quietly(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._ends.clear()

    def _fire(self) -> None:
        with self._lock:
            self._passed = True
            ends, self._ends = self._ends, []
        for end in ends:
            _quietly(end)


def _quietly(end: Callable[[], None]) -> None:
    try:
        end()
    except (OSError, ValueError, RuntimeError):
        return
