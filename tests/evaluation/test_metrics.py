"""Each figure against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from thresher.evaluation.metrics import all_in, auc, mean, ndcg_at, percentile, recall_at, refused_at, wilson

RANKED = ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(("depth", "share"), [(1, 0.0), (2, 0.5), (3, 0.5), (6, 1.0), (10, 1.0)])
def test_recall_is_the_share_of_relevant_tools_in_the_first_places(depth: int, share: float) -> None:
    """Two relevant tools, in places 2 and 6."""
    assert recall_at(RANKED, {"b", "f"}, depth) == share


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    """Places 2 and 6 against the ideal places 1 and 2."""
    gain = 1 / math.log2(3) + 1 / math.log2(7)
    ideal = 1 / math.log2(2) + 1 / math.log2(3)

    assert ndcg_at(RANKED, {"b", "f"}, 10) == pytest.approx(gain / ideal)


def test_ndcg_of_a_perfect_list_is_one_even_with_more_relevant_tools_than_places() -> None:
    """Six relevant tools, three places."""
    assert ndcg_at(RANKED, RANKED, 3) == pytest.approx(1.0)


def test_ndcg_of_a_list_without_relevant_tools_is_zero() -> None:
    """Nothing relevant is in the list."""
    assert ndcg_at(RANKED, {"z"}, 10) == 0.0


@pytest.mark.parametrize(("depth", "value"), [(5, 0.0), (6, 1.0)])
def test_all_in_wants_every_relevant_tool(depth: int, value: float) -> None:
    """The second one is at rank 6."""
    assert all_in(RANKED, {"b", "f"}, depth) == value


def test_the_interval_of_a_share_is_wide_for_few_and_stays_between_0_and_1() -> None:
    """Wilson's figures for 8 of 10 and 80 of 100."""
    assert wilson(0.8, 10) == pytest.approx((0.490, 0.943), abs=0.001)
    assert wilson(0.8, 100) == pytest.approx((0.711, 0.867), abs=0.001)
    assert wilson(1.0, 5)[1] == 1.0
    assert wilson(0.0, 5)[0] == 0.0


def test_foreign_messages_are_refused_below_the_score_that_most_answerable_ones_reach() -> None:
    """19 of 20 reach 0.2: below it lies one of two."""
    answerable = [0.1, *[0.2] * 19]

    assert refused_at(answerable, [0.15, 0.3], 0.95) == 0.5
    assert refused_at(answerable, [], 0.95) is None
    assert refused_at([], [0.3], 0.95) is None


def test_auc_counts_pairs_with_ties_half() -> None:
    """Pairs (.9,.5) (.9,.1) (.5,.1) won, (.5,.5) tied: 3.5 of 4."""
    assert auc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)


def test_auc_of_perfect_and_reversed_scores() -> None:
    """1 where every positive is above, 0 where every one is below, one half where all are equal."""
    assert (auc([2, 3], [0, 1]), auc([0, 1], [2, 3]), auc([1, 1], [1])) == (1.0, 0.0, 0.5)


def test_figures_without_data_are_none() -> None:
    """No value is not the value 0."""
    assert (auc([], [1.0]), auc([1.0], []), percentile([], 0.5), mean([])) == (None, None, None, None)


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 2.5), (0.95, 3.85), (1.0, 4.0)])
def test_percentiles_interpolate(share: float, value: float) -> None:
    """Of 1, 2, 3, 4 in any order."""
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == pytest.approx(value)


def test_mean_of_numbers() -> None:
    """The arithmetic mean."""
    assert mean([1.0, 2.0]) == 1.5
