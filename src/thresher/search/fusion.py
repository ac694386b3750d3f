"""provisional."""

from __future__ import annotations
from dataclasses import dataclass
import numpy as np


@dataclass(frozen=True, slots=True)
class Ranked:
    candidate: int
    score: float
    query: int
    dense: float
    lexical: float


def rank_queries(dense, lexical, constants, message=False):
    fused = dense + constants.lexical * lexical
    best = fused.argmax(axis=0) if len(fused) else np.empty(0)
    order = np.argsort(-fused.max(axis=0), kind="stable")
    return [
        Ranked(int(c), float(fused[best[c], c]), int(best[c]), float(dense[best[c], c]), float(lexical[best[c], c]))
        for c in order
    ]


rank_message = rank_queries
