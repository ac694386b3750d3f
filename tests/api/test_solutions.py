"""Solutions over a real port: workspaces, relations, value lists, problems."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, assert_problem, served
from tests.support import Databases
from tests.support.servoy_workspace import bookshop
from thresher.core import Settings

AMBIGUOUS = {"primary_datasource": "shop/transfers", "foreign_datasource": "shop/shelves"}
"""Two keys of one table point to the other."""


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product, shared by all tests of this module."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    settings = Settings(
        data_dir=folder,
        allow_root=True,
        database_url=SecretStr(databases.url(name)),
        home_packs="off",
        workers=0,
        solution_folders=(folder / "open",),
    )
    async with served(settings) as product:
        yield product
    await databases.drop(name)


@pytest.fixture
async def shop(product: Served, tmp_path: Path) -> AsyncIterator[Path]:
    """A workspace, known under the name `shop`, where `bookshop` is the active solution."""
    root = tmp_path / "shop"
    bookshop(root, "json")
    added = await product.web.post("/v1/solutions", json={"path": str(root)})
    assert added.status_code == 201, added.text
    await post(product, "set_solution_context", active="bookshop", workspace="shop")
    yield root
    await product.web.delete("/v1/solutions/shop")


async def post(product: Served, verb: str, **body: Any) -> Any:
    """The answer's body."""
    answer = await product.web.post(f"/v1/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_workspace_is_kept_shown_and_forgotten(product: Served, shop: Path) -> None:
    """In the list and by itself, with what is in it; its files stay."""
    listed = (await product.web.get("/v1/solutions")).json()["workspaces"]
    shown = (await product.web.get("/v1/solutions/shop")).json()
    context = await post(product, "get_solution_context")
    again = await product.web.post("/v1/solutions", json={"path": str(shop)})
    other = await product.web.post("/v1/solutions", json={"path": str(shop), "name": "other"})
    removed = await product.web.delete("/v1/solutions/shop")
    gone = await product.web.get("/v1/solutions/shop")

    assert listed == [shown]
    assert (shown["path"], shown["format"], shown["servers"]) == (str(shop), "servoy", ["notes_db", "shop"])
    assert {one["name"] for one in shown["projects"]} == {"bookshop", "shop_data", "shop_screens", "backoffice"}
    assert (context["workspace"], context["active"], context["source"]) == ("shop", "bookshop", "chosen")
    assert (again.status_code, again.json()) == (201, shown)
    assert_problem(other, 409, "conflict")
    assert removed.status_code == 204
    assert_problem(gone, 404, "not_found")
    assert (shop / "bookshop" / "rootmetadata.obj").exists()


async def test_a_relation_is_made_changed_renamed_and_deleted(product: Served, shop: Path) -> None:
    """Its columns found by the key that is told, with the reason; what was deleted comes back."""
    made = await post(product, "open_relation", primary_datasource="shop/books", foreign_datasource="db:/shop/authors")
    shown = await post(product, "open_relation", name="books_to_authors")
    item = {"primary": "author_id", "foreign": "author_id", "operator": "!=", "or_null": True}
    updated = await post(product, "update_relation", name="books_to_authors", items=[item], delete_related=True)
    renamed = await post(product, "rename_relation", name="books_to_authors", new_name="books_to_others")
    deleted = await post(product, "delete_relations", names=["books_to_others"])
    listed = await post(product, "list_relations", scope="current")
    backups = (await product.web.get("/v1/solutions/shop/backups")).json()["backups"]
    undone = await product.web.post("/v1/solutions/shop/undo", json={"change_id": deleted["change"]["id"]})
    found = await post(product, "list_relations", scope="all", limit=2)

    assert (made["change"]["action"], made["project"]) == ("created", "bookshop")
    assert [(one["primary"], one["foreign"]) for one in made["relation"]["items"]] == [("author_id", "author_id")]
    assert made["reason"]
    assert made["place"]["file"] == str(shop / "bookshop/relations/books_to_authors.rel")
    assert "books_to_authors" in made["change"]["diff"]
    assert shown["relation"] == made["relation"]
    assert shown["change"]["id"] == ""
    assert [(one["operator"], one["or_null"]) for one in updated["relation"]["items"]] == [("!=", True)]
    assert updated["relation"]["items"][0]["uuid"] == made["relation"]["items"][0]["uuid"]
    assert renamed["relation"]["uuid"] == made["relation"]["uuid"]
    assert deleted["names"] == ["books_to_others"]
    assert [one["name"] for one in listed["objects"]] == ["books$wanted"]
    assert backups[0]["id"] == deleted["change"]["id"]
    assert undone.status_code == 200
    assert (shop / "bookshop/relations/books_to_others.rel").exists()
    assert (len(found["objects"]), found["total"], bool(found["cursor"])) == (2, 6, True)


async def test_a_value_list_is_made_changed_renamed_and_deleted(product: Served, shop: Path) -> None:
    """Values as text or in parts; columns as one or several."""
    values = ["Open|1", {"display": "Done", "real": "2"}, "Lost"]
    made = await post(product, "open_value_list", name="states", custom_values=values)
    table = await post(
        product,
        "open_value_list",
        name="names",
        datasource="shop/authors",
        display_column=["first_name", "last_name"],
        return_column="author_id",
        sort="last_name asc",
    )
    updated = await post(product, "update_value_list", name="states", add_empty="always", fallback="names")
    renamed = await post(product, "rename_value_list", name="states", new_name="order_states")
    refused = await product.web.post("/v1/delete_value_lists", json={"names": ["names"]})
    deleted = await post(product, "delete_value_lists", names=["order_states", "names"])
    listed = await post(product, "list_value_lists", scope="current")

    record = table["value_list"]
    assert [one["real"] for one in made["value_list"]["custom_values"]] == ["1", "2", "Lost"]
    assert (record["columns"], record["display"], record["returns"]) == (
        ["first_name", "last_name", "author_id"],
        [0, 1],
        [2],
    )
    assert updated["value_list"]["fallback"] == record["uuid"]
    assert renamed["value_list"]["name"] == "order_states"
    assert "order_states" in assert_problem(refused, 409, "conflict")["hint"]
    assert sorted(deleted["names"]) == ["names", "order_states"]
    assert [one["name"] for one in listed["objects"]] == ["years"]


async def test_something_elsewhere_waits_for_a_yes(product: Served, shop: Path) -> None:
    """And what others name, for more than that."""
    body: dict[str, Any] = {"name": "rooms", "comment": "Of the house"}
    refused = await product.web.post("/v1/update_value_list", json=body)
    agreed = await post(product, "update_value_list", **body, confirm=True)
    named = await product.web.post("/v1/delete_relations", json={"names": ["orders_to_customers"], "confirm": True})
    forced = await post(product, "delete_relations", names=["orders_to_customers"], confirm=True, force=True)

    assert "shop_data" in assert_problem(refused, 409, "unconfirmed")["detail"]
    assert agreed["value_list"]["comment"] == "Of the house"
    assert "order.frm" in assert_problem(named, 409, "conflict")["hint"]
    assert forced["change"]["left"]


@pytest.mark.parametrize(
    ("verb", "body", "status", "kind"),
    [
        ("open_relation", {}, 422, "invalid_input"),
        ("open_relation", {"name": "x", "colour": "red"}, 422, "invalid_input"),
        ("open_relation", {"name": "x", "join_type": "outer"}, 422, "invalid_input"),
        ("open_relation", AMBIGUOUS, 422, "invalid_input"),
        ("open_relation", {**AMBIGUOUS, "primary_column": "to_shelf"}, 422, "invalid_input"),
        ("open_relation", {**AMBIGUOUS, "items": [], "foreign_column": "shelf_id"}, 422, "invalid_input"),
        ("open_relation", {**AMBIGUOUS, "primary_datasource": "shop/transfer"}, 422, "invalid_input"),
        ("update_relation", {"name": "nothing", "comment": "x"}, 404, "not_found"),
        ("update_relation", {"comment": "x"}, 422, "invalid_input"),
        ("rename_relation", {"name": "books$wanted", "new_name": "a b"}, 422, "invalid_input"),
        ("delete_relations", {"names": []}, 422, "invalid_input"),
        ("list_relations", {"scope": "everywhere"}, 422, "invalid_input"),
        ("list_relations", {"cursor": "x"}, 422, "invalid_cursor"),
        ("open_value_list", {"name": "x", "custom_values": [{"real": "1"}]}, 422, "invalid_input"),
        ("open_value_list", {"name": "x", "relation": "nothing", "display_column": "a"}, 422, "invalid_input"),
        ("set_solution_context", {"active": "nothing"}, 404, "not_found"),
        ("solutions", {"path": "relative"}, 422, "invalid_input"),
        ("solutions/shop/undo", {"change_id": "nothing"}, 404, "not_found"),
    ],
)
async def test_wrong_requests_are_problems(
    product: Served, shop: Path, verb: str, body: dict[str, Any], status: int, kind: str
) -> None:
    """In words, and never as a traceback."""
    answer = await product.web.post(f"/v1/{verb}", json=body)

    assert_problem(answer, status, kind)


async def test_a_file_with_conflict_markers_is_a_problem_of_its_own(product: Served, shop: Path) -> None:
    """It says where, and the file stays as it is."""
    file = shop / "bookshop/relations/books$wanted.rel"
    file.write_bytes(b"<<<<<<< HEAD\n" + file.read_bytes())
    answer = await product.web.post("/v1/update_relation", json={"name": "books$wanted", "comment": "x"})
    listed = await post(product, "list_relations")

    assert_problem(answer, 422, "broken_file")
    assert [(one["path"], one["line"]) for one in listed["broken"]] == [("bookshop/relations/books$wanted.rel", 1)]
    assert file.read_bytes().startswith(b"<<<<<<<")


async def test_a_key_adds_only_folders_that_were_named_for_it(product: Served, tmp_path: Path) -> None:
    """And sees no workspace of another tenant."""
    _, header = await product.key("acme", "ann")
    bookshop(tmp_path / "mine")
    refused = await product.web.post("/v1/solutions", json={"path": str(tmp_path / "mine")}, headers=header)
    opened = product.app.services.settings.data_dir / "open" / "theirs"
    bookshop(opened)
    added = await product.web.post("/v1/solutions", json={"path": str(opened)}, headers=header)
    listed = await product.web.get("/v1/solutions", headers=header)

    assert_problem(refused, 403, "not_allowed")
    assert added.status_code == 201, added.text
    assert [one["name"] for one in listed.json()["workspaces"]] == ["theirs"]
