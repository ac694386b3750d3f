"""Tables as a workspace's files describe them: types, keys, and a connection without a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.servoy_workspace import CHAR, INTEGER, TEXT, Column, WorkspaceBuilder, bookshop
from thresher.connectors import (
    COLUMN_INFO,
    Caps,
    ForeignKey,
    Profiles,
    SessionTag,
    folder_url,
    open_connector,
    read_address,
    tables_of,
)
from thresher.connectors.column_info import type_of
from thresher.core import DatabaseUnavailable, InvalidInput, NotFound
from thresher.servoy import ColumnFacts, Dialect, TableFacts

TAG = SessionTag("desk", "chat", 1)


def column(name: str, to: str = "", flags: int = 0, data_type: int = INTEGER, **more: object) -> ColumnFacts:
    """A column's facts."""
    return ColumnFacts(name, data_type, flags=flags, foreign_type=to, **more)  # type: ignore[arg-type]


def keys(*facts: TableFacts) -> dict[str, tuple[ForeignKey, ...]]:
    """The keys of some tables, by table."""
    return {table.name: table.foreign_keys for table in tables_of(facts) if table.foreign_keys}


@pytest.mark.parametrize(
    ("facts", "written", "family"),
    [
        (column("a", data_type=12, length=40), "varchar(40)", "text"),
        (column("a", data_type=12, length=2_147_483_647), "varchar", "text"),
        (column("a", data_type=1, length=5), "char(5)", "text"),
        (column("a", data_type=2, length=10, scale=2), "numeric(10,2)", "decimal"),
        (column("a", data_type=4), "integer", "integer"),
        (column("a", data_type=8), "double", "float"),
        (column("a", data_type=93), "timestamp", "datetime"),
        (column("a", data_type=-7), "bit", "boolean"),
        (column("a", data_type=2000, flags=36), "uuid", "uuid"),
        (column("a", data_type=-4, flags=36), "longvarbinary of a uuid", "uuid"),
        (column("a", data_type=4711), "type 4711", "other"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_type_is_named_with_its_length(facts: ColumnFacts, written: str, family: str) -> None:
    """Numbers of `java.sql.Types` become names; what is unbounded has no length."""
    assert type_of(facts) == (written, family)


def test_a_told_key_points_to_the_only_key_column() -> None:
    """Files name the table alone, in whatever case."""
    orders = TableFacts("s", "orders", (column("id", flags=1), column("buyer", to="Customers")))
    customers = TableFacts("s", "customers", (column("customer_id", flags=1), column("name", data_type=TEXT)))

    assert keys(orders, customers) == {"orders": (ForeignKey("", ("buyer",), "", "customers", ("customer_id",)),)}


def test_columns_that_hold_a_whole_key_are_one_key() -> None:
    """A table whose key has several columns is pointed to by their names, in the order of its key."""
    lines = TableFacts("s", "lines", (column("order_id", flags=1), column("line_no", flags=1)))
    notes = TableFacts("s", "notes", (column("line_no", to="lines"), column("order_id", to="lines")))

    assert keys(lines, notes) == {
        "notes": (ForeignKey("", ("order_id", "line_no"), "", "lines", ("order_id", "line_no")),)
    }


def test_two_columns_to_one_table_are_two_keys() -> None:
    """Each of them is a way of its own."""
    shelves = TableFacts("s", "shelves", (column("shelf_id", flags=1),))
    moves = TableFacts("s", "moves", (column("from_shelf", to="shelves"), column("to_shelf", to="shelves")))

    assert [key.columns for key in keys(shelves, moves)["moves"]] == [("from_shelf",), ("to_shelf",)]


def test_what_nothing_says_is_no_key() -> None:
    """A table that is not there, one whose key has no such column, and a column that would point to itself."""
    lines = TableFacts("s", "lines", (column("order_id", flags=1), column("line_no", flags=1)))
    odd = TableFacts("s", "odd", (column("id", flags=1, to="odd"), column("a", to="gone"), column("line", to="lines")))

    assert keys(lines, odd) == {}


@pytest.mark.parametrize("dialect", ["classic", "json"])
async def test_a_folder_is_read_as_a_schema(tmp_path: Path, dialect: Dialect) -> None:
    """Tables, columns, lengths, keys and comments, in both dialects of the files."""
    bookshop(tmp_path, dialect)
    connector = open_connector(folder_url(tmp_path / "resources/datasources/shop"))

    schema = await connector.reflect()
    named = {table.name: table for table in schema.tables}
    customers, books = named["customers"], named["books"]

    assert (schema.dialect, schema.version, schema.default_schema) == (COLUMN_INFO, "column information", "")
    assert [one.name for one in schema.tables] == sorted(named)
    assert customers.primary_key == ("customer_id",)
    assert (customers.columns[0].type, customers.columns[0].nullable, customers.columns[0].length) == (
        "char(8)",
        False,
        8,
    )
    assert [(key.columns, key.table, key.target_columns) for key in books.foreign_keys] == [
        (("author_id",), "authors", ("author_id",)),
        (("publisher_id",), "publishers", ("publisher_id",)),
    ]
    assert [one.comment for one in books.columns if one.name == "title"] == ["Title"]
    await connector.close()


async def test_a_file_that_cannot_be_read_is_named_and_spoils_no_other(tmp_path: Path) -> None:
    """The version and the test of the connection say which, and where."""
    builder = WorkspaceBuilder(tmp_path)
    builder.table("s", "good", [Column("id", key=True)])
    builder.write("resources/datasources/s/torn.dbi", "columns:[\n<<<<<<< HEAD\n")
    builder.write("resources/datasources/s/notes.txt", "no table")
    connector = open_connector(folder_url(tmp_path / "resources/datasources/s"))

    schema = await connector.reflect()

    assert [table.name for table in schema.tables] == ["good"]
    assert "torn.dbi, line 2" in schema.version
    assert "torn.dbi" in (await connector.test()).problem


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A workspace from elsewhere cannot have other files read."""
    builder = WorkspaceBuilder(tmp_path / "w")
    file = builder.table("s", "good", [Column("id", key=True)])
    outside = WorkspaceBuilder(tmp_path / "other").table("s", "secret", [Column("id", key=True)])
    (file.parent / "secret.dbi").symlink_to(outside)

    schema = await open_connector(folder_url(file.parent)).reflect()

    assert [table.name for table in schema.tables] == ["good"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
async def test_a_folder_that_became_a_link_out_of_its_workspace_is_not_followed(tmp_path: Path) -> None:
    """Neither where the connection is open nor where it is opened again; a link that stays inside is."""
    builder = WorkspaceBuilder(tmp_path / "w")
    folder = builder.table("s", "good", [Column("id", key=True)]).parent
    inside = builder.table("t", "other", [Column("id", key=True)]).parent
    outside = WorkspaceBuilder(tmp_path / "w2").table("s", "secret", [Column("id", key=True)]).parent
    connector = open_connector(folder_url(folder))
    folder.rename(tmp_path / "kept")
    folder.symlink_to(outside)

    for each in (connector, open_connector(folder_url(folder))):
        with pytest.raises(DatabaseUnavailable, match="leads out of its workspace"):
            await each.reflect()
        with pytest.raises(DatabaseUnavailable, match="leads out of its workspace"):
            await each.stamp()
        assert "leads out of its workspace" in (await each.test()).problem
    folder.unlink()
    folder.symlink_to(inside)

    assert [table.name for table in (await connector.reflect()).tables] == ["other"]


async def test_the_stamp_changes_with_the_files(tmp_path: Path) -> None:
    """It changes with added, changed and removed tables, and with no other files."""
    builder = WorkspaceBuilder(tmp_path)
    file = builder.table("s", "a", [Column("id", key=True)])
    connector = open_connector(folder_url(file.parent))

    first = await connector.stamp()
    builder.write("resources/datasources/s/notes.txt", "no table")
    same = await connector.stamp()
    builder.table("s", "b", [Column("id", key=True)])
    more = await connector.stamp()
    os.utime(file, ns=(1, 1))
    changed = await connector.stamp()

    assert first == same
    assert len({first, more, changed}) == 3


async def test_no_statement_runs_and_the_way_out_is_told(tmp_path: Path) -> None:
    """There is no server; the error explains how to name one."""
    file = WorkspaceBuilder(tmp_path).table("crm", "a", [Column("id", key=True), Column("code", CHAR)])
    connector = open_connector(folder_url(file.parent))

    with pytest.raises(DatabaseUnavailable, match="no live server") as run:
        await connector.run("select 1", TAG, Caps())
    with pytest.raises(DatabaseUnavailable, match="no live server"):
        await connector.explain("select 1", TAG, 1)
    with pytest.raises(DatabaseUnavailable, match="no live server"):
        await connector.sessions(TAG)
    health = await connector.test()

    assert run.value.hint == "Add the live server under the same name: thresher db add crm --url URL"
    assert (health.ok, health.database) == (False, "crm")
    assert health.problem.startswith("Column information of 1 table only: no live server.")
    assert await connector.profiles(await connector.reflect(), [("", "a", "id")], 1) == Profiles()


async def test_a_folder_that_goes_is_away(tmp_path: Path) -> None:
    """Like a server that does not answer."""
    file = WorkspaceBuilder(tmp_path).table("s", "a", [Column("id", key=True)])
    connector = open_connector(folder_url(file.parent))
    file.unlink()
    file.parent.rmdir()

    with pytest.raises(DatabaseUnavailable, match="cannot be read"):
        await connector.stamp()
    assert "cannot be read" in (await connector.test()).problem
    with pytest.raises(NotFound):
        open_connector(folder_url(file.parent))


def test_an_address_says_any_folder(tmp_path: Path) -> None:
    """Blanks and signs are encoded; the location shows them as they are."""
    folder = tmp_path / "a b?c@d%20#"

    address = read_address(folder_url(folder))

    assert address.file == folder
    assert address.location == f"servoy:///{folder}"


def test_a_path_that_no_address_can_hold_is_refused(tmp_path: Path) -> None:
    """Control characters would change what a list of connections shows."""
    with pytest.raises(InvalidInput, match="control characters"):
        folder_url(tmp_path / "a\nb")
