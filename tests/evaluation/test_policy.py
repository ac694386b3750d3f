"""The deterministic model behaves like a good one, and uses its prompt only."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluation.test_chat_figures import answer, offered, said, user
from tests.fakes.policy import Policy
from thresher.agent.prompts import fill_text
from thresher.evaluation import Script, ScriptedCall, ScriptedTurn

QUERY = ScriptedCall("sql_query", {"connection": "shop", "sql": "select 1"})
SEARCH = ScriptedCall("search_documents")
TURNS = (
    ScriptedTurn("How does the pump stop?", ((SEARCH,),)),
    ScriptedTurn("What and how many?", ((SEARCH, QUERY), (ScriptedCall("read_result"),)), "Two [1]."),
    ScriptedTurn("Thanks", ()),
    ScriptedTurn("Count twice", ((QUERY,), (QUERY,))),
)
TOOLS = [offered(name) for name in ("search_documents", "sql_query", "read_result")]
ASKED, BOTH, THANKS, TWICE = (user(turn.user) for turn in TURNS)
CURSOR = "7.120.000000"


def asked(*messages: dict[str, Any], tools: list[dict[str, Any]] = TOOLS) -> str | list[tuple[str, dict[str, Any]]]:
    """What the model says or calls."""
    told = Policy([Script("all", TURNS)])({"messages": list(messages), "tools": tools})
    return list(told.calls) or told.text


def placed(text: str) -> dict[str, Any]:
    """Passages as they follow the user's message."""
    return user(fill_text("Passages:\n\n{{CONTEXT}}\n\nAnswer from these.", {"CONTEXT": text}))


def test_it_searches_where_no_passages_are_shown() -> None:
    """And where it may."""
    assert asked(ASKED) == [("search_documents", {"query": "How does the pump stop?"})]
    assert "nothing that I have" in str(asked(ASKED, tools=[]))


def test_it_answers_from_passages_and_cites_them() -> None:
    """Behind the message, or as a tool's answer."""
    assert str(asked(ASKED, placed("[1] pumps.md, lines 1-3\nThe valve."))).endswith("[1].")
    assert "[1]" in asked(ASKED, said("", ("1", "search_documents")), answer("1", "[1] pumps.md\nThe valve."))


def test_passages_of_an_earlier_turn_do_not_do() -> None:
    """It searches again."""
    former = (ASKED, said("", ("1", "search_documents")), answer("1", "[1] pumps.md\nThe valve."), said("So [1]."))

    assert asked(*former, BOTH) == [
        ("search_documents", {"query": "What and how many?"}),
        ("sql_query", QUERY.arguments),
    ]


def test_what_is_called_at_once_is_waited_for_and_the_next_step_follows() -> None:
    """The cursor is the last one that was shown."""
    calls = said("", ("1", "sql_query"))

    assert asked(BOTH, placed("[1] pumps.md")) == [("sql_query", QUERY.arguments)]
    after = (BOTH, calls, answer("1", f"[Go on with read_result, cursor {CURSOR}]"), placed("[1] pumps.md"))
    assert asked(*after) == [("read_result", {"cursor": CURSOR})]
    assert asked(BOTH, calls, answer("1"), said("", ("2", "read_result")), answer("2"), placed("[1] a")) == "Two [1]."


def test_one_call_twice_is_made_twice() -> None:
    """And again after rules in place of an answer."""
    once = (TWICE, said("", ("1", "sql_query")), answer("1"))

    assert asked(*once) == [("sql_query", QUERY.arguments)]
    assert asked(*once, said("", ("2", "sql_query")), answer("2", "Not run yet. Read")) == [
        ("sql_query", QUERY.arguments)
    ]
    assert "done" in asked(*once, said("", ("2", "sql_query")), answer("2"))


def test_what_needs_nothing_calls_nothing() -> None:
    """Nor what no script names."""
    assert isinstance(asked(THANKS), str)
    assert asked(user("Never heard")) == "You said: Never heard"


@pytest.mark.parametrize(
    ("text", "values", "says"),
    [
        (
            "Answer `n: yes` or `n: no`.\n\n{{QUESTION}}\n\n{{PASSAGES}}",
            {"QUESTION": "How does the pump stop?", "PASSAGES": "[1] a.md: The pump.\n\n[2] b.md: Bread and\nbutter."},
            "1: yes\n2: no",
        ),
        ("{{HISTORY}}\n\n{{QUESTION}}", {"HISTORY": "User: x", "QUESTION": "And the valve?"}, "And the valve?"),
        ("{{QUESTION}}\n\n{{TABLES}}", {"QUESTION": "?", "TABLES": "orders: all\nitems\nothers"}, "orders\nitems"),
    ],
    ids=["grade", "rephrase", "tables"],
)
def test_it_answers_what_the_product_asks_for_itself(text: str, values: dict[str, str], says: str) -> None:
    """By the names of what is filled in, whatever the words of the prompt."""
    assert asked(user(fill_text(text, values)), tools=[]) == says


def test_two_turns_that_say_the_same_must_want_the_same() -> None:
    """Else the model could not tell them apart."""
    with pytest.raises(ValueError, match="same"):
        Policy([Script("a", (ScriptedTurn("x", ()), ScriptedTurn("x", ((SEARCH,),))))])


def test_it_may_take_every_passage_for_relevant() -> None:
    """So that a prompt has as many as a search has found."""
    text = fill_text(
        "{{QUESTION}}\n\n{{PASSAGES}}", {"QUESTION": "Why?", "PASSAGES": "[1] a.md: Bread.\n\n[2] b.md: Milk."}
    )

    assert Policy([], keeps_all=True)({"messages": [user(text)]}).text == "1: yes\n2: yes"
