"""From the scores of a message's pieces to the intents that it asks for.

Every way to cut the message is weighed: the odds of its joints times how well the router explains each piece. The ways
that lead to the same set of intents add up, and the heaviest set is the decision; its share of the whole is how surely
the message was cut.

Invariant: pure; an intent matches exactly when its score reaches its threshold in a piece of the chosen cut.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from thresher.knowledge.intents.models import Decision, IntentScore
from thresher.knowledge.intents.router.clarifying import close, question
from thresher.knowledge.intents.router.pieces import Pieces
from thresher.knowledge.intents.router.records import TextScores

Basis: TypeAlias = Literal["head", "prototype", "words"]
_JOINT_WEIGHT: Final = 0.5
_LEAST: Final = 1e-4


@dataclass(frozen=True, slots=True)
class _Router:
    """What a decision is made with."""

    intents: tuple[str, ...]
    thresholds: tuple[float, ...]
    scores: TextScores
    lines: Sequence[str]

    def best(self, text: int) -> int:
        """The intent that a text asks for, if it asks for one."""
        return int(np.argmax(self.scores.score[text]))

    def evidence(self, text: int) -> float:
        """Score of the best intent of a text."""
        return float(self.scores.score[text].max())

    def matches(self, text: int) -> int:
        """The intent that a text asks for; -1 where it asks for none."""
        best = self.best(text)
        return best if self.scores.score[text, best] >= self.thresholds[best] else -1


@dataclass(frozen=True, slots=True)
class _Cut:
    """One way to cut a message: the texts of its pieces, the intents that they ask for, and its weight."""

    texts: tuple[int, ...]
    intents: frozenset[int]
    weight: float


def decide(
    intents: Sequence[str],
    thresholds: Mapping[str, float],
    pieces: Pieces,
    scores: TextScores,
    *,
    lines: Sequence[str] = (),
    by_hand: Mapping[str, float] | None = None,
    applied: Mapping[str, str] | None = None,
    basis: Basis = "head",
    degraded: str = "",
) -> Decision:
    """Which rules a message needs.

    Args:
        intents: Names, in the order of the scores' columns.
        thresholds: The fitted threshold of each.
        pieces: What was scored, from `pieces_of`.
        scores: Of `pieces.texts`, in their order.
        lines: The training lines that `scores.nearest` points to.
        by_hand: Thresholds that a person set; they go before the fitted ones.
        applied: Intents whose rules apply whatever the message says, with the reason: `always` or `file`.
        basis: What the scores rest on.
        degraded: Why they are weaker than they could be.

    Returns:
        A decision with all intents, those that matched first; times, the trace and `cached` are the caller's.
    """
    limits = {**thresholds, **(by_hand or {})}
    router = _Router(tuple(intents), tuple(limits.get(name, 1.0) for name in intents), scores, lines)
    if not intents or not pieces.texts:
        return _applied(Decision(clauses=pieces.texts[:1], confidence=1.0, basis=basis, degraded=degraded), applied)
    cut, share = _chosen(router, pieces)
    judged = tuple(dict.fromkeys((*cut.texts, *pieces.queries)))
    rows = _rows(router, judged, pieces)
    decision = Decision(
        scores=rows,
        clauses=_clauses(pieces, judged),
        confidence=share,
        margin=_margin(rows),
        clarify=_clarify(rows),
        basis=basis,
        degraded=degraded,
    )
    return _applied(decision, applied)


def _chosen(router: _Router, pieces: Pieces) -> tuple[_Cut, float]:
    """The heaviest cut of the heaviest set of intents, and that set's share of all weight."""
    cuts = list(_cuts(router, pieces))
    if not cuts:
        return _Cut((), frozenset(), 1.0), 1.0
    weights: dict[frozenset[int], float] = {}
    for cut in cuts:
        weights[cut.intents] = weights.get(cut.intents, 0.0) + cut.weight
    chosen = max(weights, key=lambda key: weights[key])
    best = max((cut for cut in cuts if cut.intents == chosen), key=lambda cut: cut.weight)
    return best, weights[chosen] / sum(weights.values())


def _cuts(router: _Router, pieces: Pieces) -> Iterator[_Cut]:
    """Every way to cut a message at its joints."""
    if not pieces.spans:
        return
    at = {(span.first, span.stop): span for span in pieces.spans}
    for mask in range(1 << len(pieces.odds)):
        edges = [0, *(index + 1 for index in range(len(pieces.odds)) if mask >> index & 1), pieces.parts]
        texts = tuple(at[edge].text for edge in itertools.pairwise(edges))
        odds = sum(pieces.odds[edge - 1] for edge in edges[1:-1])
        weight = _JOINT_WEIGHT * odds + sum(math.log(max(router.evidence(text), _LEAST)) for text in texts)
        matched = frozenset(intent for text in texts if (intent := router.matches(text)) >= 0)
        yield _Cut(texts, matched, math.exp(weight))


def _rows(router: _Router, judged: Sequence[int], pieces: Pieces) -> tuple[IntentScore, ...]:
    """All intents, those that matched first, each group best first."""
    order = _order(pieces, judged)
    asked = {router.matches(text) for text in judged}
    rows = [_row(router, intent, judged, order, matched=intent in asked) for intent in range(len(router.intents))]
    return tuple(sorted(rows, key=lambda row: (not row.matched, -row.score)))


def _row(
    router: _Router, intent: int, judged: Sequence[int], order: Mapping[int, int], *, matched: bool
) -> IntentScore:
    """What is said of one intent: by the piece that asks for it most."""
    asking = [text for text in judged if router.matches(text) == intent] or judged
    text = max(asking, key=lambda text: router.scores.score[text, intent])
    nearest = int(router.scores.nearest[text, intent])
    return IntentScore(
        intent=router.intents[intent],
        score=float(router.scores.score[text, intent]),
        threshold=router.thresholds[intent],
        similarity=float(router.scores.similarity[text, intent]),
        best_line=router.lines[nearest] if 0 <= nearest < len(router.lines) else "",
        keywords=router.scores.keywords[text].get(intent, ()),
        clause=order[text],
        matched=matched,
    )


def _order(pieces: Pieces, judged: Sequence[int]) -> dict[int, int]:
    """Where each judged text stands in the decision's clauses."""
    whole = pieces.spans[0].text if pieces.spans else 0
    rest = [text for text in judged if text not in (0, whole)]
    return {0: 0, whole: 0} | {text: place for place, text in enumerate(rest, 1)}


def _clauses(pieces: Pieces, judged: Sequence[int]) -> tuple[str, ...]:
    order = _order(pieces, judged)
    rest = sorted((text for text in judged if order[text] > 0), key=lambda text: order[text])
    return (pieces.texts[0], *(pieces.texts[text] for text in rest))


def _margin(rows: Sequence[IntentScore]) -> float:
    scores = sorted((row.score for row in rows), reverse=True)
    return scores[0] - (scores[1] if len(scores) > 1 else 0.0)


def _clarify(rows: Sequence[IntentScore]) -> str:
    """A question where the two best intents of one piece lie too close."""
    for row in rows:
        rivals = [other for other in rows if other is not row and other.clause == row.clause and not other.matched]
        best = max(rivals, key=lambda other: other.score, default=None)
        if best and row.score >= best.score and close(row, best):
            return question(row, best)
    return ""


def _applied(decision: Decision, applied: Mapping[str, str] | None) -> Decision:
    """A decision with the rules that apply whatever the message says."""
    rows = decision.scores
    for name, why in (applied or {}).items():
        known = next((row for row in rows if row.intent == name), IntentScore(name, 1.0, 0.0))
        if not known.matched:
            rows = (*(row for row in rows if row.intent != name), replace(known, matched=True, why=why))
    return replace(decision, scores=tuple(sorted(rows, key=lambda row: (not row.matched, -row.score))))
