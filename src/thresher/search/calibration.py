"""What a score means: constants fitted for one encoder, and the probability that a hit fits.

A raw cosine of bge-small says little: nearly every pair lies above 0.5. Inner product and BM25 together do better. A
logistic head over the two was fitted on questions of function calling (the right function against those offered beside
it, and against near misses) and on questions for a single tool.

Invariant: data and arithmetic; a model that was never measured gets cautious constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from thresher.search.arrays import Floats
from thresher.search.fusion import Weights


@dataclass(frozen=True, slots=True)
class Head:
    """Logistic head: sigmoid(bias + dense * inner product + lexical * ln(1 + BM25))."""

    bias: float
    dense: float
    lexical: float


@dataclass(frozen=True, slots=True)
class Constants:
    """Everything that was fitted for one encoder.

    Attributes:
        weights: For the tasks of one message.
        query_context: Share of the message's score beside queries that the caller wrote.
        margin: Distance behind the best of its text at which a hit is cut.
        head: Gives the probability that a hit fits.
        items: Size of the collection that the head was fitted on.
        threshold: Best probability below which nothing fits.
    """

    weights: Weights
    query_context: float
    margin: float
    head: Head
    items: int
    threshold: float


BGE_SMALL: Final = Constants(
    weights=Weights(dense=28.0, lexical=0.6, group=0.2, context=0.6),
    query_context=0.3,
    margin=2.0,
    head=Head(bias=-5.28, dense=2.43, lexical=1.33),
    items=1729,
    threshold=0.1,
)
"""bge-small-en-v1.5, int8: fitted on MetaTool and BFCL."""

UNKNOWN: Final = Constants(
    weights=Weights(dense=20.0, lexical=0.6, group=0.0, context=0.6),
    query_context=0.3,
    margin=6.0,
    head=Head(bias=-3.0, dense=0.0, lexical=1.4),
    items=1729,
    threshold=0.0,
)
"""An encoder never measured: a wider cut, a head that trusts BM25 alone, and no refusal."""

_KNOWN: Final = {"bge-small-en-v1.5": BGE_SMALL}


def constants_for(model_id: str, *, dense: bool = True, lexical: bool = True) -> Constants:
    """The constants of a model, by the name in front of its fingerprint.

    Args:
        model_id: Name and fingerprint, `name@fingerprint`.
        dense: Whether the dense arm ran; without it no model's constants apply.
        lexical: Whether the lexical arm ran; without it nothing is refused.
    """
    if not dense:
        return UNKNOWN
    constants = _KNOWN.get(model_id.partition("@")[0], UNKNOWN)
    return constants if lexical else replace(constants, threshold=0.0)


def probabilities(dense: Floats, lexical: Floats, constants: Constants, items: int) -> Floats:
    """Probability, 0 to 1, that an item with these figures fits the text that it was found for.

    The idf of a rare term grows with the logarithm of the collection, so BM25 is brought to the size that the head was
    fitted on; otherwise ten tools would never be likely enough, and a hundred thousand always.

    Args:
        dense: float32 (n,), inner products.
        lexical: float32 (n,), BM25.
        constants: The model's.
        items: Size of the collection.

    Returns:
        float32 (n,).
    """
    head = constants.head
    scale = math.log1p(constants.items) / math.log1p(max(items, 1))
    values = head.bias + head.dense * dense + head.lexical * np.log1p(scale * np.maximum(lexical, 0.0))
    return (1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))).astype(np.float32)
