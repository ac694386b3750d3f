"""What goes into the index and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from thresher.core import Why

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (entries done, entries in all) after every batch that is safely written."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One thing that an item wants to be given, such as a parameter of a tool.

    Attributes:
        name: Its name.
        text: What is said of it.
        brief: The first sentence of that.
        type: As JSON Schema calls it; empty means a string.
        required: Whether the item cannot do without.
        values: The only ones that it takes; empty for any.
    """

    name: str
    text: str = ""
    brief: str = ""
    type: str = ""
    required: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to be found.

    Attributes:
        id: The row's key in its kind's own table.
        texts: What the encoder reads. Without weights each text becomes a vector, and a query meets the nearest one.
        weights: One weight a text: their vectors are then summed to a single one.
        fields: Field name to text, for the words; weights by the kind's profile, 1 for a field it does not name.
        facets: Labels that a filter may ask for.
        owner: The only user who may find it; None for everybody in the tenant.
        slots: What it wants to be given; a message that supplies it finds the entry sooner.
    """

    id: int
    texts: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    facets: frozenset[str] = frozenset()
    owner: str | None = None
    slots: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which items a search may return.

    Attributes:
        facets: Any of these must be on the item; None asks for nothing.
    """

    facets: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PutCounts:
    """What a batch upsert did.

    Attributes:
        embedded: Entries for which the encoder was asked.
        kept: Entries that were unchanged, or whose vectors the content-addressed cache held.
        removed: Items taken out.
    """

    embedded: int = 0
    kept: int = 0
    removed: int = 0

    def __add__(self, other: PutCounts) -> PutCounts:
        """The counts of two batches together."""
        return PutCounts(
            self.embedded + other.embedded,
            self.kept + other.kept,
            self.removed + other.removed,
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """An item found.

    Attributes:
        id: The entry's id.
        score: Calibrated probability, 0 to 1, that it fits.
        why: Rank and score in each arm, matched terms, clause.
    """

    id: int
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer of one search.

    Attributes:
        hits: Best first.
        abstained: Nothing reached the threshold.
        probability: That at least one item fits, 0 to 1.
        degraded: What was not as it should be, in words; empty when all was well.
        searched: Items that the filter let through.
        clauses: The phrases that were searched, in order.
        embedding_ms: Time spent on embedding them.
        search_ms: All other time.
        embedded: Whether the encoder gave vectors for them.
    """

    hits: tuple[Hit, ...]
    abstained: bool
    probability: float
    degraded: str
    searched: int
    clauses: tuple[str, ...]
    embedding_ms: float
    search_ms: float
    embedded: bool = False
