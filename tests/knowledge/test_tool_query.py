"""What `find_tools` accepts."""

from __future__ import annotations

from typing import Any

import pytest

from thresher.core import InvalidInput
from thresher.knowledge.tools.finder import MAX_MESSAGE_CHARACTERS, MAX_QUERY_CHARACTERS, tool_query
from thresher.search import MAX_QUERIES


def asked(
    queries: Any = None,
    message: str | None = None,
    history: Any = (),
    limit: int | None = None,
    threshold: Any = None,
    budget: int = 300,
) -> Any:
    """A request with the usual other arguments."""
    return tool_query(queries, message, history, budget, limit, threshold)


def test_queries_are_taken_one_by_one_and_a_message_may_be_split() -> None:
    """The caller's own phrases are not split."""
    assert asked(queries=["a b", " a b ", "", "c"]).texts == ("a b", "c")
    assert asked(queries="just one").texts == ("just one",)
    assert not asked(queries=["a"]).split
    assert asked(message="find it and send it").split


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"queries": [], "message": ""},
        {"queries": ["  "]},
        {"queries": ["x"] * 1 + [str(n) for n in range(MAX_QUERIES)]},
        {"queries": ["x" * (MAX_QUERY_CHARACTERS + 1)]},
        {"message": " \n"},
        {"message": "x" * (MAX_MESSAGE_CHARACTERS + 1)},
        {"message": "x", "limit": 0},
        {"message": "x", "budget": 49},
        {"message": "x", "budget": 4_001},
        {"message": "x", "threshold": 1.1},
        {"message": "x", "threshold": float("nan")},
    ],
)
def test_what_is_out_of_bounds_is_refused_with_a_reason(arguments: dict[str, Any]) -> None:
    """Nothing is embedded before the bounds are checked."""
    with pytest.raises(InvalidInput) as refused:
        asked(**arguments)

    assert refused.value.message


def test_what_is_empty_counts_as_not_given() -> None:
    """Clients in strict mode send every argument."""
    assert asked(queries=[], message="x").texts == ("x",)
    assert asked(queries=["x"], message="").texts == ("x",)


def test_queries_are_searched_and_the_message_lends_them_context() -> None:
    """A model that gives both wrote the queries for the message."""
    both = asked(queries=["convert time"], message="When is it noon in Tokyo?")

    assert (both.texts, both.message, both.split) == (("convert time",), "When is it noon in Tokyo?", False)


def test_a_limit_above_the_cap_is_refused() -> None:
    """With the same message for every kind; nothing is lowered silently."""
    with pytest.raises(InvalidInput, match="limit is 51; it must be 1 to 50"):
        asked(message="x", limit=51)


def test_history_helps_only_a_message_that_is_too_short() -> None:
    """`and in Berlin?` says nothing alone; a whole sentence does."""
    history = ["What is the weather in Paris?", "What is the forecast for tomorrow in Rome?"]

    short = asked(message="and Berlin?", history=history)
    long = asked(message="send an email to the whole team", history=history)

    assert short.texts == ("What is the forecast for tomorrow in Rome? and Berlin?",)
    assert long.texts == ("send an email to the whole team",)
