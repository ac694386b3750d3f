"""What goes into the index and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.core import Why
from thresher.search.arrays import Floats, Ids

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (entries done, entries in all) after every batch that is safely written."""

SearchType: TypeAlias = Literal["hybrid", "text", "semantic"]
"""Which arms decide: both, the words, or the meaning."""


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


@dataclass(frozen=True, slots=True)
class Scoring:
    """Exact scores of every item that a filter lets through, raw, for a ranking that the kind does itself.

    A weighted sum of `dense` and `lexical` is right for every search type, since an arm that has no say is None or 0.
    Words count by what the filter lets through, so that other collections beside it do not change the scores.

    Attributes:
        ids: int64 (n,), sorted.
        dense: float32 (n,), the inner product of the query with each item's best vector; NaN for an item that is not
            embedded yet; None where the arm did not run.
        lexical: float32 (n,), BM25; 0 where no word matches. In a semantic search only of items not embedded yet.
        coverage: float32 (n,), 0 to 1, the share of the query's words that an item holds, each by how rare it is. A
            small collection is taken for a larger one, so that it means the same in every size; a word that nobody
            holds counts as a rare one.
        tiers: int8 (n,), how completely the query's words are there: 3 every quotation word for word, 2 all words,
            1 some, 0 none.
        context_dense: float32 (n,), as `dense`, for the context; None without context.
        context_lexical: float32 (n,), as `lexical`, for the context; None without context.
        terms: The distinct terms of the query, in order.
        unknown: Those that no item holds.
        guesses: Unknown term to the terms that were searched for in its place; in a text search alone.
        search_type: As it was carried out.
        degraded: What is weaker than asked for, in words.
        items: Size of the whole collection, for all callers.
        model: The model whose vectors serve.
        embedding_ms: Time spent on embedding the query.
        search_ms: All other time.
        holders: Term to the items that hold it, int64, sorted, and its BM25 in each.
    """

    ids: Ids
    dense: Floats | None
    lexical: Floats
    coverage: Floats
    tiers: NDArray[np.int8]
    context_dense: Floats | None = None
    context_lexical: Floats | None = None
    terms: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    guesses: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    search_type: SearchType = "hybrid"
    degraded: str = ""
    items: int = 0
    model: str = ""
    embedding_ms: float = 0.0
    search_ms: float = 0.0
    holders: Mapping[str, tuple[Ids, Floats]] = field(default_factory=dict[str, tuple[Ids, Floats]])

    @property
    def by_words(self) -> Floats:
        """Float32 (n,), the order of a text search: quotations first, then all words, then by BM25."""
        step = np.float32(1.0 + self.lexical.max(initial=0.0))
        return (self.lexical + step * np.maximum(self.tiers - 1, 0)).astype(np.float32)

    def matched(self, number: int) -> tuple[str, ...]:
        """The terms that one item holds, strongest first; empty for an item that the filter does not let through."""
        strengths = {term: _weight_in(ids, weights, number) for term, (ids, weights) in self.holders.items()}
        return tuple(sorted((term for term, weight in strengths.items() if weight > 0), key=lambda t: -strengths[t]))


def _weight_in(ids: Ids, weights: Floats, number: int) -> float:
    place = int(np.searchsorted(ids, number))
    return float(weights[place]) if place < len(ids) and ids[place] == number else 0.0
