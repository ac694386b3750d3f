"""From scores to hits: candidates of both arms, the fused order, probabilities, the cut, and the reasons.

Invariant: pure; every candidate has the exact score of both arms, whichever arm brought it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.core import Arm, Why
from thresher.search.arrays import Floats, Ids
from thresher.search.bm25 import matched_terms, score_clauses
from thresher.search.calibration import Constants, probabilities
from thresher.search.cut import close, likely
from thresher.search.fusion import Ranked, rank
from thresher.search.planning import Plan
from thresher.search.reading import Reading, Universe
from thresher.search.records import Hit

CANDIDATES = 100
"""Best items of each arm and text that are fused; the constants were fitted with this number."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Exact scores of every item of a universe.

    Attributes:
        ids: int64 (n,), the universe.
        dense: float32 (texts, n); a middling value for an item without vectors.
        lexical: float32 (texts, n).
        known: bool (n,), the item has vectors and the dense arm ran.
        columns: int64 (m,), sorted, the candidates.
    """

    ids: Ids
    dense: Floats
    lexical: Floats
    known: NDArray[np.bool_]
    columns: Ids

    @property
    def candidate_ids(self) -> Ids:
        """Ids of the candidates, int64 (m,)."""
        return self.ids[self.columns]


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, whether nothing fits, and the probability that something does."""

    hits: tuple[Hit, ...]
    abstained: bool
    probability: float


def scores_of(plan: Plan, reading: Reading, universe: Universe) -> Scores:
    """Score the universe in both arms and choose the candidates."""
    ids = universe.ids
    lexical = score_clauses(plan.terms, reading.postings, reading.totals, ids)
    if universe.dense is None:
        columns = candidates([], lexical, CANDIDATES)
        return Scores(ids, np.zeros_like(lexical), lexical, np.zeros(len(ids), np.bool_), columns)
    dense, known = filled(universe.dense)
    return Scores(ids, dense, lexical, known, candidates(dense, lexical, CANDIDATES))


def answer(
    plan: Plan,
    reading: Reading,
    scores: Scores,
    groups: Sequence[int],
    constants: Constants,
    *,
    limit: int,
    threshold: float | None,
) -> Answer:
    """Rank, cut and explain.

    Args:
        plan: What was searched.
        reading: Statistics and postings.
        scores: Of the items that may be returned.
        groups: One number a candidate, equal within a group; negative for none.
        constants: Fitted for the model that serves.
        limit: Hits at most.
        threshold: Least probability of a hit, 0 to 1; None for the fitted decision and the adaptive cut.
    """
    weights = constants.weights if plan.split else replace(constants.weights, context=constants.query_context)
    ranked = rank(scores.dense[:, scores.columns], scores.lexical[:, scores.columns], groups, weights, whole=plan.whole)
    chances = list(zip(ranked, probabilities(ranked, constants.head), strict=True))
    if threshold is None:
        chosen = close(chances, limit, constants.margin, constants.threshold)
    else:
        chosen = likely(chances, limit, threshold)
    best = max((chance for _, chance in chances), default=0.0)
    needed = constants.threshold if threshold is None else threshold
    hits = tuple(_hit(plan, reading, scores, entry, chance) for entry, chance in chosen)
    return Answer(hits, not chances or best < needed, best)


def candidates(dense: Iterable[Floats], lexical: Iterable[Floats], most: int) -> Ids:
    """Columns of the best items of each arm and text.

    Args:
        dense: float32 (n,) a text; empty where the arm did not run.
        lexical: float32 (n,) a text; at 0 no term matched, and such an item is no candidate of this arm.
        most: Items of each arm and text.

    Returns:
        int64 (m,), sorted.
    """
    matched = [columns[row[columns] > 0] for row in lexical for columns in [best_columns(row, most)]]
    near = [best_columns(row, most) for row in dense]
    return np.unique(np.concatenate([*matched, *near])) if matched or near else np.empty(0, np.int64)


def best_columns(row: Floats, most: int) -> Ids:
    """Columns of the highest scores, unsorted; of equal ones at the edge the lowest, so that answers do not waver."""
    if len(row) <= most:
        return np.arange(len(row))
    edge = np.partition(row, len(row) - most)[len(row) - most]
    above = np.flatnonzero(row > edge)
    level = np.flatnonzero(row == edge)
    return np.concatenate([above, level[: most - len(above)]])


def filled(dense: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Give items without vectors a middling score: their words decide, neither helped nor held back.

    Returns:
        float32 (texts, n), and which items have vectors.
    """
    known = ~np.isnan(dense[0]) if len(dense) else np.ones(dense.shape[1], np.bool_)
    if known.all():
        return dense, known
    middle = dense[:, known].mean(axis=1, keepdims=True) if known.any() else np.zeros((len(dense), 1), np.float32)
    return np.where(known, dense, middle).astype(np.float32), known


def _hit(plan: Plan, reading: Reading, scores: Scores, entry: Ranked, chance: float) -> Hit:
    column = int(scores.columns[entry.candidate])
    number = int(scores.ids[column])
    terms = matched_terms(plan.terms[entry.row], reading.postings, reading.totals, number)
    dense = _arm(scores.dense[entry.row], column) if scores.known[column] else Arm(None, None)
    lexical = _arm(scores.lexical[entry.row], column) if terms else Arm(None, None)
    return Hit(number, chance, Why(_source(dense, lexical), dense, lexical, terms, entry.row))


def _arm(row: Floats, column: int) -> Arm:
    return Arm(1 + int(np.count_nonzero(row > row[column])), float(row[column]))


def _source(dense: Arm, lexical: Arm) -> str:
    """What brought a hit: an arm counts where the item is among its candidates."""
    near = dense.rank is not None and dense.rank <= CANDIDATES
    matched = lexical.rank is not None and lexical.rank <= CANDIDATES
    if near and matched:
        return "hybrid"
    return "lexical" if matched else "semantic"
