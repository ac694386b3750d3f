"""Figures of an evaluation of intents, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from thresher.evaluation.intents import (
    FOLDS,
    IntentLine,
    IntentTiming,
    RoutedLine,
    fold_of,
    intent_figures,
    wrong_lines,
)
from thresher.knowledge.intents import Decision, IntentScore, TrialResult


def told(expected: str, got: str, best: str = "", score: float = 0.9, line: int = 1) -> RoutedLine:
    """A test line; every letter is an intent."""
    best = best or got[:1] or "a"
    names = dict.fromkeys(got + best + expected)
    rows = tuple(
        IntentScore(name, score if name == best else 0.4, 0.5, best_line=f"like {name}", matched=name in got)
        for name in names
    )
    return RoutedLine(
        f"message {line}", line, tuple(expected), TrialResult(Decision(rows, clauses=("whole",)), best, score)
    )


def test_lines_with_one_intent_several_and_none_are_counted_apart() -> None:
    """Two lines have one intent, one has two, two have none."""
    lines = [told("a", "a"), told("b", "", best="a", score=0.3), told("ab", "a"), told("", ""), told("", "b")]

    figures = intent_figures(lines, IntentTiming(2.0, (1.0, 3.0)), intents=("a", "b"), lines=10)

    assert (figures.accuracy, figures.accuracy_at_threshold) == (0.5, 0.5)
    assert figures.macro_f1 == pytest.approx((2 / 3 + 0) / 2)
    assert figures.out_of_scope_recall == 0.5
    assert figures.exact_match == pytest.approx(1 / 3)
    assert figures.multi_f1 == pytest.approx(2 * 2 / (1 + 1 + 0 + 1 + 1 + 2))
    assert (figures.p50_ms, figures.fit_seconds) == (2.0, 2.0)
    assert (figures.tests, figures.tests_out_of_scope, figures.tests_with_several) == (5, 2, 1)


def test_the_best_intent_counts_for_accuracy_whatever_its_threshold() -> None:
    """Another figure is the share that also matched."""
    figures = intent_figures([told("a", "", best="a", score=0.2)], IntentTiming(0.0), intents=("a",), lines=1)

    assert (figures.accuracy, figures.accuracy_at_threshold, figures.macro_f1) == (1.0, 0.0, 1.0)


def test_a_figure_without_data_is_none() -> None:
    """No line is out of scope or has several intents, and no time was taken."""
    figures = intent_figures([told("a", "a")], IntentTiming(0.0), intents=("a",), lines=1)

    assert (figures.out_of_scope_recall, figures.auroc, figures.exact_match, figures.multi_f1) == (None,) * 4
    assert (figures.p50_ms, figures.p95_ms) == (None, None)


def test_an_intent_without_training_lines_is_counted_and_cannot_be_right() -> None:
    """A typing error in a test file shows."""
    figures = intent_figures([told("x", "a")], IntentTiming(0.0), intents=("a",), lines=1)

    assert (figures.unknown_intents, figures.accuracy) == (1, 0.0)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (told("a", "", score=0.3), "missed"),
        (told("a", "b"), "confused"),
        (told("a", "ab"), "confused"),
        (told("", "a"), "false alarm"),
        (told("ab", "a"), "incomplete"),
    ],
)
def test_a_wrong_line_has_its_reason(line: RoutedLine, kind: str) -> None:
    """What was best, how far from its threshold, and which training line it was like."""
    (wrong,) = wrong_lines([told("a", "a"), line, told("", "")])

    assert (wrong.kind, wrong.expected, wrong.threshold) == (kind, line.expected, 0.5)
    assert wrong.best_line == f"like {wrong.best}"
    assert (wrong.expected_score is None) == (line.expected == ())


def test_each_fold_holds_out_lines_of_every_intent_that_has_two() -> None:
    """An intent's only line stays: without it the intent would be unknown."""
    names = ["a"] * 10 + ["b"] * 3 + ["c"] + [""] * 5
    turns = fold_of([IntentLine("text", (name,) if name else (), row) for row, name in enumerate(names, 1)])

    assert np.bincount(turns[:10], minlength=FOLDS).tolist() == [2] * FOLDS
    assert sorted(turns[10:13].tolist()) == [0, 1, 2]
    assert turns[13] == -1
    assert sorted(turns[14:].tolist()) == list(range(FOLDS))
