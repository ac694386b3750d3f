"""Schemas are read whole or refused, and what is found is held against the hidden keys."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from thresher.core import InvalidInput, NotFound
from thresher.evaluation import figures_of, read_database, read_schemas, try_relations, wrong_relations

SHOP: dict[str, Any] = {
    "db_id": "shop",
    "table_names_original": ["customers", "orders", "lines", "Notes"],
    "column_names_original": [
        [-1, "*"],
        [0, "id"],
        [0, "name"],
        [1, "id"],
        [1, "customer_id"],
        [2, "order_id"],
        [2, "line_no"],
        [3, "id"],
        [3, "order_id"],
        [3, "line_no"],
        [3, "written"],
    ],
    "column_types": ["text", "number", "text", *["number"] * 7, "time"],
    "primary_keys": [1, 3, [5, 6], 7],
    "foreign_keys": [[4, 1], [5, 3], [8, 5], [9, 6], [10, 1]],
}


def written(folder: Path, content: object) -> Path:
    """A file of schemas."""
    path = folder / "tables.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_file_of_schemas_is_read_with_keys_of_several_columns(tmp_path: Path) -> None:
    """Pairs that together make up a parent's key are one key; the star is not a column."""
    (schema,) = read_schemas(written(tmp_path, [SHOP]))
    notes = schema.tables[3]

    assert schema.name == "shop"
    assert [table.primary_key for table in schema.tables] == [("id",), ("id",), ("order_id", "line_no"), ("id",)]
    assert [(key.columns, key.table, key.target_columns) for key in notes.foreign_keys] == [
        (("order_id", "line_no"), "lines", ("order_id", "line_no")),
        (("written",), "customers", ("id",)),
    ]
    assert [column.family for column in notes.columns] == ["decimal", "decimal", "decimal", "datetime"]


def test_primary_keys_in_a_flat_list_are_one_key_of_their_table(tmp_path: Path) -> None:
    """As older files have them; one object is a list of one."""
    (schema,) = read_schemas(written(tmp_path, SHOP | {"primary_keys": [1, 3, 5, 6, 7]}))

    assert schema.tables[2].primary_key == ("order_id", "line_no")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "holds no schemas"),
        ("[3]", "schema 1: not a JSON object"),
        ([{"db_id": "a"}], "'table_names_original' is missing"),
        ([SHOP | {"foreign_keys": [[1, 99]]}], "there is no column 99"),
        ([SHOP | {"foreign_keys": [[0, 1]]}], "there is no column 0"),
        ([SHOP | {"foreign_keys": [7]}], "schema 1 \\(shop\\)"),
        ([SHOP | {"column_types": ["text"]}], "11 columns have 1 types"),
        ([SHOP | {"table_names_original": ["a"]}], "names a table that does not exist"),
    ],
)
def test_a_wrong_file_is_refused_with_its_schema(tmp_path: Path, content: object, problem: str) -> None:
    """And the hint shows the form."""
    with pytest.raises(InvalidInput, match=problem) as refused:
        read_schemas(written(tmp_path, content))

    assert "Spider" in (refused.value.hint or "") or "path" in (refused.value.hint or "")


def test_figures_count_what_is_right_invented_and_missed(tmp_path: Path) -> None:
    """A key that cannot be guessed is missed; wrong relations have their evidence."""
    (schema,) = read_schemas(written(tmp_path, [SHOP]))
    trial = try_relations(schema.name, schema.tables)
    figures = figures_of([trial])

    assert (figures.declared, figures.found, figures.right) == (4, 3, 3)
    assert figures.precision == 1.0
    assert figures.recall == 0.75
    assert figures.f1 == pytest.approx(6 / 7)
    assert figures.average_precision == 0.75
    assert [(one.kind, one.child, one.parent) for one in wrong_relations(trial)] == [
        ("missed", "Notes(written)", "customers(id)")
    ]


def test_figures_of_nothing_are_none() -> None:
    """Without keys and relations a figure is None, not 0."""
    figures = figures_of([try_relations("empty", ())])

    assert (figures.precision, figures.recall, figures.f1, figures.average_precision) == (None, None, None, None)


async def test_a_database_is_read_with_samples(tmp_path: Path) -> None:
    """Through its connector; the name shows no credential."""
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            "create table customers (id integer primary key);"
            "create table orders (id integer primary key, customer_id integer references customers);"
            "insert into customers values (1), (2); insert into orders values (1, 2), (2, 2);"
        )
    subject = await read_database(f"sqlite:///{path}")
    (invented,) = (one for one in try_relations(subject.name, subject.tables, subject.profiles).ranked)

    assert (invented.table, invented.target_table) == ("orders", "customers")
    assert any(one.kind == "coverage" for one in invented.evidence)


async def test_a_database_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    """Before anything is looked for."""
    (tmp_path / "empty.db").touch()

    with pytest.raises(NotFound):
        await read_database(f"sqlite:///{tmp_path / 'none.db'}")
    with pytest.raises(InvalidInput, match="no tables"):
        await read_database(f"sqlite:///{tmp_path / 'empty.db'}")
