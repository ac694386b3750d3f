"""Which turn before a message leans on."""

from __future__ import annotations

import pytest

from thresher.knowledge.intents.router.history import PERHAPS, SURELY, earlier_turn, leans
from thresher.knowledge.intents.router.pieces import pieces_of


@pytest.mark.parametrize(
    "message",
    ["now the same for products", "do it again", "yes please", "Go ahead.", "same thing in the orders table", "again"],
)
def test_some_words_point_back_at_the_task_itself(message: str) -> None:
    """Neither "the same" nor "again" nor "yes" has a task of its own."""
    assert leans(message) == SURELY


@pytest.mark.parametrize(
    "message", ["and for customers", "what about branches?", "make it left outer", "for suppliers too"]
)
def test_other_words_may_go_on_from_the_task_before(message: str) -> None:
    """Such as "what about" and "it" go on from something."""
    assert leans(message) == PERHAPS


@pytest.mark.parametrize(
    "message",
    [
        "create a relation between orders and customers",
        "do all the commits have the same author?",
        "thanks!",
        "",
        "git log",
    ],
)
def test_a_message_that_names_its_task_leans_on_nothing(message: str) -> None:
    """Most messages stand on their own."""
    assert leans(message) == 0.0


def test_the_turn_that_stands_on_its_own_is_looked_for() -> None:
    """Nods and turns that lean are passed over."""
    assert earlier_turn(["create a relation", "now the same for products", "ok thanks"]) == "create a relation"


def test_without_a_turn_of_its_own_there_is_nothing_to_lean_on() -> None:
    """An empty history, or one of nods, gives nothing."""
    assert earlier_turn([]) == ""
    assert earlier_turn(["ok", " ", "thanks"]) == ""


def test_history_costs_nothing_where_the_message_stands_on_its_own() -> None:
    """The turns before are embedded only for a message that leans on them."""
    assert len(pieces_of("show me the diff", history=["create a relation"]).texts) == 1
    assert pieces_of("now the same for products", history=["create a relation"]).texts[1:] == ("create a relation",)
