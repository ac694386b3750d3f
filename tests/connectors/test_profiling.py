"""Statements that look at samples: every engine's words, bounded, small tables first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlglot

from thresher.connectors import Column, Family, Schema, Table
from thresher.connectors.profiling import SAMPLE, VALUES, probes, profile, values_sql

GRAMMARS = {
    "postgresql": "postgres",
    "mysql": "mysql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
    "oracle": "oracle",
    "mssql": "tsql",
}


def table(name: str, rows: int | None = None, **families: Family) -> Table:
    """A table whose first column is its key."""
    columns = tuple(Column(column, family, family, True) for column, family in families.items())
    return Table("s", name, "table", columns, primary_key=(columns[0].name,), rows=rows)


def schema_of(*tables: Table) -> Schema:
    """A schema with them."""
    return Schema("postgresql", "1", "s", tables)


def wanted(schema: Schema) -> list[tuple[str, str, str]]:
    """All columns."""
    return [(one.schema, one.name, column.name) for one in schema.tables for column in one.columns]


@pytest.mark.parametrize("dialect", GRAMMARS)
def test_statements_are_of_their_engine(dialect: str) -> None:
    """Its quotes and its way to limit; a sample, whatever the table's size."""
    odd = table('odd "]` name', id="integer", flag="boolean", doc="json", born="date")
    schema = schema_of(odd)

    statements = [probe.sql for probe in probes(dialect, schema, wanted(schema))]
    statements += [values_sql(dialect, odd, odd.columns[0])]

    for statement in statements:
        assert sqlglot.parse_one(statement, read=GRAMMARS[dialect])
        assert str(SAMPLE) in statement
    assert str(VALUES + 1) in statements[-1]
    assert "doc" not in statements[0]


def test_small_tables_come_first_and_views_never() -> None:
    """If time runs out, the largest tables are missing."""
    view = Table("s", "v", "view", (Column("id", "integer", "integer", True),))
    schema = schema_of(
        table("unknown", None, id="integer"), table("big", 9, id="integer"), table("small", 1, id="integer"), view
    )

    order = [probe.table.name for probe in probes("postgresql", schema, wanted(schema))]

    assert order == ["small", "big", "unknown"]


def test_wide_tables_are_asked_in_parts() -> None:
    """Some engines bound what they sort."""
    schema = schema_of(table("wide", 1, **{f"c{number}": "integer" for number in range(45)}))

    parts = [len(probe.columns) for probe in probes("postgresql", schema, wanted(schema))]

    assert parts == [20, 20, 5]


def test_what_fails_is_left_out_and_what_is_known_stays() -> None:
    """A table that cannot be read is absent; values that cannot be read are None."""
    schema = schema_of(table("bad", 1, id="integer"), table("good", 2, id="integer"))

    def ask(sql: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        assert seconds > 0
        return None if "bad" in sql or "DISTINCT" in sql.split("(")[0] else [(3, 2, 2, 1, 9)]

    found = profile("postgresql", schema, wanted(schema), ask, 10.0)

    assert set(found.columns) == {("s", "good", "id")}
    one = found.columns["s", "good", "id"]
    assert (one.count, one.nulls, one.distinct, one.low, one.high, one.values) == (3, 1, 2, 1, 9, None)
    assert found.rows == {("s", "good"): 3}


def test_values_beyond_the_sample_are_not_all() -> None:
    """Complete means that every row and every value was seen."""
    schema = schema_of(table("t", 50_000, id="integer"))

    def ask(sql: str, seconds: float) -> Sequence[Sequence[Any]]:
        del seconds
        return (
            [(number,) for number in range(VALUES + 1)] if "COUNT" not in sql else [(SAMPLE, SAMPLE, SAMPLE, 1, 50_000)]
        )

    found = profile("postgresql", schema, wanted(schema), ask, 10.0)

    one = found.columns["s", "t", "id"]
    assert (len(one.values or ()), one.complete, found.rows) == (VALUES, False, {("s", "t"): 50_000})


def test_what_is_kept_does_not_grow_with_the_values() -> None:
    """Long values are left out; and so are all of further columns when enough is kept."""
    names = [f"c{number}" for number in range(60)]
    schema = schema_of(table("t", 3, **dict.fromkeys(names, "text")), table("u", 4, long="text"))
    many = [(f"{number:0200}",) for number in range(VALUES)]

    def ask(sql: str, seconds: float) -> Sequence[Sequence[Any]]:
        del seconds
        if "COUNT" in sql:
            return [(3, *(3, 3, "a", "b") * 60)]
        return [("short",), ("x" * 1_000_000,)] if '"long"' in sql else many

    found = profile("postgresql", schema, wanted(schema), ask, 60.0)

    values = [one.values for one in found.columns.values()]
    assert sum(len(text) for some in values for text in some or ()) < 30_000_000
    assert len(found.columns) == 61
    assert found.columns["s", "u", "long"].values is None


def test_a_long_value_is_not_kept() -> None:
    """The others are, and it is known that they are not all."""
    schema = schema_of(table("t", 3, long="text"))

    def ask(sql: str, seconds: float) -> Sequence[Sequence[Any]]:
        del seconds
        return [(2, 2, 2, "a", "b")] if "COUNT" in sql else [("short",), ("x" * 1_000_000,)]

    one = profile("postgresql", schema, wanted(schema), ask, 60.0).columns["s", "t", "long"]

    assert (one.values, one.complete) == (frozenset({"short"}), False)


def test_no_time_is_no_statement() -> None:
    """Nothing is asked when the time is up."""
    schema = schema_of(table("t", 1, id="integer"))

    def ask(sql: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        raise AssertionError(sql)

    assert profile("postgresql", schema, wanted(schema), ask, 0.0).columns == {}
