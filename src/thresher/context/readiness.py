"""Which packs are of use now: rules for missing things would cost tokens and help nothing.

Invariant: a pack without condition is always of use; one whose own condition fails is not, until it succeeds.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from cachetools import LRUCache

from thresher.context.variables import Situation
from thresher.core import Caller, event
from thresher.knowledge.intents import Pack

logger = logging.getLogger("thresher.context")

FRESH_SECONDS = 1.0
"""How long an answer is valid: changes of other processes show after at most this."""
ASKED_SECONDS = 0.5
"""How long a pack's code may take."""
_KEPT = 4_096

Condition: TypeAlias = Callable[[Situation], Awaitable[bool]]
"""Returns whether a pack is of use in a situation."""
_Key: TypeAlias = tuple[str, tuple[int, str | None, str, bool]]


class Readiness:
    """The conditions of one process."""

    def __init__(self) -> None:
        self._conditions: dict[str, Condition] = {}
        self._answers: LRUCache[_Key, tuple[bool, float]] = LRUCache(_KEPT)
        self._followers: list[Callable[[Caller], None]] = []

    def register(self, pack: str, condition: Condition) -> None:
        """Use a pack, named by its digest, only while its condition holds."""
        self._conditions[pack] = condition

    def forget(self, pack: str) -> None:
        """Remove the condition of a pack, named by its digest."""
        self._conditions.pop(pack, None)

    def look_again(self) -> None:
        """Evaluate each condition again, because something changed on which it may depend."""
        self._answers.clear()

    def follow(self, callback: Callable[[Caller], None]) -> Callable[[], None]:
        """Subscribe to changes in pack availability: called with the caller for whom it changed.

        Returns:
            Ends the subscription.
        """
        self._followers.append(callback)
        return lambda: self._followers.remove(callback)

    async def unready(self, caller: Caller, packs: Iterable[Pack]) -> frozenset[str]:
        """Return the names of packs that are of no use to a caller now; conditions are evaluated concurrently."""
        place, oldest = caller.place, time.monotonic() - FRESH_SECONDS
        answers: dict[str, bool] = {}
        stale: list[Pack] = []
        for pack in packs:
            if pack.digest not in self._conditions:
                continue
            answer, at = self._answers.get((pack.digest, place), (False, -math.inf))
            answers[pack.name] = answer
            if at <= oldest:
                stale.append(pack)
        if stale:  # no tasks for known answers: this runs in every request
            found = await asyncio.gather(*(self._holds(caller, pack) for pack in stale))
            answers |= {pack.name: holds for pack, holds in zip(stale, found, strict=True)}
        return frozenset(name for name, holds in answers.items() if not holds)

    def unsure(self, caller: Caller, packs: Iterable[Pack]) -> bool:
        """Return whether the condition of one of these packs has never answered."""
        return any(
            pack.digest in self._conditions and (pack.digest, caller.place) not in self._answers for pack in packs
        )

    async def _holds(self, caller: Caller, pack: Pack) -> bool:
        key = (pack.digest, caller.place)
        known = self._answers.get(key)
        answer = await self._evaluate(Situation(caller), pack)
        if answer is None:  # unknown: as before
            if known is None:
                return False  # not kept: it is asked again by the next request
            answer = known[0]
        self._answers[key] = (answer, time.monotonic())
        if known is None or known[0] != answer:
            for callback in tuple(self._followers):
                callback(caller)
        return answer

    async def _evaluate(self, situation: Situation, pack: Pack) -> bool | None:
        try:
            async with asyncio.timeout(ASKED_SECONDS):
                return bool(await self._conditions[pack.digest](situation))
        except Exception as error:  # noqa: BLE001 - a pack's own code may fail in any way, and must not stop the answer
            event(logger, "pack not asked", level=logging.WARNING, pack=pack.name, error=type(error).__name__)
            return None
