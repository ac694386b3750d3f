"""From the scores of the two arms to one order, a probability and a cut.

The score is a weighted sum of inner product and BM25, both raw: the encoder and the form of BM25 fix their scales, so
nothing is standardised over the collection and a few candidates are enough. On the development sets of tools a sum
beat reciprocal rank fusion, since it keeps the size of a difference. A message with several tasks takes its hits in
turn from one ranking per task, each combined with the score of the whole message.

Invariant: pure; every candidate occurs in the order exactly once, and the cut never changes the order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.search.lexical.arguments import NO_ARGUMENTS, ArgumentWeights
from thresher.search.records import Floats, Ids

SIBLINGS: Final = 3
"""Best items of a group whose mean represents the group."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of one ranking.

    Attributes:
        dense: For the inner product.
        lexical: For BM25.
        group: For the best items of the same group.
        context: For the whole message's score in the ranking of each task.
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
        rows: int64, the text whose ranking contributed each.
        behind: float32, the distance from the best of that ranking; 0 for the best.
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
        groups: int64, one number per candidate, equal within a group; negative for none.
        weights: The encoder's weights.
        whole: Whether the first text is the whole message: next to others it only adds context.
        adjust: Returns what to add to each candidate's scores, given how far each is behind the best, (candidates,).

    Returns:
        Every candidate once; with one text in its order, otherwise taken in turn from the texts.
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
    """Take items from several orders of the same items in turn, each item once; on ties the earlier order is first.

    Args:
        orders: int64 (orders, items).

    Returns:
        For each item in the joint order: the order that contributed it, and the item.
    """
    _, firsts = np.unique(orders.T.ravel(), return_index=True)
    places = np.sort(firsts)
    turns = places % max(len(orders), 1)
    return turns, orders[turns, places // max(len(orders), 1)]


def group_support(scores: Floats, groups: Ids) -> Floats:
    """Return the mean score of the best few candidates of each candidate's group, float32 (texts, candidates).

    A server with several fitting tools is more likely to be the right one. A candidate without group counts by
    itself, so
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


def close_to_best(ranking: Ranking, chances: Floats, limit: int, *, margin: float, threshold: float) -> Ids:
    """Return the hits close to the best, or none if none is likely enough.

    A fixed number wastes the caller's context: most messages need one or two items. A hit is kept while it is close
    to the
    best of its own text, so that a message with two tasks keeps the best of both.

    Args:
        ranking: Candidates, best first.
        chances: float32, the probability that each fits.
        limit: The maximum number of hits.
        margin: The distance behind the best of its text from which a hit is left out.
        threshold: The best probability below which nothing fits.

    Returns:
        Positions in the ranking, in order.
    """
    if not len(ranking) or float(chances.max()) < threshold:
        return np.empty(0, np.int64)
    return np.flatnonzero(ranking.behind[:limit] <= margin)


def above_threshold(chances: Floats, limit: int, threshold: float) -> Ids:
    """Return the positions of hits that reach a caller's threshold, however far behind the best they are."""
    return np.flatnonzero(chances >= threshold)[:limit]


@dataclass(frozen=True, slots=True)
class LogisticHead:
    """sigmoid(bias + dense * inner product + lexical * ln(1 + BM25) + lacking), with the BM25 of the background.

    Attributes:
        bias: The constant.
        dense: For the inner product.
        lexical: For ln(1 + BM25).
        lacking: Added if the message leaves out what the item requires.
    """

    bias: float
    dense: float
    lexical: float
    lacking: float = 0.0


@dataclass(frozen=True, slots=True)
class EncoderCalibration:
    """All constants that were fitted for one encoder.

    A cosine of bge-small alone says little: one right function in ten is below 0.54, and one foreign question in ten
    has a
    function above 0.68. Inner product and BM25 together do better, with BM25 counted against a background of usual
    words
    (see `Background`).

    Attributes:
        weights: For the tasks of one message.
        query_context: The share of the message's score next to queries that the caller wrote.
        margin: The distance behind the best of its text from which a hit is cut.
        head: Computes the probability that a hit fits.
        threshold: The best probability below which nothing fits.
        arguments: For argument fit; all 0 for a model for which it was not measured.
    """

    weights: Weights
    query_context: float
    margin: float
    head: LogisticHead
    threshold: float
    arguments: ArgumentWeights = NO_ARGUMENTS


BGE_SMALL: Final = EncoderCalibration(
    weights=Weights(dense=28.0, lexical=0.5, group=0.2, context=0.6),
    query_context=0.3,
    margin=2.0,
    head=LogisticHead(bias=-7.0, dense=8.7, lexical=0.97, lacking=-0.8),
    threshold=0.18,
    arguments=ArgumentWeights(missing=-1.5, required=-1.0, dated=2.0, words=3.0),
)
"""bge-small-en-v1.5, int8: fitted on MetaTool, BFCL and mcpproxy.

The weight of BM25 and the four of argument fit were fitted together, for the mean recall of these sets; with all of
them changed at random by 15 to 20 %, recall@5 on BFCL stays between 0.799 and 0.805.

A plain fit weighs dense against lexical 3 to 1, with an AUC of 0.885 instead of 0.877 (offered functions, BFCL). At
the share of good questions that the threshold keeps, 9 to 1 refuses as many foreign ones; a paraphrase without a
common word can pass, and one rare word that happens to occur in a tool is seldom enough. Of the questions that an
offered function answers, 17 % leave out something that it requires, of the foreign ones 62 %; with -0.8 for that the
AUC grows by 2 points (a fit gives -1.9 and one point more, but users may supply the missing value later, and such
tools would be hidden). The threshold keeps 95 % of good questions and refuses 63 % of foreign ones: hiding a needed
tool costs more than showing a useless one.
"""

UNKNOWN: Final = EncoderCalibration(
    weights=Weights(dense=20.0, lexical=0.6, group=0.0, context=0.6),
    query_context=0.3,
    margin=6.0,
    head=LogisticHead(bias=-3.0, dense=0.0, lexical=1.4),
    threshold=0.0,
)
"""An encoder that was never measured: a wider cut, a head that trusts BM25 alone, and no refusal."""

_KNOWN: Final = {"bge-small-en-v1.5": BGE_SMALL}


def constants_for(model_id: str, *, dense: bool = True, lexical: bool = True) -> EncoderCalibration:
    """Return the constants of a model, by the name in front of its fingerprint.

    Args:
        model_id: Name and fingerprint, `name@fingerprint`.
        dense: Whether the dense arm ran; without it the constants of no model apply.
        lexical: Whether the lexical arm ran; without it nothing is refused.
    """
    if not dense:
        return UNKNOWN
    constants = _KNOWN.get(model_id.partition("@")[0], UNKNOWN)
    return constants if lexical else replace(constants, threshold=0.0)


def probabilities(dense: Floats, lexical: Floats, lacking: NDArray[np.bool_], head: LogisticHead) -> Floats:
    """Return the probability, 0 to 1, that an item with these scores fits the text that it was found for.

    Args:
        dense: float32 (n,), inner products.
        lexical: float32 (n,), BM25 with the idf of the kind's background, so that it is comparable in a collection of
            any size.
        lacking: bool (n,), whether something that the item requires is missing.
        head: The model's head.

    Returns:
        float32 (n,).
    """
    values = head.bias + head.dense * dense + head.lexical * np.log1p(np.maximum(lexical, 0.0)) + head.lacking * lacking
    return (1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))).astype(np.float32)
