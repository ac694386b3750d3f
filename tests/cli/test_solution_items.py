"""Pairs of columns as they are typed."""

from __future__ import annotations

from types import ModuleType
from typing import Any, get_args

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from thresher import servoy
from thresher.cli.knowledge.solutions import items_of
from thresher.verbs.solutions import relations, value_lists, workspaces

OPERATORS = ("=", ">", "<", ">=", "<=", "!=", "in", "like", "not in", "not like")


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("customer_id=id", {"primary": "customer_id", "foreign": "id", "operator": "="}),
        ("  total  >=  least ", {"primary": "total", "foreign": "least", "operator": ">="}),
        ("name not  like title", {"primary": "name", "foreign": "title", "operator": "not like"}),
        ("inner=likes", {"primary": "inner", "foreign": "likes", "operator": "="}),
        ("LITERAL:a=b = kind", {"primary": "LITERAL:a=b", "foreign": "kind", "operator": "="}),
        ("LITERAL:x<y>z != kind", {"primary": "LITERAL:x<y>z", "foreign": "kind", "operator": "!="}),
        ("scopes.user.id = owner_id", {"primary": "scopes.user.id", "foreign": "owner_id", "operator": "="}),
        ("a = b [or null]", {"primary": "a", "foreign": "b", "operator": "=", "or_null": True}),
        (
            "a like b [ignore case, remove when null]",
            {"primary": "a", "foreign": "b", "operator": "like", "ignore_case": True, "remove_when_null": True},
        ),
        ('{"primary": "a b", "foreign": "c", "operator": "in"}', {"primary": "a b", "foreign": "c", "operator": "in"}),
    ],
    ids=[
        "plain",
        "spaced",
        "words",
        "words in names",
        "sign in text",
        "signs in text",
        "variable",
        "null",
        "two",
        "json",
    ],
)
def test_a_pair_is_read_as_it_is_typed(text: str, item: dict[str, Any]) -> None:
    """The last operator divides, so that a text on the left may hold any sign."""
    assert items_of([text]) == [item]


@given(
    left=st.from_regex(r"[A-Za-z_$][\w$]{0,12}", fullmatch=True),
    operator=st.sampled_from(OPERATORS),
    right=st.from_regex(r"[A-Za-z_$][\w$]{0,12}", fullmatch=True),
)
def test_every_operator_divides_any_names(left: str, operator: str, right: str) -> None:
    """Also names that begin or end like an operator."""
    assert items_of([f"{left} {operator} {right}"]) == [{"primary": left, "foreign": right, "operator": operator}]


@pytest.mark.parametrize("text", ["", "a", "a =", "= b", "a == b c", "a = b [sometimes]", "{", "a b"])
def test_a_text_that_is_not_a_pair_is_refused(text: str) -> None:
    """The message shows what is valid."""
    with pytest.raises(typer.BadParameter):
        items_of([text])


@pytest.mark.parametrize("texts", [None, []], ids=["none", "empty"])
def test_no_pair_is_not_the_same_as_no_pairs(texts: list[str] | None) -> None:
    """Nothing is said, so nothing is changed."""
    assert items_of(texts) is None


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("JoinType", relations),
        ("Operator", relations),
        ("Encapsulation", workspaces),
        ("ValueType", value_lists),
    ],
)
def test_options_take_the_words_of_the_format(name: str, module: ModuleType) -> None:
    """They are written twice, since `--help` does without the format."""
    assert get_args(getattr(module, name)) == get_args(getattr(servoy, name))
