"""Puts tables into the index, and takes them out.

Words first: as soon as a schema is stored its tables are found by them; vectors follow, for a large schema by a worker.

Invariant: what was put wholly is noted, so that whoever uses a schema whose run was killed has it put again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Tenant, event
from thresher.jobs import Jobs
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.entries import KIND, entries_of, facets_of, table_id
from thresher.knowledge.databases.queries import Held, Stored
from thresher.knowledge.databases.shelf import catalog_of
from thresher.knowledge.databases.snapshots import unpacked
from thresher.knowledge.databases.task import TASK, embed
from thresher.search import Filter, SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")

EMBEDDED_HERE: Final = 128
"""Tables that are embedded in this process: a second or two of the encoder; more are a worker's."""
_PUT: Final = 1_024


class Indexing:
    """The tables of all connections in the index.

    Args:
        database: Where schemas are stored.
        index: Where tables are found.
        jobs: Embeds many.
    """

    def __init__(self, database: Database, index: SearchIndex, jobs: Jobs) -> None:
        self._database = database
        self._index = index
        self._jobs = jobs

    def is_due(self, stored: Stored) -> bool:
        """Whether a schema was not put wholly, or with the vectors of another model."""
        digest, _, edition = stored.indexed.partition(" ")
        now = self._index.edition(KIND)
        return digest != stored.digest or bool(now and edition != now)

    async def put(self, tenant: Tenant, held: Held) -> None:
        """Have the tables of a connection found, as its schema is stored now."""
        stored = await queries.read_snapshot(self._database, tenant, held.id)
        if stored is None or not self.is_due(stored):
            return
        catalog = await asyncio.to_thread(catalog_of, stored)
        snapshot = await asyncio.to_thread(unpacked, stored.document)
        gone = set(range(snapshot.following)) - set(catalog.by_number)
        await self._index.remove(tenant, KIND, [table_id(held.id, number) for number in sorted(gone)])
        entries = await asyncio.to_thread(lambda: list(entries_of(catalog, held.id, held.connection.owner)))
        for first in range(0, len(entries), _PUT):
            await self._index.put(tenant, KIND, entries[first : first + _PUT], embed=False)
        await self._embed(tenant, held, len(entries))
        indexed = f"{stored.digest} {self._index.edition(KIND)}"
        await run_retrying(
            self._database,
            tenant,
            lambda link: queries.set_indexed(link, tenant, held.id, stored.digest, indexed),
        )

    async def _embed(self, tenant: Tenant, held: Held, tables: int) -> None:
        if tables > EMBEDDED_HERE:
            await run_retrying(self._database, tenant, lambda link: self._defer(link, tenant, held))
            return
        try:
            await embed(self._database, self._index, tenant, held.id)
        except EncoderError as error:
            event(_logger, "tables not embedded", level=logging.WARNING, tenant=tenant.id, reason=str(error))

    async def _defer(self, link: AsyncConnection, tenant: Tenant, held: Held) -> None:
        job = await self._jobs.defer(link, tenant, TASK, held.id, owner=held.connection.owner)
        await queries.set_connection(link, tenant, held.id, held.changes, job=job.id)

    async def embedded(self, tenant: Tenant, connection: int) -> int:
        """How many tables of a connection are found by meaning."""
        return await self._index.embedded(tenant, KIND, Filter(facets_of([connection])))

    async def remove(self, tenant: Tenant, connection: int) -> None:
        """Take a connection whose removal was begun out of the index, and remove its rows; may be called again."""
        stored = await queries.read_snapshot(self._database, tenant, connection)
        if stored is not None:
            snapshot = await asyncio.to_thread(unpacked, stored.document)
            ids = [table_id(connection, number) for number in range(snapshot.following)]
            await self._index.remove(tenant, KIND, ids)
        await run_retrying(self._database, tenant, lambda link: queries.delete_connection(link, tenant, connection))

    async def remove_left(self, tenant: Tenant) -> None:
        """Finish the removals that were begun and broken off."""
        async with self._database.transaction(tenant) as link:
            left = await queries.removing(link, tenant)
        for connection in left:
            await self.remove(tenant, connection)
