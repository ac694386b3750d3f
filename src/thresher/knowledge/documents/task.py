"""The job that indexes a repository, as a worker runs it.

Invariant: it holds nothing between two jobs; all that it goes on from is in the database.
"""

from __future__ import annotations

from typing import Final

from thresher.core import Settings
from thresher.jobs import Work
from thresher.knowledge.documents.indexing import Indexing
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database

TASK: Final = "documents.index"


class IndexTask:
    """Brings repositories up to their sources.

    Args:
        database: Where documents are stored.
        index: Where they are found.
        settings: The limits of sources, and the data folder.
        chat: The configured model, if there is one.
    """

    def __init__(self, database: Database, index: SearchIndex, settings: Settings, chat: Chat | None = None) -> None:
        self._indexing = Indexing(database, index, settings, chat)

    @property
    def name(self) -> str:
        """See `Task.name`."""
        return TASK

    async def run(self, work: Work) -> None:
        """See `Task.run`."""
        await self._indexing.run(work.tenant, work.subject, work.report)
