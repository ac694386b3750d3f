"""Figures from observations, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thresher.evaluation.tools import ToolObservation, tool_figures
from thresher.knowledge.tools import Form


def seen(
    relevant: set[str],
    ranked: str = "",
    full: str = "",
    named: str = "",
    *,
    abstained: bool = False,
    probability: float = 0.5,
) -> ToolObservation:
    """An observation; every letter is a tool. The small answer has what is in full, the large one the ranking, too."""
    in_full: dict[str, Form] = dict.fromkeys(full, "full")
    usual: dict[str, Form] = {**dict.fromkeys(named, "name"), **in_full}
    return ToolObservation(
        relevant=frozenset(relevant),
        ranked=tuple(ranked),
        answers={150: in_full, 300: usual, 600: {**dict.fromkeys(ranked, "name"), **usual}},
        abstained=abstained,
        probability=probability,
        tokens_sent=25,
        tokens_all=100,
        first_ms=10.0,
        again_ms=2.0,
    )


def test_messages_with_and_without_a_fitting_tool_are_counted_apart() -> None:
    """Two messages fit (recalls 1 and 1/2 at 5), one does not and was seen through."""
    observations = [
        seen({"a"}, "abc", "a", probability=0.9),
        seen({"b", "z"}, "acb", "ac", "b", probability=0.6),
        seen(set(), "abc", "", abstained=True, probability=0.1),
    ]

    figures = tool_figures(observations, tools=4, index_seconds=2.0, unknown_relevant=1)

    assert (figures.recall_at_1, figures.recall_at_3, figures.recall_at_5) == (0.5, 0.75, 0.75)
    assert figures.all_in_10 == 0.5
    assert (figures.needed_at_150, figures.needed_at_300, figures.needed_at_600) == (0.5, 0.75, 0.75)
    assert (figures.signature_at_300, figures.full_precision) == (0.5, 0.5)
    assert figures.needed_by_tasks == {"1": 1.0, "2": 0.5}
    assert figures.tools_mean == pytest.approx(4 / 3)
    assert (figures.tokens_mean, figures.foreign_refused) == (25, 1.0)
    assert figures.intervals["needed_at_300"] == pytest.approx((0.198, 0.973), abs=0.001)
    assert (figures.abstention_auc, figures.abstention_accuracy) == (1.0, 1.0)
    assert (figures.tokens_saved, figures.p50_ms, figures.p95_ms, figures.cached_p50_ms) == (0.75, 10.0, 10.0, 2.0)
    assert (figures.tools_per_second, figures.tools, figures.queries, figures.queries_without_tool) == (2.0, 4, 3, 1)
    assert figures.unknown_relevant == 1


def test_abstention_has_no_figure_without_messages_of_both_kinds() -> None:
    """Null, not 0 and not 1."""
    figures = tool_figures([seen({"a"}, "a", "a")], tools=1, index_seconds=0.0, unknown_relevant=0)

    assert (figures.abstention_auc, figures.abstention_accuracy) == (None, None)
    assert figures.tools_per_second == 0.0


def test_ranking_has_no_figure_without_messages_that_fit() -> None:
    """Only messages that no tool fits."""
    figures = tool_figures([seen(set(), "a", "a")], tools=1, index_seconds=1.0, unknown_relevant=0)

    assert (figures.recall_at_5, figures.ndcg_at_10, figures.all_in_10, figures.needed_at_300) == (None,) * 4
    assert (figures.confusion, figures.full_precision, figures.intervals) == (None, None, {})
    assert figures.tools_mean == 1.0


def test_an_answer_confuses_where_a_sibling_has_the_line_that_the_needed_tool_lacks() -> None:
    """One by name counts as lacking it; a tool of another server, and one more that is needed, confuse nobody."""
    figures = tool_figures(
        [
            answered({"git/log"}, {"git/log": "name", "git/diff": "full"}),
            answered({"git/log"}, {"git/log": "full", "git/diff": "full"}),
            answered({"git/log"}, {"git/log": "name", "time/now": "full"}),
            answered({"git/log", "git/diff"}, {"git/diff": "full"}),
        ],
        tools=3,
        index_seconds=1.0,
        unknown_relevant=0,
    )

    assert figures.confusion == 0.25


def answered(relevant: set[str], usual: dict[str, Form]) -> ToolObservation:
    """An observation with one answer whatever the budget."""
    answers = dict.fromkeys((150, 300, 600), usual)
    return replace(seen(relevant), answers=answers)
