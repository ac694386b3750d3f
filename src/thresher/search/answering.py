"""From scores to hits: candidates of both arms, the fused order, probabilities, the cut, and the reasons.

Invariant: pure; every candidate has the exact score of both arms, whichever arm brought it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.core import Arm, Why
from thresher.search.arguments import ArgumentWeights, Supplied, facts_of, fit, lacks, supplied
from thresher.search.arrays import Floats, Ids
from thresher.search.background import Background
from thresher.search.bm25 import Postings, matched_terms, score_texts
from thresher.search.calibration import Constants, probabilities
from thresher.search.cut import close, likely
from thresher.search.fusion import Ranking, rank
from thresher.search.planning import Plan
from thresher.search.reading import Traits
from thresher.search.records import Hit

CANDIDATES = 100
"""Best items of each arm and text that are fused; the constants were fitted with this number."""

FITTED = 40
"""Candidates of which the arguments are looked at; 30, 50 and 80 give the same recall within 0.1 points."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Exact scores of every item that may be returned.

    Attributes:
        ids: int64 (n,), sorted.
        dense: float32 (texts, n); a likely value for an item without vectors.
        lexical: float32 (texts, n).
        known: bool (n,), the item has vectors and the dense arm ran.
        columns: int64 (m,), sorted, the candidates.
    """

    ids: Ids
    dense: Floats
    lexical: Floats
    known: NDArray[np.bool_]
    columns: Ids


@dataclass(frozen=True, slots=True)
class Answer:
    """Hits, whether nothing fits, and the probability that something does."""

    hits: tuple[Hit, ...]
    abstained: bool
    probability: float


def scores_of(ids: Ids, dense: Floats | None, lexical: Floats) -> Scores:
    """Bring both arms together and choose the candidates.

    Args:
        ids: int64 (n,), sorted, the items that may be returned.
        dense: float32 (texts, n), NaN for an item without vectors, of which some have them; None where the arm did
            not run.
        lexical: float32 (texts, n).
    """
    if dense is None:
        columns = candidates([], lexical, CANDIDATES)
        return Scores(ids, np.zeros_like(lexical), lexical, np.zeros(len(ids), np.bool_), columns)
    whole, known = filled(dense)
    return Scores(ids, whole, lexical, known, candidates(whole, lexical, CANDIDATES))


def answer(
    plan: Plan,
    postings: Mapping[str, Postings],
    scores: Scores,
    traits: Traits,
    constants: Constants,
    *,
    background: Background,
    items: int,
    limit: int,
    threshold: float | None,
) -> Answer:
    """Rank, cut and explain.

    Args:
        plan: What was searched.
        postings: Of the plan's terms.
        scores: Of the items that may be returned.
        traits: Of the candidates.
        constants: Fitted for the model that serves.
        background: Of the kind; probabilities count words against it.
        items: Size of the whole collection.
        limit: Hits at most.
        threshold: Least probability of a hit, 0 to 1; None for the fitted decision and the adaptive cut.
    """
    if not len(scores.columns):
        return Answer((), True, 0.0)
    weights = constants.weights if plan.split else replace(constants.weights, context=constants.query_context)
    given = _given(plan, traits)
    ranking = rank(
        scores.dense[:, scores.columns],
        scores.lexical[:, scores.columns],
        traits.groups,
        weights,
        whole=plan.whole,
        adjust=_argument_fit(given, traits, constants.arguments),
    )
    usual = score_texts(
        plan.terms,
        postings,
        scores.ids[scores.columns],
        lambda term, entry: background.idf(term, items, entry.documents),
    )
    lacking = _lacking(given, traits, ranking.candidates)
    chances = probabilities(ranking.dense, usual[ranking.rows, ranking.candidates], lacking, constants.head)
    if threshold is None:
        places = close(ranking, chances, limit, margin=constants.margin, threshold=constants.threshold)
    else:
        places = likely(chances, limit, threshold)
    best = float(chances.max())
    needed = constants.threshold if threshold is None else threshold
    hits = tuple(_hit(plan, postings, scores, ranking, chances, place) for place in places.tolist())
    return Answer(hits, best < needed, best)


def _given(plan: Plan, traits: Traits) -> Supplied | None:
    """What the message supplies; None where no argument is to be looked at.

    Phrases that a calling model wrote for a task hold no values, so without the message itself nothing is missing.
    """
    return supplied(plan.phrases[0], plan.terms[0]) if plan.whole and any(traits.slots) else None


def _argument_fit(
    given: Supplied | None, traits: Traits, weights: ArgumentWeights
) -> Callable[[Floats], Floats] | None:
    """What argument fit adds to the best candidates' scores; the others get the least of it."""
    if given is None or not weights:
        return None

    def adjust(behind: Floats) -> Floats:
        best = np.argsort(behind, kind="stable")[:FITTED]
        fits = np.array([fit(facts_of(traits.slots[place]), given, weights) for place in best.tolist()], np.float32)
        added = np.full(len(behind), fits.min(), np.float32)
        added[best] = fits
        return added

    return adjust


def _lacking(given: Supplied | None, traits: Traits, order: Ids) -> NDArray[np.bool_]:
    """Which candidates require something that is missing, best first; far down the order all that take anything."""
    if given is None:
        return np.zeros(len(order), np.bool_)
    slots = [traits.slots[place] for place in order.tolist()]
    looked_at = [lacks(facts_of(text), given) for text in slots[:FITTED]]
    return np.array([*looked_at, *(bool(text) for text in slots[FITTED:])], np.bool_)


def candidates(dense: Iterable[Floats], lexical: Iterable[Floats], most: int) -> Ids:
    """Columns of the best items of each arm and text.

    Args:
        dense: float32 (n,) a text; empty where the arm did not run.
        lexical: float32 (n,) a text; at 0 no term matched, and such an item is no candidate of this arm.
        most: Items of each arm and text.

    Returns:
        int64 (m,), sorted.
    """
    matched = [positive[best_columns(row[positive], most)] for row in lexical for positive in [np.flatnonzero(row > 0)]]
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
    """Give items without vectors the score that one item in ten reaches, so that their words decide.

    Less would bury an item that matches by its words, since those that do mostly have a high score in both arms.

    Returns:
        float32 (texts, n), and which items have vectors.
    """
    known = ~np.isnan(dense[0])
    if known.all():
        return dense, known
    likely_score = np.quantile(dense[:, known], 0.9, axis=1, keepdims=True)
    return np.where(known, dense, likely_score).astype(np.float32), known


def _hit(
    plan: Plan, postings: Mapping[str, Postings], scores: Scores, ranking: Ranking, chances: Floats, place: int
) -> Hit:
    column, row = int(scores.columns[ranking.candidates[place]]), int(ranking.rows[place])
    number = int(scores.ids[column])
    terms = matched_terms(plan.terms[row], postings, number)
    dense = _arm(scores.dense[row], column) if scores.known[column] else Arm(None, None)
    lexical = _arm(scores.lexical[row], column) if terms else Arm(None, None)
    return Hit(number, float(chances[place]), Why(_source(dense, lexical), dense, lexical, terms, row))


def _arm(row: Floats, column: int) -> Arm:
    return Arm(1 + int(np.count_nonzero(row > row[column])), float(row[column]))


def _source(dense: Arm, lexical: Arm) -> str:
    """What brought a hit: an arm counts where the item is among its candidates."""
    near = dense.rank is not None and dense.rank <= CANDIDATES
    matched = lexical.rank is not None and lexical.rank <= CANDIDATES
    if near and matched:
        return "hybrid"
    return "lexical" if matched else "semantic"
