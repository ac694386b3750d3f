"""An unknown name comes with the one that was probably meant."""

from __future__ import annotations

import pytest

from thresher.connectors import Column, Schema, Table
from thresher.knowledge.databases.catalog import NOTHING_KNOWN, Catalog, snapshot_of
from thresher.knowledge.databases.statements import suggest


def catalog(dialect: str) -> Catalog:
    """Two tables, one with capitals."""
    columns = tuple(Column(name, "text", "text", nullable=True) for name in ("CustomerId", "city", "name"))
    tables = (Table("", "Customer", "table", columns), Table("", "invoice", "table", columns[1:2]))
    return Catalog.of(snapshot_of(Schema(dialect, "1", "", tables), None), NOTHING_KNOWN, 1)


@pytest.mark.parametrize(
    ("dialect", "message", "offer"),
    [
        ("postgresql", 'column "customerid" does not exist', '"CustomerId"'),
        ("postgresql", "column c.custmerid does not exist", '"CustomerId"'),
        ("postgresql", 'relation "customer" does not exist', '"Customer"'),
        ("postgresql", 'relation "public.invoices" does not exist', "invoice"),
        ("sqlite", "no such column: custmer_id", "CustomerId"),
        ("sqlite", "no such column: c.nam", "name"),
        ("sqlite", "no such table: invoces", "invoice"),
        ("mariadb", "Unknown column 'c.citty' in 'field list'", "city"),
        ("mysql", "Table 'shop.custmer' doesn't exist", "Customer"),
        ("duckdb", 'Referenced column "citi" not found in FROM clause!', "city"),
        ("oracle", '"C"."CITTY": invalid identifier', '"city"'),
        ("oracle", 'table or view "SHOP"."INVOICES" does not exist', '"invoice"'),
        ("mssql", "Invalid column name 'citty'.", "city"),
        ("mssql", "Invalid object name 'dbo.invoic'.", "invoice"),
    ],
)
def test_the_near_name_is_offered(dialect: str, message: str, offer: str) -> None:
    """In the form in which a statement of that dialect has to write it."""
    said = suggest(message, catalog(dialect), ["customer"])

    assert "Did you mean" in said
    assert offer in said


@pytest.mark.parametrize(
    "message",
    [
        "division by zero",
        'column "zzzzzzzz" does not exist',
        'column "citi" does not exist. Perhaps you meant to reference the column "c.city".',
        'column "' + "x" * 100_000 + '" does not exist',
        "",
    ],
)
def test_nothing_is_offered_where_nothing_is_near(message: str) -> None:
    """The same if the database's message has a suggestion."""
    assert suggest(message, catalog("postgresql"), ["customer"]) == ""


def test_a_column_of_another_table_is_told() -> None:
    """The name is right, the table is not."""
    assert "Customer" in suggest("no such column: name", catalog("sqlite"), ["invoice"])
