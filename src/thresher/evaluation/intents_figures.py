"""From what each test line gave to the figures of an evaluation of intents: pure, no clock.

Invariant: shares are 0 to 1, counts integers, and a figure without data is None. `docs/reference/evaluation.md` defines
each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thresher.evaluation.metrics import auc, mean, percentile
from thresher.knowledge.intents import IntentScore, TrialResult

Kind = Literal["missed", "confused", "false alarm", "incomplete"]


@dataclass(frozen=True, slots=True)
class Told:
    """What the router said of one test line.

    Attributes:
        text: The message.
        line: Where it stands in its file.
        expected: Its intents; empty: out of scope.
        judged: The decision.
    """

    text: str
    line: int
    expected: tuple[str, ...]
    judged: TrialResult

    @property
    def got(self) -> tuple[str, ...]:
        """The intents that matched, best first."""
        return tuple(score.intent for score in self.judged.decision.matched)


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A test line that was decided wrongly, and why.

    Attributes:
        line: Where it stands in its file.
        text: The message.
        expected: Its intents; empty: out of scope.
        got: Those that matched; empty: it passed through.
        kind: `missed` (nothing matched), `confused` (another intent), `false alarm` (it is out of scope), or
            `incomplete` (some of several).
        best: The best intent, matched or not.
        score: Its score.
        threshold: The least score that it matches with.
        best_line: The training line of that intent that the message is most like.
        expected_score: The best score of an expected intent; None where none is expected or known.
        clauses: The parts that the message was judged in.
    """

    line: int
    text: str
    expected: tuple[str, ...]
    got: tuple[str, ...]
    kind: Kind
    best: str
    score: float
    threshold: float
    best_line: str
    expected_score: float | None
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """How long an evaluation took.

    Attributes:
        fit_seconds: Fitting, thresholds included, with all vectors at hand.
        messages_ms: Of some messages, one after the other, vectors included.
    """

    fit_seconds: float
    messages_ms: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class IntentFigures:
    """The figures; `docs/reference/evaluation.md` defines each."""

    accuracy: float | None
    accuracy_at_threshold: float | None
    macro_f1: float | None
    out_of_scope_recall: float | None
    auroc: float | None
    exact_match: float | None
    multi_f1: float | None
    p50_ms: float | None
    p95_ms: float | None
    fit_seconds: float
    intents: int
    lines: int
    tests: int
    tests_out_of_scope: int
    tests_with_several: int
    unknown_intents: int


def compute(told: Sequence[Told], timing: Timing, *, intents: Sequence[str], lines: int) -> IntentFigures:
    """Put the figures together.

    Args:
        told: One entry a test line.
        timing: How long it took.
        intents: The names that were trained.
        lines: How many training lines there were.
    """
    single = [one for one in told if len(one.expected) == 1]
    outside = [one for one in told if not one.expected]
    several = [one for one in told if len(one.expected) > 1]
    inside = [one for one in told if one.expected] if several else []
    return IntentFigures(
        accuracy=mean(float(one.judged.best == one.expected[0]) for one in single),
        accuracy_at_threshold=mean(float(one.got == one.expected) for one in single),
        macro_f1=_macro_f1(single),
        out_of_scope_recall=mean(float(not one.got) for one in outside),
        auroc=auc([one.judged.score for one in told if one.expected], [one.judged.score for one in outside]),
        exact_match=mean(float(set(one.got) == set(one.expected)) for one in inside),
        multi_f1=_pair_f1(inside),
        p50_ms=percentile(timing.messages_ms, 0.5),
        p95_ms=percentile(timing.messages_ms, 0.95),
        fit_seconds=timing.fit_seconds,
        intents=len(intents),
        lines=lines,
        tests=len(told),
        tests_out_of_scope=len(outside),
        tests_with_several=len(several),
        unknown_intents=len({name for one in told for name in one.expected} - set(intents)),
    )


def _macro_f1(single: Sequence[Told]) -> float | None:
    """The mean F1 over the intents that are expected or predicted; the best intent of each line is its prediction."""
    right, predicted, expected = Counter[str](), Counter[str](), Counter[str]()
    for one in single:
        predicted[one.judged.best] += 1
        expected[one.expected[0]] += 1
        right[one.expected[0]] += one.judged.best == one.expected[0]
    return mean(2 * right[name] / (predicted[name] + expected[name]) for name in predicted.keys() | expected.keys())


def _pair_f1(inside: Sequence[Told]) -> float | None:
    """F1 over all pairs of a message and an intent (micro average)."""
    if not inside:
        return None
    right = sum(len(set(one.got) & set(one.expected)) for one in inside)
    return 2 * right / sum(len(one.got) + len(one.expected) for one in inside)


def wrong_lines(told: Sequence[Told]) -> list[WrongLine]:
    """The lines that were decided wrongly, in their order, with the reason."""
    return [_wrong(one) for one in told if set(one.got) != set(one.expected)]


def _wrong(one: Told) -> WrongLine:
    scores = one.judged.decision.scores
    best = max(scores, key=lambda score: score.score, default=IntentScore("", 0.0, 0.0))
    return WrongLine(
        line=one.line,
        text=one.text,
        expected=one.expected,
        got=one.got,
        kind=_kind(one),
        best=best.intent,
        score=best.score,
        threshold=best.threshold,
        best_line=best.best_line,
        expected_score=max((score.score for score in scores if score.intent in one.expected), default=None),
        clauses=one.judged.decision.clauses,
    )


def _kind(one: Told) -> Kind:
    if not one.expected:
        return "false alarm"
    if not one.got:
        return "missed"
    return "incomplete" if set(one.got) < set(one.expected) else "confused"
