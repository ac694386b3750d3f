"""The records that go into the index and come out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thresher.core import Why

Ids: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Bools: TypeAlias = NDArray[np.bool_]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (entries done, entries in total) after each batch that is safely written."""


@dataclass(frozen=True, slots=True)
class LearnedScores:
    """What earlier use says about some items.

    Attributes:
        ids: int64 (m,), sorted.
        added: float32 (texts, m), what is added to their scores.
        uses: int64 (m,), how often each was used after like texts.
    """

    ids: Ids
    added: Floats
    uses: Ids


Learner: TypeAlias = Callable[[str, Floats], LearnedScores | None]
"""Returns what earlier use says, given a model's name and float32 (texts, dimension), its vectors; None if nothing."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """What training on a tenant's own messages adds to the vectors of some items; the stored vectors stay as they are.

    Attributes:
        model: The model of the vectors that it was trained on; for another one it has no effect.
        ids: int64 (m,), sorted, the items.
        offsets: float32 (m, dimension), what is added to the vector of each.
    """

    model: str
    ids: Ids
    offsets: Floats


@dataclass(frozen=True, slots=True)
class ItemVectors:
    """The stored vectors of a collection.

    Attributes:
        model: The model in use; empty without a collection.
        ids: int64 (n,), sorted, the items that have vectors.
        vectors: float32 (n, dimension), the first vector of each.
        weight: What an inner product counts in the score of the ranking.
    """

    model: str
    ids: Ids
    vectors: Floats
    weight: float


SearchType: TypeAlias = Literal["hybrid", "text", "semantic"]
"""The arms that decide: both, lexical alone, or dense alone."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument that an item takes, such as a parameter of a tool.

    Attributes:
        name: Its name.
        text: Its description.
        brief: The first sentence of the description.
        type: Its JSON Schema type; empty means a string.
        required: Whether the item needs it.
        values: The only accepted values; empty if any value is accepted.
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
        id: The row's key in the table of its kind.
        texts: What the encoder reads. Without weights each text becomes a vector, and a query is compared with the
            nearest.
        weights: One weight per text: their vectors are then summed into one.
        fields: Field name to text, for the lexical arm. The kind's profile weighs them; other fields weigh 1.
        facets: Labels to filter by.
        owner: The only user who may find it; None for everybody in the tenant.
        slots: Its arguments; a message that supplies them ranks the entry higher.
        language: The language of its fields, as `language_of` tells it: they are stemmed by it.
    """

    id: int
    texts: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    facets: frozenset[str] = frozenset()
    owner: str | None = None
    slots: tuple[Slot, ...] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which items a search may return.

    Attributes:
        facets: An item must carry at least one of these; None for no restriction.
    """

    facets: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PutCounts:
    """What a batch upsert did.

    Attributes:
        embedded: Entries that the encoder embedded.
        kept: Entries that were unchanged, or whose vectors were in the content-addressed cache.
        removed: Removed items.
    """

    embedded: int = 0
    kept: int = 0
    removed: int = 0

    def __add__(self, other: PutCounts) -> PutCounts:
        """Return the sums of two batches."""
        return PutCounts(
            self.embedded + other.embedded,
            self.kept + other.kept,
            self.removed + other.removed,
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """A found item.

    Attributes:
        id: The entry's id.
        score: The calibrated probability, 0 to 1, that it fits.
        why: Rank and score in each arm, matched terms, clause.
        need: The calibrated probability, 0 to 1, that it is needed: others may fit, too, and better.
        standing: Its score less that of the best item for the same text, both without what use has taught; 0 for the
            best.
    """

    id: int
    score: float
    why: Why
    need: float
    standing: float = 0.0


@dataclass(frozen=True, slots=True)
class Inspection:
    """Which items a search names besides its hits.

    Attributes:
        limit: The best so many that are no hits.
        ids: Further ones, whatever their rank.
    """

    limit: int
    ids: frozenset[int] = frozenset()


Dropped: TypeAlias = Literal["", "abstained", "threshold", "need", "limit", "candidates"]
"""Why an item is no hit: nothing fits, it fits or is needed too improbably, there are enough better ones, or no arm has
it among its candidates; empty for a hit."""


@dataclass(frozen=True, slots=True)
class RankedItem:
    """An item that a search considered.

    Attributes:
        hit: Its scores and reasons. One that is no candidate has only its rank and score in each arm.
        rank: Its place in the fused order, from 1; None for one that is no candidate.
        dropped: Why it is no hit.
    """

    hit: Hit
    rank: int | None
    dropped: Dropped


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of one search.

    Attributes:
        hits: Best first.
        abstained: Whether no item reached the threshold.
        probability: The probability, 0 to 1, that at least one item fits.
        degraded: What was missing or weaker than usual; empty if nothing was.
        searched: The number of items that the filter let through.
        clauses: The phrases that were searched, in order.
        embedding_ms: The time spent on embedding them.
        search_ms: All other time.
        embedded: Whether the encoder produced vectors for them.
        model: The model of the vectors; empty without any.
        vectors: float32 (phrases, dimension), one for each searched text; None without any.
        threshold: The probability below which nothing fits.
        ranked: With an inspection the hits and the others that it names, best first.
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
    model: str = ""
    vectors: Floats | None = None
    threshold: float = 0.0
    ranked: tuple[RankedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Scoring:
    """Exact raw scores of every item that a filter lets through, for kinds that rank by themselves.

    A weighted sum of `dense` and `lexical` is valid for every search type, since an arm that does not count is None
    or 0.
    Word statistics are those of the items that the filter lets through, so other collections do not change the scores.

    Attributes:
        ids: int64 (n,), sorted.
        dense: float32 (n,), the inner product of the query with each item's best vector; NaN for an item that is not
            embedded yet; None if the dense arm did not run.
        lexical: float32 (n,), BM25; 0 if no word matches. In a semantic search only for items that are not embedded
            yet.
        coverage: float32 (n,), 0 to 1, the share of the query's words that an item contains, weighted by rarity. A
            small
            collection is treated as a larger one, so that the value is comparable across sizes; a word that no item
            contains counts as a rare one.
        tiers: int8 (n,), how completely an item contains the query: 3 every quotation word for word, 2 all words,
            1 some, 0 none.
        context_dense: float32 (n,), like `dense`, for the context; None without context.
        context_lexical: float32 (n,), like `lexical`, for the context; None without context.
        terms: The distinct terms of the query, in order.
        unknown: Those that no item contains.
        guesses: Unknown term to the terms that were searched instead; in a text search only.
        search_type: The type that was carried out.
        degraded: What was weaker than requested.
        items: The size of the whole collection, for all callers.
        model: The model whose vectors are in use.
        embedding_ms: The time spent on embedding the query.
        search_ms: All other time.
        holders: Term to the ids of the items that contain it, int64, sorted, and its BM25 in each.
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
        """Float32 (n,), the order of a text search: quotations first, then all words, then BM25."""
        step = np.float32(1.0 + self.lexical.max(initial=0.0))
        return (self.lexical + step * np.maximum(self.tiers - 1, 0)).astype(np.float32)

    def matched(self, number: int) -> tuple[str, ...]:
        """Return the terms that one item contains, strongest first; empty for an item that the filter excludes."""
        strengths = {term: _weight_in(ids, weights, number) for term, (ids, weights) in self.holders.items()}
        return tuple(sorted((term for term, weight in strengths.items() if weight > 0), key=lambda t: -strengths[t]))


def _weight_in(ids: Ids, weights: Floats, number: int) -> float:
    place = int(np.searchsorted(ids, number))
    return float(weights[place]) if place < len(ids) and ids[place] == number else 0.0
