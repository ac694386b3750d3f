"""Connections that a workspace provides: there while no live server is, and gone with the workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.knowledge_databases.conftest import url
from tests.support.servoy_workspace import Column, WorkspaceBuilder, bookshop
from thresher.core import Caller, Conflict, DatabaseUnavailable, NotAllowed, NotFound
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.databases.provisioning import chosen
from thresher.services import Services


def folders(builder: WorkspaceBuilder, *servers: str) -> dict[str, Path]:
    """The folders of some servers' column information."""
    return {server: builder.root / "resources/datasources" / server for server in servers}


async def names(service: DatabaseService, caller: Caller) -> dict[str, str]:
    """Connections that a caller sees, each with its dialect."""
    return {one.name: one.dialect for one in await service.list_connections(caller)}


async def test_a_schema_is_known_without_a_server(service: DatabaseService, caller: Caller, tmp_path: Path) -> None:
    """All questions to a schema are answered from the files."""
    given = await service.provide(caller, "books", folders(bookshop(tmp_path), "shop", "notes_db"))

    answer = await service.query_database_schema(caller, "shop")
    columns = await service.get_table_columns(caller, "shop", "Orders")
    tables = await service.list_tables(caller, "shop", "order")
    relations = await service.find_relations(caller, "shop")
    await service.settle()
    found = await service.search_schema(caller, "which table holds what readers thought of a book")
    connection = await service.connection(caller, "shop")

    assert given == {"shop": "shop", "notes_db": "notes_db"}
    assert answer.dialect == "servoy"
    assert "no live server" in answer.content
    assert {(table, key.columns, key.table) for table, key in answer.foreign_keys} >= {
        ("orders", ("customer_id",), "customers"),
        ("transfers", ("from_shelf",), "shelves"),
    }
    assert [one.name for one in columns.columns] == ["order_id", "customer_id", "clerk_id", "ordered_at"]
    assert {one.name for one in tables.tables} == {"orders", "order_lines"}
    assert {(one.table, one.columns, one.target_table) for one in relations.potential} == {
        ("reviews", ("book_id",), "books"),
        ("reviews", ("customer_id",), "customers"),
    }
    assert "reviews" in [one.table.name for one in found.tables]
    assert (connection.workspace, connection.live, connection.tables) == ("books", False, 10)


async def test_a_statement_says_how_to_get_a_server(
    service: DatabaseService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Nothing could run it; the audit log has it all the same."""
    await service.provide(caller, "books", folders(bookshop(tmp_path), "shop"))

    with pytest.raises(DatabaseUnavailable, match="no live server") as query:
        await service.query(caller, "shop", "select * from orders")
    with pytest.raises(DatabaseUnavailable, match="no live server"):
        await service.explain(caller, "shop", "select * from orders")
    with pytest.raises(DatabaseUnavailable, match="no live server"):
        await service.session_info(caller, "shop")
    with pytest.raises(DatabaseUnavailable, match="no live server"):
        await service.connector_url(caller, "shop")
    health = await service.test_connection(caller, "shop")
    page = await services.audit.entries(caller, limit=5, cursor="")

    assert "thresher db add shop --url URL" in query.value.hint
    assert (health.ok, "no live server" in health.problem) == (False, True)
    assert [(one.attempt.sql, one.attempt.allowed, one.attempt.rule) for one in page.entries] == [
        ("select * from orders", False, "no_server"),
        ("select * from orders", False, "no_server"),
    ]


async def test_a_live_server_is_preferred(service: DatabaseService, caller: Caller, tmp_path: Path, shop: Path) -> None:
    """A connection that a user added under the server's name is not changed."""
    await service.add_connection(caller, "shop", url(shop))

    given = await service.provide(caller, "books", folders(bookshop(tmp_path), "shop"))
    standing = await service.server_connection(caller, "books", "shop")

    assert given == {"shop": "shop"}
    assert await names(service, caller) == {"shop": "sqlite"}
    assert standing is not None
    assert standing.live


async def test_a_live_server_replaces_what_was_provided_and_gives_it_back(
    service: DatabaseService, caller: Caller, tmp_path: Path, shop: Path
) -> None:
    """Adding it needs no `replace`; once it is removed the files count again."""
    given = folders(bookshop(tmp_path), "shop")
    await service.provide(caller, "books", given)
    before = await service.query_database_schema(caller, "shop")

    added = await service.add_connection(caller, "shop", url(shop))
    live = await service.query_database_schema(caller, "shop")
    await service.provide(caller, "books", given)
    kept = await names(service, caller)
    await service.remove_connection(caller, "shop")
    gone = await names(service, caller)
    await service.provide(caller, "books", given)
    after = await service.query_database_schema(caller, "shop")

    assert (added.workspace, added.dialect) == (None, "sqlite")
    assert live.shown == ("customer", "order", "order_line", "product")
    assert (kept, gone) == ({"shop": "sqlite"}, {})
    assert after.shown == before.shown


async def test_the_tenants_live_server_hides_what_a_user_was_provided(
    service: DatabaseService, caller: Caller, tmp_path: Path, shop: Path
) -> None:
    """It is visible without a refresh of the workspace."""
    user = Caller(caller.tenant, "ann")
    await service.provide(user, "books", folders(bookshop(tmp_path), "shop"))
    await service.add_connection(caller, "shop", url(shop))

    seen = await names(service, user)
    given = await service.provide(user, "books", folders(bookshop(tmp_path), "shop"))

    assert seen == {"shop": "sqlite"}
    assert given == {"shop": "shop"}
    assert await names(service, user) == {"shop": "sqlite"}


async def test_two_workspaces_with_one_server_have_their_own(
    service: DatabaseService, caller: Caller, tmp_path: Path
) -> None:
    """The second one's is called with the workspace's name before it."""
    first, second = WorkspaceBuilder(tmp_path / "a"), WorkspaceBuilder(tmp_path / "b")
    first.table("crm", "people", [Column("id", key=True)])
    second.table("crm", "firms", [Column("id", key=True)])

    one = await service.provide(caller, "one", folders(first, "crm"))
    two = await service.provide(caller, "two", folders(second, "crm"))
    standing = await service.server_connection(caller, "two", "crm")
    again = await service.provide(caller, "one", folders(first, "crm"))
    shown = (await service.query_database_schema(caller, "two.crm")).shown

    assert (one, two, again) == ({"crm": "crm"}, {"crm": "two.crm"}, {"crm": "crm"})
    assert standing is not None
    assert standing.name == "two.crm"
    assert shown == ("firms",)


async def test_a_workspace_that_goes_takes_its_connections(
    service: DatabaseService, caller: Caller, tmp_path: Path, shop: Path
) -> None:
    """And no others; a server that goes takes its own."""
    builder = bookshop(tmp_path)
    await service.add_connection(caller, "own", url(shop))
    await service.provide(caller, "books", folders(builder, "shop", "notes_db"))

    await service.provide(caller, "books", folders(builder, "notes_db"))
    fewer = await names(service, caller)
    await service.provide(caller, "books", {})

    assert fewer == {"own": "sqlite", "notes_db": "servoy"}
    assert await names(service, caller) == {"own": "sqlite"}
    with pytest.raises(NotFound):
        await service.query_database_schema(caller, "notes_db")


async def test_a_provided_connection_is_not_removed_by_hand(
    service: DatabaseService, caller: Caller, tmp_path: Path, shop: Path
) -> None:
    """It is removed with its workspace, and the error says so."""
    await service.provide(caller, "books", folders(bookshop(tmp_path), "shop"))

    with pytest.raises(NotAllowed, match="workspace 'books'") as refused:
        await service.remove_connection(caller, "shop")

    assert "thresher solutions remove books" in refused.value.hint


async def test_what_somebody_added_is_not_replaced(service: DatabaseService, caller: Caller, shop: Path) -> None:
    """A live connection still needs `replace`."""
    await service.add_connection(caller, "shop", url(shop))

    with pytest.raises(Conflict):
        await service.add_connection(caller, "shop", f"{url(shop)}.other")


async def test_changed_files_are_seen_at_the_next_question(
    service: DatabaseService, caller: Caller, tmp_path: Path
) -> None:
    """A column and a table that come, without a restart and without a refresh."""
    builder = WorkspaceBuilder(tmp_path)
    builder.table("crm", "people", [Column("person_id", key=True)])
    await service.provide(caller, "crm", folders(builder, "crm"))
    before = await service.get_table_columns(caller, "crm", "people")

    builder.table("crm", "people", [Column("person_id", key=True), Column("firm_id")])
    builder.table("crm", "firms", [Column("firm_id", key=True)])
    after = await service.get_table_columns(caller, "crm", "people")
    relations = await service.find_relations(caller, "crm")

    assert [one.name for one in before.columns] == ["person_id"]
    assert [one.name for one in after.columns] == ["person_id", "firm_id"]
    assert [(one.table, one.target_table) for one in relations.potential] == [("people", "firms")]


async def test_files_that_went_leave_the_last_schema(service: DatabaseService, caller: Caller, tmp_path: Path) -> None:
    """As with an unavailable server, and the answer says so."""
    builder = WorkspaceBuilder(tmp_path)
    file = builder.table("crm", "people", [Column("person_id", key=True)])
    await service.provide(caller, "crm", folders(builder, "crm"))
    await service.query_database_schema(caller, "crm")
    file.unlink()
    file.parent.rmdir()

    await service.query_database_schema(caller, "crm")
    answer = await service.query_database_schema(caller, "crm")

    assert answer.shown == ("people",)
    assert "could not be read again" in answer.notes[0]


def test_names_are_made_fit_and_told_apart() -> None:
    """Servers may be called as no connection can be; two that would be called alike are numbered."""
    names_, mine = chosen({}, (), "My Work", ["a b", "a-b", "_x", "ü", "a+b"])

    assert names_ == {"_x": "x", "a b": "a-b", "a+b": "My-Work.a-b", "a-b": "My-Work.a-b-2", "ü": "ü"}
    assert mine == {name: server for server, name in names_.items()}


async def test_workspaces_that_provide_at_once_do_not_meet(
    service: DatabaseService, caller: Caller, tmp_path: Path
) -> None:
    """Each has one connection for its server, in any order."""
    builders = {name: WorkspaceBuilder(tmp_path / name) for name in ("one", "two", "three")}
    for builder in builders.values():
        builder.table("crm", "people", [Column("id", key=True)])

    twice = [*builders.items(), *builders.items()]
    calls = [service.provide(caller, name, folders(builder, "crm")) for name, builder in twice]
    await asyncio.gather(*calls)
    connections = await service.list_connections(caller)

    assert sorted(str(one.workspace) for one in connections) == ["one", "three", "two"]
    assert {one.name for one in connections} >= {"crm"}


async def test_a_workspace_that_moves_takes_its_connection_along(
    service: DatabaseService, caller: Caller, tmp_path: Path
) -> None:
    """The same name reads the new folder."""
    first, second = WorkspaceBuilder(tmp_path / "a"), WorkspaceBuilder(tmp_path / "b")
    first.table("crm", "people", [Column("id", key=True)])
    second.table("crm", "firms", [Column("id", key=True)])
    await service.provide(caller, "w", folders(first, "crm"))
    before = (await service.query_database_schema(caller, "crm")).shown

    await service.provide(caller, "w", folders(second, "crm"))
    after = (await service.query_database_schema(caller, "crm")).shown

    assert (before, after) == (("people",), ("firms",))
