"""References to a relation or value list: which are certain, and which renaming rewrites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.servoy_workspace import WorkspaceBuilder, bookshop, made_uuid
from thresher.core import BrokenFile
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.models import Reference
from thresher.knowledge.solutions.servoy_workspace.workspace import ServoyWorkspace
from thresher.knowledge.solutions.workspace import StoredObject
from thresher.servoy import Dialect, Relation, RelationItem, ValueList

NAME = "orders_to_customers"


@pytest.fixture(params=["classic", "json"])
def builder(tmp_path: Path, request: pytest.FixtureRequest) -> WorkspaceBuilder:
    """The bookshop in both dialects."""
    dialect: Dialect = request.param
    return bookshop(tmp_path / "shop", dialect)


@pytest.fixture
def classic(tmp_path: Path) -> WorkspaceBuilder:
    """The bookshop in one dialect, where the dialect makes no difference."""
    return bookshop(tmp_path / "shop")


def stored(workspace: ServoyWorkspace, name: str, kind: Any = "relation", project: str = "shop_data") -> StoredObject:
    """An object of the workspace."""
    return workspace.find(kind, name, [project])[0]


def places(root: Path, name: str = NAME, kind: Any = "relation") -> list[tuple[str, str, bool]]:
    """File and text of every reference, and whether it is certain."""
    workspace = ServoyWorkspace(root)
    return [
        (one.place.path, one.text.replace('"', "").strip(" ,"), one.certain)
        for one in workspace.references(stored(workspace, name, kind))
    ]


def form_says(builder: WorkspaceBuilder, **json: Any) -> list[bool]:
    """Whether each reference from a form with one component is certain."""
    builder.form("shop_screens", "probe", [json])
    return [certain for path, _, certain in places(builder.root) if path.endswith("probe.frm")]


def script_says(builder: WorkspaceBuilder, body: str, name: str = NAME, kind: Any = "relation") -> list[bool]:
    """Whether each reference from a script is certain."""
    builder.write("shop_screens/forms/probe.js", body)
    return [certain for path, _, certain in places(builder.root, name, kind) if path.endswith("probe.js")]


def test_forms_scripts_and_value_lists_are_searched(builder: WorkspaceBuilder) -> None:
    """Each place with its line; words in scripts that may mean something else are uncertain."""
    found = places(builder.root)

    assert found == [
        ("shop_screens/helpers.js", "return foundset.orders_to_customers.full_name;", True),
        ("shop_screens/helpers.js", "return 'orders_to_customers';", False),
        ("shop_screens/forms/order.frm", "dataProviderID:orders_to_customers.full_name", True),
    ]


def test_a_reference_leads_to_its_line(builder: WorkspaceBuilder) -> None:
    """In an editor, too."""
    workspace = ServoyWorkspace(builder.root)
    references = workspace.references(stored(workspace, NAME))
    lines = [(workspace.root / one.place.path).read_text().split("\n")[one.place.line - 1] for one in references]

    assert all(NAME in line for line in lines)
    assert all(one.place.uri.endswith(f"{one.place.path}:{one.place.line}") for one in references)


@pytest.mark.parametrize(
    ("name", "count"),
    [("orders_to_order_lines", 3), ("order_lines_to_books", 1), ("authors_to_books$in_print", 1), ("books$wanted", 0)],
)
def test_chains_and_selectors_of_foundsets_name_relations(builder: WorkspaceBuilder, name: str, count: int) -> None:
    """Also a value list with the values of a relation."""
    workspace = ServoyWorkspace(builder.root)
    (one,) = workspace.find("relation", name, ["shop_data", "bookshop"])
    references = workspace.references(one)

    assert len(references) == count
    assert all(one.certain and one.rewritable and not one.by_uuid for one in references)


@pytest.mark.parametrize(("name", "kind"), [("customers", "form"), ("rooms", "value list")])
def test_a_value_list_is_named_by_its_uuid(builder: WorkspaceBuilder, name: str, kind: str) -> None:
    """By form fields and by lists that fall back to it; such a place stays valid when it is renamed."""
    workspace = ServoyWorkspace(builder.root)
    references = workspace.references(stored(workspace, name, "value list"))

    assert [(one.kind, one.certain, one.rewritable, one.by_uuid) for one in references] == [(kind, True, False, True)]


def test_a_uuid_is_found_in_whatever_case_it_is_written(classic: WorkspaceBuilder) -> None:
    """People write it in lower case."""
    classic.form("shop_screens", "probe", [{"valuelistID": made_uuid("shop_data", "list", "stars").lower()}])

    assert len(places(classic.root, "stars", "value list")) == 1


@pytest.mark.parametrize(
    ("json", "certain"),
    [
        ({"relationName": NAME}, [True]),
        ({"relationName": f"order_lines_to_orders.{NAME}"}, [False]),
        ({"relationName": f"authors_to_books$in_print.{NAME}"}, [True]),
        ({"titleDataprovider": f"{NAME}.full_name"}, [True]),
        ({"dataProviderID": f"unknown.{NAME}.full_name"}, [False]),
        ({"dataProviderID": f"globals.{NAME}.full_name"}, []),
        ({"dataProviderID": f"scopes.{NAME}.full_name"}, []),
        ({"dataProviderID": NAME}, [False]),
        ({"text": f"Of %%{NAME}.full_name%% and %%{NAME}.city%%"}, [True]),
        ({"text": f"The relation {NAME} is good"}, []),
        ({"id": f"{NAME}.full_name"}, [False]),
        ({"onAction": f"show('{NAME}')"}, [False]),
        ({"initialSort": f"order_id asc, {NAME}.full_name desc"}, [True]),
        ({"namedFoundSet": NAME}, [True]),
        ({"name": NAME}, []),
        ({"dataSource": f"db:/{NAME}/x"}, []),
        ({"dataProviderID": f"my{NAME}.full_name"}, []),
        ({"dataProviderID": f"{NAME}2.full_name"}, []),
        ({"dataProviders": [f"{NAME}.city"]}, [False]),
    ],
    ids=str,
)
def test_a_text_of_a_form_is_judged_by_its_property(
    classic: WorkspaceBuilder, json: dict[str, Any], certain: list[bool]
) -> None:
    """Certain if the property holds a relation or a chain through one; otherwise listed, or something else."""
    assert form_says(classic, **json) == certain


@pytest.mark.parametrize(
    ("script", "certain"),
    [
        (f"foundset.{NAME}.getSize();", [True]),
        (f"forms.orders.foundset.{NAME}", [True]),
        (f"foundset.getRecord(1).{NAME}.city", [True]),
        (f"{NAME}.newRecord();", [True]),
        (f"var {NAME} = []; {NAME}.push(1);", [False, False]),
        (f"if ({NAME}) {{}}", [False]),
        (f"elements.{NAME}.visible = true;", [False]),
        (f"// {NAME}.city\n/* {NAME}.city */ /** @param {{{NAME}}} */", []),
        (f"x = '{NAME}.city asc'; y = \"{NAME}\"; z = `{NAME}`;", [False, False, False]),
        (f"x = '// '; {NAME}.city;", [True]),
        (f"x = /'/; {NAME}.city;", [True]),
        (f"x = a / b; y = '{NAME}' / c;", [False]),
        (f"x{NAME}.city; {NAME}2.city; {NAME}$.city", []),
        (f"x = '\\'{NAME}", [False]),
        (f"/* never closed {NAME}.city", []),
    ],
    ids=str,
)
def test_a_word_of_a_script_is_judged_by_its_context(
    classic: WorkspaceBuilder, script: str, certain: list[bool]
) -> None:
    """Code that certainly means the relation, code and strings that may, and comments, which mean nothing."""
    assert script_says(classic, script) == certain


@pytest.mark.parametrize(
    ("script", "certain"),
    [
        ("application.getValueListItems('stars');", [True]),
        ('application.setValueListItems("stars", [], []);', [True]),
        ("show('stars');", [False]),
        ("stars.x; // 'stars'\nx = 'five stars';", []),
    ],
    ids=str,
)
def test_a_text_of_a_script_may_be_a_value_list(classic: WorkspaceBuilder, script: str, certain: list[bool]) -> None:
    """Certain as an argument of a function that reads or sets the values of a list."""
    assert script_says(classic, script, "stars", "value list") == certain


def test_many_objects_are_searched_for_at_once(builder: WorkspaceBuilder) -> None:
    """With the same results as one by one, also with escaped letters."""
    builder.write("shop_screens/forms/probe.js", "x = '\\u002e'; foundset.orders_to_order_lines.getSize();")
    workspace = ServoyWorkspace(builder.root)
    projects = [project.name for project in workspace.projects()]
    many = [*workspace.objects("relation", projects)[0], *workspace.objects("value list", projects)[0]]
    alone = tuple(workspace.references(one) for one in many)

    assert workspace.references_to(many) == alone
    assert len(many) > 8
    assert sum(map(len, alone)) > 8


def test_another_object_of_the_name_has_references_of_its_own(classic: WorkspaceBuilder) -> None:
    """Two separate solutions each have a relation of this name."""
    classic.project("apart")
    item = RelationItem("customer_id", "customer_id")
    classic.relation("apart", Relation(NAME, "db:/shop/reviews", "db:/shop/customers", (item,)))
    classic.form("apart", "own", [{"dataProviderID": f"{NAME}.city"}])
    workspace = ServoyWorkspace(classic.root)
    own = workspace.references(stored(workspace, NAME, project="apart"))
    shared = workspace.references(stored(workspace, NAME))

    assert [one.place.path for one in own] == ["apart/forms/own.frm"]
    assert {one.project for one in shared} == {"shop_screens"}


def test_an_unresolved_name_in_another_solution_is_not_certain(classic: WorkspaceBuilder) -> None:
    """A module may be missing there, so it is listed and not rewritten."""
    classic.project("apart")
    classic.form("apart", "own", [{"dataProviderID": f"{NAME}.city"}])

    assert ("apart/forms/own.frm", False) in {(path, certain) for path, _, certain in places(classic.root)}


def test_a_form_that_cannot_be_read_is_listed(classic: WorkspaceBuilder) -> None:
    """It may name the object."""
    classic.write("shop_screens/forms/torn.frm", f'items:[\n{{dataProviderID:"{NAME}.city"')

    found = [one for one in places(classic.root) if one[0].endswith("torn.frm")]

    assert len(found) == 1
    assert "cannot be read" in found[0][1]
    assert not found[0][2]


def test_renaming_rewrites_every_certain_place_and_no_script(builder: WorkspaceBuilder, tmp_path: Path) -> None:
    """The file is moved; all other lines of all files stay, and undo restores everything."""
    workspace, storage = ServoyWorkspace(builder.root), Storage(tmp_path / "data")
    before = {path: path.read_bytes() for path in builder.root.rglob("*") if path.is_file()}
    old = stored(workspace, "orders_to_order_lines")
    changes = workspace.renamed(old, "orders_to_lines", workspace.references(old))
    change = storage.apply(workspace.root, "rename", changes)
    renamed = stored(workspace, "orders_to_lines")
    form = (builder.root / "shop_screens/forms/order.frm").read_text()
    references = workspace.references(renamed)
    storage.undo(workspace.root, change.id)

    assert sorted(change.files) == [
        "shop_data/relations/orders_to_lines.rel",
        "shop_data/relations/orders_to_order_lines.rel",
        "shop_screens/forms/order.frm",
    ]
    assert renamed.record == replace(old.record, name="orders_to_lines")
    assert "orders_to_order_lines" not in form
    assert "orders_to_lines.order_lines_to_books.title" in form
    assert len(references) == 3
    assert {path: path.read_bytes() for path in builder.root.rglob("*") if path.is_file()} == before


def test_renaming_leaves_scripts_and_doubtful_places(classic: WorkspaceBuilder) -> None:
    """They are for a person to check."""
    classic.form("shop_screens", "probe", [{"id": f"{NAME}.city", "dataprovider": f"{NAME}.city"}])
    workspace = ServoyWorkspace(classic.root)
    old = stored(workspace, NAME)
    references: list[Reference] = list(workspace.references(old))
    changes = {change.path: change.after for change in workspace.renamed(old, "fresh", references)}

    assert "shop_screens/helpers.js" not in changes
    assert b'dataprovider:"fresh.city"' in (changes["shop_screens/forms/probe.frm"] or b"")
    assert f'id:"{NAME}.city"'.encode() in (changes["shop_screens/forms/probe.frm"] or b"")


def test_a_relation_sorted_through_itself_is_renamed_within(classic: WorkspaceBuilder) -> None:
    """Its own file contains a chain with its name."""
    item = RelationItem("manager_id", "clerk_id")
    chief = Relation("chief", "db:/shop/clerks", "db:/shop/clerks", (item,), initial_sort="chief.full_name asc")
    classic.relation("shop_data", chief)
    workspace = ServoyWorkspace(classic.root)
    _, change = workspace.renamed(stored(workspace, "chief"), "boss", ())

    assert b'initialSort:"boss.full_name asc"' in (change.after or b"")


def test_renaming_a_value_list_leaves_references_by_uuid(classic: WorkspaceBuilder) -> None:
    """Only a component that names it is rewritten."""
    classic.form("shop_screens", "probe", [{"valuelist": "stars"}])
    workspace = ServoyWorkspace(classic.root)
    old = stored(workspace, "stars", "value list")
    changes = workspace.renamed(old, "rating", workspace.references(old))

    assert [change.path for change in changes] == [
        "shop_data/valuelists/stars.val",
        "shop_data/valuelists/rating.val",
        "shop_screens/forms/probe.frm",
    ]


def test_renaming_stops_at_a_form_that_broke_in_the_meantime(classic: WorkspaceBuilder) -> None:
    """A merge went wrong after the references were found."""
    workspace = ServoyWorkspace(classic.root)
    old = stored(workspace, NAME)
    references = workspace.references(old)
    classic.write("shop_screens/forms/order.frm", "items:[")

    with pytest.raises(BrokenFile, match=r"shop_screens/forms/order\.frm"):
        workspace.renamed(old, "fresh", references)


def test_a_file_with_another_name_than_its_object_is_moved_to_the_new_name(classic: WorkspaceBuilder) -> None:
    """The property counts, as it does for Servoy."""
    classic.write("shop_data/valuelists/wrong.val", 'name:"right",\ntypeid:34,\nuuid:"' + made_uuid("right") + '"')
    workspace = ServoyWorkspace(classic.root)
    old = stored(workspace, "right", "value list")
    same = workspace.renamed(old, "wrong", ())
    moved = workspace.renamed(old, "third", ())

    assert isinstance(old.record, ValueList)
    assert [(change.path, change.before is None) for change in same] == [("shop_data/valuelists/wrong.val", False)]
    assert [change.path for change in moved] == ["shop_data/valuelists/wrong.val", "shop_data/valuelists/third.val"]
