"""How sessions are named, how statements begin, what plans cost: the small pure parts."""

from __future__ import annotations

import json

import pytest

from thresher.connectors import SessionTag
from thresher.connectors.catalog import CatalogRows, assemble
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.statements import (
    Estimate,
    check_estimate,
    cleaned,
    first_word,
    postgresql_estimate,
    session_name,
)
from thresher.core import StatementRefused


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        (SessionTag("Claude Code", "a1b2", 7), "thresher Claude_Code a1b2 #7"),
        (SessionTag("", "", 0), "thresher #0"),
        (SessionTag("x'; drop table a; --", "*/ select 1 /*", 12), "thresher x_drop_table_a_- select_1 #12"),
        (SessionTag("ключ\n\x1b[31m", "é", 1), "thresher 31m #1"),
    ],
)
def test_a_session_is_named_in_harmless_letters(tag: SessionTag, name: str) -> None:
    """Quotes, comments, control characters and other alphabets become one underline."""
    assert session_name(tag, 63) == name


@pytest.mark.parametrize("limit", [40, 63, 120])
def test_a_name_is_cut_before_its_number(limit: int) -> None:
    """However long client and thread are, the audit id stays whole."""
    name = session_name(SessionTag("c" * 500, "t" * 500, 123456789012), limit)

    assert len(name) <= limit
    assert name.endswith(" #123456789012")
    assert " ccc" in name
    assert " ttt" in name


def test_dashes_make_no_comment() -> None:
    """Two of them would begin one."""
    assert cleaned("a---b--c-d", 20) == "a-b-c-d"


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("select 1", "select"),
        ("  /* a /* nested */ -- b */ -- c\n ((VALUES (1)))", "values"),
        ("# a comment of MySQL\nshow tables", "show"),
        ("/* never closed", ""),
        ("", ""),
        ("-- only this", ""),
        ("/**/explain select 1", "explain"),
        ("1", ""),
    ],
)
def test_the_first_word_is_found_behind_comments(sql: str, word: str) -> None:
    """Blanks, comments and parentheses are passed over."""
    assert first_word(sql) == word


def test_the_dearest_step_of_a_plan_counts() -> None:
    """Rows are those of the widest step, cost that of the whole."""
    inner = {"Plan Rows": 5e12, "Plans": [{"Plan Rows": 3}]}
    plan = [{"Plan": {"Total Cost": 12.5, "Plan Rows": 1, "Plans": [inner, {}]}}]

    assert postgresql_estimate(plan) == Estimate(cost=12.5, rows=5e12)
    assert postgresql_estimate(json.dumps(plan)) == Estimate(cost=12.5, rows=5e12)
    assert postgresql_estimate(["Utility Statement"]) == Estimate()


@pytest.mark.parametrize("estimate", [Estimate(cost=1e10), Estimate(rows=1e11)])
def test_what_is_too_dear_is_refused(estimate: Estimate) -> None:
    """Either bound refuses by itself, and none refuses where it was taken away."""
    with pytest.raises(StatementRefused) as caught:
        check_estimate(estimate, ConnectorOptions())
    check_estimate(estimate, ConnectorOptions(most_cost=None, most_rows=None))
    check_estimate(Estimate(cost=1e9, rows=1e10), ConnectorOptions())

    assert caught.value.rule == "cost"


def test_a_schema_is_assembled_in_order() -> None:
    """Tables by name; a unique key equal to the primary key is not repeated; two keys to one table stay two."""
    catalog = CatalogRows(
        tables=[("s", "b", "table", None, -1), ("s", "a", "view", " c ", 7), ("r", "z", "table", "", None)],
        columns=[("s", "b", "id", "int", None, 0, None, None), ("s", "b", "x", "int", None, 1, " 0 ", "why")],
        keys=[("s", "b", "p", True, "id"), ("s", "b", "u", False, "id"), ("s", "b", "v", False, "x")],
        foreign_keys=[
            ("s", "b", "f1", "x", "s", "a", "id"),
            ("s", "b", "f2", "x", "r", "z", "k1"),
            ("s", "b", "f2", "id", "r", "z", "k2"),
        ],
    )
    schema = assemble("postgresql", "18", "s", catalog, 10)
    table = schema.tables[2]

    assert [(table.schema, table.name) for table in schema.tables] == [("r", "z"), ("s", "a"), ("s", "b")]
    assert (table.primary_key, table.unique, table.rows) == (("id",), (("x",),), None)
    assert [(key.table, key.columns, key.target_columns) for key in table.foreign_keys] == [
        ("a", ("x",), ("id",)),
        ("z", ("x", "id"), ("k1", "k2")),
    ]
    assert [(column.nullable, column.default, column.comment) for column in table.columns] == [
        (False, None, ""),
        (True, "0", "why"),
    ]
    assert assemble("postgresql", "18", "s", catalog, 1).left_out == 2
