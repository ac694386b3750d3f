"""Reading workspaces: solutions, modules, objects, tables, and what of them cannot be read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.servoy_workspace import WorkspaceBuilder, bookshop, made_uuid
from thresher.core import BrokenFile, Conflict, InvalidInput, NotFound
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.models import UnreadableFile
from thresher.knowledge.solutions.servoy_workspace.workspace import ServoyWorkspace
from thresher.knowledge.solutions.workspace import FileChange, StoredObject
from thresher.servoy import Dialect, Relation, RelationItem, ValueList, read_document

MARKERS = b"""items:[
<<<<<<< HEAD
],
=======
]
>>>>>>> theirs
"""
CALCULATION = """/**
 * @properties={{type:12,typeid:36,uuid:"{uuid}"}}
 */
function {name}() {{ return 1; }}
"""
VARIABLE = """/**
 * @type {{String}}
 *
 * @properties={{typeid:35,uuid:"{uuid}"}}
 */
var {name} = '';
"""


@pytest.fixture(params=["classic", "json"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """Both ways of writing files."""
    return request.param


@pytest.fixture
def builder(tmp_path: Path, dialect: Dialect) -> WorkspaceBuilder:
    """The bookshop."""
    return bookshop(tmp_path / "shop", dialect)


@pytest.fixture
def workspace(builder: WorkspaceBuilder) -> ServoyWorkspace:
    """The bookshop, read."""
    return ServoyWorkspace(builder.root)


def found(workspace: ServoyWorkspace, name: str, kind: Any = "relation") -> StoredObject:
    """The one object of a name."""
    (stored,) = workspace.find(kind, name, [project.name for project in workspace.projects()])
    return stored


def test_projects_are_the_solutions_and_modules(workspace: ServoyWorkspace, dialect: Dialect) -> None:
    """With kinds, modules, missing modules, and counts."""
    projects = {project.name: project for project in workspace.projects()}

    assert list(projects) == ["backoffice", "bookshop", "shop_data", "shop_screens"]
    assert {project.dialect for project in projects.values()} == {dialect}
    assert (projects["bookshop"].kind, projects["bookshop"].module) == ("NG client solution", False)
    assert (projects["shop_data"].kind, projects["shop_data"].module) == ("module", True)
    assert projects["backoffice"].missing == ("reports",)
    assert (projects["shop_data"].relations, projects["shop_data"].value_lists) == (4, 4)
    assert projects["shop_screens"].forms == 2


def test_modules_that_use_each_other_are_followed_once(workspace: ServoyWorkspace) -> None:
    """Each appears once, without the project itself and missing ones."""
    assert workspace.modules("bookshop") == ("shop_data", "shop_screens")
    assert workspace.modules("shop_data") == ("shop_screens",)
    assert workspace.modules("backoffice") == ("shop_data", "shop_screens")


def test_objects_come_by_project_and_name(workspace: ServoyWorkspace) -> None:
    """With the bytes of their files."""
    stored, broken = workspace.objects("relation", ["shop_data", "bookshop"])

    assert broken == ()
    assert [(one.project, one.record.name) for one in stored][:3] == [
        ("bookshop", "books$wanted"),
        ("shop_data", "authors_to_books$in_print"),
        ("shop_data", "order_lines_to_books"),
    ]
    assert all((workspace.root / one.path).read_bytes() == one.data for one in stored)


def test_a_file_is_read_again_when_it_changed(workspace: ServoyWorkspace, builder: WorkspaceBuilder) -> None:
    """Also right after it was written, or when a file appears or disappears."""
    before = found(workspace, "orders_to_customers").record
    changed = replace(before, comment="Whose order")
    assert isinstance(changed, Relation)
    builder.relation("shop_data", changed)
    after = found(workspace, "orders_to_customers").record
    (builder.root / "shop_data/relations/orders_to_customers.rel").unlink()

    assert after == changed
    assert workspace.find("relation", "orders_to_customers", ["shop_data"]) == ()


def test_a_file_that_did_not_change_is_read_once(workspace: ServoyWorkspace, builder: WorkspaceBuilder) -> None:
    """An old file with the same stamp gives the same record, which makes long lists fast."""
    for file in (builder.root / "shop_data/relations").iterdir():
        os.utime(file, (1, 1))
    first, _ = workspace.objects("relation", ["shop_data"])
    second, _ = workspace.objects("relation", ["shop_data"])

    assert all(one.record is other.record for one, other in zip(first, second, strict=True))


def test_a_file_with_conflict_markers_is_reported_with_its_place(
    workspace: ServoyWorkspace, builder: WorkspaceBuilder
) -> None:
    """The others are read; it is not changed, and nothing is created in its place."""
    path = "shop_data/relations/torn.rel"
    builder.write(path, MARKERS)
    stored, broken = workspace.objects("relation", ["shop_data"])

    assert len(stored) == 4
    assert [(one.path, one.line, one.column) for one in broken] == [(path, 2, 1)]
    assert "conflict markers" in broken[0].message
    with pytest.raises(BrokenFile, match=f"{path}:2:1"):
        workspace.find("relation", "torn", ["shop_data"])
    with pytest.raises(Conflict, match=path):
        workspace.created("shop_data", Relation("torn", "db:/shop/books", "db:/shop/authors"))
    assert (builder.root / path).read_bytes() == MARKERS


@pytest.mark.parametrize("data", [b"\xff\xfe", b"items:[", b"\0\0\0", b"", b"name:1"], ids=repr)
def test_an_invalid_file_is_reported(workspace: ServoyWorkspace, builder: WorkspaceBuilder, data: bytes) -> None:
    """Whatever its content."""
    builder.write("shop_data/valuelists/torn.val", data)
    stored, broken = workspace.objects("value list", ["shop_data"])

    assert len(stored) == 4
    assert [one.path for one in broken] == ["shop_data/valuelists/torn.val"]


def test_a_project_with_broken_metadata_is_listed_and_reported(
    workspace: ServoyWorkspace, builder: WorkspaceBuilder
) -> None:
    """Its objects are read, but nothing is created in it, since its dialect is unknown."""
    builder.write("shop_data/rootmetadata.obj", MARKERS)
    projects = {project.name: project.kind for project in workspace.projects()}

    assert projects["shop_data"] == "unreadable"
    assert [one.path for one in workspace.problems()] == ["shop_data/rootmetadata.obj"]
    assert len(workspace.objects("relation", ["shop_data"])[0]) == 4
    with pytest.raises(BrokenFile, match=r"shop_data/rootmetadata\.obj"):
        workspace.created("shop_data", Relation("fresh", "db:/shop/books", "db:/shop/authors"))


@pytest.mark.parametrize("what", ["file", "folder", "project"])
def test_links_out_of_the_workspace_are_reported_and_not_followed(tmp_path: Path, what: str) -> None:
    """Nothing of their targets is shown."""
    builder = bookshop(tmp_path / "shop")
    other = bookshop(tmp_path / "other").root
    path = {"file": "shop_data/relations/far.rel", "folder": "shop_screens/relations", "project": "far"}[what]
    target = {"file": "shop_data/relations/orders_to_customers.rel", "folder": "shop_data/relations"}.get(
        what, "bookshop"
    )
    (builder.root / path).symlink_to(other / target)
    workspace = ServoyWorkspace(builder.root)
    names = [project.name for project in workspace.projects()]
    stored, broken = workspace.objects("relation", names)

    assert names == ["backoffice", "bookshop", "shop_data", "shop_screens"]
    assert len(stored) == 5
    reported: list[UnreadableFile] = [*broken, *workspace.problems()]
    assert [(one.path, "leads out of the workspace" in one.message) for one in reported] == [(path, True)]


def test_a_link_inside_of_the_workspace_is_followed(tmp_path: Path) -> None:
    """Its target belongs to the workspace."""
    builder = bookshop(tmp_path / "shop")
    (builder.root / "shop_screens/relations").symlink_to("../shop_data/relations")

    assert len(ServoyWorkspace(builder.root).objects("relation", ["shop_screens"])[0]) == 4


def test_circles_of_links_are_reported(tmp_path: Path) -> None:
    """They are reported as dead."""
    builder = bookshop(tmp_path / "shop")
    (builder.root / "shop_data/relations/round.rel").symlink_to("round.rel")
    (builder.root / "shop_data/forms").mkdir()
    (builder.root / "shop_data/forms/all").symlink_to("..")
    workspace = ServoyWorkspace(builder.root)

    assert [one.path for one in workspace.objects("relation", ["shop_data"])[1]] == ["shop_data/relations/round.rel"]
    assert workspace.references(found(workspace, "order_lines_to_books"))


def test_tables_are_read_from_column_information(workspace: ServoyWorkspace) -> None:
    """Of each server, and in-memory tables."""
    tables, broken = workspace.tables()
    named = {(table.server, table.name): table for table in tables}

    assert broken == ()
    assert workspace.servers() == ("notes_db", "shop")
    assert [column.name for column in named["shop", "books"].columns][:2] == ["book_id", "author_id"]
    assert named["shop", "orders"].columns[1].foreign_type == "customers"
    assert named["", "basket"].columns[0].identifies
    assert {table.name for table in workspace.tables("notes_db")[0]} == {"notes"}
    assert workspace.tables("none") == ((), ())
    assert workspace.server_folder("shop") == workspace.root / "resources/datasources/shop"


def test_a_server_without_column_information_is_named(workspace: ServoyWorkspace) -> None:
    """With a similar one."""
    with pytest.raises(NotFound) as caught:
        workspace.server_folder("shopp")

    assert "shop" in caught.value.hint


def test_a_broken_table_is_reported_beside_the_others(workspace: ServoyWorkspace, builder: WorkspaceBuilder) -> None:
    """Its file is named."""
    builder.write("resources/datasources/shop/books.dbi", b"columns:[")
    tables, broken = workspace.tables("shop")

    assert len(tables) == 9
    assert [one.path for one in broken] == ["resources/datasources/shop/books.dbi"]


def test_declarations_in_scripts_are_read(workspace: ServoyWorkspace, builder: WorkspaceBuilder) -> None:
    """Global methods, global variables, and calculations of tables."""
    builder.write("bookshop/basket.js", VARIABLE.format(name="filled", uuid=made_uuid("filled")))
    calculation = CALCULATION.format(name="full_title", uuid=made_uuid("full_title"))
    builder.write("shop_data/datasources/shop/books_calculations.js", calculation)
    builder.write("bookshop/datasources/mem/basket_calculations.js", calculation)

    assert ("bookshop", "scopes.globals.years", made_uuid("bookshop", "globals", "years")) in workspace.methods(
        ["bookshop"]
    )
    assert workspace.variables(["bookshop"]) == (("bookshop", "scopes.basket.filled", made_uuid("filled")),)
    assert workspace.calculations("shop", "books") == workspace.calculations("", "basket") == ("full_title",)
    assert workspace.calculations("shop", "orders") == ()


def test_a_new_relation_is_written_in_the_dialect_of_its_project(
    workspace: ServoyWorkspace, builder: WorkspaceBuilder, tmp_path: Path, dialect: Dialect
) -> None:
    """Into a folder that need not exist, with new UUIDs; undo removes the folder."""
    items = (RelationItem("book_id", "book_id"),)
    relation = Relation("reviews_to_books", "db:/shop/reviews", "db:/shop/books", items)
    change = workspace.created("backoffice", relation)
    storage = Storage(tmp_path / "data")
    done = storage.apply(workspace.root, "create", [change])
    stored = found(workspace, "reviews_to_books")
    again = read_document(stored.data)
    storage.undo(workspace.root, done.id)

    assert change.path == "backoffice/relations/reviews_to_books.rel"
    assert again.dialect == dialect
    assert again.rendered() == stored.data
    assert isinstance(stored.record, Relation)
    assert len(stored.record.uuid) == len(stored.record.items[0].uuid) == 36
    assert not (builder.root / "backoffice/relations").exists()


def test_a_new_value_list_is_written_in_the_dialect_of_its_project(
    workspace: ServoyWorkspace, dialect: Dialect
) -> None:
    """Like a relation."""
    change = workspace.created("backoffice", ValueList("cities", "table", datasource="db:/shop/customers"))

    assert change.path == "backoffice/valuelists/cities.val"
    assert read_document(change.after or b"").dialect == dialect


@pytest.mark.parametrize("name", ["2nd", "a-b", "class", "", "../up", "a/b"])
def test_an_invalid_name_makes_no_file(workspace: ServoyWorkspace, name: str) -> None:
    """Neither a new nor a renamed one."""
    stored = found(workspace, "orders_to_customers")

    with pytest.raises(InvalidInput):
        workspace.created("bookshop", Relation(name, "db:/shop/books", "db:/shop/authors"))
    with pytest.raises(InvalidInput):
        workspace.renamed(stored, name, ())


@pytest.mark.parametrize("name", ["order_lines_to_books", "Order_Lines_To_Books"])
def test_a_taken_file_name_makes_no_file(workspace: ServoyWorkspace, name: str) -> None:
    """Also if only the case differs: a checkout on another system would lose one of the two."""
    stored = found(workspace, "orders_to_customers")

    with pytest.raises(Conflict, match=r"order_lines_to_books\.rel"):
        workspace.created("shop_data", Relation(name, "db:/shop/books", "db:/shop/authors"))
    with pytest.raises(Conflict, match=r"order_lines_to_books\.rel"):
        workspace.renamed(stored, name, ())


def test_a_missing_project_is_named(workspace: ServoyWorkspace) -> None:
    """With a similar one."""
    with pytest.raises(NotFound) as caught:
        workspace.created("bokshop", Relation("fresh", "db:/shop/books", "db:/shop/authors"))

    assert "bookshop" in caught.value.hint


def test_a_change_touches_only_its_lines(workspace: ServoyWorkspace) -> None:
    """An unknown property stays where it is."""
    stored = found(workspace, "orders_to_order_lines")
    assert isinstance(stored.record, Relation)
    change = workspace.changed(stored, replace(stored.record, initial_sort="line_no desc"))
    before, after = stored.data.split(b"\n"), (change.after or b"").split(b"\n")

    assert [new.strip() for old, new in zip(before, after, strict=True) if old != new] in (
        [b'initialSort:"line_no desc",'],
        [b'"initialSort":"line_no desc",'],
    )


def test_a_workspace_needs_a_folder(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(NotFound, match="nowhere"):
        ServoyWorkspace(tmp_path / "nowhere")


def test_five_thousand_relations_are_listed_found_and_deleted(tmp_path: Path) -> None:
    """All at once, and back again."""
    builder = WorkspaceBuilder(tmp_path / "large")
    builder.project("large")
    text = (
        'foreignDataSource:"db:/shop/b",\nname:"r{0}",\nprimaryDataSource:"db:/shop/a",\ntypeid:22,\n'
        'uuid:"00000000-0000-4000-8000-{0:012}"'
    )
    for number in range(5000):
        builder.write(f"large/relations/r{number}.rel", text.format(number))
    builder.form("large", "main", [{"dataProviderID": "r4711.title"}])
    workspace, storage = ServoyWorkspace(builder.root), Storage(tmp_path / "data")
    stored, broken = workspace.objects("relation", ["large"])
    references = workspace.references(workspace.find("relation", "r4711", ["large"])[0])
    deleted = storage.apply(workspace.root, "delete all", [_deleted(one) for one in stored])
    left = workspace.projects()[0].relations
    storage.undo(workspace.root, deleted.id)

    assert (len(stored), broken, left, workspace.projects()[0].relations) == (5000, (), 0, 5000)
    assert [one.place.path for one in references] == ["large/forms/main.frm"]
    assert workspace.objects("relation", ["large"])[0] == stored


def _deleted(stored: StoredObject) -> FileChange:
    return FileChange(stored.path, stored.data, None)
