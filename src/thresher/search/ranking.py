"""From the scores of the two arms to one order and two probabilities: that an item fits, and that it is needed.

The score is a weighted sum of inner product and BM25, both raw: the encoder and the form of BM25 fix their scales, so
nothing is standardised over the collection and a few candidates are enough. On the development sets of tools a sum
beat reciprocal rank fusion, since it keeps the size of a difference. A message with several tasks takes its hits in
turn from one ranking per task, each combined with the score of the whole message.

Invariant: pure; every candidate occurs in the order exactly once.
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
        behind: float32, the distance from the best of that ranking, without what was added if that is less; 0 for the
            best.
        dense: float32, inner product with that text.
        lexical: float32, BM25 with that text.
        standing: float32, the score less that of the best of that ranking, both without what was added to it.
        trained: float32, what an adapter added to the score.
    """

    candidates: Ids
    rows: Ids
    behind: Floats
    dense: Floats
    lexical: Floats
    standing: Floats
    trained: Floats


def rank(
    dense: Floats,
    lexical: Floats,
    groups: Ids,
    weights: Weights,
    *,
    whole: bool,
    adjust: Callable[[Floats], Floats] | None = None,
    added: Floats | None = None,
    adapted: tuple[Floats, Ids] | None = None,
) -> Ranking:
    """Order all candidates, best first.

    Args:
        dense: float32 (texts, candidates): exact inner product of every cell.
        lexical: float32 (texts, candidates): exact BM25 of every cell.
        groups: int64, one number per candidate, equal within a group; negative for none.
        weights: The encoder's weights.
        whole: Whether the first text is the whole message: next to others it only adds context.
        adjust: Returns what to add to each candidate's scores, given how far each is behind the best, (candidates,).
        added: float32 (texts, candidates), what use has taught, in units of the score; None for nothing.
        adapted: float32 (texts, m), what an adapter adds to some candidates, and int64 (m,), their columns. It counts
            as `levelled` says.

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
    plain = scores
    if added is not None:
        scores = scores + added + (np.float32(weights.context) * added[0] if first else 0)
    trained: Floats = np.zeros(scores.shape, np.float32)
    if adapted is not None and len(adapted[1]):
        more, columns = adapted
        more = more + (np.float32(weights.context) * more[0] if first else 0)
        trained[:, columns] = levelled(scores[:, columns].astype(np.float32), more)
        scores = scores + trained
    turns, candidates = interleave(np.argsort(-scores[first:], axis=1, kind="stable"))
    rows = turns + first
    behind = scores.max(axis=1, initial=-np.inf)[rows] - scores[rows, candidates]
    standing = plain[rows, candidates] - plain.max(axis=1, initial=-np.inf)[rows]
    # An item that use has raised takes no other one out of the answer: that one is as near as without it.
    behind = np.minimum(behind, -standing)
    own = (rows, candidates)
    return Ranking(candidates, rows, behind, dense[own], lexical[own], standing, trained[own])


def levelled(scores: Floats, added: Floats) -> Floats:
    """Lower what an adapter adds to its items, by one number a text, until it raises none of them above the others.

    After it the best of these items scores no more than the best of them did, and so does the second best, and so on:
    an item that the adapter does not know never loses a place. What changes is their order among themselves.

    Args:
        scores: float32 (texts, m), the scores of the adapter's items without it.
        added: float32 (texts, m), what it adds.

    Returns:
        float32 (texts, m), what counts.
    """
    room = np.sort(scores, axis=1) - np.sort(scores + added, axis=1)
    return (added + room.min(axis=1, keepdims=True)).astype(np.float32)


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
class NeedHead:
    """The probability that anything fits, times sigmoid(bias + place * ln(1 + place) + share * ln(share)).

    An item may fit and still not be the one that is needed: the head looks at its rivals. The place, from 0, is that
    among the items of its text; the share is what exp(-behind / spread) makes of the total over them.

    Attributes:
        bias: The constant.
        place: For ln(1 + place).
        share: For ln(share).
        spread: The distance behind the best at which a share is e times smaller.
        prior: Added to the log odds that the best item fits: more is asked for than in the sets of the other head.
    """

    bias: float
    place: float
    share: float
    spread: float
    prior: float


@dataclass(frozen=True, slots=True)
class EncoderCalibration:
    """All constants that were fitted for one encoder.

    A cosine of bge-small alone says little: one right function in ten is below 0.54, and one foreign question in ten
    has a function above 0.68. Inner product and BM25 together do better, with BM25 counted against a background of
    usual words (see `Background`).

    Attributes:
        weights: For the tasks of one message.
        query_context: The share of the message's score next to queries that the caller wrote.
        head: Computes the probability that a hit fits.
        need: Computes the probability that it is needed, given its rivals.
        threshold: The best probability below which nothing fits.
        arguments: For argument fit; all 0 for a model for which it was not measured.
    """

    weights: Weights
    query_context: float
    head: LogisticHead
    need: NeedHead
    threshold: float
    arguments: ArgumentWeights = NO_ARGUMENTS


BGE_SMALL: Final = EncoderCalibration(
    weights=Weights(dense=28.0, lexical=0.45, group=0.5, context=0.6),
    query_context=0.3,
    head=LogisticHead(bias=-8.0, dense=11.0, lexical=0.85, lacking=-2.0),
    need=NeedHead(bias=1.6, place=-0.67, share=1.03, spread=1.6, prior=1.4),
    threshold=0.1,
    arguments=ArgumentWeights(missing=-0.6, required=-0.4, dated=0.8, words=1.2),
)
"""bge-small-en-v1.5, int8: fitted on MetaTool, BFCL, mcpproxy and 5,400 everyday messages for 900 tools.

Argument fit was first fitted on BFCL alone, whose questions name every value; at 0.4 of that BFCL loses 1.5 points of
recall@5, and everyday messages gain 3 to 5. Recall@5, @12 and @25 of all sets hardly change with any weight by a third.

The head weighs dense against lexical more than a plain fit, whose AUC is the same (0.90 on offered functions of BFCL).
Of the questions that an offered function answers, 17 % leave out something that it requires, of the foreign ones 62 %.
The threshold keeps 97 % of answerable questions and refuses half of the foreign ones, and of everyday messages it loses
up to 7 %: the similarity of a paraphrase without a common word is that of a question about something else. What passes
by little gets a short answer, since `need` counts the probability that anything fits.
"""

THRESHER_SMALL: Final = EncoderCalibration(
    weights=Weights(dense=28.0, lexical=0.45, group=0.3, context=0.6),
    query_context=0.3,
    head=LogisticHead(bias=-17.8, dense=24.9, lexical=0.9, lacking=-1.2),
    need=NeedHead(bias=1.6, place=-0.67, share=1.03, spread=2.05, prior=1.75),
    threshold=0.1,
    arguments=ArgumentWeights(missing=-0.23, required=-0.4, dated=0.8, words=1.2),
)
"""Our encoder, int8: chosen on messages for servers that it was not trained on, everyday messages, MetaTool, mcpproxy,
half of LiveMCPBench, and for the head half of the offered functions of BFCL.

`benchmarks.fits` gave the numbers of `need` and `arguments`; weights and head are from short lists of candidates
(see docs/decisions/0067-one-encoder-for-everything.md). The head is three fifths as sure as a plain fit: with all its
sureness, answers become shorter than what is needed. What is lacking weighs as much as BFCL needs and small talk
bears. The threshold keeps 95 to 99 % of the answerable messages of these sets, and refuses half of those that no tool
answers, greetings among them.
"""

UNKNOWN: Final = EncoderCalibration(
    weights=Weights(dense=20.0, lexical=0.6, group=0.0, context=0.6),
    query_context=0.3,
    head=LogisticHead(bias=-3.0, dense=0.0, lexical=1.4),
    need=NeedHead(bias=2.0, place=-1.0, share=1.0, spread=2.2, prior=3.0),
    threshold=0.0,
)
"""An encoder that was never measured: heads that trust BM25 and the order alone, and no refusal."""

_KNOWN: Final = {"thresher-small-en-1": THRESHER_SMALL, "bge-small-en-v1.5": BGE_SMALL}


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


def needs(ranking: Ranking, chances: Floats, head: NeedHead) -> Floats:
    """Return the probability, 0 to 1, that each item of a ranking is needed, float32 (n,).

    Args:
        ranking: Candidates, best first.
        chances: float32 (n,), the probability that each fits.
        head: The model's head.
    """
    shares = np.exp(-ranking.behind / head.spread)
    places, any_fits = np.empty(len(chances), np.float32), np.empty(len(chances), np.float32)
    for row in np.unique(ranking.rows):
        own = ranking.rows == row
        places[own] = np.arange(np.count_nonzero(own))
        shares[own] /= shares[own].sum()
        any_fits[own] = chances[own].max()
    any_fits = 1.0 / (1.0 + np.exp(-head.prior) * (1.0 / np.maximum(any_fits, 1e-6) - 1.0))
    values = head.bias + head.place * np.log1p(places) + head.share * np.log(np.maximum(shares, 1e-6))
    return (any_fits / (1.0 + np.exp(-values))).astype(np.float32)
