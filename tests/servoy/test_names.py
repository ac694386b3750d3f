"""Names, UUIDs, data sources, operators."""

from __future__ import annotations

import itertools

import pytest

from thresher.core import InvalidInput
from thresher.servoy import (
    DataSource,
    Operator,
    RelationItem,
    checked_name,
    datasource,
    is_uuid,
    new_uuid,
    operator_number,
    operator_of,
)
from thresher.servoy.properties import OPERATORS


@pytest.mark.parametrize(
    "name", ["orders_to_customers", "contacts$type1", "_a", "$", "Übersicht", "x1", "form1", "data"]
)
def test_names_of_letters_digits_underscores_and_dollars_are_legal(name: str) -> None:
    """Surrounding blanks are stripped."""
    assert checked_name(f" {name}\n", "relation") == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("1st", "'1' is not allowed at its beginning"),
        ("a b", "' ' is not allowed in it"),
        ("a-b", "'-'"),
        ("a.b", "'.'"),
        ("../x", "'.'"),
        ("a/b", "'/'"),
        ("a\x00b", "'\\x00'"),
        ("e\u0301t", "not allowed"),
        ("a²", "'²' is not allowed in it"),
        ("x" * 101, "101 characters"),
        ("return", "JavaScript"),
        ("Class", "JavaScript"),
        ("foundset", "Servoy"),
        ("DatabaseManager", "Servoy"),
        ("CON", "Windows"),
        ("conin$", "Windows"),
        ("lpt1", "Windows"),
    ],
    ids=str,
)
def test_other_names_are_refused_with_what_is_legal(name: str, words: str) -> None:
    """The error says where, the hint what to do."""
    with pytest.raises(InvalidInput) as refused:
        checked_name(name, "value list")

    assert words in refused.value.message
    assert "value list" in refused.value.message
    assert refused.value.hint


def test_new_uuids_are_random_and_upper_case() -> None:
    """Version 4, as Servoy makes them."""
    made = {new_uuid() for _ in range(100)}

    assert len(made) == 100
    assert all(is_uuid(one) and one == one.upper() and one[14] == "4" for one in made)
    assert is_uuid("65d77023-6302-4140-8647-eca190188783")
    assert not is_uuid("65d77023-6302-4140-8647-eca19018878")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("crm/orders", DataSource("db", "crm", "orders", "db:/crm/orders")),
        (" db:/crm/orders ", DataSource("db", "crm", "orders", "db:/crm/orders")),
        ("db:crm/orders", DataSource("db", "crm", "orders", "db:/crm/orders")),
        ("my server/order lines", DataSource("db", "my server", "order lines", "db:/my server/order lines")),
        ("mem:basket", DataSource("mem", "", "basket", "mem:basket")),
        ("view:sales", DataSource("view", "", "sales", "view:sales")),
        ("menu:nav", DataSource("menu", "", "nav", "menu:nav")),
    ],
    ids=str,
)
def test_data_sources_are_understood_as_people_say_them(text: str, source: DataSource) -> None:
    """With and without the prefix used in files."""
    assert datasource(text) == source
    assert datasource(source.text) == source


@pytest.mark.parametrize(
    "text", ["", "orders", "db:/", "db:/crm", "crm/", "/orders", "a/b/c", "mem:", "mem:a/b", "x:y"]
)
def test_what_is_no_data_source_is_refused_with_how_to_write_one(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidInput, match="not a data source") as refused:
        datasource(text)

    assert "SERVER/TABLE" in refused.value.hint


def test_operators_and_their_modifiers_are_numbers_and_back() -> None:
    """All of them, with all modifiers."""
    for operator, *flags in itertools.product(OPERATORS, *[(False, True)] * 3):
        item = RelationItem("a", "b", operator, *flags)
        assert operator_of(operator_number(item)) == (operator, *flags)


@pytest.mark.parametrize(
    ("number", "operator", "flags"),
    [
        (0, "=", (False, False, False)),
        (4, "<=", (False, False, False)),
        (0x100 | 1, ">", (True, False, False)),
        (0x200 | 7, "like", (False, True, False)),
        (0x1000 | 5, "!=", (False, False, True)),
    ],
)
def test_numbers_of_operators_are_those_of_files(
    number: int, operator: Operator, flags: tuple[bool, bool, bool]
) -> None:
    """With Servoy's numbers."""
    assert operator_of(number) == (operator, *flags)


@pytest.mark.parametrize("number", [10, -1, 0x400, 0x2000])
def test_numbers_that_mean_no_operator_are_known(number: int) -> None:
    """They are not taken for any operator."""
    assert operator_of(number) is None
