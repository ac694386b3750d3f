"""From the figures of both arms to one order: of chunks, and of documents by their best chunks.

The score is a weighted sum of inner product and BM25, both raw, as for every kind (`search/ranking.py`): scores of one
question are comparable over all documents. Inside a document each chunk is then seen in the light of its neighbours,
since an answer seldom ends where a chunk does.

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
class Constants:
    """What was fitted for one encoder.

    Attributes:
        dense: Weight of the inner product.
        lexical: Weight of BM25.
        near: Inner product at which a chunk fits that has no word in common with the question.
        words: Lowers that by so much for a chunk that holds all of its words.
    """

    dense: float
    lexical: float
    near: float
    words: float


BGE_SMALL: Final = Constants(dense=28.0, lexical=0.7, near=0.63, words=0.25)
"""bge-small-en-v1.5, int8, questions with its prefix; fitted on three corpora of chunking_evaluation: see
docs/decisions/0014-choosing-passages.md."""
UNKNOWN: Final = Constants(dense=20.0, lexical=0.7, near=-1.0, words=0.0)
"""An encoder never measured: nothing is refused for its meaning."""
_KNOWN: Final = {"bge-small-en-v1.5": BGE_SMALL}

CONTEXT: Final = 0.3
"""Share of the score with the words on what the conversation is about."""
BEST_CHUNKS: Final = 3
"""Chunks whose scores speak for their document, each half as loud as the one before it."""
NEIGHBOUR: Final = 0.25
"""Weight of the chunks before and after; of those behind them half as much, and so on."""
REACH: Final = 3
"""Neighbours on either side that are looked at."""
SECTION: Final = 0.5
"""Part of that weight which is left to a neighbour under another heading."""
BETWEEN: Final = 0.75
"""Part of the way by which a chunk is lifted to the lower of the two around it, where it lies below both."""
LEAST_WORDS: Final = 0.18
"""Share of the question's words in the best chunk below which nothing fits, where no vector has a say."""
UNASKED: Final = 0.02
"""By so much nearer must a chunk be in a repository that nobody has named; see
docs/decisions/0033-choosing-repositories.md."""
EVEN: Final = 0.12
"""Nearness at which it is as likely as not that a question is about the chunks."""
STEEPNESS: Final = 20.0
PAIRS: Final = 40
"""Chunks that the cross-encoder reads."""
CROSSING: Final = 0.1
"""What each point of its logit adds to a score; more hurt, since it knows nothing of labels and of neighbours."""
LOGITS: Final = (-12.0, 6.0)
"""Range of its logits; a chunk that it did not read counts as the lowest."""


def constants_for(model: str) -> Constants:
    """The constants of a model, by the name in front of its fingerprint; no name means the packaged one."""
    return _KNOWN.get(model.partition("@")[0], UNKNOWN) if model else BGE_SMALL


def fuse(dense: Floats | None, lexical: Floats, model: str = "") -> Floats:
    """One score a chunk, higher is better.

    Args:
        dense: float32 (n,), inner product with the question; NaN where a chunk has no vector yet, None where the
            question has none.
        lexical: float32 (n,), BM25.
        model: Whose vectors they are.

    Returns:
        float32 (n,).
    """
    constants = constants_for(model)
    if dense is None or np.isnan(dense).all():
        return (constants.lexical * lexical).astype(np.float32)
    return (constants.dense * _filled(dense, lexical) + constants.lexical * lexical).astype(np.float32)


def _filled(dense: Floats, lexical: Floats) -> Floats:
    """Nearness of all chunks: one that has no vector yet stands among the others' where its words stand among theirs.

    So a repository that is not embedded yet competes with those that are. Where the others' words have no say, it is
    taken for as near as the median of them.
    """
    missing = np.isnan(dense)
    if not missing.any():
        return dense
    near, words = np.sort(dense[~missing]), np.sort(lexical[~missing])
    filled = dense.copy()
    if words[-1] <= 0:
        filled[missing] = np.median(near)
        return filled
    # Of many that share as much, the middle one.
    below, upto = (np.searchsorted(words, lexical[missing], side) for side in ("left", "right"))
    filled[missing] = near[np.minimum((below + upto) // 2, len(near) - 1)]
    return filled


def with_context(scores: Floats, context: Floats) -> Floats:
    """Scores of a question, lent some of those that the context of the conversation has; both float32 (n,)."""
    return (scores + CONTEXT * context).astype(np.float32)


def among_neighbours(scores: Floats, headings: Column) -> Floats:
    """Scores of a document's chunks, each seen together with its neighbours.

    Each is lent some of its neighbours' scores; then a chunk below both that surround it is lifted towards them, since
    a passage with a hole in it costs a mark and reads badly.

    Args:
        scores: float32 (n,), in the document's order; -inf for what must not be chosen, which lends nothing.
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
        # What a missing or a strange neighbour does not lend is the chunk's own: none is punished for its place.
        total += 2 * weight * own
        total[distance:] += share * (own[:-distance] - own[distance:])
        total[:-distance] += share * (own[distance:] - own[:-distance])
        weights += 2 * weight
    lent = total / weights
    lift = np.minimum(lent[:-2], lent[2:]) - lent[1:-1]
    one_section = np.where(headings[2:] == headings[:-2], 1.0, SECTION)
    lent[1:-1] += BETWEEN * one_section * np.maximum(lift, 0.0)
    return np.where(known, lent, -np.inf).astype(np.float32)


def reranked(scores: Floats, best: Column, logits: Floats) -> Floats:
    """The scores with the cross-encoder's judgement of some of the best.

    Args:
        scores: float32 (n,).
        best: int64 (k,), places of the chunks that it read.
        logits: float32 (k,), its judgement of each, higher is better.
    """
    judged = scores.copy()
    judged[best] += (CROSSING * (np.clip(logits, *LOGITS) - LOGITS[0])).astype(np.float32)
    return judged


def best_documents(ids: Column, scores: Floats, limit: int = 5) -> list[int]:
    """The documents that hold the best chunks, best first.

    Args:
        ids: int64 (n,), ids of chunks, sorted.
        scores: float32 (n,), theirs.
        limit: Documents at most.
    """
    if not len(ids):
        return []
    names, place = np.unique(ids >> CHUNK_BITS, return_inverse=True)
    order = np.lexsort((-scores, place))
    ranks = np.arange(len(order)) - np.searchsorted(place[order], place[order])
    top = order[ranks < BEST_CHUNKS]
    worth = 0.5 ** ranks[ranks < BEST_CHUNKS] * (scores[top] - scores.min())
    values = np.bincount(place[top], worth)
    return names[np.argsort(-values, kind="stable")[:limit]].tolist()


def nothing_fits(dense: Floats | None, coverage: Floats, model: str = "", *, unasked: bool = False) -> bool:
    """Whether no chunk has anything to do with the question.

    Args:
        dense: float32 (n,), as for `fuse`.
        coverage: float32 (n,), 0 to 1, the share of the question's words that a chunk holds, by how rare each is.
        model: Whose vectors they are.
        unasked: Whether nobody has named the repository: of one among many, something is near to any question.
    """
    return _nearness(dense, coverage, model) < UNASKED * unasked


def relevance(dense: Floats | None, coverage: Floats, model: str = "") -> float:
    """The probability, 0 to 1, that the chunks hold what the question asks for; arguments as for `nothing_fits`."""
    return float(1 / (1 + np.exp(-STEEPNESS * (_nearness(dense, coverage, model) - EVEN))))


def _nearness(dense: Floats | None, coverage: Floats, model: str) -> float:
    """How far the best chunk lies above the point from which on something fits."""
    constants = constants_for(model)
    best_words = float(coverage.max(initial=0.0))
    if dense is None or np.isnan(dense).all():
        return best_words - LEAST_WORDS
    return float(np.nanmax(dense)) + constants.words * best_words - constants.near
