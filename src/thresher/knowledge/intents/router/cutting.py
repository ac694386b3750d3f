"""Weighs every way to cut a request, and takes the set of intents that the ways agree on most.

A way to cut weighs the odds of its joints times what the router makes of its pieces: a task is explained well by one
intent, a broken-off end ("thursday morning", "tell me why") by none. The weights of the ways that lead to the same set
of intents add up; the heaviest set is chosen, and its share of the whole says how surely. The form is a log-linear
model over segmentations (Sarawagi and Cohen, Semi-Markov conditional random fields, 2004) that is trained on sets, the
segmentation unseen; `benchmarks/cut_weights.py` fits the weights on joined lines of public sets.

Invariant: pure; at most 2 ** `MAX_JOINTS` ways.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.intents.router.pieces import Request
from thresher.knowledge.intents.router.records import TextScores

EVIDENCE: Final[dict[str, float]] = {
    "which": 1.91,
    "whether": 0.84,
    "echo": 0.3,
    "unmatched": -2.13,
    "repeated": 0.86,
}
"""What the router's view of a cut weighs: the logarithms of how surely it says which intent each piece asks for and
whether it does at all; the logarithm of what the uncut request gives to each intent found; the number of pieces that
ask for nothing, and of those whose intent another has already."""
_LEAST: Final = 1e-4
_LEAST_ECHO: Final = 1e-3
"""Smaller values weigh the same."""
NOTHING: Final = -1
"""In place of an intent where a text asks for none."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The scores of a message's texts beside the thresholds that they must reach, one for each intent."""

    scores: TextScores
    thresholds: tuple[float, ...]

    def best(self, text: int) -> int:
        """The intent that fits a text best."""
        return int(np.argmax(self.scores.score[text]))

    def score(self, text: int, intent: int) -> float:
        """The calibrated probability that a text asks for an intent."""
        return float(self.scores.score[text, intent])

    def match(self, text: int) -> int:
        """The intent that a text asks for, or `NOTHING`."""
        best = self.best(text)
        return best if self.score(text, best) >= self.thresholds[best] else NOTHING


@dataclass(frozen=True, slots=True)
class Cut:
    """One way to cut a request.

    Attributes:
        texts: Its pieces, in order.
        intents: What they ask for.
        joints: Indices of the joints where it is cut.
        evidence: What the router makes of it, in the order of `EVIDENCE`.
        weight: Logarithm of its weight.
    """

    texts: tuple[int, ...] = ()
    intents: frozenset[int] = frozenset()
    joints: tuple[int, ...] = ()
    evidence: tuple[float, ...] = ()
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the router makes of one piece: the intent that it asks for, and two logarithms."""

    intent: int
    which: float
    whether: float


def chosen_cut(judge: Judge, request: Request) -> tuple[Cut, float]:
    """The heaviest cut of the heaviest set of intents, and that set's share of all weight, 0 to 1."""
    cuts = list(ways_to_cut(judge, request))
    if not cuts:
        return Cut(), 1.0
    top = max(cut.weight for cut in cuts)
    weights: dict[frozenset[int], float] = {}
    for cut in cuts:
        weights[cut.intents] = weights.get(cut.intents, 0.0) + math.exp(cut.weight - top)
    chosen = max(weights, key=lambda intents: weights[intents])
    best = max((cut for cut in cuts if cut.intents == chosen), key=lambda cut: cut.weight)
    return best, weights[chosen] / sum(weights.values())


def ways_to_cut(judge: Judge, request: Request) -> Iterator[Cut]:
    """Every way to cut a request at its joints; the first leaves it whole."""
    if not request.spans:
        return
    at = {(span.first, span.stop): span.text for span in request.spans}
    seen = {text: _seen(judge, text) for text in at.values()}
    echo = [_log(value, _LEAST_ECHO) for value in judge.scores.probability[request.spans[0].text].tolist()]
    odds = [joint.odds for joint in request.joints]
    for mask in range(1 << len(odds)):
        joints = tuple(joint for joint in range(len(odds)) if mask >> joint & 1)
        edges = (0, *(joint + 1 for joint in joints), request.parts)
        texts = tuple(at[edge] for edge in itertools.pairwise(edges))
        intents = frozenset(seen[text].intent for text in texts) - {NOTHING}
        evidence = _evidence(texts, seen, intents, echo)
        weighed = sum(weight * value for weight, value in zip(EVIDENCE.values(), evidence, strict=True))
        yield Cut(texts, intents, joints, evidence, sum(odds[joint] for joint in joints) + weighed)


def _seen(judge: Judge, text: int) -> _Seen:
    scores = judge.scores
    best = judge.best(text)
    return _Seen(
        judge.match(text), _log(float(scores.probability[text].max())), _log(float(scores.similarity[text, best]))
    )


def _evidence(
    texts: Sequence[int], seen: Mapping[int, _Seen], intents: frozenset[int], echo: Sequence[float]
) -> tuple[float, ...]:
    """What the router makes of a cut, in the order of `EVIDENCE`."""
    pieces = [seen[text] for text in texts]
    matched = sum(piece.intent != NOTHING for piece in pieces)
    return (
        sum(piece.which for piece in pieces),
        sum(piece.whether for piece in pieces),
        sum(echo[intent] for intent in intents),
        len(pieces) - matched,
        matched - len(intents),
    )


def _log(value: float, least: float = _LEAST) -> float:
    return math.log(max(value, least))
