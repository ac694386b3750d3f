"""Weighs every way to cut a request into tasks, and takes the set of intents that most ways agree on.

A way to cut weighs the odds of its joints times the router's view of its pieces: a task is explained well by one
intent, a broken-off end ("thursday morning", "tell me why") by none. The weights of the ways that lead to the same set
of intents add up; the heaviest set is chosen, and its share of the whole is its certainty. The form is a log-linear
model over segmentations (Sarawagi and Cohen, Semi-Markov conditional random fields, 2004) that is trained on sets, the
segmentation unseen; `benchmarks/cut_weights.py` fits the weights on joined lines of public sets.

Invariant: pure; at most 2 ** `MAX_JOINTS` ways.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.intents.router.pieces import RequestSpans
from thresher.knowledge.intents.router.records import TextScores

EVIDENCE: Final[dict[str, float]] = {
    "which": 2.62,
    "whether": 1.26,
    "echo": 0.32,
    "unmatched": -1.21,
    "repeated": 0.11,
}
"""Weights of the router's view of a cut: the logarithms of how surely it says which intent each piece asks for and
whether it asks at all; the logarithm of what the uncut request gives to each intent found; the number of pieces that
ask for nothing, and of those whose intent another piece has already."""
COMPANY: Final = 0.25
"""Share of its threshold that a piece must reach beside one that reaches its own."""
DIVIDED: Final = 0.5
"""Share of its threshold that the best intent of an uncut message must reach if all intents together reach it: then the
message asks for one of them, and only which one is in doubt."""
_LEAST: Final = 1e-4
_LEAST_ECHO: Final = 1e-3
"""Smaller values weigh the same."""
NOTHING: Final = -1
"""Stands for an intent if a text asks for none."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The scores of a message's texts, the thresholds of the intents, and which of these were set by hand."""

    scores: TextScores
    thresholds: tuple[float, ...]
    by_hand: frozenset[int] = frozenset()

    def best(self, text: int) -> int:
        """Return the intent that fits a text best."""
        return int(np.argmax(self.scores.score[text]))

    def score(self, text: int, intent: int) -> float:
        """Return the calibrated probability that a text asks for an intent."""
        return float(self.scores.score[text, intent])

    def match(self, text: int, share: float = 1.0) -> int:
        """Return the intent that a text asks for, or `NOTHING`; a share of a fitted threshold may be enough."""
        best = self.best(text)
        least = self.thresholds[best] * (1.0 if best in self.by_hand else share)
        return best if self.score(text, best) >= least else NOTHING

    def _divided(self, text: int) -> int:
        """Return the best intent if the text surely asks for one, though not surely for that one."""
        together = float(self.scores.score[text].sum())
        return self.match(text, DIVIDED) if together >= self.thresholds[self.best(text)] else NOTHING

    def matches(self, texts: Sequence[int]) -> list[int]:
        """Return the intents that the pieces of one message ask for.

        Beside a piece that reaches its threshold the others need only a share of theirs: a message that asks for one
        known task more probably asks for another.
        """
        if len(texts) == 1 and self.match(texts[0]) == NOTHING:
            return [self._divided(texts[0])]
        found = [self.match(text) for text in texts]
        if all(intent == NOTHING for intent in found):
            return found
        return [self.match(text, COMPANY) for text in texts]


@dataclass(frozen=True, slots=True)
class Cut:
    """One way to cut a request.

    Attributes:
        texts: Its pieces, in order.
        intents: The intents they ask for.
        joints: Indices of the joints where it is cut.
        evidence: The router's view of it, in the order of `EVIDENCE`.
        weight: Logarithm of its weight.
    """

    texts: tuple[int, ...] = ()
    intents: frozenset[int] = frozenset()
    joints: tuple[int, ...] = ()
    evidence: tuple[float, ...] = ()
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class _PieceEvidence:
    """How surely the router says which intent a piece asks for, and whether it asks at all: two logarithms."""

    which: float
    whether: float


def chosen_cut(judge: Judge, request: RequestSpans) -> tuple[Cut, float]:
    """Return the heaviest cut of the heaviest set of intents, and that set's share of all weight, 0 to 1."""
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


def ways_to_cut(judge: Judge, request: RequestSpans) -> Iterator[Cut]:
    """Yield every way to cut a request at its joints; the first leaves it whole."""
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
        matched = [intent for intent in judge.matches(texts) if intent != NOTHING]
        intents = frozenset(matched)
        evidence = _evidence([seen[text] for text in texts], matched, echo)
        weighed = sum(weight * value for weight, value in zip(EVIDENCE.values(), evidence, strict=True))
        yield Cut(texts, intents, joints, evidence, sum(odds[joint] for joint in joints) + weighed)


def _seen(judge: Judge, text: int) -> _PieceEvidence:
    scores = judge.scores
    whether = float(scores.similarity[text, judge.best(text)])
    return _PieceEvidence(_log(float(scores.probability[text].max())), _log(whether))


def _evidence(pieces: Sequence[_PieceEvidence], matched: Sequence[int], echo: Sequence[float]) -> tuple[float, ...]:
    """Return the router's view of a cut, in the order of `EVIDENCE`."""
    intents = set(matched)
    return (
        sum(piece.which for piece in pieces),
        sum(piece.whether for piece in pieces),
        sum(echo[intent] for intent in intents),
        len(pieces) - len(matched),
        len(matched) - len(intents),
    )


def _log(value: float, least: float = _LEAST) -> float:
    return math.log(max(value, least))
