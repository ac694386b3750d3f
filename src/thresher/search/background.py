"""How common words are at large, so that a probability means the same in every size of collection.

BM25's idf counts the tenant's own items. Among the two tools of a time server "time" stands in every item and says
nothing, so that a probability fitted on a large collection refuses whatever is asked. For the probability, and never
for the order, a small collection is therefore filled up on paper with items in which words are as common as in a
background sample; a large one is brought down to the same size.

Invariant: data and arithmetic; the sample is read once, at import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from thresher.search.bm25 import inverse_frequency

REFERENCE: Final = 1_000
"""Size that a collection is brought to, filled up or scaled down; the heads are fitted at it."""


@dataclass(frozen=True, slots=True)
class Background:
    """A sample of what one kind's items look like.

    Attributes:
        shares: Term to the share of items that hold it, 0 to 1; rare terms are left out and count as 0.
    """

    shares: Mapping[str, float] = field(default_factory=dict[str, float])

    def usual_idf(self, term: str) -> float:
        """The inverse document frequency of a term in the background alone."""
        return inverse_frequency(REFERENCE, REFERENCE * self.shares.get(term, 0.0))

    def idf(self, term: str, items: int, documents: int) -> float:
        """The inverse document frequency of a term in a collection brought to `REFERENCE` items.

        Args:
            term: An index term.
            items: Size of the collection.
            documents: Items of it that hold the term.
        """
        if items >= REFERENCE:
            return inverse_frequency(REFERENCE, documents * REFERENCE / items)
        return inverse_frequency(REFERENCE, documents + (REFERENCE - items) * self.shares.get(term, 0.0))


def shares_of(table: str) -> dict[str, float]:
    """Read a table: on each line how many items in a thousand hold the terms that follow; # starts a remark."""
    lines = [line.split() for line in table.splitlines() if not line.startswith("#")]
    return {term: int(line[0]) / 1000 for line in lines if line for term in line[1:]}


TOOL_WORDS: Final = Path(__file__).with_name("tool_words.txt")
"""Written by `python -m benchmarks.background`."""

TOOLS: Final = Background(shares_of(TOOL_WORDS.read_text(encoding="utf-8")))
"""The background of tools."""
NOTHING_KNOWN: Final = Background()
"""For a kind of which no sample was counted: a small collection is filled up with items that share no word with it."""
