"""Which turn before a message leans on."""

from __future__ import annotations

import pytest

from thresher.knowledge.intents.router.cues import PERHAPS, SURELY, WHOLLY, earlier_turn, leans
from thresher.knowledge.intents.router.pieces import pieces_of


@pytest.mark.parametrize(
    "message",
    ["now the same for products", "do it again for the invoices", "same thing in the orders table"],
)
def test_some_words_point_back_at_the_task_itself(message: str) -> None:
    """Such as "the same for" name no task, only what it is for."""
    assert leans(message) == SURELY


@pytest.mark.parametrize("message", ["do it again", "yes please", "Yes, do it!", "Go ahead.", "again", "ok, continue"])
def test_a_message_that_only_agrees_has_no_task_of_its_own(message: str) -> None:
    """It asks for what was asked before, and for nothing else."""
    assert leans(message) == WHOLLY


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
    assert earlier_turn(["ok", " ", "thanks a lot!"]) == ""


def test_a_turn_with_a_pronoun_is_leant_on_where_no_other_stands() -> None:
    """It may be a task, "commit this"; one that names everything is still preferred."""
    assert earlier_turn(["commit this", "thanks"]) == "commit this"
    assert earlier_turn(["show the log", "and what about that"]) == "show the log"


def test_a_turn_with_a_task_is_no_nod() -> None:
    """A task may begin with "ok"."""
    assert earlier_turn(["ok, commit the change"]) == "ok, commit the change"


def test_history_costs_nothing_where_the_message_stands_on_its_own() -> None:
    """The turns before are embedded only for a message that leans on them."""
    assert len(pieces_of("show me the diff", history=["create a relation"]).texts) == 1
    assert pieces_of("now the same for products", history=["create a relation"]).texts[1:] == ("create a relation",)
