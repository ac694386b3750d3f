"""The indexing job in a worker process: it is killed, and continues."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import delete

from tests.knowledge_documents.conftest import machines
from tests.support import eventually
from thresher.core import Caller, Settings
from thresher.jobs import Jobs, Supervisor
from thresher.knowledge.documents import KIND, TASK, DocumentService, Retrieval, origin_of
from thresher.services import Services
from thresher.store import Database
from thresher.store.tables import item_vector


@pytest.fixture
async def workers(database: Database, settings: Settings) -> AsyncIterator[Supervisor]:
    """Workers for the jobs of this database."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    supervisor = Supervisor(database, settings, [TASK])
    running = asyncio.create_task(supervisor.run())
    yield supervisor
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_the_next_worker_completes_the_work_of_a_killed_one(
    documents: DocumentService, caller: Caller, manual: Path, services: Services, workers: Supervisor
) -> None:
    """Questions are answered while it embeds, and after the kill; in the end everything is embedded."""
    (manual / "machines.md").write_text(machines(12))
    found = await documents.index(caller, "manual", origin_of(str(manual)))

    async def answered() -> Retrieval | None:
        """An answer waits a few seconds for the first document, then says to ask again."""
        given = await documents.retrieve_document(caller, "spare part number of machine 11", "manual", budget=400)
        return given if given.found else None

    early = await eventually(answered, seconds=60)
    os.kill(workers.pids[0], signal.SIGKILL)
    ended = await services.jobs.follow(caller, found.job)

    assert "SP-0011" in early.content
    assert ended.state == "done"
    after = await documents.repository(caller, "manual")
    assert (after.state, after.embedded) == ("ready", after.chunks)


async def test_a_new_file_is_found_while_the_rest_is_still_being_embedded(
    documents: DocumentService, caller: Caller, manual: Path, services: Services, workers: Supervisor
) -> None:
    """The one worker reads it first and then goes on; in the end everything is embedded."""
    (manual / "machines.md").write_text(machines(400))
    first = await documents.index(caller, "manual", origin_of(str(manual)))

    async def embedding() -> bool:
        return (await services.jobs.find(caller, first.job)).phase == "embedding"

    await eventually(embedding, seconds=60)
    (manual / "velloria.md").write_text("# Velloria\n\nVelloria keeps the ledgers of the harbour office.\n")
    second = await documents.refresh(caller, "manual")

    async def found() -> bool:
        return (await documents.retrieve_document(caller, "Velloria", "manual", budget=400)).document == "velloria.md"

    await eventually(found, seconds=60)
    early = await documents.repository(caller, "manual")
    ended = [await services.jobs.follow(caller, job) for job in (first.job, second.job)]

    assert early.embedded < early.chunks
    assert [job.state for job in ended] == ["done", "done"]
    after = await documents.repository(caller, "manual")
    assert (after.state, after.embedded) == ("ready", after.chunks)
    assert len(workers.pids) <= 1


async def test_documents_without_vectors_of_the_current_model_are_embedded(
    documents: DocumentService, caller: Caller, handbook: Path, services: Services
) -> None:
    """As after a change of the model; repositories with its vectors are left alone."""
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    before = await documents.catch_up(caller)
    async with services.database.transaction(caller.tenant) as connection:
        await connection.execute(delete(item_vector).where(item_vector.c.kind == KIND))

    behind = await documents.catch_up(caller)

    assert (before, behind) == ([], ["handbook"])
    assert [job.task for job in await Jobs(services.database).list(caller)] == [TASK]
    assert await documents.catch_up(caller) == []
