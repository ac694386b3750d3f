"""The evaluation of contexts: the reader, what counts, the figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from thresher.core import ContextPack, InvalidInput, Piece
from thresher.evaluation import ContextCase, figures_of_context, read_context_cases
from thresher.evaluation.context import observation

SERVERS = {"git_git_log": "git:git_log", "mail_send": "mail:send"}
TOOL = Piece("tools", "git_git_log", "git_git_log(path)", "tools", {"name": "git_git_log"}, 0.9)
PASSAGE = Piece(
    "passages",
    "manual/boiler.md:1-3",
    "The valve limits\nthe pressure.",
    "passages",
    {"repository": "manual", "document": "boiler.md"},
    0.9,
)
OPERATION = Piece(
    "endpoints",
    "GET /orders",
    "GET /orders: List orders",
    "operations",
    {"method": "GET", "path": "/orders", "provider": "shop"},
    0.9,
)
SLICE = Piece(
    "schemas", "shop", "orders(id)", "schemas", {"connection": "shop", "tables": ["orders", "sales.item"]}, 0.9
)
RULES = Piece("rules", "databases", "Ask for the schema first.", "rules", {"pack": "databases"}, 0.9)


def packed(*pieces: Piece) -> ContextPack:
    """An answer with these pieces."""
    text = "\n".join(piece.text for piece in pieces)
    return ContextPack("m", {}, pieces, (), "", text, {"text": text}, 1_500, 10)


def written(folder: Path, *lines: object) -> Path:
    """A file of cases."""
    file = folder / "cases.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"needs": {}}, '"message" must be text'),
        ({"message": " ", "needs": {}}, '"message" must be text'),
        ({"message": "hi"}, '"needs" is missing'),
        ({"message": "hi", "needs": []}, '"needs" must be an object'),
        ({"message": "hi", "needs": {"tool": ["a"]}}, 'unknown kind "tool"'),
        ({"message": "hi", "needs": {"tools": "a"}}, '"needs.tools" must be a list of texts'),
        ({"message": "hi", "needs": {"tools": [""]}}, '"needs.tools" must be a list of texts'),
        ({"message": "hi", "needs": {}, "answers": ["x"]}, '"answers" needs "documents"'),
        ({"message": "hi", "needs": {"documents": ["a"]}, "answers": [1]}, '"answers" must be a list of texts'),
    ],
)
def test_a_wrong_case_is_named_with_its_line(tmp_path: Path, line: object, said: str) -> None:
    """And the hint shows the format."""
    file = written(tmp_path, {"message": "fine", "needs": {}}, line)

    with pytest.raises(InvalidInput) as refused:
        read_context_cases(file)

    assert "line 2" in refused.value.message
    assert said in refused.value.message
    assert '"needs"' in refused.value.hint


def test_a_file_without_messages_is_refused(tmp_path: Path) -> None:
    """Blank lines are none."""
    file = tmp_path / "blank.jsonl"
    file.write_text("\n \n", encoding="utf-8")

    with pytest.raises(InvalidInput, match="holds no messages"):
        read_context_cases(file)


@pytest.mark.parametrize(
    "needs",
    [
        {"tools": ["git:git_log"]},
        {"tools": ["git_log"]},
        {"tools": ["git_git_log"]},
        {"documents": ["manual/boiler.md"]},
        {"documents": ["boiler.md"]},
        {"endpoints": ["get /orders"]},
        {"endpoints": ["shop: GET /orders"]},
        {"tables": ["orders"]},
        {"tables": ["shop.orders", "item", "shop.sales.item"]},
        {"intents": ["databases"]},
    ],
)
def test_each_way_to_name_a_need_is_known(needs: dict[str, Sequence[str]]) -> None:
    """In any case of letters; what is not needed is counted as waste."""
    case = ContextCase("m", {kind: tuple(names) for kind, names in needs.items()})

    met = observation(case, packed(TOOL, PASSAGE, OPERATION, SLICE, RULES), SERVERS)
    lacking = observation(case, packed(), SERVERS)

    assert met.missing == ()
    assert 0 < met.wasted < met.tokens
    assert len(lacking.missing) == sum(map(len, needs.values()))


def test_an_answer_must_stand_in_the_text() -> None:
    """White space aside; the right document alone is not enough."""
    case = ContextCase("m", {"documents": ("boiler.md",)}, answers=("valve limits the pressure",))
    other = ContextCase("m", {"documents": ("boiler.md",)}, answers=("3 bar",))

    assert observation(case, packed(PASSAGE), SERVERS).missing == ()
    assert observation(other, packed(PASSAGE), SERVERS).missing == ("answers: 3 bar",)


def test_what_is_acceptable_and_rules_of_what_is_needed_are_no_waste() -> None:
    """Neither is required."""
    case = ContextCase("m", {"tables": ("orders",)}, {"tools": ("git:git_log",)})

    seen = observation(case, packed(TOOL, SLICE, RULES), SERVERS)

    assert (seen.missing, seen.wasted) == ((), 0)


def test_figures_tell_messages_that_need_something_from_others() -> None:
    """Shares have intervals, and a figure without data is None."""
    needing, empty = ContextCase("m", {"tools": ("git_log",)}), ContextCase("hi", {})
    asked = [
        observation(needing, packed(TOOL), SERVERS),
        observation(needing, packed(), SERVERS),
        observation(empty, packed(), SERVERS),
        observation(empty, packed(PASSAGE), SERVERS),
    ]

    figures = figures_of_context(asked, 1_500, ["line 1: tools: gone"])
    nothing = figures_of_context([], 1_500)

    assert (figures.messages, figures.complete, figures.answerable_lost) == (2, 0.5, 0.5)
    assert (figures.nothing_needed, figures.nothing_given, figures.budget_violations) == (2, 0.5, 0)
    assert figures.complete_by_kind == {"tools": 0.5}
    assert figures.complete_interval is not None
    assert 0 < figures.complete_interval[0] < 0.5 < figures.complete_interval[1] < 1
    assert figures.wasted_tokens is not None
    assert 0 < figures.wasted_tokens < 1
    assert (nothing.complete, nothing.wasted_tokens, nothing.nothing_given) == (None, None, None)
