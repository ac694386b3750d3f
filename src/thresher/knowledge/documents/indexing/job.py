"""The job `documents.index`: brings what is stored of a repository up to date with its source.

Words come first: a file can be found by its words as soon as its chunks are written; vectors follow when all files are
read.

Invariant: however a run ends, the repository's state describes it; a removed repository leaves nothing behind. The task
holds no state between two jobs: everything it continues from is in the database.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Settings, StoreUnavailable, Tenant, ThresherError, event
from thresher.jobs import Work
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.entries import KIND
from thresher.knowledge.documents.guides.structure import guide_of
from thresher.knowledge.documents.guides.writer import GuideWriter
from thresher.knowledge.documents.indexing.run import IndexRun, OthersWait, Report, RepositoryRemoved
from thresher.knowledge.documents.models import chunk_id
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")


class RepositoryIndexer:
    """Indexes repositories; one instance serves any number of them.

    Args:
        database: The database of the documents.
        index: The search index of their chunks.
        settings: Limits of sources, and the data folder.
        chat: The configured model, which writes guides; None for none.
    """

    def __init__(self, database: Database, index: SearchIndex, settings: Settings, chat: Chat | None = None) -> None:
        self._database = database
        self._index = index
        self._settings = settings
        self._guide_writer = GuideWriter(database, chat, settings.llm_seconds)

    async def run(
        self, tenant: Tenant, repository_id: int, report: Report, others_wait: OthersWait | None = None
    ) -> None:
        """Index a repository; nothing happens if it is gone.

        Raises:
            Yielded: Another job waits to read, by `others_wait`; what is stored can be found by words.
            InvalidInput: Its source cannot be read, or is too large.
            NotFound: The source has nothing at its location, or no such branch.
            EncoderError: Not everything is embedded; all of it can be found by words.
            StoreError: The database cannot write.
        """
        async with self._database.transaction(tenant) as connection:
            left = await queries.removing(connection, tenant)
            found = await queries.repository_by_id(connection, tenant, repository_id)
        for gone in left:
            await remove(self._database, self._index, tenant, gone)
        if found is None:
            return
        run = IndexRun(self._database, self._index, self._settings, tenant, found, report, others_wait)
        try:
            await run.run(self.guide)
        except RepositoryRemoved:
            await remove(self._database, self._index, tenant, repository_id)
        except asyncio.CancelledError:
            await asyncio.shield(
                self._fail(tenant, repository_id, "The run was ended; refresh the repository to go on.")
            )
            raise
        except EncoderError:
            raise
        except ThresherError as error:
            await self._fail(tenant, repository_id, str(error))
            raise
        await self._guide_writer.rewrite(tenant, repository_id)  # everything can be found by now

    async def guide(self, connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
        """Rebuild the guide of a repository and its glossary; a guide that a person wrote stays."""
        found = await queries.repository_by_id(connection, tenant, repository_id)
        if found is None:
            return
        outlines = await queries.outlines(connection, tenant, repository_id)
        text, acronyms = await asyncio.to_thread(guide_of, found.name, outlines)
        built = {} if found.guide_by == "person" else {"guide": text, "guide_by": "structure"}
        await queries.set_repository(connection, tenant, repository_id, acronyms=acronyms, **built)
        await queries.recount(connection, tenant, repository_id)

    async def _fail(self, tenant: Tenant, repository_id: int, problem: str) -> None:
        """Store why a run failed, if the database can be reached."""
        values = {"state": "failed", "problem": problem}
        try:
            async with self._database.transaction(tenant) as connection:
                await queries.set_repository(connection, tenant, repository_id, **values)
        except StoreUnavailable as lost:
            event(_logger, "index problem not stored", level=logging.WARNING, reason=str(lost))


async def remove(database: Database, index: SearchIndex, tenant: Tenant, repository_id: int) -> None:
    """Take a repository whose removal has begun out of the index, and delete its rows; idempotent."""
    async with database.transaction(tenant) as connection:
        stored = await queries.stored_versions(connection, tenant, repository_id)
    await index.remove(tenant, KIND, [chunk_id(one.id, place) for one in stored for place in range(one.chunks)])
    await run_retrying(
        database, tenant, lambda connection: queries.delete_repository(connection, tenant, repository_id)
    )


TASK: Final = "documents.index"


class IndexTask:
    """Brings repositories up to date with their sources.

    Args:
        database: The database of the documents.
        index: The search index of their chunks.
        settings: Limits of sources, and the data folder.
        chat: The configured model; None for none.
    """

    def __init__(self, database: Database, index: SearchIndex, settings: Settings, chat: Chat | None = None) -> None:
        self._indexing = RepositoryIndexer(database, index, settings, chat)

    @property
    def name(self) -> str:
        """See `Task.name`."""
        return TASK

    async def run(self, work: Work) -> None:
        """See `Task.run`."""
        await self._indexing.run(work.tenant, work.subject, work.report, work.others_wait)
