"""Weighs every way to cut a request, and takes the set of intents that the ways agree on most.

A way to cut weighs the odds of its joints times what the router makes of its pieces: a task is explained well by one
intent, a broken-off end ("thursday morning", "tell me why") by none. The weights of the ways that lead to the same set
of intents add up; the heaviest set is chosen, and its share of the whole says how surely. The form is a log-linear
model over segmentations (Sarawagi and Cohen, Semi-Markov conditional random fields, 2004); its weights are fitted by
`benchmarks/multi_intent.py` on joined lines.

Invariant: pure; at most 2 ** `MAX_JOINTS` ways.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from thresher.knowledge.intents.router.pieces import Request
from thresher.knowledge.intents.router.records import TextScores

WHICH: Final = 3.29
"""Weight of the logarithm of how surely the router says which intent a piece asks for."""
WHETHER: Final = -0.72
"""Weight of the logarithm of how surely it says that it asks for that at all."""
ECHO: Final = 0.23
"""Weight of the logarithm of what the uncut request gives to each intent that its pieces ask for."""
UNMATCHED: Final = -1.42
"""Added for a piece that asks for nothing."""
REPEATED: Final = -1.94
"""Added for a piece whose intent another piece has already."""
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
        weight: Logarithm of its weight.
    """

    texts: tuple[int, ...] = ()
    intents: frozenset[int] = frozenset()
    weight: float = 0.0


def chosen_cut(judge: Judge, request: Request) -> tuple[Cut, float]:
    """The heaviest cut of the heaviest set of intents, and that set's share of all weight, 0 to 1."""
    cuts = list(_cuts(judge, request))
    if not cuts:
        return Cut(), 1.0
    top = max(cut.weight for cut in cuts)
    weights: dict[frozenset[int], float] = {}
    for cut in cuts:
        weights[cut.intents] = weights.get(cut.intents, 0.0) + math.exp(cut.weight - top)
    chosen = max(weights, key=lambda intents: weights[intents])
    best = max((cut for cut in cuts if cut.intents == chosen), key=lambda cut: cut.weight)
    return best, weights[chosen] / sum(weights.values())


def _cuts(judge: Judge, request: Request) -> Iterator[Cut]:
    """Every way to cut a request at its joints."""
    if not request.spans:
        return
    at = {(span.first, span.stop): span.text for span in request.spans}
    whole = request.spans[0].text
    for mask in range(1 << len(request.odds)):
        edges = [0, *(joint + 1 for joint in range(len(request.odds)) if mask >> joint & 1), request.parts]
        texts = tuple(at[edge] for edge in itertools.pairwise(edges))
        odds = sum(request.odds[edge - 1] for edge in edges[1:-1])
        matched = [intent for text in texts if (intent := judge.match(text)) != NOTHING]
        echo = sum(_log(judge.scores.probability[whole, intent], _LEAST_ECHO) for intent in set(matched))
        weight = odds + ECHO * echo + _explained(judge, texts) + _counted(len(texts), matched)
        yield Cut(texts, frozenset(matched), weight)


def _explained(judge: Judge, texts: Sequence[int]) -> float:
    """How well the router explains the pieces of a cut, as a logarithm."""
    scores = judge.scores
    which = sum(_log(scores.probability[text].max()) for text in texts)
    whether = sum(_log(scores.similarity[text, judge.best(text)]) for text in texts)
    return WHICH * which + WHETHER * whether


def _counted(pieces: int, matched: Sequence[int]) -> float:
    """What pieces that ask for nothing, or for what another asks for, add."""
    return UNMATCHED * (pieces - len(matched)) + REPEATED * (len(matched) - len(set(matched)))


def _log(value: float, least: float = _LEAST) -> float:
    return math.log(max(float(value), least))
