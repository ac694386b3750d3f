"""From what each question gave to the figures of an evaluation: pure, no clock, no database.

Invariant: shares are 0 to 1, counts integers, and a figure without data is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thresher.evaluation.metrics import all_in, auc, mean, ndcg_at, percentile, precision_at, recall_at


@dataclass(frozen=True, slots=True)
class Observation:
    """What one question gave.

    Attributes:
        relevant: The keys that fit; empty when no tool does.
        ranked: The first ten before the adaptive cut, best first.
        returned: What a client gets at the usual settings.
        abstained: Whether the search said that nothing fits.
        probability: That anything fits.
        tokens_sent: What the answer costs a model.
        tokens_all: What all definitions would cost it.
        first_ms: Time of the first asking, its vectors not cached.
        again_ms: Time of the same question asked again.
    """

    relevant: frozenset[str]
    ranked: tuple[str, ...]
    returned: tuple[str, ...]
    abstained: bool
    probability: float
    tokens_sent: int
    tokens_all: int
    first_ms: float
    again_ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    recall_at_1: float | None
    recall_at_3: float | None
    recall_at_5: float | None
    recall_at_10: float | None
    ndcg_at_10: float | None
    all_in_10: float | None
    precision_at_5: float | None
    returned_mean: float | None
    abstention_auc: float | None
    abstention_accuracy: float | None
    tokens_saved: float | None
    p50_ms: float | None
    p95_ms: float | None
    cached_p50_ms: float | None
    index_seconds: float
    tools_per_second: float
    tools: int
    queries: int
    queries_without_tool: int
    unknown_relevant: int


def compute(observations: Sequence[Observation], *, tools: int, index_seconds: float, unknown_relevant: int) -> Figures:
    """Work the figures out.

    Args:
        observations: One for each question.
        tools: How many tools the pool holds.
        index_seconds: How long indexing them took.
        unknown_relevant: How many relevant keys the pool lacks.
    """
    fitting = [seen for seen in observations if seen.relevant]
    others = [seen for seen in observations if not seen.relevant]
    recalls = [mean(recall_at(seen.ranked, seen.relevant, depth) for seen in fitting) for depth in (1, 3, 5, 10)]
    right = [seen.abstained != bool(seen.relevant) for seen in observations]
    return Figures(
        *recalls,
        ndcg_at_10=mean(ndcg_at(seen.ranked, seen.relevant, 10) for seen in fitting),
        all_in_10=mean(all_in(seen.ranked, seen.relevant, 10) for seen in fitting),
        precision_at_5=mean(precision_at(seen.returned, seen.relevant, 5) for seen in fitting),
        returned_mean=mean(len(seen.returned) for seen in observations),
        abstention_auc=auc([seen.probability for seen in fitting], [seen.probability for seen in others]),
        abstention_accuracy=mean(right) if fitting and others else None,
        tokens_saved=_saved(observations),
        p50_ms=percentile([seen.first_ms for seen in observations], 0.5),
        p95_ms=percentile([seen.first_ms for seen in observations], 0.95),
        cached_p50_ms=percentile([seen.again_ms for seen in observations], 0.5),
        index_seconds=index_seconds,
        tools_per_second=tools / index_seconds if index_seconds > 0 else 0.0,
        tools=tools,
        queries=len(observations),
        queries_without_tool=len(others),
        unknown_relevant=unknown_relevant,
    )


def _saved(observations: Sequence[Observation]) -> float | None:
    shares = [1 - seen.tokens_sent / seen.tokens_all for seen in observations if seen.tokens_all]
    saved = mean(shares)
    return None if saved is None else max(0.0, saved)
