"""From the two arms' figures to one order.

The score is a weighted sum of inner product and BM25, both raw: their scales are fixed by the encoder and by the form
of BM25, so nothing is standardised over the collection and a few candidates are enough. On the development sets of
tools a sum beat reciprocal rank fusion, since it keeps by how much a hit is better. A message with several tasks takes
its hits in turn from one ranking a task, each task seen in the light of the whole.

Invariant: pure; every candidate stands in the order exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.search.arrays import Floats, Ids

SIBLINGS: Final = 3
"""Best items of a group whose mean speaks for the group."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of one ranking.

    Attributes:
        dense: Of the inner product.
        lexical: Of BM25.
        group: Of the best items of the same group.
        context: Of the whole message's score in the ranking of each task.
    """

    dense: float
    lexical: float
    group: float
    context: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, as columns of equal length, best first.

    Attributes:
        candidates: int64, columns of the matrices.
        rows: int64, the text whose ranking brought each.
        behind: float32, how far it lies behind the best of that ranking; 0 for the best.
        dense: float32, inner product with that text.
        lexical: float32, BM25 with that text.
    """

    candidates: Ids
    rows: Ids
    behind: Floats
    dense: Floats
    lexical: Floats

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self.candidates)


def rank(
    dense: Floats,
    lexical: Floats,
    groups: Ids,
    weights: Weights,
    *,
    whole: bool,
    adjust: Callable[[Floats], Floats] | None = None,
) -> Ranking:
    """Order all candidates, best first.

    Args:
        dense: float32 (texts, candidates): exact inner product of every cell.
        lexical: float32 (texts, candidates): exact BM25 of every cell.
        groups: int64, one number a candidate, equal within a group; negative for none.
        weights: The encoder's weights.
        whole: The first text is the whole message: beside others it only lends them context.
        adjust: Gives what to add to each candidate's scores, from how far each lies behind the best, (candidates,).

    Returns:
        Every candidate once; with one text in its order, else taken in turn from the texts.
    """
    base: Floats = (weights.dense * dense + weights.lexical * lexical).astype(np.float32)
    scores = base + np.float32(weights.group) * group_support(base, groups)
    first = 0
    if whole and len(scores) > 1:
        scores = scores + np.float32(weights.context) * scores[0]
        first = 1
    if adjust is not None:
        scores = scores + adjust((scores[first:].max(axis=1, keepdims=True) - scores[first:]).min(axis=0))
    turns, candidates = interleave(np.argsort(-scores[first:], axis=1, kind="stable"))
    rows = turns + first
    behind = scores.max(axis=1, initial=-np.inf)[rows] - scores[rows, candidates]
    return Ranking(candidates, rows, behind, dense[rows, candidates], lexical[rows, candidates])


def interleave(orders: Ids) -> tuple[Ids, Ids]:
    """Take from several orders of the same items in turn, each item once; at equal depth the earlier order comes first.

    Args:
        orders: int64 (orders, items).

    Returns:
        For each item in the joint order: which order gave it, and the item.
    """
    _, firsts = np.unique(orders.T.ravel(), return_index=True)
    places = np.sort(firsts)
    turns = places % max(len(orders), 1)
    return turns, orders[turns, places // max(len(orders), 1)]


def group_support(scores: Floats, groups: Ids) -> Floats:
    """Mean score of the best few candidates of each candidate's group, row by row, float32 (texts, candidates).

    A server of which several tools fit is likelier to be the one meant. A candidate without group stands for itself, so
    that collections without groups keep their order.
    """
    members = np.flatnonzero(groups >= 0)
    support = scores.copy()
    if not len(members):
        return support
    _, group = np.unique(groups[members], return_inverse=True)
    ordered = np.sort(group)
    depth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    counted = np.minimum(np.bincount(group), SIBLINGS)
    for row in range(len(scores)):
        best = np.lexsort((-scores[row, members], group))[depth < SIBLINGS]
        sums = np.bincount(group[best], scores[row, members[best]])
        support[row, members] = (sums / counted)[group]
    return support
