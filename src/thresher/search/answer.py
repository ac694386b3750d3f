"""From scores to hits: candidates of both arms, the fused order, probabilities, and the reasons.

Invariant: pure; every candidate has the exact score of both arms, whichever arm found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thresher.core import Arm, Why
from thresher.search.lexical.arguments import (
    ArgumentWeights,
    SuppliedValues,
    argument_fit,
    find_values,
    lacks_required,
    unpack_arguments,
)
from thresher.search.lexical.bm25 import Postings, matched_terms, rows_of, score_texts
from thresher.search.lexical.profiles import Background
from thresher.search.plan import SearchPlan
from thresher.search.ranking import EncoderCalibration, Ranking, needs, probabilities, rank
from thresher.search.reading import CandidateTraits
from thresher.search.records import Adapter, Dropped, Floats, Hit, Ids, Inspection, LearnedScores, RankedItem

CANDIDATES = 100
"""Best items of each arm and text that are fused; the constants were fitted with this number."""

FITTED = 40
"""Candidates whose arguments are examined; 30, 50 and 80 give the same recall within 0.1 points."""


@dataclass(frozen=True, slots=True)
class CandidateScores:
    """Exact scores of every item that may be returned.

    Attributes:
        ids: int64 (n,), sorted.
        dense: float32 (texts, n); a likely value for an item without vectors.
        lexical: float32 (texts, n).
        known: bool (n,), whether the item has vectors and the dense arm ran.
        columns: int64 (m,), sorted, the candidates.
    """

    ids: Ids
    dense: Floats
    lexical: Floats
    known: NDArray[np.bool_]
    columns: Ids


@dataclass(frozen=True, slots=True)
class AdaptedProducts:
    """What an adapter adds to inner products.

    Attributes:
        columns: int64 (m,), sorted, its items among those that may be returned.
        added: float32 (texts, m).
    """

    columns: Ids
    added: Floats


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits, whether nothing fits, and the probability that something does.

    Attributes:
        hits: Best first.
        abstained: Whether no item reached the threshold.
        probability: The probability, 0 to 1, that at least one item fits.
        threshold: The probability below which nothing fits.
        ranked: With an inspection the hits and the others that it names, best first.
    """

    hits: tuple[Hit, ...]
    abstained: bool
    probability: float
    threshold: float = 0.0
    ranked: tuple[RankedItem, ...] = ()


def scores_of(
    ids: Ids,
    dense: Floats | None,
    lexical: Floats,
    learned: LearnedScores | None = None,
    adapted: AdaptedProducts | None = None,
) -> CandidateScores:
    """Combine both arms and choose the candidates.

    Args:
        ids: int64 (n,), sorted, the items that may be returned.
        dense: float32 (texts, n), NaN for an item without vectors, at least one not NaN; None if the arm did not run.
        lexical: float32 (texts, n).
        learned: What use has taught: its items are candidates, too.
        adapted: What an adapter adds: the nearest items with it are candidates, too.
    """
    if dense is None:
        columns = candidates([], lexical, CANDIDATES)
        return CandidateScores(ids, np.zeros_like(lexical), lexical, np.zeros(len(ids), np.bool_), columns)
    whole, known = fill_missing(dense)
    columns = candidates(whole, lexical, CANDIDATES)
    if learned is not None:
        columns = np.union1d(columns, np.flatnonzero(np.isin(ids, learned.ids)))
    if adapted is not None:
        moved = whole.copy()
        moved[:, adapted.columns] += adapted.added
        columns = np.union1d(columns, candidates(moved, [], CANDIDATES))
    return CandidateScores(ids, whole, lexical, known, columns)


def answer(
    plan: SearchPlan,
    postings: Mapping[str, Postings],
    scores: CandidateScores,
    traits: CandidateTraits,
    constants: EncoderCalibration,
    *,
    background: Background,
    items: int,
    limit: int,
    threshold: float | None,
    need: float,
    learned: LearnedScores | None = None,
    adapted: AdaptedProducts | None = None,
    inspection: Inspection | None = None,
) -> RankedHits:
    """Rank and explain.

    Args:
        plan: What was searched.
        postings: The postings of the plan's terms.
        scores: The scores of the items that may be returned.
        traits: The traits of the candidates.
        constants: Fitted for the model in use.
        background: The kind's word statistics, against which probabilities count words.
        items: The size of the whole collection.
        limit: The maximum number of hits.
        threshold: The minimum probability of a hit, 0 to 1; None for the fitted decision whether anything fits.
        need: The minimum probability, 0 to 1, that a hit is needed; the best one is returned whatever its own.
        learned: What use has taught. It changes the order, not whether anything fits.
        adapted: What an adapter adds. It changes the order of its items, not whether anything fits.
        inspection: Which items are returned in `ranked`.
    """
    least = constants.threshold if threshold is None else threshold
    if not len(scores.columns):
        return RankedHits((), True, 0.0, least)
    weights = constants.weights if plan.split else replace(constants.weights, context=constants.query_context)
    # Phrases that a calling model wrote contain no values, so nothing is missing unless the message itself is known.
    given = find_values(plan.phrases[0], plan.terms[0]) if plan.whole and any(traits.slots) else None
    ranking = rank(
        scores.dense[:, scores.columns],
        scores.lexical[:, scores.columns],
        traits.groups,
        weights,
        whole=plan.whole,
        adjust=_argument_fit(given, traits, constants.arguments),
        added=None if learned is None else _added(learned, scores),
        adapted=None if adapted is None else _adapted(adapted, scores, weights.dense),
    )
    usual = score_texts(
        plan.terms,
        postings,
        scores.ids[scores.columns],
        lambda term, entry: background.idf(term, items, entry.documents),
    )
    lacking = _lacking(given, traits, ranking.candidates)
    chances = probabilities(ranking.dense, usual[ranking.rows, ranking.candidates], lacking, constants.head)
    needed = needs(ranking, chances, constants.need)
    best = float(chances.max())
    fitting = np.ones(len(chances), np.bool_) if threshold is None else chances >= threshold
    enough = (needed >= need) | (np.arange(len(chances)) == 0)
    abstained = best < least
    places: list[int] = [] if abstained else np.flatnonzero(fitting & enough)[:limit].tolist()

    def hit(place: int) -> Hit:
        return _hit(plan, postings, scores, ranking, chances, needed, learned, place)

    found = RankedHits(tuple(hit(place) for place in places), abstained, best, least)
    if inspection is None:
        return found
    taken = frozenset(places)

    def dropped(place: int) -> Dropped:
        if abstained:
            return "abstained"
        if not fitting[place]:
            return "threshold"
        return "" if place in taken else "limit" if enough[place] else "need"

    numbers = scores.ids[scores.columns[ranking.candidates]].tolist()
    others = [place for place in range(len(numbers)) if place not in taken]
    named = (place for place in others[inspection.limit :] if numbers[place] in inspection.ids)
    shown = sorted((*places, *others[: inspection.limit], *named))
    ranked = [RankedItem(hit(place), place + 1, dropped(place)) for place in shown]
    for number in sorted(inspection.ids.difference(numbers)):
        column = int(np.searchsorted(scores.ids, number))
        if column < len(scores.ids) and scores.ids[column] == number:
            row = int(np.argmax(scores.dense[:, column] if scores.known[column] else scores.lexical[:, column]))
            outside = Hit(number, 0.0, _why(plan, postings, scores, row, column), 0.0)
            ranked.append(RankedItem(outside, None, "candidates"))
    return replace(found, ranked=tuple(ranked))


def _added(learned: LearnedScores, scores: CandidateScores) -> Floats:
    """What use has taught, in the order of the candidates: float32 (texts, m)."""
    ids = scores.ids[scores.columns]
    places = np.searchsorted(learned.ids, ids).clip(max=len(learned.ids) - 1)
    return np.where(learned.ids[places] == ids, learned.added[:, places], np.float32(0))


def adapted_products(adapter: Adapter, vectors: Floats, ids: Ids) -> AdaptedProducts | None:
    """Multiply texts with an adapter; None if none of its items may be returned.

    Args:
        adapter: The adapter, of the model of the vectors.
        vectors: float32 (texts, dimension), of length 1.
        ids: int64 (n,), sorted, the items that may be returned.
    """
    places, columns = rows_of(adapter.ids, ids)
    if not len(columns):
        return None
    return AdaptedProducts(columns, vectors @ adapter.offsets[places].T)


def _adapted(adapted: AdaptedProducts, scores: CandidateScores, weight: float) -> tuple[Floats, Ids]:
    """What an adapter adds to candidates, in units of the score, and their places among the candidates."""
    places, columns = rows_of(adapted.columns, scores.columns)
    return (np.float32(weight) * adapted.added[:, places]).astype(np.float32), columns


def _argument_fit(
    given: SuppliedValues | None, traits: CandidateTraits, weights: ArgumentWeights
) -> Callable[[Floats], Floats] | None:
    """What argument fit adds to the scores of the best candidates; the others get the minimum of it."""
    if given is None or not weights:
        return None

    def adjust(behind: Floats) -> Floats:
        best = np.argsort(behind, kind="stable")[:FITTED]
        fits = np.array(
            [argument_fit(unpack_arguments(traits.slots[place]), given, weights) for place in best.tolist()], np.float32
        )
        added = np.full(len(behind), fits.min(), np.float32)
        added[best] = fits
        return added

    return adjust


def _lacking(given: SuppliedValues | None, traits: CandidateTraits, order: Ids) -> NDArray[np.bool_]:
    """Which candidates lack something required, best first; beyond `FITTED` every one that takes arguments."""
    if given is None:
        return np.zeros(len(order), np.bool_)
    slots = [traits.slots[place] for place in order.tolist()]
    looked_at = [lacks_required(unpack_arguments(text), given) for text in slots[:FITTED]]
    return np.array([*looked_at, *(bool(text) for text in slots[FITTED:])], np.bool_)


def candidates(dense: Iterable[Floats], lexical: Iterable[Floats], most: int) -> Ids:
    """Return the columns of the best items of each arm and text.

    Args:
        dense: float32 (n,) per text; empty if the arm did not run.
        lexical: float32 (n,) per text; 0 means that no term matched, and the item is no candidate of this arm.
        most: The number of items per arm and text.

    Returns:
        int64 (m,), sorted.
    """
    matched = [positive[best_columns(row[positive], most)] for row in lexical for positive in [np.flatnonzero(row > 0)]]
    near = [best_columns(row, most) for row in dense]
    return np.unique(np.concatenate([*matched, *near])) if matched or near else np.empty(0, np.int64)


def best_columns(row: Floats, most: int) -> Ids:
    """Return the columns of the highest scores, unsorted; of equal ones at the edge the lowest, for stability."""
    if len(row) <= most:
        return np.arange(len(row))
    edge = np.partition(row, len(row) - most)[len(row) - most]
    above = np.flatnonzero(row > edge)
    level = np.flatnonzero(row == edge)
    return np.concatenate([above, level[: most - len(above)]])


def fill_missing(dense: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Give items without vectors the score that one item in ten reaches, so that their words decide.

    A lower value would bury an item that matches by its words, since such items mostly score high in both arms.

    Returns:
        float32 (texts, n), and which items have vectors.
    """
    known = ~np.isnan(dense[0])
    if known.all():
        return dense, known
    likely_score = np.quantile(dense[:, known], 0.9, axis=1, keepdims=True)
    return np.where(known, dense, likely_score).astype(np.float32), known


def _hit(
    plan: SearchPlan,
    postings: Mapping[str, Postings],
    scores: CandidateScores,
    ranking: Ranking,
    chances: Floats,
    needed: Floats,
    learned: LearnedScores | None,
    place: int,
) -> Hit:
    column, row = int(scores.columns[ranking.candidates[place]]), int(ranking.rows[place])
    number = int(scores.ids[column])
    why = _why(plan, postings, scores, row, column, float(ranking.trained[place]))
    if learned is not None and len(at := np.flatnonzero(learned.ids == number)):
        why = replace(why, learned=float(learned.added[row, at[0]]), uses=int(learned.uses[at[0]]))
    return Hit(number, float(chances[place]), why, float(needed[place]), float(ranking.standing[place]))


def _why(
    plan: SearchPlan,
    postings: Mapping[str, Postings],
    scores: CandidateScores,
    row: int,
    column: int,
    trained: float = 0.0,
) -> Why:
    """What both arms say of an item for one text."""
    number = int(scores.ids[column])
    terms = matched_terms(plan.terms[row], postings, number)
    dense = _arm(scores.dense[row], column) if scores.known[column] else Arm(None, None)
    lexical = _arm(scores.lexical[row], column) if terms else Arm(None, None)
    minor = tuple(term for term in terms if postings[term].is_minor(number))
    return Why(_source(dense, lexical), dense, lexical, terms, row, minor_terms=minor, trained=trained)


def _arm(row: Floats, column: int) -> Arm:
    return Arm(1 + int(np.count_nonzero(row > row[column])), float(row[column]))


def _source(dense: Arm, lexical: Arm) -> str:
    """The arms that found a hit: an arm counts if the item is among its candidates."""
    near = dense.rank is not None and dense.rank <= CANDIDATES
    matched = lexical.rank is not None and lexical.rank <= CANDIDATES
    if near and matched:
        return "hybrid"
    return "lexical" if matched else "semantic"
