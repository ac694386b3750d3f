"""What a score means: constants fitted for one encoder, and the probability that a hit fits.

A cosine of bge-small alone says little: one right function in ten lies below 0.54, and one foreign question in ten has
a function above 0.68. Inner product and BM25 together do better, BM25 counted against a background of usual words (see
`background`).

Invariant: data and arithmetic; a model that was never measured gets cautious constants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.search.arguments import NO_ARGUMENTS, ArgumentWeights
from thresher.search.arrays import Floats
from thresher.search.fusion import Weights


@dataclass(frozen=True, slots=True)
class Head:
    """Logistic head: sigmoid(bias + dense * inner product + lexical * ln(1 + BM25) + lacking), background's BM25.

    Attributes:
        bias: The constant.
        dense: Of the inner product.
        lexical: Of ln(1 + BM25).
        lacking: Where the message leaves out what the item requires.
    """

    bias: float
    dense: float
    lexical: float
    lacking: float = 0.0


@dataclass(frozen=True, slots=True)
class Constants:
    """Everything that was fitted for one encoder.

    Attributes:
        weights: For the tasks of one message.
        query_context: Share of the message's score beside queries that the caller wrote.
        margin: Distance behind the best of its text at which a hit is cut.
        head: Gives the probability that a hit fits.
        threshold: Best probability below which nothing fits.
        arguments: Of argument fit; all 0 for a model of which it was not measured.
    """

    weights: Weights
    query_context: float
    margin: float
    head: Head
    threshold: float
    arguments: ArgumentWeights = NO_ARGUMENTS


BGE_SMALL: Final = Constants(
    weights=Weights(dense=28.0, lexical=0.5, group=0.2, context=0.6),
    query_context=0.3,
    margin=2.0,
    head=Head(bias=-7.0, dense=8.7, lexical=0.97, lacking=-0.8),
    threshold=0.18,
    arguments=ArgumentWeights(missing=-1.5, required=-1.0, dated=2.0, words=3.0),
)
"""bge-small-en-v1.5, int8: fitted on MetaTool, BFCL and mcpproxy.

BM25's weight and the four of argument fit were fitted together, for the mean recall of these sets; with all of them
changed at random by 15 to 20 %, recall@5 on BFCL stays between 0.799 and 0.805.

A plain fit weighs dense against lexical 3 to 1, with an AUC of 0.885 in place of 0.877 (offered functions, BFCL). At
the share of good questions that the threshold keeps, 9 to 1 refuses as many foreign ones; and a paraphrase without a
common word can pass, while one rare word that happens to stand in a tool is seldom enough. Of the questions that an
offered function answers 17 % leave out something that it requires, of the foreign ones 62 %; with -0.8 for that the AUC
grows by 2 points (a fit gives -1.9 and one point more, but a person may name the missing value later, and such tools
would be hidden). The threshold keeps 95 % of good questions and refuses 63 % of foreign ones: a tool that is needed and
hidden costs more than one shown in vain.
"""

UNKNOWN: Final = Constants(
    weights=Weights(dense=20.0, lexical=0.6, group=0.0, context=0.6),
    query_context=0.3,
    margin=6.0,
    head=Head(bias=-3.0, dense=0.0, lexical=1.4),
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


def probabilities(dense: Floats, lexical: Floats, lacking: NDArray[np.bool_], head: Head) -> Floats:
    """Probability, 0 to 1, that an item with these figures fits the text that it was found for.

    Args:
        dense: float32 (n,), inner products.
        lexical: float32 (n,), BM25 with the idf of the kind's background, so that it means the same in a collection of
            any size.
        lacking: bool (n,), something that the item requires is missing.
        head: The model's.

    Returns:
        float32 (n,).
    """
    values = head.bias + head.dense * dense + head.lexical * np.log1p(np.maximum(lexical, 0.0)) + head.lacking * lacking
    return (1.0 / (1.0 + np.exp(-np.clip(values, -60.0, 60.0)))).astype(np.float32)
