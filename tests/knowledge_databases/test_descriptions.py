"""Schemas of any size and with any names inside a budget."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from tests.knowledge_databases.conftest import url, write
from thresher.connectors import Column, ForeignKey, Schema, Table
from thresher.core import Caller, InvalidInput, NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.databases.catalog import (
    NOTHING_KNOWN,
    Catalog,
    digest_of,
    packed,
    packed_relations,
    snapshot_of,
    unpacked,
    unpacked_relations,
)
from thresher.knowledge.databases.descriptions import groups_of, overview, sliced, with_partners

ODD = "a\nnote: obey\x1b[31m \u202eme, `x` " + "\N{GRINNING FACE}" * 3 + "\ud800"

WIDE = ", ".join(f"field_{n} text" for n in range(30))


def schema(tables: int, *, columns: int = 6, names: str = "area{0}_thing{1}") -> Schema:
    """Tables in areas, each with a key to the first one of its area."""
    made: list[Table] = []
    for number in range(tables):
        area, thing = divmod(number, 40)
        name = names.format(area, thing)
        parent = names.format(area, 0)
        others = tuple(Column(f"field_{n}", "character varying(20)", "text", nullable=True) for n in range(columns))
        keys = (ForeignKey("", ("parent_id",), "main", parent, ("id",)),)
        id_columns = (Column("id", "integer", "integer", False), Column("parent_id", "integer", "integer", True))
        made.append(Table("main", name, "table", (*id_columns, *others), ("id",), foreign_keys=keys if thing else ()))
    return Schema("postgresql", "16.2", "main", tuple(made))


@cache
def sized(tables: int) -> Catalog:
    """The catalog of so many tables."""
    return catalog(schema(tables))


def catalog(of: Schema) -> Catalog:
    """The catalog of a schema in which nothing else is known to relate."""
    return Catalog.of(snapshot_of(of, None), NOTHING_KNOWN, 1)


@pytest.mark.parametrize("tables", [0, 1, 30, 300, 10_000])
@pytest.mark.parametrize("budget", [200, 1_000, 4_000])
def test_an_overview_never_costs_more_than_its_budget(tables: int, budget: int) -> None:
    """Exactly counted; what is left out is said."""
    shown = overview(sized(tables), ["head"], budget)

    assert count_tokens(shown.content) <= budget
    assert bool(shown.left_out) == (len(shown.shown) < tables or "only key columns" in shown.content)


def test_the_fullest_form_that_fits_is_taken() -> None:
    """With types, else with keys, else the tables that most others point to, and names or groups."""
    small, middle, large, huge = (overview(sized(n), ["head"], 4_000).content for n in (20, 100, 400, 4_000))

    assert "field_3 varchar(20)" in small
    assert "field_3" not in middle
    assert "area1_thing3(id PK, parent_id -> area1_thing0, +6)" in middle
    assert "most referenced tables" in large
    assert "area9_thing39" in large
    assert "area" in huge
    assert "area9_thing39" not in huge


def test_names_are_grouped_by_their_first_words() -> None:
    """In any naming style; names that share no first word form one group."""
    names = ["inv_head", "inv_line", "INV_TAX", "OrderHead", "OrderLine", "OrderTax", "x", "1"]

    assert groups_of(names) == [
        ("inv", ["inv_head", "inv_line", "INV_TAX"]),
        ("order", ["OrderHead", "OrderLine", "OrderTax"]),
        ("", ["1", "x"]),
    ]


def test_what_a_name_holds_stays_on_its_line() -> None:
    """Names and comments are other people's words: none begins a line of ours."""
    column = Column(ODD, ODD, "text", nullable=True, default=ODD, comment=ODD)
    table = Table(ODD, ODD, "table", (column,) * 3, (ODD,), ((ODD,),), comment=ODD)
    odd = catalog(Schema("postgresql", "1", "main", (table,)))

    whole = overview(odd, ["head"], 4_000).content
    part = sliced(odd, [table], ["head"], 4_000).content

    for content in (whole, part):
        assert not any(line.startswith("note:") for line in content.splitlines())
        assert "\x1b" not in content
        assert "\u202e" not in content


def test_a_slice_joins_what_was_found() -> None:
    """The table between two that fit comes along, with the conditions as a statement writes them."""
    known = schema(40)
    wanted = [known.tables[3], known.tables[7]]

    part = sliced(catalog(known), wanted, ["head"], 1_000)

    assert {"area0_thing0", "area0_thing3", "area0_thing7"} <= {table.name for table in part.shown}
    assert "area0_thing3.parent_id = area0_thing0.id" in part.content


def test_what_was_packed_comes_back() -> None:
    """Equal, with the same numbers, and the digest does not hang on the order of tables."""
    known = schema(50)
    mixed = Schema(*(known.dialect, known.version, "main"), tuple(random.Random(1).sample(known.tables, 50)))
    snapshot = snapshot_of(known, None)

    later = snapshot_of(schema(60), snapshot)

    assert unpacked(packed(snapshot)) == snapshot
    assert unpacked_relations(packed_relations(NOTHING_KNOWN)) == NOTHING_KNOWN
    assert digest_of(known) == digest_of(mixed)
    assert digest_of(known) != digest_of(schema(51))
    assert all(later.numbers[key] == number for key, number in snapshot.numbers.items())


@pytest.mark.parametrize(
    "written", ["Area0_thing3", '"area0_thing3"', "main.area0_thing3", " area0_thing3 ", '"main"."area0_thing3"']
)
def test_a_table_is_found_however_it_is_written(written: str) -> None:
    """With its schema or without, quoted, in another case."""
    assert catalog(schema(40)).table(written).name == "area0_thing3"


@pytest.mark.parametrize("written", ["", "nothing", "a.b.c.d", '"', "x" * 10_000, "area0_thing3; drop table x", "\0"])
def test_an_unknown_table_is_an_error_with_a_hint(written: str) -> None:
    """Near names, or where to look."""
    with pytest.raises(NotFound) as error:
        catalog(schema(40)).table(written)

    assert error.value.hint
    assert len(str(error.value)) < 600


async def test_what_was_left_out_comes_with_the_cursor(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Page by page, every table once."""
    write(shop, ";".join(f"create table wide_{n:02} (id integer, {WIDE})" for n in range(12)))
    await service.add_connection(caller, "shop", url(shop))
    answer = await service.query_database_schema(caller, "shop", budget=200)
    seen: list[str] = []

    cursor = answer.cursor
    for _ in range(20):
        if cursor is None:
            break
        page = await service.query_database_schema(caller, "shop", budget=200, cursor=cursor)
        assert page.token_count <= 200
        seen += page.shown
        cursor = page.cursor

    assert answer.left_out
    assert seen == ["customer", "order", "order_line", "product", *(f"wide_{n:02}" for n in range(12))]


async def test_arguments_out_of_bounds_are_refused(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """With what to write instead."""
    await service.add_connection(caller, "shop", url(shop))
    wrong = (
        {"budget": 10},
        {"budget": 10**9},
        {"table": " "},
        {"table": "order", "question": "why"},
        {"question": "x" * 30_000},
        {"cursor": "12"},
        {"cursor": "٣" * 9},
    )

    for arguments in wrong:
        with pytest.raises(InvalidInput) as error:
            await service.query_database_schema(caller, "shop", **arguments)  # pyright: ignore[reportArgumentType] - as a client may
        assert error.value.hint


async def test_tables_are_listed_and_searched_by_words(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """Names first, then columns; in pages."""
    await service.add_connection(caller, "shop", url(shop))

    first = await service.list_tables(caller, "shop", limit=3)
    second = await service.list_tables(caller, "shop", limit=3, cursor=first.cursor)
    found = await service.list_tables(caller, "shop", "ORDER")
    columns = await service.list_tables(caller, "shop", "price")

    assert [one.name for one in (*first.tables, *second.tables)] == ["customer", "order", "order_line", "product"]
    assert first.total == 4
    assert second.cursor is None
    assert [one.name for one in found.tables] == ["order", "order_line"]
    assert [one.name for one in columns.tables] == ["product"]
    with pytest.raises(NotFound):
        await service.list_tables(caller, "shop", schema="nowhere")


async def test_a_question_finds_tables_without_their_names(
    service: DatabaseService, caller: Caller, shop: Path
) -> None:
    """By what columns and neighbours mean."""
    await service.add_connection(caller, "shop", url(shop))
    await service.refresh_schema(caller, "shop")

    found = await service.search_schema(caller, "people who buy from us")
    part = await service.query_database_schema(caller, "shop", question="what did people from Bonn buy?", budget=600)

    assert found.tables[0].table.name == "customer"
    assert {"customer", "order", "order_line"} <= set(part.shown)
    assert "order_line.order_id = " in part.content
    assert part.token_count <= 600


def test_views_come_after_tables_but_for_one_that_is_called_by_its_name() -> None:
    """What a view shows is read from tables, unless the view itself is meant."""
    columns = (Column("id", "integer", "integer", False),)
    view, table = Table("main", "Sales_by_shop", "view", columns), Table("main", "sale", "table", columns)
    found = [(view, 0.9), (table, 0.5)]
    known = catalog(Schema("sqlite", "3", "main", (view, table)))

    assert with_partners(known, found, "sales by shop") == [table, view]
    assert with_partners(known, found, "all of sales_by_shop?") == [view, table]
