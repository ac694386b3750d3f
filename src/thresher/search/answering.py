"""From scores to hits: candidates of both arms, the fused ranking, probabilities, the cut, and the reasons.

Invariant: pure; every candidate has the exact score of both arms, whichever arm brought it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.core import Arm, Why
from thresher.search.arrays import Floats, Ids
from thresher.search.bm25 import Postings, Totals, inverse_frequency, matched_terms, score_clauses
from thresher.search.calibration import Constants, anything_fits, probabilities
from thresher.search.cut import keep
from thresher.search.fusion import Ranked, rank_message, rank_queries
from thresher.search.planning import Plan
from thresher.search.reading import Reading, Universe
from thresher.search.records import Hit

CANDIDATES = 100
"""Best items of each arm and phrase that are fused; the constants were fitted with this number."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, whether nothing fits, and the probability that something does."""

    hits: tuple[Hit, ...]
    abstained: bool
    probability: float


@dataclass(frozen=True, slots=True)
class _Scores:
    """Exact scores of every item of the universe: float32 (phrases, n) each; `known`: (n,), it has vectors."""

    dense: Floats
    lexical: Floats
    known: np.ndarray[tuple[int], np.dtype[np.bool_]]


def answer(
    plan: Plan, reading: Reading, universe: Universe, constants: Constants, *, limit: int, threshold: float | None
) -> Answer:
    """Rank, cut and explain.

    Args:
        plan: What was searched.
        reading: Statistics and postings.
        universe: The items that may be returned, with dense scores.
        constants: Fitted for the model that serves.
        limit: Hits at most.
        threshold: Least probability of a hit, 0 to 1; None for the fitted decision.
    """
    if not len(universe.ids):
        return Answer((), True, 0.0)
    scores = _scores(plan, reading, universe)
    columns = candidates(scores.dense if universe.dense is not None else None, scores.lexical, CANDIDATES)
    if not len(columns):
        return Answer((), True, 0.0)
    rank = rank_message if plan.split else rank_queries
    ranked = rank(scores.dense[:, columns], scores.lexical[:, columns], constants)
    chances = probabilities(ranked, _idf_totals(plan.terms, reading.postings, reading.totals), constants)
    probability, fits = anything_fits(ranked, chances, constants)
    if threshold is None:
        kept = keep(ranked, chances, limit, constants) if fits else 0
        chosen = list(zip(ranked[:kept], chances[:kept], strict=True))
    else:
        chosen = [pair for pair in zip(ranked, chances, strict=True) if pair[1] >= threshold][:limit]
    hits = tuple(_hit(plan, reading, universe, scores, columns, entry, chance) for entry, chance in chosen)
    return Answer(hits, not hits and limit > 0, probability)


def candidates(dense: Floats | None, lexical: Floats, most: int) -> Ids:
    """Columns of the best items of each arm and phrase.

    Args:
        dense: float32 (phrases, n); None where the arm did not run.
        lexical: float32 (phrases, n); 0 means no term matched, and such an item is no candidate of this arm.
        most: Items of each arm and phrase.

    Returns:
        int64 (m,), sorted.
    """
    found = [_best(row, most) for row in lexical]
    found = [columns[row[columns] > 0] for columns, row in zip(found, lexical, strict=True)]
    if dense is not None:
        found += [_best(row, most) for row in dense]
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def _best(row: Floats, most: int) -> Ids:
    """Columns of the highest scores; of equal ones at the edge the lowest columns, so that answers do not waver."""
    if len(row) <= most:
        return np.arange(len(row))
    edge = np.partition(row, len(row) - most)[len(row) - most]
    above = np.flatnonzero(row > edge)
    level = np.flatnonzero(row == edge)
    return np.concatenate([above, level[: most - len(above)]])


def _scores(plan: Plan, reading: Reading, universe: Universe) -> _Scores:
    lexical = score_clauses(plan.terms, reading.postings, reading.totals, universe.ids)
    if universe.dense is None:
        return _Scores(np.zeros_like(lexical), lexical, np.zeros(len(universe.ids), np.bool_))
    known = ~np.isnan(universe.dense[0])
    if known.all():
        return _Scores(universe.dense, lexical, known)
    # An item whose vectors are missing gets a middling cosine: its words decide, neither helped nor held back.
    middle = universe.dense[:, known].mean(axis=1, keepdims=True) if known.any() else np.float32(0)
    return _Scores(np.where(known, universe.dense, middle).astype(np.float32), lexical, known)


def _idf_totals(phrases: Sequence[Iterable[str]], postings: dict[str, Postings], totals: Totals) -> list[float]:
    """For each phrase the idf of its known terms, summed."""
    idfs = {term: inverse_frequency(totals.items, entry.documents) for term, entry in postings.items()}
    return [sum(idfs.get(term, 0.0) for term in terms) for terms in phrases]


def _hit(
    plan: Plan, reading: Reading, universe: Universe, scores: _Scores, columns: Ids, entry: Ranked, chance: float
) -> Hit:
    column = int(columns[entry.candidate])
    number = int(universe.ids[column])
    terms = matched_terms(plan.terms[entry.query], reading.postings, reading.totals, number)
    dense = _arm(scores.dense[entry.query], column) if scores.known[column] else Arm(None, None)
    lexical = _arm(scores.lexical[entry.query], column) if terms else Arm(None, None)
    return Hit(number, chance, Why(_source(dense, lexical), dense, lexical, terms, entry.query))


def _arm(row: Floats, column: int) -> Arm:
    return Arm(1 + int(np.count_nonzero(row > row[column])), float(row[column]))


def _source(dense: Arm, lexical: Arm) -> str:
    """What brought a hit: an arm counts where it has the item among its candidates."""
    by_meaning = dense.rank is not None and dense.rank <= CANDIDATES
    by_words = lexical.rank is not None and lexical.rank <= CANDIDATES
    if by_meaning and by_words:
        return "hybrid"
    return "lexical" if by_words else "semantic"
