"""What a message says that it does not mean."""

from __future__ import annotations

import pytest

from thresher.knowledge.intents.router.cues import MAX_REFUSALS, split_negation


@pytest.mark.parametrize(
    ("message", "asked", "refused"),
    [
        ("not a relation, a value list", "a value list", "a relation"),
        ("I want a value list, not a relation", "I want a value list", "a relation"),
        ("don't commit, just show me the diff", "just show me the diff", "commit"),
        ("please do not touch the database, just list the tools", "please just list the tools", "touch the database"),
        ("instead of a relation make a value list", "make a value list", "a relation"),
        ("show the tables without using git", "show the tables", "using git"),
        ("never mind the relation, give me the diff", "give me the diff", "the relation"),
        ("I don't want to commit, only see what changed", "only see what changed", "commit"),
        ("don\u2019t push - fetch", "fetch", "push"),
        ("NOT A RELATION, A VALUE LIST", "A VALUE LIST", "A RELATION"),
        ("not a relation", "", "a relation"),
        ("no value list this time, please relate the lines", "please relate the lines", "value list this time"),
        ("I did not ask for a value list but for a relation", "for a relation", "a value list"),
        ("point it at db:/wms/a instead of db:/shop/b", "point it at db:/wms/a", "db:/shop/b"),
        ("no commit in this folder, just show the diff", "just show the diff", "commit in this folder"),
        ("leave git alone and just run the query", "just run the query", "git"),
        (
            "except for the relation to shippers delete all relations",
            "delete all relations",
            "the relation to shippers",
        ),
    ],
)
def test_a_refusal_is_taken_out(message: str, asked: str, refused: str) -> None:
    """What is asked and what is refused are told apart."""
    assert split_negation(message) == (asked, (refused,))


@pytest.mark.parametrize(
    "message",
    [
        "why is my branch not working",
        "file not found when pushing",
        "not only a relation but also a value list",
        "I don't know how to commit",
        "I can't commit",
        "nothing to commit",
        "without a doubt",
        "git says nothing to commit, not sure why",
        "no empty entry in the drop-down of countries",
        "no parent delete while there are related records",
        "don't let anybody delete a room that has bookings",
        "never allow an empty value",
        "no",
        "don't",
        "",
    ],
)
def test_a_complaint_refuses_nothing(message: str) -> None:
    """A message that only tells what does not work stays as it is."""
    assert split_negation(message) == (message, ())


def test_refusals_are_bounded() -> None:
    """Each refused phrase costs an embedding."""
    _, refused = split_negation("not a cat, " * 10 + "a dog")

    assert len(refused) == MAX_REFUSALS
