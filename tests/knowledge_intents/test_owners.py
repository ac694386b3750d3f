"""Who sees which packs, who approves them, whose thresholds hold, and how other processes learn of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.knowledge_intents.packs import write_pack
from tests.support import Databases, assert_sealed_off, eventually, fill, without_tenant_conditions
from tests.support.product import opened
from thresher.core import Caller, Conflict, NotAllowed, NotFound, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.intents import IntentService, Sources
from thresher.knowledge.intents.views import FRESH_SECONDS
from thresher.store import Database

LINES = ("write the release notes", "note what changed in this release", "release notes for version 4")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one pack."""
    folder = tmp_path / "project"
    write_pack(folder / ".agents" / "skills", "notes", LINES)
    return folder


@pytest.fixture
def at_work(caller: Caller, project: Path) -> Caller:
    """The owner, in that project."""
    return replace(caller, project=str(project))


async def _names(intents: IntentService, caller: Caller) -> set[str]:
    return {pack.name for pack in (await intents.packs(caller)).active}


async def test_a_project_pack_works_once_its_content_is_approved(
    intents: IntentService, caller: Caller, at_work: Caller
) -> None:
    """It is inert before, and in no other project afterwards."""
    waiting = [inert for inert in (await intents.packs(at_work)).inert if inert.pack.name == "notes"]
    before = await _names(intents, at_work)
    await intents.trust(at_work, "notes", waiting[0].pack.digest)
    after = await _names(intents, at_work)

    assert [inert.reason for inert in waiting] == ["untrusted"]
    assert before == {"deploy", "relations"}
    assert after == {"deploy", "notes", "relations"}
    assert await _names(intents, caller) == {"deploy", "relations"}


async def test_a_change_asks_again(intents: IntentService, at_work: Caller, project: Path) -> None:
    """The digest that was approved is that of the old content; what was looked at before cannot be approved now."""
    old = (await intents.packs(at_work)).inert[0].pack.digest
    await intents.trust(at_work, "notes", old)
    write_pack(project / ".agents" / "skills", "notes", [*LINES, "ignore the change log"])

    changed = await intents.reload(at_work)

    assert [inert.reason for inert in changed.inert] == ["changed"]
    with pytest.raises(Conflict):
        await intents.trust(at_work, "notes", old)


async def test_an_approval_can_be_taken_back(intents: IntentService, at_work: Caller) -> None:
    """By name or by path; the pack is inert at once."""
    pack = (await intents.packs(at_work)).inert[0].pack
    for name in ("notes", pack.path):
        await intents.trust(at_work, name, pack.digest)
        await intents.untrust(at_work, name)

        assert "notes" not in await _names(intents, at_work)
    with pytest.raises(NotFound):
        await intents.untrust(at_work, "notes")


async def test_a_pack_that_is_not_used_says_why(intents: IntentService, at_work: Caller) -> None:
    """And a name that nobody has gets near ones."""
    with pytest.raises(NotFound, match="not in use: untrusted") as waiting:
        await intents.pack(at_work, "notes")
    with pytest.raises(NotFound) as unknown:
        await intents.pack(at_work, "deplyo")

    assert "packs trust" in waiting.value.hint
    assert "deploy" in unknown.value.hint


async def test_others_see_neither_home_nor_projects(
    intents: IntentService, at_work: Caller, other_tenant: Tenant, tmp_path: Path
) -> None:
    """Another tenant, and the owner's users and keys, get what is built in or configured, and approve nothing."""
    write_pack(tmp_path / "home" / ".agents" / "skills", "mine", ["do it my way"])
    pack = (await intents.packs(at_work)).inert[0].pack
    await intents.trust(at_work, "notes", pack.digest)
    ann, keyed = replace(at_work, user="ann"), replace(at_work, keyed=True)
    strangers = (Caller(other_tenant, project=at_work.project), ann, keyed)

    assert await _names(intents, at_work) == {"deploy", "mine", "notes", "relations"}
    for stranger in strangers:
        assert await _names(intents, stranger) == {"deploy", "relations"}
        with pytest.raises(NotAllowed):
            await intents.trust(stranger, "notes", pack.digest)
        with pytest.raises(NotAllowed):
            await intents.untrust(stranger, "notes")


async def test_a_users_threshold_is_the_users_alone(intents: IntentService, caller: Caller) -> None:
    """It stands before the tenant's, which holds for all others; both can be taken away."""
    ann = replace(caller, user="ann")
    await intents.set_threshold(caller, "deploy", 0.9)
    await intents.set_threshold(ann, "deploy", 0.2)
    both = [await intents.thresholds(one) for one in (caller, ann, replace(caller, user="bob"))]
    await intents.set_threshold(ann, "deploy", None)

    assert both == [{"deploy": 0.9}, {"deploy": 0.2}, {"deploy": 0.9}]
    assert await intents.thresholds(ann) == {"deploy": 0.9}
    with pytest.raises(NotFound):
        await intents.set_threshold(ann, "deploy", None)


async def test_other_processes_learn_of_thresholds_and_approvals(
    databases: Databases, settings: Settings, encoder: Encoder, sources: Sources, project: Path
) -> None:
    """Another process's pool, caches and clock see a change within two seconds."""
    name = await databases.create()
    pools = [await databases.open(name) for _ in range(2)]
    tenant = await pools[0].tenant("local")
    here = Caller(tenant, project=str(project))
    async with (
        opened(pools[0], tenant, settings, encoder, sources) as first,
        opened(pools[1], tenant, settings, encoder, sources) as second,
    ):
        pack = (await first.intents.packs(here)).inert[0].pack
        before = await second.intents.thresholds(here)
        await second.intents.packs(here)
        await first.intents.set_threshold(here, "deploy", 0.77)
        await first.intents.trust(here, "notes", pack.digest)

        async def learnt() -> bool:
            return await second.intents.thresholds(here) == {"deploy": 0.77}

        await eventually(learnt, seconds=FRESH_SECONDS + 1)
        names = await _names(second.intents, here)
    for pool in pools:
        await pool.close()
    await databases.drop(name)

    assert before == {}
    assert names == {"deploy", "notes", "relations"}


async def test_a_file_that_changes_is_read_again(intents: IntentService, caller: Caller, shelf: Path) -> None:
    """Nobody has to ask for it."""
    await intents.packs(caller)
    write_pack(shelf, "deploy", ["one line"], rules="# Other rules")

    async def changed() -> bool:
        return (await intents.pack(caller, "deploy")).rules == "# Other rules"

    await eventually(changed)

    assert (await intents.pack(caller, "deploy")).examples == ("one line",)


async def test_tenants_are_kept_apart_by_the_database_itself(
    database: Database, intents: IntentService, caller: Caller, other_tenant: Tenant
) -> None:
    """Every query of the service gives the same without its own conditions on the tenant."""
    other = Caller(other_tenant)
    await intents.set_threshold(other, "deploy", 0.11)
    await fill(database, other_tenant)
    await intents.route(caller, "deploy it to production")
    await intents.settle()
    await assert_sealed_off(database, caller.tenant, other_tenant)
    async with without_tenant_conditions(database) as rewritten:
        await intents.reload(caller)
        thresholds = await intents.thresholds(caller)
        given = await intents.was_given(caller, "x")
        stats = await intents.stats(caller)
        await intents.set_threshold(caller, "deploy", 0.5)
        await intents.set_threshold(caller, "deploy", None)
        removed = await intents.purge(caller, 0)

    assert rewritten.statements
    assert (thresholds, given) == ({}, False)
    assert (stats.decisions, removed) == (1, 1)
    assert await intents.thresholds(other) == {"deploy": 0.11, "x": 1.0}
