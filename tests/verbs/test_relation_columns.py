"""Columns of relations are found in a workspace's column information, and in live servers before it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.product import opened
from tests.support.servoy_workspace import Column, WorkspaceBuilder, bookshop
from thresher.core import InvalidInput, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.services import Services
from thresher.servoy import Dialect, datasource
from thresher.store import Database
from thresher.verbs.solutions.column_pairs import Inferred
from thresher.verbs.solutions.relation_columns import infer_columns


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings, encoder: Encoder) -> AsyncIterator[Services]:
    """Services of a fresh tenant."""
    async with opened(database, tenant, settings, encoder) as services:
        yield services


async def infer(services: Services, primary: str, foreign: str) -> Inferred:
    """What is inferred for two data sources, as people write them."""
    return await infer_columns(services, services.caller, datasource(primary), datasource(foreign))


def pairs(inferred: Inferred) -> list[tuple[str, str]]:
    """The columns."""
    return [(item.primary, item.foreign) for item in inferred.items]


async def added(services: Services, builder: WorkspaceBuilder) -> None:
    """Have a workspace known."""
    await services.solutions.add_workspace(services.caller, str(builder.root), "books")


PAIRS = {
    "a told key": ("shop/orders", "shop/customers", [("customer_id", "customer_id")]),
    "a told key, from the other side": ("shop/authors", "shop/books", [("author_id", "author_id")]),
    "what looks like a key": ("shop/reviews", "shop/books", [("book_id", "book_id")]),
    "a table in memory": ("mem:basket", "db:/shop/books", [("book_id", "book_id")]),
    "to a table in memory": ("db:/shop/books", "mem:basket", [("book_id", "book_id")]),
}


@pytest.mark.parametrize("dialect", ["classic", "json"])
@pytest.mark.parametrize(("primary", "foreign", "columns"), PAIRS.values(), ids=PAIRS.keys())
async def test_columns_are_found_without_a_server(
    services: Services, tmp_path: Path, dialect: Dialect, primary: str, foreign: str, columns: list[tuple[str, str]]
) -> None:
    """From the files alone, with a reason and evidence."""
    await added(services, bookshop(tmp_path, dialect))

    inferred = await infer(services, primary, foreign)

    assert pairs(inferred) == columns
    assert "(integer)" in inferred.reason or "(char(8))" in inferred.reason
    assert inferred.evidence
    assert inferred.question == ""


async def test_two_ways_are_asked_for(services: Services, tmp_path: Path) -> None:
    """A transfer goes from a shelf and to one."""
    await added(services, bookshop(tmp_path))

    inferred = await infer(services, "shop/transfers", "shop/shelves")

    assert inferred.items == ()
    assert {items[0].primary for items in inferred.alternatives} == {"from_shelf", "to_shelf"}
    assert "from_shelf" in inferred.question
    assert "to_shelf" in inferred.question


async def test_no_way_is_asked_for(services: Services, tmp_path: Path) -> None:
    """Publishers have nothing to do with shelves."""
    await added(services, bookshop(tmp_path))

    inferred = await infer(services, "shop/publishers", "shop/shelves")

    assert inferred.items == ()
    assert "publisher_id (integer)" in inferred.question


async def test_a_view_is_asked_for(services: Services, tmp_path: Path) -> None:
    """Nothing is known of its columns."""
    await added(services, bookshop(tmp_path))

    assert "view:totals" in (await infer(services, "view:totals", "shop/books")).question


async def test_what_is_unknown_is_refused_with_near_names(services: Services, tmp_path: Path) -> None:
    """A table, a table in memory, a server."""
    await added(services, bookshop(tmp_path))

    with pytest.raises(InvalidInput, match="no table of the server 'shop' 'ordres'") as table:
        await infer(services, "shop/ordres", "shop/books")
    with pytest.raises(InvalidInput, match="no table in memory 'baskets'") as memory:
        await infer(services, "mem:baskets", "shop/books")
    with pytest.raises(InvalidInput, match="server 'shopp'") as server:
        await infer(services, "shopp/orders", "shopp/books")

    assert "orders" in table.value.hint
    assert "basket" in memory.value.hint
    assert "shop" in server.value.hint
    assert "thresher db add shopp" in server.value.hint


async def test_the_live_server_is_asked_first(services: Services, tmp_path: Path) -> None:
    """Its keys count, those that the files tell count too, and names are spelled as the workspace has them."""
    builder = WorkspaceBuilder(tmp_path / "w")
    builder.table("crm", "firms", [Column("firm_id", key=True)])
    builder.table(
        "crm", "people", [Column("person_id", key=True), Column("employer"), Column("home", points_to="towns")]
    )
    builder.table("crm", "towns", [Column("town_id", key=True)])
    builder.project("crm")
    file = tmp_path / "crm.db"
    with sqlite3.connect(file) as link:
        link.executescript("""
            create table FIRMS (FIRM_ID integer primary key);
            create table TOWNS (TOWN_ID integer primary key);
            create table PEOPLE (
              PERSON_ID integer primary key, EMPLOYER integer references FIRMS (FIRM_ID), HOME integer);
        """)
    await services.databases.add_connection(services.caller, "crm", f"sqlite:///{file}")
    await added(services, builder)

    declared = await infer(services, "crm/people", "crm/firms")
    told = await infer(services, "crm/towns", "crm/people")

    assert pairs(declared) == [("employer", "firm_id")]
    assert pairs(told) == [("town_id", "home")]
    assert "read from: crm (sqlite)" in declared.evidence


async def test_files_stand_in_for_a_live_server_that_is_away(services: Services, tmp_path: Path) -> None:
    """And the evidence says so."""
    file = tmp_path / "gone.db"
    sqlite3.connect(file).close()
    await services.databases.add_connection(services.caller, "shop", f"sqlite:///{file}")
    await added(services, bookshop(tmp_path / "w"))

    inferred = await infer(services, "shop/orders", "shop/customers")

    assert pairs(inferred) == [("customer_id", "customer_id")]
    assert "column information of the workspace; shop: There is no table 'orders'" in inferred.evidence[-1]


async def test_what_changed_on_disk_counts_at_once(services: Services, tmp_path: Path) -> None:
    """A key that is told now, without a restart."""
    builder = bookshop(tmp_path)
    await added(services, builder)
    before = await infer(services, "shop/publishers", "shop/clerks")
    columns = [Column("clerk_id", key=True), Column("employed_by", points_to="publishers")]
    builder.table("shop", "clerks", columns)

    after = await infer(services, "shop/publishers", "shop/clerks")

    assert before.items == ()
    assert pairs(after) == [("publisher_id", "employed_by")]
