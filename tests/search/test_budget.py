"""Filling a budget with units of one sequence."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thresher.search import Units, select
from thresher.search.budget import spent


def units(
    costs: list[int], *, opening: int = 0, labels: list[int] | None = None, twins: list[int] | None = None
) -> Units:
    """Units of these costs; naming a label costs 10."""
    count = len(costs)
    named = labels or [0] * count
    return Units(
        np.array(costs, np.int64),
        np.full(count, opening, np.int64),
        np.array(named, np.int64),
        np.full(max(named, default=0) + 1, 10 if labels else 0, np.int64),
        np.array(twins or range(count), np.int64),
    )


def chosen(sequence: Units, scores: list[float], budget: int, taken: list[bool] | None = None) -> list[int]:
    """The selection, in the order of choice."""
    given_before = None if taken is None else np.array(taken, np.bool_)
    return select(sequence, np.array(scores, np.float32), budget, given_before).tolist()


@given(
    st.lists(st.tuples(st.integers(1, 60), st.floats(-5, 5), st.integers(0, 3), st.booleans()), max_size=40),
    st.integers(0, 600),
)
def test_no_selection_costs_more_than_its_budget(rows: list[tuple[int, float, int, bool]], budget: int) -> None:
    """Marks and labels included; nothing is taken twice, and nothing that was returned before."""
    sequence = units([row[0] for row in rows], opening=4, labels=[row[2] for row in rows])
    taken = [row[3] for row in rows]

    selection = chosen(sequence, [row[1] for row in rows], budget, taken)

    assert spent(sequence, np.array(selection, np.int64)) <= budget
    assert len(set(selection)) == len(selection)
    assert not any(taken[unit] for unit in selection)


def test_the_best_come_first_and_small_ones_fill_the_rest() -> None:
    """A unit that is too large is skipped."""
    sequence = units([50, 60, 45, 5])

    selection = chosen(sequence, [4.0, 3.0, 2.0, 1.0], 100)

    assert selection == [0, 2, 3]


def test_a_run_is_opened_once() -> None:
    """The neighbour of a chosen unit costs no mark, so it fits where a distant one would not."""
    sequence = units([40, 40, 40], opening=20)

    assert chosen(sequence, [3.0, 2.0, 1.0], 100) == [0, 1]
    assert chosen(sequence, [3.0, 1.0, 2.0], 100) == [0, 1]


def test_a_twin_comes_last() -> None:
    """Content is not repeated while there is something else, in this answer or after an earlier one."""
    sequence = units([10, 10, 10], twins=[0, 0, 2])

    assert chosen(sequence, [3.0, 2.0, 1.0], 20) == [0, 2]
    assert chosen(sequence, [3.0, 2.0, 1.0], 30) == [0, 2, 1]
    assert chosen(sequence, [3.0, 2.0, 1.0], 10, [True, False, False]) == [2]


def test_one_of_the_last_makes_way_for_one_that_fills_the_room() -> None:
    """The best ones never do."""
    sequence = units([100, 100, 100, 100, 100, 100, 260, 390])

    selection = chosen(sequence, [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], 790)

    assert selection == [0, 1, 2, 3, 4, 6]


def test_a_few_good_units_are_kept_however_much_room_they_leave() -> None:
    """A full budget is worth less than the best fit."""
    assert chosen(units([50, 90]), [2.0, 1.0], 100) == [0]


def test_a_long_sequence_is_looked_at_only_as_far_as_needed() -> None:
    """The best of 100,000 units are found in the right order without sorting all."""
    count = 100_000
    scores = np.random.default_rng(1).permutation(count).astype(np.float32)

    selection = select(units([100] * count), scores, 1_000)

    assert scores[selection].tolist() == [float(count - place) for place in range(1, 11)]


def test_nothing_is_selected_from_nothing() -> None:
    """An empty sequence or budget gives an empty selection."""
    assert chosen(units([]), [], 100) == []
    assert chosen(units([5]), [1.0], 0) == []
