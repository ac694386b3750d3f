"""From the scores of a message's texts to the rules that it needs, with the reasons.

An intent matches for one of three reasons: a piece of the chosen cut or a query reaches its threshold, the message
leans on a turn that asked for it, or its rules apply whatever is said. What the message refuses matches only if another
piece asks for it.

Invariant: pure; equal scores give an equal decision. A question to the user quotes training lines; it never obeys them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from thresher.knowledge.intents.models import Decision, IntentScore
from thresher.knowledge.intents.router.cues import SURELY, WHOLLY
from thresher.knowledge.intents.router.pieces import Pieces
from thresher.knowledge.intents.router.records import TextScores
from thresher.knowledge.intents.router.segmentation import NOTHING, Judge, chosen_cut

MARGIN: Final = 0.15
"""Scores this close do not decide between two intents."""
LEAST: Final = 0.5
"""Share of the threshold from which a pair is worth a question."""
_LONGEST_LINE: Final = 80


def close(first: IntentScore, second: IntentScore) -> bool:
    """Return whether a person should be asked which of two intents, the better one first, is meant."""
    near = first.score - second.score < MARGIN
    return near and all(one.score >= LEAST * one.threshold for one in (first, second))


def question(first: IntentScore, second: IntentScore) -> str:
    """Return a question that names both intents, each with the training line nearest to the message."""
    return f"Do you mean {_named(first)} or {_named(second)}?"


def _named(score: IntentScore) -> str:
    line = " ".join(score.best_line.split())
    if not line:
        return score.intent
    if len(line) > _LONGEST_LINE:
        line = f"{line[: _LONGEST_LINE - 1].rstrip()}…"
    return f'{score.intent} (as in "{line}")'


LIKELY: Final = 0.5
"""From this score on a text probably asks for its intent."""
_LEAST: Final = 1e-4
Basis: TypeAlias = Literal["head", "prototype", "words"]


@dataclass(frozen=True, slots=True)
class _IntentVerdict:
    """What a message asks for.

    Attributes:
        judged: Its own texts that were judged: the pieces of the cut, the queries.
        found: The text by which each matched intent was found, and the reason.
        refused: The text by which each refused intent was found.
        share: How surely the message was cut.
    """

    judged: tuple[int, ...]
    found: Mapping[int, tuple[int, str]]
    refused: Mapping[int, int]
    share: float


@dataclass(frozen=True, slots=True)
class _Names:
    """The names behind the numbers in scores.

    Attributes:
        intents: Of the columns.
        lines: The training lines.
        applied: Intents whose rules apply whatever the message says.
        others: Number of intents listed besides those that matched or are refused; None for all.
    """

    intents: Sequence[str]
    lines: Sequence[str]
    applied: frozenset[int]
    others: int | None


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
    others: int | None = None,
) -> Decision:
    """Return which rules a message needs.

    Args:
        intents: Names, in the order of the scores' columns.
        thresholds: The fitted threshold of each.
        pieces: The scored pieces, from `pieces_of`.
        scores: Of `pieces.texts`, in their order.
        lines: The training lines that `scores.nearest` points to.
        by_hand: Thresholds that a person set; they override the fitted ones.
        applied: Intents whose rules apply whatever the message says, with the reason: `always` or `file`.
        basis: What the scores rest on.
        degraded: Why they are weaker than they could be.
        others: Number of intents listed besides those that the message asks for or refuses; by default all.

    Returns:
        A decision, intents that matched first; the caller adds times, the trace and `cached`.
    """
    decision = Decision(clauses=pieces.texts[:1], confidence=1.0, basis=basis, degraded=degraded)
    if intents and pieces.texts:
        limits = {**thresholds, **by_hand} if by_hand else thresholds
        hand = (
            frozenset(number for number, name in enumerate(intents) if name in by_hand) if by_hand else frozenset[int]()
        )
        judge = Judge(scores, tuple(limits.get(name, 1.0) for name in intents), hand)
        at_once = frozenset(map(intents.index, applied.keys() & set(intents))) if applied else frozenset[int]()
        names = _Names(intents, lines, at_once, others)
        decision = _decided(decision, _verdict(judge, pieces), judge, pieces, names)
    return _with_applied(decision, applied or {})


def _decided(empty: Decision, verdict: _IntentVerdict, judge: Judge, pieces: Pieces, names: _Names) -> Decision:
    """Return the decision for a verdict."""
    others = [text for text, _ in verdict.found.values()] + list(verdict.refused.values())
    whole = pieces.request.spans[0].text if pieces.request.spans else 0
    shown = tuple(dict.fromkeys(text for text in (*verdict.judged, *others) if text not in (0, whole)))
    order = {0: 0, whole: 0} | {text: place for place, text in enumerate(shown, 1)}

    def row(intent: int) -> IntentScore:
        return _row(intent, verdict, judge, order, names)

    return replace(
        empty,
        scores=_ranked([row(intent) for intent in _listed(judge, verdict, names)]),
        clauses=(pieces.texts[0], *(pieces.texts[text] for text in shown)),
        confidence=_confidence(judge, verdict, pieces),
        margin=min((_lead(judge, text) for text in verdict.judged), default=0.0),
        clarify=_clarify(judge, verdict, row),
    )


def _listed(judge: Judge, verdict: _IntentVerdict, names: _Names) -> list[int]:
    """Return the intents that a decision lists: a row for each of hundreds would cost more than everything else."""
    if names.others is None or names.others >= len(names.intents):
        return list(range(len(names.intents)))
    best = judge.scores.score[list(verdict.judged) or [0]].max(axis=0)
    meant = verdict.found.keys() | verdict.refused.keys() | names.applied
    most = min(names.others + len(meant), len(best))
    nearest = sorted(np.argpartition(-best, most - 1)[:most].tolist(), key=lambda intent: -best[intent])
    return [*meant, *[intent for intent in nearest if intent not in meant][: names.others]]


def _verdict(judge: Judge, pieces: Pieces) -> _IntentVerdict:
    """Return what a message asks for, what it refuses, and what it takes over from the turn before."""
    cut, share = chosen_cut(judge, pieces.request)
    judged = tuple(dict.fromkeys((*cut.texts, *pieces.queries)))
    refused = _matches(judge, pieces.refused)
    if pieces.refused and not refused:
        judged = tuple(dict.fromkeys((*judged, 0)))
    found = {intent: (text, "line") for intent, text in _matches(judge, judged).items()}
    if pieces.leaning:
        found = _leaning(judge, pieces, found)
    found = {intent: place for intent, place in found.items() if place[1] == "line" or intent not in refused}
    return _IntentVerdict(judged, found, {key: text for key, text in refused.items() if key not in found}, share)


def _leaning(judge: Judge, pieces: Pieces, own: Mapping[int, tuple[int, str]]) -> dict[int, tuple[int, str]]:
    """Return what a message that leans on the turn before asks for: that turn's intents, and its own if they are sure.

    "Yes, do it" has no task of its own. "The same for products" names none, so the intent that its few words happen to
    be near must be as sure as the task that it points at; "what about branches" may name one.
    """
    cut, _ = chosen_cut(judge, pieces.earlier)
    before = {intent: (text, "history") for intent, text in _matches(judge, cut.texts).items()}
    if pieces.leaning >= WHOLLY:
        return before
    sure = max((judge.score(text, intent) for intent, (text, _) in before.items()), default=LIKELY + MARGIN) - MARGIN
    least = sure if pieces.leaning >= SURELY else LIKELY
    kept = {intent: place for intent, place in own.items() if judge.score(place[0], intent) >= least}
    return {**before, **kept} if pieces.leaning >= SURELY or not kept else kept


def _matches(judge: Judge, texts: Sequence[int]) -> dict[int, int]:
    """Return the intents that texts ask for, each with the text that asks for it most."""
    found: dict[int, int] = {}
    for text, intent in zip(texts, judge.matches(texts), strict=True):
        if intent != NOTHING and (
            intent not in found or judge.score(text, intent) > judge.score(found[intent], intent)
        ):
            found[intent] = text
    return found


def _row(intent: int, verdict: _IntentVerdict, judge: Judge, order: Mapping[int, int], names: _Names) -> IntentScore:
    """Return the result for one intent, by the text with the highest score."""
    text, why = verdict.found.get(intent, (NOTHING, ""))
    if text == NOTHING and intent in verdict.refused:
        text, why = verdict.refused[intent], "negated"
    elif text == NOTHING:
        text, why = max(verdict.judged or (0,), key=lambda text: judge.score(text, intent)), "line"
    scores = judge.scores
    nearest = int(scores.nearest[text, intent])
    return IntentScore(
        intent=names.intents[intent],
        score=judge.score(text, intent),
        threshold=judge.thresholds[intent],
        similarity=float(scores.similarity[text, intent]),
        best_line=names.lines[nearest] if 0 <= nearest < len(names.lines) else "",
        keywords=scores.keywords[text].get(intent, ()),
        clause=order[text],
        matched=intent in verdict.found,
        why=why,
    )


def _confidence(judge: Judge, verdict: _IntentVerdict, pieces: Pieces) -> float:
    """Return the probability that the decision is right: the cut's, times the geometric mean of the answers'.

    The mean, since answers about one message fail together: their product says .68 where .88 are right (measured).
    """
    best = [judge.score(text, judge.best(text)) for text in verdict.judged]
    matched = judge.matches(verdict.judged)
    answers = [score if found != NOTHING else 1.0 - score for score, found in zip(best, matched, strict=True)]
    mean = math.exp(sum(math.log(max(answer, _LEAST)) for answer in answers) / max(len(answers), 1))
    leaning = pieces.leaning if any(why == "history" for _, why in verdict.found.values()) else 1.0
    return verdict.share * mean * leaning


def _lead(judge: Judge, text: int) -> float:
    """Return how far the best intent of a text is above the next."""
    top = np.sort(judge.scores.score[text])[::-1]
    return float(top[0] - top[1]) if len(top) > 1 else float(top[0])


def _clarify(judge: Judge, verdict: _IntentVerdict, row: Callable[[int], IntentScore]) -> str:
    """Return a question if the two best intents of one text are too close."""
    for text in verdict.judged:
        best = [int(intent) for intent in np.argsort(-judge.scores.score[text], kind="stable")[:2]]
        if len(best) < 2 or verdict.refused.keys() & set(best):
            continue
        first, second = (replace(row(intent), score=judge.score(text, intent)) for intent in best)
        if close(first, second):
            return question(first, second)
    return ""


def _ranked(rows: Sequence[IntentScore]) -> tuple[IntentScore, ...]:
    return tuple(sorted(rows, key=lambda row: (not row.matched, -row.score)))


def _with_applied(decision: Decision, applied: Mapping[str, str]) -> Decision:
    """Add the rules that apply whatever the message says."""
    rows = {row.intent: row for row in decision.scores}
    for name, why in applied.items():
        known = rows.get(name, IntentScore(name, 1.0, 0.0))
        if not known.matched:
            rows[name] = replace(known, matched=True, why=why)
    return replace(decision, scores=_ranked(tuple(rows.values())))
