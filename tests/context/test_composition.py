"""One budget over pieces of several kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.context.composition import ComposedContext, compose
from thresher.context.cursors import Cursors
from thresher.core import InvalidInput, Piece, dumps
from thresher.embedding import count_tokens

KINDS = ("rules", "tools")
ABOUT = {"confidence": 0.9, "timings": {"route": 1.5}, "trace_id": "0123456789abcdef"}


def piece(kind: str, name: str, text: str, value: float = 0.5) -> Piece:
    """A piece with the cost of its text and data."""
    data = {"name": name, "text": text}
    tokens = max(count_tokens(text), count_tokens(dumps(data)))
    return Piece(kind, name, text, f"{kind} of {name}" if kind == "rules" else kind, data, value, "", tokens)


def words(count: int) -> str:
    """A text of about this many tokens."""
    return " ".join(["word"] * count)


def composed(
    candidates: Sequence[Piece], budget: int, cursor: str = "", about: dict[str, Any] | None = None
) -> ComposedContext:
    """The delivered answer."""
    cursors = Cursors.of(["question"], candidates)
    return compose(cursors, cursor, budget, notes=(), about=ABOUT if about is None else about, kinds=KINDS)


@given(
    st.lists(
        st.builds(
            piece,
            st.sampled_from(["rules", "tools", "passages"]),
            st.text(st.characters(codec="utf-8"), min_size=1, max_size=12),
            st.text(st.characters(), max_size=300),
            st.floats(0, 1),
        ),
        max_size=12,
    ),
    st.integers(1, 1500),
)
def test_neither_form_is_ever_one_token_over_the_budget(candidates: list[Piece], budget: int) -> None:
    """Whatever the texts, the text and the data as JSON cost at most the budget, and `spent` is the larger."""
    try:
        answer = composed(candidates, budget)
    except InvalidInput:
        return

    costs = count_tokens(answer.text), count_tokens(dumps(answer.data))

    assert max(costs) == answer.spent <= budget
    assert answer.data["spent"] == answer.spent


@given(st.lists(st.integers(1, 400), min_size=1, max_size=20), st.integers(150, 3000))
def test_every_candidate_is_given_or_listed(sizes: list[int], budget: int) -> None:
    """Nothing is lost: a piece that was not taken is in the list, by itself or in a count."""
    candidates = [piece("tools", f"tool{number}", words(size)) for number, size in enumerate(sizes)]

    try:
        answer = composed(candidates, budget)
    except InvalidInput:
        return

    assert len(answer.pieces) + sum(entry.count for entry in answer.left_out) == len(candidates)
    assert bool(answer.next) == bool(answer.left_out)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(600, 1200))
def test_following_the_cursors_gives_everything_once(sizes: list[int], budget: int) -> None:
    """Following `next` returns each piece exactly once."""
    candidates = [piece("tools", f"tool{number}", words(size)) for number, size in enumerate(sizes)]

    given_names: list[str] = []
    cursor = ""
    while True:
        answer = composed(candidates, budget, cursor)
        given_names += [one.name for one in answer.pieces]
        cursor = answer.next
        if not cursor:
            break

    assert sorted(given_names) == sorted(one.name for one in candidates)


def test_the_cursor_of_one_piece_fetches_that_piece() -> None:
    """Each entry of the list has a cursor of its own."""
    candidates = [piece("rules", "deploy", words(900), 0.9), *(piece("tools", f"t{n}", words(20)) for n in range(3))]
    (left,) = composed(candidates, 600).left_out

    answer = composed(candidates, 2000, left.cursor)

    assert [one.name for one in answer.pieces] == ["deploy"]
    assert (left.name, left.why, answer.next) == ("deploy", "budget", "")


def test_one_of_each_kind_comes_before_the_second_of_any() -> None:
    """The rules of a second pack do not crowd out a tool."""
    candidates = [piece("rules", "a", words(200), 0.9), piece("rules", "b", words(200), 0.8), piece("tools", "t", "x")]

    answer = composed(candidates, 480)

    assert [one.name for one in answer.pieces] == ["a", "t"]


def test_a_piece_that_is_too_large_does_not_keep_smaller_ones_out() -> None:
    """Filling continues after it."""
    candidates = [piece("tools", "large", words(5000), 0.9), piece("tools", "small", words(5), 0.1)]

    answer = composed(candidates, 400)

    assert [one.name for one in answer.pieces] == ["small"]
    assert "large" in answer.text


def test_where_names_would_take_too_much_kinds_are_counted() -> None:
    """A small budget is not spent on a list of what is missing."""
    candidates = [piece("tools", f"a_tool_with_a_long_name_{number}", words(40)) for number in range(60)]

    answer = composed(candidates, 500)

    (left,) = answer.left_out
    assert (left.name, left.kind, left.count) == ("", "tools", 60 - len(answer.pieces))
    assert len(answer.pieces) >= 3


@pytest.mark.parametrize("sizes", [[10], [500, 300], [40, 41, 42, 3000]])
def test_too_small_a_budget_is_refused_with_one_that_gives_something(sizes: list[int]) -> None:
    """The budget that the hint names is large enough."""
    candidates = [piece("tools", f"t{number}", words(size)) for number, size in enumerate(sizes)]

    with pytest.raises(InvalidInput) as refused:
        composed(candidates, 20)

    enough = int(re.findall(r"\d+", refused.value.hint)[0])
    assert composed(candidates, enough).pieces
    assert refused.value.message == "A budget of 20 tokens is too small for anything."


def test_where_nothing_fits_the_message_the_answer_says_so() -> None:
    """Without candidates the answer has no pieces, and there is no error."""
    answer = composed([], 200)

    assert (answer.pieces, answer.left_out, answer.next) == ((), (), "")
    assert "nothing fits this message" in answer.text


def test_a_short_form_comes_first_and_the_whole_where_the_budget_allows() -> None:
    """Everything else comes before the full form; what is taken in full counts as given in short."""
    whole = piece("rules", "git", words(300))
    short = replace(piece("rules", "git", words(50), 0.9), whole=whole)
    tool = piece("tools", "log", words(40))

    small, middle, large = (composed([short, tool], budget) for budget in (250, 330, 1_200))

    assert small.pieces == middle.pieces == (short, tool)
    assert large.pieces == (whole, tool)
    assert [answer.left_out for answer in (small, middle, large)] == [(), (), ()]
    assert large.spent <= 1_200


def test_a_short_form_is_given_before_none() -> None:
    """A tool and the full form would not fit together, but the short form does."""
    short = replace(piece("rules", "git", words(60), 0.9), whole=piece("rules", "git", words(900)))
    others = [piece("tools", f"tool{number}", words(100)) for number in range(4)]

    answer = composed([short, *others], 500)
    rest = composed([short, *others], 2_000, cursor=answer.next)

    assert short in answer.pieces
    assert answer.left_out
    assert {one.kind for one in rest.pieces} == {"tools"}


def test_a_single_piece_that_is_larger_than_the_budget_is_named() -> None:
    """Long rules are no error: the answer says what they cost and how to get them."""
    rules = piece("rules", "deploy", words(3_000), 0.9)

    answer = composed([rules], 1_500)
    whole = composed([rules], 8_000, cursor=answer.next)

    assert (answer.pieces, [entry.name for entry in answer.left_out]) == ((), ["deploy"])
    assert "is over the budget" in answer.text
    assert [one.name for one in whole.pieces] == ["deploy"]


def test_a_large_piece_is_not_kept_out_by_the_names_of_many_small_ones() -> None:
    """What is left out is counted while the budget is filled."""
    rules = piece("rules", "deploy", words(700), 0.9)
    tools = [piece("tools", f"a_tool_with_a_long_name_{number}", words(12), 0.1) for number in range(60)]

    answer = composed([rules, *tools], 1_200)

    assert answer.pieces[0].name == "deploy"
    assert answer.spent <= 1_200
