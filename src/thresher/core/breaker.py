"""Stops calling a server or a service for a while after several failures in a row.

Invariant: time only moves forward (a monotonic clock), one attempt at a time ends a pause, and pauses differ between
those that failed together.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pauses:
    """When to pause, and for how long.

    Attributes:
        failures: Failed attempts in a row before a pause.
        pause: The first pause in seconds; each further one is twice as long.
        longest: The longest pause in seconds.
    """

    failures: int = 3
    pause: float = 1.0
    longest: float = 60.0


class Breaker:
    """Closed: attempts are allowed. Open: none during the pause. Half open: one attempt decides.

    Args:
        pauses: When it opens, and for how long it stays open.
        clock: Seconds that never go back.
        chance: A number from 0 to 1, new at each call.
    """

    def __init__(
        self,
        pauses: Pauses,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._pauses = pauses
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._until = 0.0
        self._trial = False
        self.reason = ""

    @property
    def open(self) -> bool:
        """Whether no attempt is allowed at present."""
        return self.remaining > 0

    @property
    def failures(self) -> int:
        """The number of failed attempts in a row."""
        return self._failures

    @property
    def remaining(self) -> float:
        """Seconds until the next attempt; 0 if one is allowed now."""
        if self._failures < self._pauses.failures:
            return 0.0
        waiting = max(0.0, self._until - self._clock())
        return max(waiting, 0.1) if self._trial else waiting

    def attempt(self) -> float:
        """Request an attempt. Returns 0 if it is allowed, else the seconds to wait."""
        waiting = self.remaining
        if not waiting and self._failures >= self._pauses.failures:
            self._trial = True
        return waiting

    def failed(self, reason: str) -> None:
        """Record a failed attempt."""
        self._failures += 1
        self._trial = False
        self.reason = reason
        exponent = max(0, min(self._failures - self._pauses.failures, 30))
        pause = min(self._pauses.pause * 2**exponent, self._pauses.longest)
        # Half to all of it: servers that failed together do not come back together.
        self._until = self._clock() + pause * (0.5 + self._chance() / 2)

    def gave_up(self) -> None:
        """Record an attempt that we cancelled before its outcome was known."""
        self._trial = False

    def connected(self) -> None:
        """Record a connection; failures are still counted until the server has answered a request."""
        self._trial = False

    def succeeded(self) -> None:
        """Record a success, which resets the count."""
        if self._failures:
            self._failures = 0
            self.reason = ""
