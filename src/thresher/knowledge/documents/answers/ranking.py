"""Combines the scores of both search arms into one order, of chunks and of documents by their best chunks.

The score is a weighted sum of inner product and BM25, both raw, as for every kind (`search/ranking.py`), so that scores
of one question are comparable over all documents. Inside a document each chunk's score then includes those of its
neighbours, because an answer seldom ends where a chunk does.

Invariant: pure; arithmetic on whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.documents.layout import Column
from thresher.knowledge.documents.models import CHUNK_BITS
from thresher.search import Floats


@dataclass(frozen=True, slots=True)
class RankingConstants:
    """Constants fitted for one encoder.

    Attributes:
        dense: Weight of the inner product.
        lexical: Weight of BM25.
        near: Inner product from which a chunk without any of the question's words fits.
        words: Lowers `near` by this for a chunk that itself contains all of the question's words.
    """

    dense: float
    lexical: float
    near: float
    words: float


BGE_SMALL: Final = RankingConstants(dense=28.0, lexical=0.7, near=0.605, words=0.04)
"""bge-small-en-v1.5, int8, questions with its prefix; weights fitted on three corpora of chunking_evaluation: see
docs/decisions/0014-choosing-passages.md; nearness as for our encoder: docs/decisions/0073-passages-that-abstain.md."""
THRESHER_SMALL: Final = RankingConstants(dense=22.0, lexical=0.7, near=0.68, words=0.04)
"""Our encoder, int8: the weight fitted on the same corpora; nearness refuses 95 % of the messages that no document
answers: see docs/decisions/0073-passages-that-abstain.md."""
UNKNOWN: Final = RankingConstants(dense=20.0, lexical=0.7, near=-1.0, words=0.0)
"""For an encoder that was never measured: nothing is refused because of its meaning; see also `SPREAD`."""
SPREAD: Final = 1.06
"""Weight of our encoder times the standard deviation of its inner products over the chunks of a manual: an encoder that
was never measured is weighed so that its products reach as far; see docs/decisions/0081-languages.md."""
MOST_DENSE: Final = 100.0
"""The most that an inner product weighs, where the chunks are nearly the same to an encoder."""
_KNOWN: Final = {"thresher-small-en-1": THRESHER_SMALL, "bge-small-en-v1.5": BGE_SMALL}

CONTEXT: Final = 0.3
"""Share of the conversation's context in the score."""
ALIKE: Final = 0.3
"""Share of the nearness to the best passages of other documents; see docs/decisions/0079-several-documents.md."""
OPENING: Final = 0.5
"""Weight of the meaning of a document's first chunk beside that of its best one, when documents are chosen."""
WORDS: Final = 0.43
"""What the score by words of a document's best chunk counts then; in the order of chunks it counts whole."""
NEIGHBOUR: Final = 0.25
"""Weight of the chunks before and after; each further chunk has half the weight."""
REACH: Final = 3
"""Neighbours considered on either side."""
SECTION: Final = 0.5
"""Share of that weight for a neighbour under another heading."""
BETWEEN: Final = 0.75
"""A chunk that scores below both its neighbours is raised by this part of the way to the lower of the two."""
NEAREST: Final = 4
"""The nearest chunks take one of so many places; from 2 to 6 the three corpora are level, and 3 and 4 answer most
of the questions in other words: see docs/decisions/0072-names-are-not-questions.md."""
LEAST_WORDS: Final = 0.18
"""If no vectors count, nothing fits unless the best chunk contains this share of the question's words."""
NEARLY_ALL: Final = 0.75
"""A chunk that contains more than this share of a search's words is relevant though its meaning is not near, unless the
search is a sentence: only then some chunk contains all of its common words by chance."""
ALL_WORDS: Final = 0.8
"""Lowers the nearness needed by this for each point of share above it."""
UNEMBEDDED_WORDS: Final = 0.25
"""Share of the question's words from which a chunk without a vector fits beside chunks that have one; see
docs/decisions/0076-before-the-vectors.md."""
UNNAMED: Final = 0.015
"""Additional nearness needed in a repository that the question does not name: among many, one is always near by
chance."""
EVEN: Final = 0.06
"""Nearness above the threshold at which a question is as likely as not to be about the chunks."""
STEEPNESS: Final = 30.0
PAIRS: Final = 40
"""Chunks that the cross-encoder reads."""
CROSSING: Final = 0.1
"""Weight of a point of the cross-encoder's logit; more does harm, since it ignores labels and neighbours."""
LOGITS: Final = (-12.0, 6.0)
"""Range of its logits; a chunk that it did not read counts as the lowest."""


def constants_for(model: str) -> RankingConstants:
    """The constants of a model, by the name before its fingerprint; the packaged model's if the name is empty."""
    return _KNOWN.get(model.partition("@")[0], UNKNOWN) if model else THRESHER_SMALL


def fuse(dense: Floats | None, lexical: Floats, model: str = "") -> Floats:
    """One score for each chunk, higher is better.

    Args:
        dense: float32 (n,), inner product with the question; NaN for a chunk without a vector, None if the question has
            none.
        lexical: float32 (n,), BM25.
        model: The model of the vectors.

    Returns:
        float32 (n,).
    """
    constants = constants_for(model)
    if dense is None or np.isnan(dense).all():
        return (constants.lexical * lexical).astype(np.float32)
    weight = constants.dense if constants is not UNKNOWN else _weight_by_spread(dense)
    return (weight * _filled(dense, lexical) + constants.lexical * lexical).astype(np.float32)


def _weight_by_spread(dense: Floats) -> float:
    """The weight of inner products whose scale is unknown: the further they lie apart, the less each counts."""
    spread = float(np.nanstd(dense))
    return min(max(SPREAD / spread, UNKNOWN.dense), MOST_DENSE) if spread > 0 else UNKNOWN.dense


def _filled(dense: Floats, lexical: Floats) -> Floats:
    """Nearness of all chunks; that of a chunk without a vector is estimated from its words.

    It lies between the median of the others and the nearest of them, by the chunk's share of the best BM25: so what is
    not embedded yet competes with what is; see docs/decisions/0076-before-the-vectors.md.
    """
    missing = np.isnan(dense)
    if not missing.any():
        return dense
    near, most = dense[~missing], float(lexical.max())
    median = np.median(near)
    share = lexical[missing] / most if most > 0 else 0.0
    filled = dense.copy()
    filled[missing] = median + (near.max() - median) * share
    return filled


def with_context(scores: Floats, context: Floats) -> Floats:
    """Scores of a question plus a share of the scores of the conversation's context; both float32 (n,)."""
    return (scores + CONTEXT * context).astype(np.float32)


def alike(scores: Floats, nearness: Floats | None, model: str = "") -> Floats:
    """Scores of chunks that are also compared with the best passages of several documents.

    What answers a question in one document is said alike in another, in words that the question may lack.

    Args:
        scores: float32 (n,), as from `fuse`.
        nearness: float32 (n,), inner product with those passages; NaN for a chunk without a vector, which counts as the
            median; None leaves the scores as they are.
        model: The model of the vectors.
    """
    if nearness is None or np.isnan(nearness).all():
        return scores
    known = np.where(np.isnan(nearness), np.nanmedian(nearness), nearness)
    return (scores + ALIKE * constants_for(model).dense * known).astype(np.float32)


def among_neighbours(scores: Floats, headings: Column) -> Floats:
    """Scores of a document's chunks, smoothed over their neighbours.

    Each chunk receives a share of its neighbours' scores; then a chunk below both of its neighbours is raised towards
    them, because a gap inside a passage costs a mark and is hard to read.

    Args:
        scores: float32 (n,), in the document's order; -inf for a chunk that must not be chosen, which lends nothing.
        headings: int64 (n,), the heading path of each; a neighbour under another heading lends less.

    Returns:
        float32 (n,), on the scale of the scores.
    """
    known = np.isfinite(scores)
    if not known.any():
        return scores
    own = np.where(known, scores, scores[known].min())
    total, weights = own.copy(), np.ones(len(own))
    for distance in range(1, min(REACH, len(own) - 1) + 1):
        same = np.where(headings[distance:] == headings[:-distance], 1.0, SECTION)
        weight = NEIGHBOUR * 0.5 ** (distance - 1)
        share = weight * same
        # A missing or foreign neighbour's share stays with the chunk, so that its position is no disadvantage.
        total += 2 * weight * own
        total[distance:] += share * (own[:-distance] - own[distance:])
        total[:-distance] += share * (own[distance:] - own[:-distance])
        weights += 2 * weight
    lent = total / weights
    lift = np.minimum(lent[:-2], lent[2:]) - lent[1:-1]
    one_section = np.where(headings[2:] == headings[:-2], 1.0, SECTION)
    lent[1:-1] += BETWEEN * one_section * np.maximum(lift, 0.0)
    return np.where(known, lent, -np.inf).astype(np.float32)


def with_nearest(scores: Floats, nearness: Floats | None, every: int = NEAREST) -> Floats:
    """One order of two: a chunk's place is the better of its place by score and `every` times that by nearness.

    A question in other words than the document's shares few words with the chunk that answers and some with many
    others; whatever its words, the nearest chunks take one of `every` places.

    Args:
        scores: float32 (n,), of a document's chunks, smoothed; -inf for a chunk that must not be chosen.
        nearness: float32 (n,), inner product with the question; NaN for a chunk without a vector; None for no order.
        every: The nearest chunks take one of so many places.

    Returns:
        float32 (n,), higher is better.
    """
    if nearness is None or np.isnan(nearness).all():
        return scores
    near = every * _places(np.where(np.isnan(nearness) | np.isneginf(scores), -np.inf, nearness))
    merged = -np.minimum(_places(scores), near).astype(np.float32)
    return np.where(np.isneginf(scores), -np.inf, merged).astype(np.float32)


def _places(values: Floats) -> Column:
    """int64 (n,), the place of each value from 1, the highest first."""
    places = np.empty(len(values), np.int64)
    places[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return places


def inside_documents(whole: Floats, narrowed: Floats, ids: Column) -> Floats:
    """Scores of a question that choose documents, with the order of a narrowed question inside each document.

    Args:
        whole: float32 (n,), scores of the whole question: the best chunk of each document keeps the document's score.
        narrowed: float32 (n,), scores of the question without the names that stand everywhere in a document.
        ids: int64 (n,), ids of chunks, sorted.
    """
    if not len(ids):
        return whole
    starts = np.flatnonzero(np.r_[True, np.diff(ids >> CHUNK_BITS) != 0])
    moved = np.maximum.reduceat(whole, starts) - np.maximum.reduceat(narrowed, starts)
    return (narrowed + np.repeat(moved, np.diff(np.r_[starts, len(ids)]))).astype(np.float32)


def reranked(scores: Floats, best: Column, logits: Floats) -> Floats:
    """The scores with the cross-encoder's judgement of some of the best chunks.

    Args:
        scores: float32 (n,).
        best: int64 (k,), indexes of the chunks that it read.
        logits: float32 (k,), its judgement of each, higher is better.
    """
    judged = scores.copy()
    judged[best] += (CROSSING * (np.clip(logits, *LOGITS) - LOGITS[0])).astype(np.float32)
    return judged


def words_of(lexical: Floats, model: str = "") -> Floats:
    """The part of `fuse` that words have, float32 (n,); `lexical` as there."""
    return (constants_for(model).lexical * lexical).astype(np.float32)


def best_documents(ids: Column, scores: Floats, words: Floats, limit: int = 5) -> list[int]:
    """The documents that fit best, best first.

    What a document is about stands in its opening, so that counts beside its best chunk; which of its chunks holds the
    question's words says little.

    Args:
        ids: int64 (n,), ids of chunks, sorted.
        scores: float32 (n,), their scores.
        words: float32 (n,), the part of the scores that words have.
        limit: Most documents.
    """
    if not len(ids):
        return []
    keys = ids >> CHUNK_BITS
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    meant = scores - words
    values = np.maximum.reduceat(meant, firsts) + OPENING * meant[firsts] + WORDS * np.maximum.reduceat(words, firsts)
    return keys[firsts][np.argsort(-values, kind="stable")[:limit]].tolist()


def nothing_fits(dense: Floats | None, coverage: Floats, model: str = "", *, unnamed: bool = False) -> bool:
    """Whether no chunk is relevant to the question.

    Args:
        dense: float32 (n,), as for `fuse`.
        coverage: float32 (n,), 0 to 1, the share of the question's words in a chunk, weighted by how rare each is.
        model: The model of the vectors.
        unnamed: Whether the question does not name the repository: among many, one is always near by chance.
    """
    return _nearness(dense, coverage, model) < UNNAMED * unnamed


def relevance(dense: Floats | None, coverage: Floats, model: str = "") -> float:
    """The probability, 0 to 1, that the chunks answer the question; arguments as for `nothing_fits`."""
    return float(1 / (1 + np.exp(-STEEPNESS * (_nearness(dense, coverage, model) - EVEN))))


def _nearness(dense: Floats | None, coverage: Floats, model: str) -> float:
    """How far the best chunk is above the threshold of relevance.

    Nearness and words count in one chunk: of a greeting's few words some chunk contains all, but none is near.
    """
    constants = constants_for(model)
    if dense is None or np.isnan(dense).all():
        return float(coverage.max(initial=0.0)) - LEAST_WORDS
    words = constants.words * coverage + (ALL_WORDS if constants.words else 0.0) * np.maximum(
        coverage - NEARLY_ALL, 0.0
    )
    near = dense + words - constants.near
    return float(np.where(np.isnan(dense), coverage - UNEMBEDDED_WORDS, near).max())
