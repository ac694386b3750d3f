"""How many hits are worth showing.

A fixed number wastes the caller's context: most messages need one or two items. A hit is kept while it lies close to
the best of its own text, so that a message with two tasks keeps the best of both.

Invariant: pure; of the candidates given, the order never changes.
"""

from __future__ import annotations

import numpy as np

from thresher.search.arrays import Floats, Ids
from thresher.search.fusion import Ranking


def close(ranking: Ranking, chances: Floats, limit: int, *, margin: float, threshold: float) -> Ids:
    """The hits close to the best, or none where none is likely enough.

    Args:
        ranking: Candidates, best first.
        chances: float32, the probability that each fits.
        limit: Hits at most.
        margin: Distance behind the best of its text at which a hit is left out.
        threshold: Best probability below which nothing fits.

    Returns:
        Places in the ranking, in order.
    """
    if not len(ranking) or float(chances.max()) < threshold:
        return np.empty(0, np.int64)
    return np.flatnonzero(ranking.behind[:limit] <= margin)


def likely(chances: Floats, limit: int, threshold: float) -> Ids:
    """The places of hits that reach a caller's own threshold, however far behind the best they are."""
    return np.flatnonzero(chances >= threshold)[:limit]
