"""How many hits are worth showing.

A fixed number wastes the caller's context: most messages need one or two items. A hit is kept while it lies close to
the best of its own text, so that a message with two tasks keeps the best of both.

Invariant: pure; of the candidates given, the order never changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.search.fusion import Ranked

Chance = tuple[Ranked, float]
"""A candidate and the probability that it fits."""


def close(ranked: Sequence[Chance], limit: int, margin: float, threshold: float) -> list[Chance]:
    """The hits close to the best, or none where none is likely enough.

    Args:
        ranked: Candidates with probabilities, best first.
        limit: Hits at most.
        margin: Distance behind the best of its text at which a hit is left out.
        threshold: Best probability below which nothing fits.

    Returns:
        At least the first where something fits and the limit allows it.
    """
    if max((chance for _, chance in ranked), default=-1.0) < threshold:
        return []
    return [pair for pair in ranked[:limit] if pair[0].behind <= margin]


def likely(ranked: Sequence[Chance], limit: int, threshold: float) -> list[Chance]:
    """The hits that reach a caller's own threshold, however far behind the best they are."""
    return [pair for pair in ranked if pair[1] >= threshold][:limit]
