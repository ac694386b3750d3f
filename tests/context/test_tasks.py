"""The tasks of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.context.sources import MAX_TASKS, tasks_of


@pytest.mark.parametrize(
    ("message", "tasks"),
    [
        (
            "look up what the speech says about chips and mail it to lisa",
            ("look up what the speech says about chips", "mail it to lisa"),
        ),
        (
            "commit my changes and then add a comment to the ticket",
            ("commit my changes", "add a comment to the ticket"),
        ),
        (
            "which orders went out late, put them into late.csv",
            ("which orders went out late", "put them into late.csv"),
        ),
    ],
)
def test_two_orders_are_two_tasks(message: str, tasks: tuple[str, ...]) -> None:
    """The joint goes, and each half is searched for by itself."""
    assert tasks_of(message) == tasks


@pytest.mark.parametrize(
    "message",
    ["salt and pepper", "show the read and write times", "who wrote war and peace", "thanks and good night", "hello"],
)
def test_one_order_stays_whole(message: str) -> None:
    """A joint alone makes no second task."""
    assert tasks_of(message) == (message,)


@given(st.text(max_size=400))
def test_any_text_has_at_least_one_task(message: str) -> None:
    """And not too many."""
    assert 1 <= len(tasks_of(message)) <= MAX_TASKS


def test_material_is_not_cut() -> None:
    """A message with a whole log pasted into it is read once, not at every joint."""
    message = "compare it, and then mail it to lisa, " * 1_000
    assert tasks_of(message) == (message,)
