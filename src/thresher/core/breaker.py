"""Leaves a server or a service alone for a while after it has failed several times in a row.

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
    """When something is left alone, and for how long.

    Attributes:
        failures: Attempts in a row that may fail before it is.
        pause: Seconds of the first pause; it doubles each time.
        longest: Seconds of the longest one.
    """

    failures: int = 3
    pause: float = 1.0
    longest: float = 60.0


class Breaker:
    """Closed: attempts are made. Open: none for a while. Half open: one, which decides.

    Args:
        pauses: When it opens, and for how long.
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
        """Whether the server is left alone at present."""
        return self.remaining > 0

    @property
    def failures(self) -> int:
        """How many attempts in a row have failed."""
        return self._failures

    @property
    def remaining(self) -> float:
        """Seconds until the next attempt; 0 when one may be made now."""
        if self._failures < self._pauses.failures:
            return 0.0
        waiting = max(0.0, self._until - self._clock())
        return max(waiting, 0.1) if self._trial else waiting

    def attempt(self) -> float:
        """Ask to make an attempt: 0 when it may be made, else the seconds to wait."""
        waiting = self.remaining
        if not waiting and self._failures >= self._pauses.failures:
            self._trial = True
        return waiting

    def failed(self, reason: str) -> None:
        """Note that an attempt has failed."""
        self._failures += 1
        self._trial = False
        self.reason = reason
        exponent = max(0, min(self._failures - self._pauses.failures, 30))
        pause = min(self._pauses.pause * 2**exponent, self._pauses.longest)
        # Half to all of it: servers that failed together do not come back together.
        self._until = self._clock() + pause * (0.5 + self._chance() / 2)

    def gave_up(self) -> None:
        """Note that an attempt was ended by us before it could tell anything."""
        self._trial = False

    def connected(self) -> None:
        """Note that an attempt has come through; the count stays until the server has answered something."""
        self._trial = False

    def succeeded(self) -> None:
        """Note that the server works."""
        if self._failures:
            self._failures = 0
            self.reason = ""
