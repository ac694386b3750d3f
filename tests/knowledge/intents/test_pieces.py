"""The texts that a message is judged by."""

from __future__ import annotations

import time

import pytest

from thresher.knowledge.intents.router.cues import joints_of
from thresher.knowledge.intents.router.pieces import MAX_JOINTS, MAX_QUERIES, MAX_SPANS, MAX_TEXTS, pieces_of


@pytest.mark.parametrize(
    "message",
    [
        "flights from boston to denver",
        "what is the distance between the office and the airport",
        "relate orders to customers, please",
        "git status",
        "¿qué cambió ayer?",
        "変更を見せて",
    ],
)
def test_a_message_without_a_joint_costs_one_text(message: str) -> None:
    """Nothing but the message itself is embedded."""
    assert pieces_of(message).texts == (message,)


def test_a_joint_gives_both_sides_and_the_whole() -> None:
    """The whole message stands first."""
    pieces = pieces_of("what city is mco and also how far is the airport")

    assert pieces.texts == (
        "what city is mco and also how far is the airport",
        "what city is mco",
        "how far is the airport",
    )


def test_every_run_of_parts_is_a_span() -> None:
    """Three parts give the whole, two pairs and three single parts."""
    pieces = pieces_of("list the tables, show the log and then push the branch")

    assert pieces.request.parts == 3
    assert [(span.first, span.stop) for span in pieces.request.spans] == [
        (0, 3),
        (0, 2),
        (1, 3),
        (0, 1),
        (1, 2),
        (2, 3),
    ]


def test_a_plain_and_speaks_less_for_a_cut_than_a_new_question() -> None:
    """The words around a joint weigh."""
    plain = joints_of("flights to boston and cheap hotels there")[0]
    question = joints_of("flights to boston and also what does fare code qw mean")[0]

    assert question.odds > plain.odds + 2


def test_politeness_and_bare_questions_stay_with_their_task() -> None:
    """A side that asks for nothing by itself is not cut off."""
    assert joints_of("my card was declined and i want to know why") == ()
    assert joints_of("please, show me the log") == ()


def test_no_message_costs_more_than_the_bound() -> None:
    """A list of many tasks keeps the likeliest joints."""
    pieces = pieces_of("show the log and then " * 30 + "push", history=["a, b, c, d, e, f and g"])

    assert len(pieces.request.joints) == MAX_JOINTS
    assert len(pieces.request.spans) == MAX_SPANS
    assert len(pieces.texts) <= MAX_TEXTS


def test_queries_take_the_place_of_the_cut() -> None:
    """The calling model has cut the message already."""
    pieces = pieces_of(
        "commit it and relate orders to customers", queries=["commit", "create a relation", " ", "commit"]
    )

    assert pieces.texts == ("commit it and relate orders to customers", "commit", "create a relation")
    assert pieces.queries == (1, 2)
    assert pieces.request.parts == 1


def test_queries_are_bounded() -> None:
    """A model that writes a hundred queries does not buy a hundred embeddings."""
    assert len(pieces_of("many", queries=[f"query {number}" for number in range(100)]).texts) == 1 + MAX_QUERIES


def test_a_long_message_is_cut_near_its_ends() -> None:
    """What is asked stands before or behind what was pasted."""
    message = f"Show me the log. {'blah ' * 4_000}. Which tables are there?"

    pieces = pieces_of(message)

    assert pieces.request.parts == 3
    assert {"Show me the log", "Which tables are there?"} <= set(pieces.texts)


@pytest.mark.parametrize("message", ["", "  \n\t ", "...", ", and ,"])
def test_a_message_without_words_asks_for_nothing_much(message: str) -> None:
    """Nothing is cut out of nothing."""
    pieces = pieces_of(message)

    assert len(pieces.texts) <= 1
    assert pieces.request.joints == ()


@pytest.mark.parametrize(
    "message",
    [
        "and " * 50_000,
        "a, " * 50_000,
        "\n" * 100_000 + "x",
        "x" + " " * 100_000 + "y and z",
        "not a " * 30_000,
        "instead of " * 30_000,
        "word " * 50_000,
        "-" * 100_000,
        "between " * 30_000,
    ],
)
def test_a_huge_message_is_cut_in_little_time(message: str) -> None:
    """Work grows with the length of a message, not faster."""
    started = time.thread_time()

    pieces = pieces_of(message, history=[message])

    assert len(pieces.texts) <= MAX_TEXTS
    assert time.thread_time() - started < 3.0
