"""The job that embeds the tables of a large schema, as a worker runs it.

Invariant: it holds nothing between two jobs and reaches no database but our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from thresher.core import Tenant
from thresher.jobs import Work
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.entries import KIND, entries_of, facets_of, key_of
from thresher.knowledge.databases.shelf import catalog_of
from thresher.search import Entry, Filter, Progress, SearchIndex
from thresher.store import Database

TASK: Final = "databases.embed"


class EmbedTask:
    """Gives vectors to tables that are found by their words alone.

    Args:
        database: Where schemas are stored.
        index: Where tables are found.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._database = database
        self._index = index

    @property
    def name(self) -> str:
        """See `Task.name`."""
        return TASK

    async def run(self, work: Work) -> None:
        """See `Task.run`."""
        await embed(
            self._database,
            self._index,
            work.tenant,
            work.subject,
            progress=lambda done, total: work.report("embedding", done, total),
        )


async def embed(
    database: Database, index: SearchIndex, tenant: Tenant, connection: int, *, progress: Progress | None = None
) -> int:
    """Give vectors to the tables of a connection that have none; one that is gone is fine. Returns to how many.

    Raises:
        EncoderError: The encoder cannot answer; what was written before stays.
        StoreError: The database does not answer.
    """
    async with database.transaction(tenant) as link:
        held = await queries.connection_by_id(link, tenant, connection)
        stored = await queries.read_numbers(link, tenant, connection)
    if held is None or stored is None:
        return 0
    catalog, owner = catalog_of(stored), held.connection.owner

    async def entries(ids: Sequence[int]) -> list[Entry]:
        return list(entries_of(catalog, connection, owner, [key_of(one)[1] for one in ids]))

    scope = Filter(facets_of([connection]))
    return await index.embed_pending(tenant, KIND, entries, filter=scope, progress=progress)
