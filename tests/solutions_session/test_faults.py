"""Failures around a workspace while clients work in it: nothing is lost, and the answer says what to do."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.solutions_session.day import Clients, Repository, clients_of, words
from tests.support.servoy_workspace import bookshop
from thresher.services import Services

CUSTOMERS = "shop_data/relations/orders_to_customers.rel"
LINES = "shop_data/relations/orders_to_order_lines.rel"


@pytest.fixture
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    """A workspace under version control, in the classic dialect by default."""
    return Repository(bookshop(tmp_path / "books", getattr(request, "param", "classic")).root)


both_dialects = pytest.mark.parametrize("shop", ["classic", "json"], indirect=True)


@pytest.fixture
async def clients(services: Services, shop: Repository) -> AsyncIterator[Clients]:
    """Clients that work in its data module."""
    await services.solutions.add_workspace(services.caller, str(shop.root))
    await services.solutions.set_solution_context(services.caller, "shop_data")
    async with clients_of(services, "auto") as clients:
        yield clients


async def refused(clients: Clients, tool: str, **arguments: Any) -> str:
    """The error of a call."""
    answer = await clients.call(tool, arguments)
    assert answer.is_error, words(answer)
    return words(answer)


async def done(clients: Clients, tool: str, **arguments: Any) -> dict[str, Any]:
    """The record of a call that succeeds."""
    answer = await clients.call(tool, arguments)
    assert not answer.is_error, words(answer)
    return answer.structured_content or {}


async def test_a_read_only_file_is_named_and_not_changed(clients: Clients, shop: Repository) -> None:
    """Whether it would be changed, moved, rewritten as a reference, or deleted; other calls work."""
    (shop.root / CUSTOMERS).chmod(0o444)
    updated = await refused(clients, "update_relation", name="orders_to_customers", comment="x")
    renamed = await refused(
        clients, "rename_relation", name="orders_to_customers", new_name="x", force=True, confirm=True
    )
    deleted = await refused(
        clients, "delete_relations", names=["order_lines_to_books", "orders_to_customers"], force=True
    )
    (shop.root / "shop_screens/forms/order.frm").chmod(0o444)
    rewritten = await refused(
        clients, "rename_relation", name="order_lines_to_books", new_name="x", force=True, confirm=True
    )
    seen = shop.diff()
    await done(clients, "update_relation", name="orders_to_order_lines", comment="x")

    for said in (updated, renamed, deleted):
        assert f"{CUSTOMERS} is read-only. Nothing was changed. Make it writable" in said
    assert "shop_screens/forms/order.frm is read-only" in rewritten
    assert seen == ""


@both_dialects
async def test_a_file_with_conflict_markers_is_named_with_its_line_and_not_changed(
    clients: Clients, shop: Repository
) -> None:
    """As a git merge leaves it: reported as broken, never written; other calls work."""
    for branch, sort in (("theirs", "city asc"), ("ours", "full_name asc")):
        git(shop.root, "checkout", "--quiet", "-b", branch, shop.first())
        await done(clients, "update_relation", name="orders_to_customers", initial_sort=sort)
        shop.keep(branch)
    git(shop.root, "merge", "theirs", fails=True)
    conflicted = (shop.root / CUSTOMERS).read_bytes()
    listed = await done(clients, "list_relations", scope="current")
    shown = await refused(clients, "open_relation", name="orders_to_customers")
    updated = await refused(clients, "update_relation", name="orders_to_customers", comment="x")
    deleted = await refused(clients, "delete_relations", names=["orders_to_customers"], force=True)
    made = await refused(
        clients,
        "open_relation",
        primary_datasource="shop/orders",
        foreign_datasource="shop/customers",
    )
    await done(clients, "update_relation", name="orders_to_order_lines", comment="x")

    line = conflicted.splitlines().index(b"<<<<<<< HEAD") + 1
    assert [(one["path"], one["line"]) for one in listed["broken"]] == [(CUSTOMERS, line)]
    assert "orders_to_customers" not in {one["name"] for one in listed["objects"]}
    for said in (shown, updated, deleted, made):
        assert f"{CUSTOMERS}:{line}:1: The file has conflict markers" in said
        assert "It is never written. Resolve the merge" in said
    assert (shop.root / CUSTOMERS).read_bytes() == conflicted


async def test_a_form_that_cannot_be_read_may_name_anything(clients: Clients, shop: Repository) -> None:
    """What it may name is neither renamed nor deleted without force; it is never written."""
    form = shop.root / "shop_screens/forms/lines.frm"
    form.write_bytes(b"<<<<<<< HEAD\norders_to_customers\n=======\n>>>>>>> theirs\n")
    deleted = await refused(clients, "delete_relations", names=["orders_to_customers"])
    await done(clients, "rename_relation", name="orders_to_customers", new_name="buyers", force=True, confirm=True)

    assert "shop_screens/forms/lines.frm" in deleted
    assert form.read_bytes().startswith(b"<<<<<<< HEAD\norders_to_customers")


async def test_a_missing_folder_is_named_and_used_again_when_it_is_back(
    clients: Clients, shop: Repository, services: Services
) -> None:
    """Nothing is created in its place, and the choice is kept."""
    away = shop.root.with_name("away")
    shop.root.rename(away)
    said = [
        await refused(clients, "list_relations"),
        await refused(clients, "open_relation", name="orders_to_customers"),
        await refused(clients, "open_value_list", name="colours", custom_values=["red"]),
        await refused(clients, "update_relation", name="orders_to_customers", comment="x"),
        await refused(clients, "undo_solution_change", change_id="1-000000"),
    ]
    context = await done(clients, "get_solution_context")
    there = shop.root.exists()
    known = await services.solutions.list_workspaces(services.caller)
    away.rename(shop.root)
    back = await done(clients, "get_solution_context")
    await done(clients, "open_value_list", name="colours", custom_values=["red"])

    for one in said:
        assert str(shop.root) in one
        assert "Traceback" not in one
    assert not there
    assert [one.readable for one in known] == [False]
    assert context["active"] is None
    assert any(str(shop.root) in note for note in context["notes"])
    assert back["active"] == "shop_data"


@both_dialects
async def test_what_the_editor_saves_between_two_calls_stays(clients: Clients, shop: Repository) -> None:
    """A change applies to what is on disk now: a new property, Windows line ends, an unknown property."""
    await done(clients, "open_relation", name="orders_to_order_lines")
    text = (shop.root / LINES).read_text()
    saved = text.replace("line_no asc", "line_no desc").replace("\n", "\r\n")
    saved = saved.replace("typeid:22", 'somethingNew:"x",\r\ntypeid:22').replace(
        '"typeid":22', '"somethingNew":"x",\r\n    "typeid":22'
    )
    (shop.root / LINES).write_bytes(saved.encode())
    shop.keep("the editor")
    updated = await done(clients, "update_relation", name="orders_to_order_lines", delete_related=False)
    lines = shop.lines_changed()
    after = (shop.root / LINES).read_bytes().decode()

    assert lines == 1
    assert after.count("\r\n") == saved.count("\r\n") - 1 == after.count("\n")
    assert "somethingNew" in after
    assert updated["relation"]["initial_sort"] == "line_no desc"


async def test_what_the_editor_saved_since_is_not_undone(clients: Clients, shop: Repository) -> None:
    """What it deleted is not created again, and what it created is not overwritten."""
    changed = await done(clients, "update_relation", name="orders_to_order_lines", comment="x")
    made = await done(clients, "open_value_list", name="colours", custom_values=["red"])
    deleted = await done(clients, "delete_relations", names=["authors_to_books$in_print"], force=True)
    file = shop.root / LINES
    file.write_bytes(file.read_bytes().replace(b"line_no asc", b"line_no desc"))
    (shop.root / "shop_data/valuelists/colours.val").unlink()
    again = shop.root / "shop_data/relations/authors_to_books$in_print.rel"
    again.write_bytes(b"typeid:22")
    shop.keep("the editor")
    said = [
        await refused(clients, "undo_solution_change", change_id=one["change"]["id"])
        for one in (changed, made, deleted)
    ]

    for one, path in zip(said, (LINES, "colours.val", "authors_to_books$in_print.rel"), strict=True):
        assert "Changed on disk since" in one
        assert path in one
    assert shop.diff() == ""


async def test_what_the_editor_deleted_is_not_found(clients: Clients, shop: Repository) -> None:
    """A call with the old name says what exists, and the name is free again."""
    await done(clients, "open_value_list", name="rooms")
    (shop.root / "shop_data/valuelists/rooms.val").unlink()
    shop.keep("the editor")
    said = await refused(clients, "update_value_list", name="rooms", add_empty="always")
    await done(clients, "open_value_list", name="rooms", custom_values=["Hall"])

    assert "There is no value list 'rooms'" in said


async def test_a_solution_that_cannot_be_read_stops_no_other(clients: Clients, shop: Repository) -> None:
    """Its file is named in the context."""
    (shop.root / "backoffice/rootmetadata.obj").write_bytes(b"\xff\xfe broken")
    context = await done(clients, "get_solution_context")
    await done(clients, "open_value_list", name="colours", custom_values=["red"])

    assert any("backoffice/rootmetadata.obj" in note for note in context["notes"])
    assert context["active"] == "shop_data"


def git(root: Path, *arguments: str, fails: bool = False) -> None:
    """Run git; a merge with conflicts fails."""
    named = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    done = subprocess.run(["git", *named, *arguments], cwd=root, capture_output=True, check=False)
    assert bool(done.returncode) == fails, done.stdout.decode() + done.stderr.decode()
