"""Reading what a search needs before its filter is known.

Invariant: what was read ahead is used once, for the question that it was read for, moments later; whoever does not use
it closes it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from thresher.search.arrays import Floats
from thresher.search.planning import Plan
from thresher.search.reading import Reading


@dataclass(frozen=True, slots=True)
class Ahead:
    """A collection that is being read for one question, without a filter.

    Attributes:
        kind: The collection.
        plan: What will be searched.
        reading: Gives the whole collection, its BM25 scores, and what was not as it should be.
    """

    kind: str
    plan: Plan
    reading: asyncio.Task[tuple[Reading, Floats, str]]

    def close(self) -> None:
        """Let it go. What has begun may end: a query that is broken off costs the pool its connection."""
        self.reading.add_done_callback(_heard)


def _heard(reading: asyncio.Task[tuple[Reading, Floats, str]]) -> None:
    """Look at a failure that nobody waits for, so that it is not reported."""
    if not reading.cancelled():
        reading.exception()
