"""The job that takes a description over, as a worker runs it.

Invariant: it holds nothing between two jobs and reaches no network; the bytes lie in the database.
"""

from __future__ import annotations

from typing import Final

from thresher.jobs import Work
from thresher.knowledge.apis.syncing import Syncing
from thresher.search import SearchIndex
from thresher.store import Database

TASK: Final = "apis.sync"


class SyncTask:
    """Brings descriptions up to their bytes.

    Args:
        database: Where they are stored.
        index: Where operations are found.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._syncing = Syncing(database, index)

    @property
    def name(self) -> str:
        """See `Task.name`."""
        return TASK

    async def run(self, work: Work) -> None:
        """See `Task.run`."""
        await self._syncing.run(work.tenant, work.subject, work.report)
