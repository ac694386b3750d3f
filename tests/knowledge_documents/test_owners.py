"""Who sees which repositories, and who may change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import without_tenant_conditions
from thresher.core import Caller, NotAllowed, NotFound, Tenant
from thresher.knowledge.documents import DocumentService, origin_of
from thresher.store import Database


async def test_a_tenant_sees_nothing_of_another(
    documents: DocumentService, caller: Caller, other_tenant: Tenant, handbook: Path, database: Database
) -> None:
    """Not even if a statement lacks the tenant condition."""
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    stranger = Caller(other_tenant)

    async with without_tenant_conditions(database) as rewritten:
        found = await documents.search_documents(stranger, "error 809")
        mine = await documents.search_documents(caller, "error 809")
        assert await documents.list_repositories(stranger) == ()
        assert not await documents.sees_any(stranger)
        with pytest.raises(NotFound):
            await documents.retrieve_document(stranger, "error 809", "handbook")
        with pytest.raises(NotFound):
            await documents.read_document(stranger, "handbook", "README.md")

    assert rewritten.statements
    assert found.passages == ()
    assert mine.passages


async def test_a_user_sees_the_tenants_repositories_and_their_own(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """And never those of other users."""
    ann, ben = Caller(caller.tenant, "ann"), Caller(caller.tenant, "ben")
    await documents.index_here(caller, "shared", origin_of(str(handbook)))
    await documents.index_here(ann, "private", origin_of(str(handbook / "guides")))

    assert [one.name for one in await documents.list_repositories(ann)] == ["private", "shared"]
    assert [one.name for one in await documents.list_repositories(ben)] == ["shared"]
    assert {one.repository for one in (await documents.search_documents(ann, "error 809")).passages} == {
        "private",
        "shared",
    }
    assert {one.repository for one in (await documents.search_documents(ben, "error 809")).passages} == {"shared"}
    with pytest.raises(NotFound):
        await documents.retrieve_document(ben, "error 809", "private")


async def test_a_users_own_repository_hides_the_tenants_of_the_same_name(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """Only for that user."""
    ann = Caller(caller.tenant, "ann")
    await documents.index_here(caller, "handbook", origin_of(str(handbook / "guides")))
    await documents.index_here(ann, "handbook", origin_of(str(handbook / "README.md")))

    assert [one.documents for one in await documents.list_repositories(ann)] == [1]
    assert [one.documents for one in await documents.list_repositories(caller)] == [2]
    assert (await documents.retrieve_document(ann, "staff handbook", "handbook")).document == "README.md"


async def test_a_user_changes_nothing_of_the_tenants(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """Neither by a refresh, nor by a guide, nor by a removal."""
    ann = Caller(caller.tenant, "ann")
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    with pytest.raises(NotAllowed):
        await documents.refresh(ann, "handbook")
    with pytest.raises(NotAllowed):
        await documents.set_guide(ann, "handbook", "mine")
    with pytest.raises(NotAllowed):
        await documents.remove_repository(ann, "handbook")


async def test_with_a_key_only_configured_sources_are_indexed(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """None unless the setting names some."""
    keyed = Caller(caller.tenant, "ann", keyed=True)

    with pytest.raises(NotAllowed):
        await documents.index(keyed, "handbook", origin_of(str(handbook)))
