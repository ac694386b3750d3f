"""From the two arms' figures to one order.

The score is a weighted sum of inner product and BM25, both raw: their scales are fixed by the encoder and by the form
of BM25, so nothing is standardised over the collection and a few candidates are enough. On the development sets of
tools a sum beat reciprocal rank fusion, since it keeps by how much a hit is better. A message with several tasks takes
its hits in turn from one ranking a task, each task seen in the light of the whole.

Invariant: pure; every candidate stands in the order exactly once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.search.arrays import Floats

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
class Ranked:
    """One candidate in the order.

    Attributes:
        candidate: Its column in the matrices.
        row: The text whose ranking brought it.
        score: Its score in that ranking.
        behind: How far it lies behind the best of that ranking; 0 for the best.
        dense: Inner product with that text.
        lexical: BM25 with that text.
    """

    candidate: int
    row: int
    score: float
    behind: float
    dense: float
    lexical: float


def rank(dense: Floats, lexical: Floats, groups: Sequence[int], weights: Weights, *, whole: bool) -> list[Ranked]:
    """Order all candidates, best first.

    Args:
        dense: float32 (texts, candidates): exact inner product of every cell.
        lexical: float32 (texts, candidates): exact BM25 of every cell.
        groups: One number a candidate, equal within a group; negative for none.
        weights: The encoder's weights.
        whole: The first text is the whole message: beside others it only lends them context.

    Returns:
        Every candidate once; with one text in its order, else taken in turn from the texts.
    """
    if not dense.shape[1]:
        return []
    base: Floats = (weights.dense * dense + weights.lexical * lexical).astype(np.float32)
    scores = base + np.float32(weights.group) * group_support(base, groups)
    rows = list(range(len(scores)))
    if whole and len(rows) > 1:
        scores = scores + np.float32(weights.context) * scores[0]
        rows = rows[1:]
    best = scores.max(axis=1)
    orders = [np.argsort(-scores[row], kind="stable").tolist() for row in rows]
    return [
        Ranked(
            column,
            rows[turn],
            float(scores[rows[turn], column]),
            float(best[rows[turn]] - scores[rows[turn], column]),
            float(dense[rows[turn], column]),
            float(lexical[rows[turn], column]),
        )
        for turn, column in interleave(orders)
    ]


def interleave(orders: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Take from several orders in turn, each item once; at equal depth the earlier order comes first.

    Returns:
        Pairs of (order, item).
    """
    taken: set[int] = set()
    found: list[tuple[int, int]] = []
    for depth in range(max(map(len, orders), default=0)):
        for turn, order in enumerate(orders):
            if depth < len(order) and order[depth] not in taken:
                taken.add(order[depth])
                found.append((turn, order[depth]))
    return found


def group_support(scores: Floats, groups: Sequence[int]) -> Floats:
    """Mean score of the best few candidates of each candidate's group, row by row.

    A server of which several tools fit is likelier to be the one meant. A candidate without group stands for itself, so
    that collections without groups keep their order.
    """
    support = scores.copy()
    numbers = np.asarray(groups, np.int64)
    for number in np.unique(numbers[numbers >= 0]):
        columns = np.flatnonzero(numbers == number)
        best = np.sort(scores[:, columns], axis=1)[:, -SIBLINGS:]
        support[:, columns] = best.mean(axis=1, keepdims=True)
    return support
