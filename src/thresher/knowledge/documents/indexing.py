"""Brings what is stored of a repository up to its source: the body of the job `documents.index`.

Words first: as soon as a file's chunks are written it can be found by them; vectors follow when all files are through.

Invariant: however a run ends, the repository says how it stands; one that is gone leaves nothing.
"""

from __future__ import annotations

import asyncio
import logging

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Settings, StoreUnavailable, Tenant, ThresherError, event
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.describing import Describer
from thresher.knowledge.documents.entries import KIND
from thresher.knowledge.documents.guide import guide_of
from thresher.knowledge.documents.models import chunk_id
from thresher.knowledge.documents.run import Removed, Report, Run
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")


class Indexing:
    """Runs the job; one for any number of repositories.

    Args:
        database: Where documents are stored.
        index: Where they are found.
        settings: The limits of sources, and the data folder.
        chat: The configured model, if there is one: it writes guides.
    """

    def __init__(self, database: Database, index: SearchIndex, settings: Settings, chat: Chat | None = None) -> None:
        self._database = database
        self._index = index
        self._settings = settings
        self._describer = Describer(database, chat, settings.llm_seconds)

    async def run(self, tenant: Tenant, repository_id: int, report: Report) -> None:
        """Index a repository; one that is gone is fine.

        Raises:
            InvalidInput: Its source cannot be read, or is too large.
            NotFound: There is nothing at its place, or no such branch.
            EncoderError: Not everything is embedded; all of it can be found by its words.
            StoreError: The database cannot write.
        """
        async with self._database.transaction(tenant) as connection:
            left = await queries.removing(connection, tenant)
            found = await queries.repository_by_id(connection, tenant, repository_id)
        for gone in left:
            await remove(self._database, self._index, tenant, gone)
        if found is None:
            return
        run = Run(self._database, self._index, self._settings, tenant, found, report)
        try:
            await run.run(self.guide)
        except Removed:
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
        await self._describer.describe(tenant, repository_id)  # everything is found and answered from by now

    async def guide(self, connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
        """Build the guide of a repository and its glossary anew; a guide that a person wrote stays."""
        found = await queries.repository_by_id(connection, tenant, repository_id)
        if found is None:
            return
        outlines = await queries.outlines(connection, tenant, repository_id)
        text, acronyms = await asyncio.to_thread(guide_of, found.name, outlines)
        built = {} if found.guide_by == "person" else {"guide": text, "guide_by": "structure"}
        await queries.set_repository(connection, tenant, repository_id, acronyms=acronyms, **built)
        await queries.recount(connection, tenant, repository_id)

    async def _fail(self, tenant: Tenant, repository_id: int, problem: str) -> None:
        """Say what is wrong, where that can be said."""
        values = {"state": "failed", "problem": problem}
        try:
            async with self._database.transaction(tenant) as connection:
                await queries.set_repository(connection, tenant, repository_id, **values)
        except StoreUnavailable as lost:
            event(_logger, "index problem not stored", level=logging.WARNING, reason=str(lost))


async def remove(database: Database, index: SearchIndex, tenant: Tenant, repository_id: int) -> None:
    """Take a repository whose removal was begun out of the index, and remove its rows; may be called again."""
    async with database.transaction(tenant) as connection:
        stored = await queries.standing(connection, tenant, repository_id)
    await index.remove(tenant, KIND, [chunk_id(one.id, place) for one in stored for place in range(one.chunks)])
    await run_retrying(
        database, tenant, lambda connection: queries.delete_repository(connection, tenant, repository_id)
    )
