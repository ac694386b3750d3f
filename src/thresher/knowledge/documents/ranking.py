"""From the two arms' figures to one order of chunks, and of documents by their best chunks.

The score is a weighted sum of inner product and BM25, both raw, as for every kind (`search/fusion.py`).

Invariant: pure; scores of one question are comparable with each other, over all documents.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from thresher.knowledge.documents.layout import Column
from thresher.knowledge.documents.models import CHUNK_BITS
from thresher.search import Floats

DENSE: Final = 28.0
LEXICAL: Final = 0.5
"""Weights of the inner product with the prefixed question, and of BM25."""
BEST_CHUNKS: Final = 3
"""Chunks whose scores speak for their document."""


def fuse(dense: Floats | None, lexical: Floats) -> Floats:
    """One score a chunk, higher is better.

    Args:
        dense: float32 (n,), inner product with the question; NaN where a chunk has no vector yet, None where the
            question has none.
        lexical: float32 (n,), BM25.

    Returns:
        float32 (n,).
    """
    if dense is None:
        return (LEXICAL * lexical).astype(np.float32)
    known = ~np.isnan(dense)
    if not known.any():
        return (LEXICAL * lexical).astype(np.float32)
    # A chunk that has no vector yet is taken for as near as the median of the others: its words decide.
    filled = np.where(known, dense, np.median(dense[known])).astype(np.float32)
    return (DENSE * filled + LEXICAL * lexical).astype(np.float32)


def best_documents(ids: Column, scores: Floats, limit: int = 5) -> list[int]:
    """The documents that hold the best chunks, best first.

    Args:
        ids: int64 (n,), ids of chunks, sorted.
        scores: float32 (n,), theirs.
        limit: Documents at most.
    """
    if not len(ids):
        return []
    documents = ids >> CHUNK_BITS
    names, place = np.unique(documents, return_inverse=True)
    order = np.lexsort((-scores, place))
    ranks = np.arange(len(order)) - np.searchsorted(place[order], place[order])
    top = order[ranks < BEST_CHUNKS]
    weights = 0.5 ** ranks[ranks < BEST_CHUNKS]
    values = np.bincount(place[top], weights * (scores[top] - scores.min()))
    return names[np.argsort(-values, kind="stable")[:limit]].tolist()


def nothing_fits(dense: Floats | None, lexical: Floats) -> bool:
    """Whether no chunk has anything to do with the question."""
    if dense is None or np.isnan(dense).all():
        return not bool((lexical > 0).any())
    return float(np.nanmax(dense)) < NEAR and float(lexical.max(initial=0)) < WORDS


NEAR: Final = 0.5
WORDS: Final = 4.0
