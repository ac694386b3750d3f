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
        """Let it go; harmless once it is done."""
        if not self.reading.done():
            self.reading.cancel()
        elif not self.reading.cancelled():
            self.reading.exception()  # looked at, so that a failure that nobody waited for is not reported
