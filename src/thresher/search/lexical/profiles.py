"""What the index knows of a kind: field weights, the facet that groups items, and its usual words.

BM25's idf counts the tenant's own items. Among the two tools of a time server "time" occurs in every item and says
nothing, so a probability fitted on a large collection would refuse every question. For the probability, and never for
the order, a small collection is therefore extended arithmetically with items in which words are as common as in a
background sample; a large one is scaled down to the same size.

Invariant: data and arithmetic; a kind without profile is searched like any other. The sample is read once, at import.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from thresher.search.lexical.bm25 import inverse_frequency
from thresher.search.records import Ids

REFERENCE: Final = 1_000
"""The size to which a collection is scaled; the heads are fitted at it."""


@dataclass(frozen=True, slots=True)
class Background:
    """Word statistics of a sample of one kind's items.

    Attributes:
        shares: Term to the share of items that contain it, 0 to 1; rare terms are left out and count as 0.
    """

    shares: Mapping[str, float] = field(default_factory=dict[str, float])

    def usual_idf(self, term: str) -> float:
        """Return the inverse document frequency of a term in the background alone."""
        return inverse_frequency(REFERENCE, REFERENCE * self.shares.get(term, 0.0))

    def idf(self, term: str, items: int, documents: int) -> float:
        """Return the inverse document frequency of a term in a collection scaled to `REFERENCE` items.

        Args:
            term: An index term.
            items: The size of the collection.
            documents: The number of its items that contain the term.
        """
        if items >= REFERENCE:
            return inverse_frequency(REFERENCE, documents * REFERENCE / items)
        return inverse_frequency(REFERENCE, documents + (REFERENCE - items) * self.shares.get(term, 0.0))


def shares_of(table: str) -> dict[str, float]:
    """Parse a table: each line has the number of items in a thousand and the terms they contain; # starts a comment."""
    lines = [line.split() for line in table.splitlines() if not line.startswith("#")]
    return {term: int(line[0]) / 1000 for line in lines if line for term in line[1:]}


TOOL_WORDS: Final = Path(__file__).with_name("tool_words.txt")
"""Written by `python -m benchmarks.fits words`."""

TOOL_BACKGROUND: Final = Background(shares_of(TOOL_WORDS.read_text(encoding="utf-8")))
"""The background of tools."""
NO_BACKGROUND: Final = Background()
"""For a kind without sample: a small collection is extended with items that share no word with it."""


@dataclass(frozen=True, slots=True)
class KindProfile:
    """How one kind is indexed.

    Attributes:
        field_weights: Field name to weight in BM25; other fields weigh 1.
        group_prefix: Items that share a facet with this prefix form a group; empty: no groups.
        background: How common words are in items of this kind in general.
    """

    field_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    group_prefix: str = ""
    background: Background = NO_BACKGROUND

    def group_of(self, facets: Iterable[str]) -> str | None:
        """Return the facet that names an item's group, or None."""
        if not self.group_prefix:
            return None
        return min((label for label in facets if label.startswith(self.group_prefix)), default=None)


_OPERATION: Mapping[str, float] = {"title": 2.0, "parameters": 0.3, "schemas": 0.3, "properties": 0.3}
"""Names of parameters, schemas and properties are many, and say less than a title."""

PROFILES: Mapping[str, KindProfile] = {
    "tool": KindProfile({"likely": 0.4}, "server:", TOOL_BACKGROUND),
    "operation": KindProfile(field_weights=_OPERATION),
}
_PLAIN = KindProfile()


def profile_of(kind: str) -> KindProfile:
    """Return the profile of a kind."""
    return PROFILES.get(kind, _PLAIN)


def groups_of(profile: KindProfile, facets: Sequence[frozenset[str]]) -> Ids:
    """Return one group number per item, -1 for none, int64; items with equal labels are evaluated once."""
    names = {labels: profile.group_of(labels) for labels in set(facets)}
    numbers = {name: number for number, name in enumerate(sorted(filter(None, names.values())))}
    return np.fromiter((numbers.get(names[labels] or "", -1) for labels in facets), np.int64, len(facets))
