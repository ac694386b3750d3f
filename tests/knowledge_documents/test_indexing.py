"""Indexing: what a run does, what the next one leaves unchanged, and what survives an interruption."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from dulwich import porcelain
from sqlalchemy import func, select, update

from tests.knowledge_documents.conftest import VPN, machines
from thresher.core import Caller, Conflict, InvalidInput, NotFound, Tenant
from thresher.knowledge.documents import KIND, DocumentService, Origin, origin_of
from thresher.services import Services
from thresher.store import Database
from thresher.store.tables import document, item


class Killed(Exception):
    """Ends a run abruptly, unlike any of our errors."""


async def indexed(documents: DocumentService, caller: Caller, folder: Path, name: str = "handbook") -> None:
    """Bring a repository up to date with its folder."""
    await documents.index_here(caller, name, origin_of(str(folder)))


async def stored(database: Database, tenant: Tenant, *, current: bool = True) -> dict[str, int]:
    """Keys of the tenant's documents by path."""
    async with database.transaction(tenant) as connection:
        rows = await connection.execute(select(document.c.path, document.c.id).where(document.c.current == current))
        return {row.path: row.id for row in rows}


async def items(database: Database, tenant: Tenant) -> int:
    """Number of chunks in the index."""
    async with database.transaction(tenant) as connection:
        return (await connection.execute(select(func.count()).where(item.c.kind == KIND))).scalar_one()


async def test_a_run_stores_every_file_and_summarises_the_repository(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """Afterwards the repository is ready, counted, embedded, and has a guide."""
    found = await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    assert (found.state, found.problem, found.documents) == ("ready", "", 3)
    assert found.embedded == found.chunks > 0
    assert found.tokens > 100
    assert found.version
    assert found.indexed_at is not None
    assert "handbook" in found.guide


async def test_a_second_run_leaves_unchanged_files_alone(
    documents: DocumentService, caller: Caller, handbook: Path, database: Database
) -> None:
    """The same rows answer, at the same edition."""
    await indexed(documents, caller, handbook)
    before, first = await stored(database, caller.tenant), await documents.repository(caller, "handbook")

    await indexed(documents, caller, handbook)

    assert await stored(database, caller.tenant) == before
    assert (await documents.repository(caller, "handbook")).edition == first.edition


async def test_only_what_changed_is_read_again(
    documents: DocumentService, caller: Caller, handbook: Path, database: Database
) -> None:
    """A changed file is a new document, a renamed one has its new path, and a deleted one is no longer found."""
    await indexed(documents, caller, handbook)
    before = await stored(database, caller.tenant)
    (handbook / "guides" / "vpn.md").write_text(VPN.replace("port 443", "port 8443"))
    (handbook / "README.md").rename(handbook / "START.md")
    (handbook / "guides" / "leave.md").unlink()

    await indexed(documents, caller, handbook)

    after = await stored(database, caller.tenant)
    assert after.keys() == {"guides/vpn.md", "START.md"}
    assert after["guides/vpn.md"] != before["guides/vpn.md"]
    answer = await documents.retrieve_document(caller, "error 809 port", "handbook")
    assert "port 8443" in answer.content
    assert answer.document == "guides/vpn.md"
    found = await documents.repository(caller, "handbook")
    assert await items(database, caller.tenant) == found.chunks == found.embedded


async def test_a_run_interrupted_while_embedding_is_completed_by_the_next(
    documents: DocumentService, caller: Caller, manual: Path, database: Database
) -> None:
    """What was stored stays, can be found by its words at once, and is not read again."""

    def interrupt(_done: int, total: int) -> None:
        if total > 1:  # chunks, not files
            raise Killed

    with pytest.raises(Killed):
        await documents.index_here(caller, "manual", origin_of(str(manual)), progress=interrupt)
    before = await stored(database, caller.tenant)
    early = await documents.retrieve_document(caller, "spare part of machine 17", "manual", budget=300)

    await indexed(documents, caller, manual, "manual")

    assert "SP-0017" in early.content
    assert await stored(database, caller.tenant) == before
    found = await documents.repository(caller, "manual")
    assert found.embedded == found.chunks


async def test_a_version_stored_but_never_current_is_completed(
    documents: DocumentService, caller: Caller, handbook: Path, database: Database
) -> None:
    """A run that ended between the two steps is completed without reading the file again."""
    await indexed(documents, caller, handbook)
    before = await stored(database, caller.tenant)
    async with database.transaction(caller.tenant) as connection:
        await connection.execute(update(document).where(document.c.path == "guides/vpn.md").values(current=False))

    await indexed(documents, caller, handbook)

    assert await stored(database, caller.tenant) == before
    assert await stored(database, caller.tenant, current=False) == {}


async def test_old_versions_are_deleted_by_the_next_run(
    documents: DocumentService, caller: Caller, handbook: Path, database: Database
) -> None:
    """They stay for answers that are being written while a run replaces them."""
    await indexed(documents, caller, handbook)
    (handbook / "guides" / "vpn.md").write_text(VPN + "\nMore.\n")
    await indexed(documents, caller, handbook)
    between = await stored(database, caller.tenant, current=False)

    await indexed(documents, caller, handbook)

    assert between.keys() == {"guides/vpn.md"}
    assert await stored(database, caller.tenant, current=False) == {}


async def test_a_file_without_text_is_reported_and_not_read_twice(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """Its bytes have not changed, and neither has its reason."""
    (handbook / "blank.md").write_text(" \n\n")
    await indexed(documents, caller, handbook)
    first = await documents.skipped_files(caller, "handbook")

    await indexed(documents, caller, handbook)

    assert [(one.path, one.reason) for one in first] == [("blank.md", "empty")]
    assert await documents.skipped_files(caller, "handbook") == first
    assert dict((await documents.repository(caller, "handbook")).skipped) == {"empty": 1}


async def test_a_document_that_becomes_empty_is_no_longer_used(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """Its old text would be wrong."""
    await indexed(documents, caller, handbook)
    (handbook / "guides" / "vpn.md").write_text("\n")

    await indexed(documents, caller, handbook)

    with pytest.raises(NotFound):
        await documents.read_document(caller, "handbook", "guides/vpn.md")


async def test_a_missing_source_fails_the_run_and_keeps_the_documents(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """The problem is shown in the list of repositories, and answers continue."""
    await indexed(documents, caller, handbook)
    origin = origin_of(str(handbook))
    handbook.rename(handbook.with_name("elsewhere"))

    with pytest.raises((NotFound, InvalidInput)):
        await documents.index_here(caller, "handbook", origin)

    (found,) = await documents.list_repositories(caller)
    assert found.state == "failed"
    assert found.problem
    assert "809" in (await documents.retrieve_document(caller, "what does error 809 mean", "handbook")).content


async def test_a_repository_removed_while_it_is_indexed_leaves_nothing(
    documents: DocumentService, caller: Caller, manual: Path, database: Database
) -> None:
    """Neither rows nor chunks in the index, whichever ends first."""
    removals: list[asyncio.Task[None]] = []

    def remove(_done: int, total: int) -> None:
        if total and not removals:
            removals.append(asyncio.create_task(documents.remove_repository(caller, "manual")))

    with pytest.raises(NotFound):
        await documents.index_here(caller, "manual", origin_of(str(manual)), progress=remove)
    await asyncio.gather(*removals)

    assert await documents.list_repositories(caller) == ()
    assert await stored(database, caller.tenant) == {}
    assert await items(database, caller.tenant) == 0


async def test_a_name_stands_for_one_source(documents: DocumentService, caller: Caller, handbook: Path) -> None:
    """The same source again is a refresh; another one is refused until the first is removed."""
    origin = origin_of(str(handbook))
    first = await documents.index(caller, "handbook", origin)

    again = await documents.index(caller, "handbook", origin)
    with pytest.raises(Conflict):
        await documents.index(caller, "handbook", origin_of(str(handbook / "guides")))
    await documents.remove_repository(caller, "handbook")
    other = await documents.index(caller, "handbook", origin_of(str(handbook / "guides")))

    assert again.id == first.id != other.id


async def test_another_selection_of_files_applies_from_then_on(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """A mistyped branch or pattern is corrected by the same command; files that are no longer selected go."""
    whole = await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    part = await documents.index_here(caller, "handbook", origin_of(str(handbook), include=("guides/",)))
    again = await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    assert (part.id, part.origin.include) == (whole.id, ("guides/",))
    assert 0 < part.documents < whole.documents
    assert again.documents == whole.documents


async def test_a_ref_that_does_not_exist_is_not_what_the_next_refresh_reads(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """The last state that worked is refreshed, whatever was tried since; only a run that was ended goes on."""
    porcelain.init(str(handbook))
    porcelain.add(str(handbook), [str(handbook / "README.md"), str(handbook / "guides" / "vpn.md")])
    porcelain.commit(str(handbook), b"Begin", author=b"A <a@example.test>", committer=b"A <a@example.test>")
    porcelain.tag_create(str(handbook), b"v1")
    good = await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    for wrong in (origin_of(str(handbook), ref="typo"), origin_of(str(handbook), ref="other", include=("guides/",))):
        with pytest.raises((NotFound, InvalidInput)):
            await documents.index_here(caller, "handbook", wrong)
    failed = await documents.repository(caller, "handbook")
    refreshed = await documents.refresh(caller, "handbook")
    await documents.index(caller, "handbook", origin_of(str(handbook), ref="v1"))
    going_on = await documents.refresh(caller, "handbook")
    tagged = await documents.index_here(caller, "handbook", going_on.origin)
    after = await documents.refresh(caller, "handbook")

    assert (failed.state, failed.documents) == ("failed", good.documents)
    assert refreshed.origin == good.origin
    assert tagged.state == "ready"
    assert (going_on.origin.ref, after.origin.ref) == ("v1", "v1")


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", "-x", "x" * 64, "a\nb"])
async def test_a_name_is_one_that_people_can_type(documents: DocumentService, caller: Caller, name: str) -> None:
    """Other names are refused before anything is read."""
    with pytest.raises(InvalidInput):
        await documents.index(caller, name, Origin("folder", "/nowhere"))


async def test_a_repository_is_stored_together_with_its_job(
    documents: DocumentService, caller: Caller, handbook: Path, services: Services
) -> None:
    """The repository names the job that will fill it."""
    found = await documents.index(caller, "handbook", origin_of(str(handbook)))

    job = await services.jobs.find(caller, found.job)
    assert (job.subject, job.state, found.state) == (found.id, "waiting", "waiting")


async def test_a_repository_whose_job_was_cancelled_does_not_wait(
    documents: DocumentService, caller: Caller, handbook: Path, services: Services
) -> None:
    """Its state shows that it will not continue by itself."""
    found = await documents.index(caller, "handbook", origin_of(str(handbook)))

    await services.jobs.cancel(caller, found.job)

    assert (await documents.repository(caller, "handbook")).state == "failed"


async def test_answers_are_whole_while_documents_are_replaced(
    documents: DocumentService, caller: Caller, manual: Path
) -> None:
    """Each rests on one version of the text, whatever a run does meanwhile."""
    versions = [machines(6), machines(6).replace("kilograms", "pounds")]
    (manual / "machines.md").write_text(versions[0])
    await indexed(documents, caller, manual, "manual")

    async def replace() -> None:
        for version in (1, 0):
            (manual / "machines.md").write_text(versions[version])
            await indexed(documents, caller, manual, "manual")

    running = asyncio.create_task(replace())
    answers = 0
    while not running.done():
        answer = await documents.retrieve_document(
            caller, "how heavy is machine 3", "manual", budget=300, document="machines.md"
        )
        texts = [
            text for text in versions if all(text[one.start : one.end] in answer.content for one in answer.sources)
        ]
        if not texts:
            print(answer, answers)
            [
                print(repr(v[one.start : one.end][:80]), v[one.start : one.end] in answer.content)
                for v in versions
                for one in answer.sources
            ]
        assert texts
        assert answer.sources
        answers += 1
    await running
    assert answers


async def test_a_guide_by_a_person_stays(documents: DocumentService, caller: Caller, handbook: Path) -> None:
    """Runs do not change it until it is released."""
    await indexed(documents, caller, handbook)

    await documents.set_guide(caller, "handbook", "Ask about **anything**.")
    (handbook / "new.md").write_text("# New\n\nA new page.\n")
    await indexed(documents, caller, handbook)

    found = await documents.repository(caller, "handbook")
    assert (found.guide, found.guide_by) == ("Ask about **anything**.", "person")
    assert (await documents.set_guide(caller, "handbook", None)).guide_by == "structure"
