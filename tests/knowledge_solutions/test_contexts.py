"""Where a caller works, which workspaces it sees, and what other users and tenants see."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.knowledge_solutions.conftest import Told, copied, elsewhere, files
from tests.support import without_tenant_conditions
from tests.support.isolation import fingerprint
from tests.support.servoy_workspace import MODULE, Column, WorkspaceBuilder
from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, Settings, Tenant
from thresher.knowledge.solutions import RelationChanges, RelationSpec, SolutionService, Storage, ValueListSpec
from thresher.servoy import RelationItem
from thresher.store import Database


async def test_an_added_workspace_is_shown_with_its_content(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, told: Told
) -> None:
    """Its solutions and modules, servers and unreadable files; its schemas are announced; nothing is written."""
    plain.write("shop_data/relations/torn.rel", b"{{")
    before = files(plain.root)

    info = await service.add_workspace(anybody, str(plain.root))
    again = await service.add_workspace(anybody, str(plain.root))

    assert (info.name, info.path, info.format, info.readable) == ("shop", str(plain.root), "servoy", True)
    assert [one.name for one in info.projects] == ["backoffice", "bookshop", "shop_data", "shop_screens"]
    assert {one.name: (one.module, one.relations, one.missing) for one in info.projects}["backoffice"] == (
        False,
        0,
        ("reports",),
    )
    assert info.servers == ("notes_db", "shop")
    assert ([one.path for one in info.broken], info.broken_count) == (["shop_data/relations/torn.rel"], 1)
    assert again == info
    assert [(name, sorted(folders)) for name, folders in told.calls] == [("shop", ["notes_db", "shop"])]
    assert files(plain.root) == before
    assert await service.list_workspaces(anybody) == (info,)
    assert await service.sees_any(anybody)


async def test_a_folder_that_is_not_a_workspace_is_refused_with_a_hint(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """A solution's own folder, a folder above, an empty folder, a relative path, an invalid name."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    cases = [
        (str(plain.root / "bookshop"), "", f"folder above it: {plain.root}"),
        (str(tmp_path), "", f"Add {plain.root}"),
        (str(tmp_path / "empty"), "", "holds no solution"),
        (str(tmp_path / "nowhere"), "", "There is no folder"),
        (str(tmp_path / "file"), "", "There is no folder"),
        ("shop", "", "not an absolute path"),
        ("", "", "path is not valid"),
        (str(plain.root), "a b", "no name for a workspace"),
    ]

    for path, name, said in cases:
        with pytest.raises(InvalidInput) as refused:
            await service.add_workspace(anybody, path, name)
        assert said in str(refused.value)

    assert not await service.sees_any(anybody)


async def test_names_and_folders_are_unique(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path, told: Told
) -> None:
    """Unless it replaces one; removing changes nothing on disk."""
    second = copied(plain.root, tmp_path / "second")
    await service.add_workspace(anybody, str(plain.root))

    with pytest.raises(Conflict, match="already a workspace 'shop', in"):
        await service.add_workspace(anybody, str(second), "shop")
    with pytest.raises(Conflict, match="is already the workspace 'shop'"):
        await service.add_workspace(anybody, str(plain.root), "other")
    moved = await service.add_workspace(anybody, str(second), "shop", replace=True)
    before = files(second)
    await service.remove_workspace(anybody, "shop")

    assert moved.path == str(second)
    assert files(second) == before
    assert told.calls[-1] == ("shop", {})
    with pytest.raises(NotFound, match="thresher solutions add"):
        await service.workspace(anybody, "shop")


async def test_a_missing_workspace_says_so(service: SolutionService, anybody: Caller, plain: WorkspaceBuilder) -> None:
    """It is listed as unreadable; work in it fails with a hint."""
    await service.add_workspace(anybody, str(plain.root))
    shutil.rmtree(plain.root)

    (listed,) = await service.list_workspaces(anybody)

    assert not listed.readable
    assert "does not exist" in (await service.get_solution_context(anybody)).notes[0]
    with pytest.raises(NotFound, match="does not exist"):
        await service.list_relations(anybody, "all")
    await service.provide_schemas(anybody)


async def test_without_a_choice_the_only_solution_is_active(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """With several, none is active, and nothing is created until one is chosen; listing all still works."""
    builder = WorkspaceBuilder(tmp_path / "small")
    builder.project("tool", ("parts",))
    builder.project("parts", kind=MODULE)
    await service.add_workspace(anybody, str(builder.root))

    one = await service.get_solution_context(anybody)
    await service.remove_workspace(anybody, "small")
    await service.add_workspace(anybody, str(plain.root))
    several = await service.get_solution_context(anybody)

    assert (one.workspace, one.active, one.source, one.modules) == ("small", "tool", "only one", ("parts",))
    assert (several.workspace, several.active, several.source) == ("shop", None, "")
    assert len((await service.list_relations(anybody, "all")).objects) == 5
    with pytest.raises(InvalidInput, match="'backoffice', 'bookshop'"):
        await service.list_relations(anybody, "current")


async def test_the_clients_folder_decides_until_something_is_chosen(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """Inside a solution, inside a workspace, above the only one; a choice from a folder counts there first."""
    other = copied(plain.root, tmp_path / "deep" / "other")
    await service.add_workspace(anybody, str(plain.root))
    await service.add_workspace(anybody, str(other))

    inside = await service.get_solution_context(elsewhere(anybody, plain.root / "bookshop" / "forms"))
    above = await service.get_solution_context(elsewhere(anybody, tmp_path / "deep"))
    nowhere = await service.get_solution_context(elsewhere(anybody, "/srv"))
    there = elsewhere(anybody, plain.root)
    chosen = await service.set_solution_context(there, "Backoffice")
    elsewhere_chosen = await service.get_solution_context(elsewhere(anybody, plain.root / "bookshop"))
    last = await service.get_solution_context(elsewhere(anybody, "/srv"))
    still = await service.get_solution_context(elsewhere(anybody, other))

    assert (inside.workspace, inside.active, inside.source) == ("shop", "bookshop", "client's folder")
    assert inside.modules == ("shop_data", "shop_screens")
    assert (above.workspace, above.active) == ("other", None)
    assert (nowhere.workspace, nowhere.workspaces) == (None, ("other", "shop"))
    assert (chosen.workspace, chosen.active, chosen.source) == ("shop", "backoffice", "chosen")
    assert any("reports" in note for note in chosen.notes)
    assert elsewhere_chosen.active == "backoffice"
    assert (last.workspace, last.active) == ("shop", "backoffice")
    assert (still.workspace, still.active) == ("other", None)


async def test_a_choice_belongs_to_its_user_and_says_when_it_no_longer_exists(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """Another user of the tenant works as they chose themselves."""
    ann = Caller(clerk.tenant, "ann")
    hers = await service.get_solution_context(ann)
    await service.set_solution_context(ann, "bookshop")
    shutil.rmtree(plain.root / "bookshop")

    gone = await service.get_solution_context(ann)
    his = await service.get_solution_context(clerk)

    assert hers.active is None
    assert (gone.active, "'bookshop'" in gone.notes[0]) == ("backoffice", True)
    assert his.active == "shop_data"
    with pytest.raises(NotFound, match="There are: 'backoffice'"):
        await service.set_solution_context(ann, "bookshp")


async def test_a_choice_must_mean_one_workspace(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """The only one that has it, or the one that is named."""
    other = copied(plain.root, tmp_path / "other")
    shutil.rmtree(other / "backoffice")
    with pytest.raises(NotFound, match="solutions add"):
        await service.set_solution_context(anybody, "bookshop")
    await service.add_workspace(anybody, str(plain.root))
    await service.add_workspace(anybody, str(other))

    with pytest.raises(InvalidInput, match="other, shop"):
        await service.set_solution_context(anybody, "bookshop")
    with pytest.raises(NotFound, match="No workspace"):
        await service.set_solution_context(anybody, "nothing")
    only = await service.set_solution_context(anybody, "backoffice")
    said = await service.set_solution_context(anybody, "bookshop", "other")

    assert (only.workspace, said.workspace) == ("shop", "other")
    assert len(await service.tables(anybody)) == len(await service.tables(anybody, "shop")) > 10


async def test_with_a_key_only_named_folders_can_be_added(
    database: Database, settings: Settings, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """Neither a link nor dots lead out of them; a caller without a key may add any folder."""
    keyed = replace(anybody, keyed=True)
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "link").symlink_to(plain.root)
    inside = copied(plain.root, tmp_path / "allowed" / "inside")
    limited = settings.model_copy(update={"solution_folders": (tmp_path / "allowed",)})
    service = SolutionService(database, Storage(tmp_path / "data"), limited)

    for path in (plain.root, tmp_path / "allowed" / "link", tmp_path / "allowed" / ".." / "shop", Path("/nowhere")):
        with pytest.raises(NotAllowed, match="THRESHER_SOLUTION_FOLDERS"):
            await service.add_workspace(keyed, str(path))
    added = await service.add_workspace(keyed, str(inside))
    free = await service.add_workspace(anybody, str(plain.root))

    assert (added.path, free.path) == (str(inside), str(plain.root))


async def test_a_user_sees_only_the_tenants_workspaces_and_their_own(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path, told: Told
) -> None:
    """Its own of the same name comes first; only its owner can remove the tenant's."""
    second = copied(plain.root, tmp_path / "second")
    ann, bob = Caller(anybody.tenant, "ann"), Caller(anybody.tenant, "bob")
    await service.add_workspace(anybody, str(plain.root), "shop")
    await service.add_workspace(ann, str(second), "shop")

    hers = await service.workspace(ann, "shop")
    his = await service.workspace(bob, "shop")

    assert (hers.path, his.path) == (str(second), str(plain.root))
    with pytest.raises(NotAllowed):
        await service.remove_workspace(bob, "shop")
    await service.remove_workspace(ann, "shop")
    assert (await service.workspace(ann, "shop")).path == str(plain.root)


async def test_another_tenant_sees_nothing_even_by_queries_without_their_condition(
    service: SolutionService,
    database: Database,
    clerk: Caller,
    other_tenant: Tenant,
    settings: Settings,
    plain: WorkspaceBuilder,
    tmp_path: Path,
) -> None:
    """Every operation answers the same without `tenant_id = ...`; the other tenant's rows stay as they are."""
    other = Caller(other_tenant)
    theirs = copied(plain.root, tmp_path / "theirs")
    await service.add_workspace(other, str(theirs), "theirs")
    await service.set_solution_context(other, "bookshop")
    before = await service.get_solution_context(clerk), await service.list_workspaces(clerk)
    digest = await fingerprint(database, other_tenant)

    async with without_tenant_conditions(database) as rewritten:
        fresh = SolutionService(database, Storage(tmp_path / "more"), settings)
        assert (await fresh.get_solution_context(clerk), await fresh.list_workspaces(clerk)) == before
        with pytest.raises(NotFound):
            await fresh.workspace(clerk, "theirs")
        with pytest.raises(NotFound):
            await fresh.set_solution_context(clerk, "bookshop", "theirs")
        with pytest.raises(NotFound):
            await fresh.backups(clerk, "theirs")
        await fresh.set_solution_context(clerk, "backoffice")
        await fresh.remove_workspace(clerk, "shop")

    assert await fingerprint(database, other_tenant) == digest
    assert len(rewritten.statements) > 10


async def test_changes_are_undone_in_their_workspace(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """By the id in the answer and in the list of changes; later changes are kept."""
    before = files(plain.root)
    first = await service.update_relation(clerk, "order_lines_to_books", RelationChanges(comment="a"))
    second = await service.update_relation(clerk, "order_lines_to_books", RelationChanges(comment="b"))

    with pytest.raises(Conflict):
        await service.undo(clerk, first.change.id)
    await service.undo(clerk, second.change.id, "shop")
    await service.undo(clerk, first.change.id, "shop")

    assert files(plain.root) == before
    assert [one.undone for one in await service.backups(clerk)][-2:] == [True, True]
    with pytest.raises(NotFound):
        await service.undo(clerk, "no-such-change")


async def test_new_servers_are_announced_when_the_workspace_is_read(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder, told: Told
) -> None:
    """Once, until they change again; always after a start."""
    plain.write(
        "resources/datasources/crm/leads.dbi", (plain.root / "resources/datasources/shop/books.dbi").read_bytes()
    )
    told.calls.clear()

    await service.list_workspaces(clerk)
    await service.workspace(clerk, "shop")
    await service.provide_schemas(clerk)

    assert [sorted(folders) for _, folders in told.calls] == [["crm", "notes_db", "shop"]] * 2


async def test_two_calls_at_once_create_one_relation(service: SolutionService, clerk: Caller) -> None:
    """The other gets the existing one."""
    spec = RelationSpec(name="one", primary_datasource="shop/books", foreign_datasource="shop/authors")
    specs = [replace(spec, items=_items(n)) for n in range(2)]

    answers = await asyncio.gather(*(service.open_relation(clerk, one) for one in specs), return_exceptions=True)

    assert sorted(type(one).__name__ for one in answers) == ["Conflict", "RelationAnswer"]


def _items(number: int) -> tuple[RelationItem, ...]:
    return (RelationItem("author_id", "author_id", ("=", ">")[number]),)  # type: ignore[arg-type]


async def test_tenants_that_share_a_folder_see_and_undo_only_their_own_changes(
    service: SolutionService, clerk: Caller, other_tenant: Tenant, plain: WorkspaceBuilder
) -> None:
    """The other's changes are invisible; removing a workspace drops only its own tenant's changes."""
    other = Caller(other_tenant, "olga")
    await service.add_workspace(other, str(plain.root), "same")
    await service.set_solution_context(other, "shop_data")
    mine = await service.update_relation(clerk, "order_lines_to_books", RelationChanges(comment="a"))
    theirs = await service.update_relation(other, "orders_to_customers", RelationChanges(comment="b"))

    assert [one.id for one in await service.backups(clerk)] == [mine.change.id]
    assert [one.id for one in await service.backups(other)] == [theirs.change.id]
    with pytest.raises(NotFound, match="There is no change"):
        await service.undo(other, mine.change.id)

    await service.remove_workspace(clerk, "shop")
    await service.add_workspace(clerk, str(plain.root), "again")

    assert await service.backups(clerk, "again") == ()
    await service.undo(other, theirs.change.id)


async def test_changes_are_kept_while_a_workspace_of_the_tenant_has_the_folder(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """A user's own workspace is removed, the tenant's of the same folder stays."""
    user = replace(clerk, user="olga")
    await service.add_workspace(user, str(plain.root), "own")
    done = await service.update_relation(clerk, "order_lines_to_books", RelationChanges(comment="a"))

    await service.remove_workspace(user, "own")

    assert [one.id for one in await service.backups(clerk, "shop")] == [done.change.id]


async def test_a_single_solution_is_a_workspace(
    service: SolutionService, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """Its objects are shown, created, renamed with their references, and undone; nothing beside it is touched."""
    alone = copied(plain.root / "shop_data", tmp_path / "alone" / "shop_data")
    before = files(tmp_path / "alone")
    info = await service.add_workspace(anybody, str(alone), "alone")
    pair = (RelationItem("author_id", "author_id"),)
    spec = RelationSpec(name="told", primary_datasource="shop/a", foreign_datasource="shop/b", items=pair)

    made = await service.open_relation(anybody, spec)
    used = ValueListSpec(name="of_told", relation="told", display=("author_id",))
    await service.open_value_list(anybody, used)
    renamed = await service.rename_relation(anybody, "told", "told_again")
    listing = await service.list_relations(anybody, "all")

    assert [one.name for one in info.projects] == ["shop_data"]
    assert (made.place.path, renamed.place.path) == ("relations/told.rel", "relations/told_again.rel")
    assert [one.place.path for one in renamed.change.rewritten] == ["valuelists/of_told.val"]
    assert b"told_again" in (alone / "valuelists" / "of_told.val").read_bytes()
    assert "told_again" in [one.name for one in listing.objects]
    for change in await service.backups(anybody, "alone"):
        await service.undo(anybody, change.id, "alone")
    assert files(tmp_path / "alone") == before


async def test_the_folder_of_the_only_solution_means_its_workspace(
    service: SolutionService, anybody: Caller, tmp_path: Path
) -> None:
    """So that the column information beside it is found."""
    builder = WorkspaceBuilder(tmp_path / "workspace")
    builder.project("crm")
    builder.table("shop", "orders", [Column("order_id", key=True)])

    info = await service.add_workspace(anybody, str(builder.root / "crm"))

    assert (info.name, info.path, info.servers) == ("crm", str(builder.root), ("shop",))


async def test_with_a_key_a_solution_does_not_open_the_folder_above(
    database: Database, settings: Settings, anybody: Caller, plain: WorkspaceBuilder, tmp_path: Path
) -> None:
    """The settings name one solution's folder, and nothing else is read."""
    named = settings.model_copy(update={"solution_folders": (plain.root / "bookshop",)})
    service = SolutionService(database, Storage(tmp_path / "data"), named)

    info = await service.add_workspace(replace(anybody, keyed=True), str(plain.root / "bookshop"))

    assert (info.path, [one.name for one in info.projects]) == (str(plain.root / "bookshop"), ["bookshop"])
