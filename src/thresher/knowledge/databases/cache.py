"""The schemas that this process holds unpacked; a schema is never changed, only replaced.

Invariant: a schema is cached under its connection's edition, so it is never out of date; their total size is bounded.
"""

from __future__ import annotations

import asyncio
from typing import Final

from cachetools import LRUCache

from thresher.core import Tenant
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.catalog import Catalog, unpacked, unpacked_relations
from thresher.knowledge.databases.queries import StoredConnection, StoredSchema
from thresher.store import Database

_MOST_TABLES: Final = 60_000
"""Maximum tables in the cache, about 300 MB; a single schema is kept whatever its size."""


class SchemaCache:
    """A cache of unpacked schemas by connection.

    Args:
        database: Stores schemas.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: LRUCache[tuple[int, int], Catalog] = LRUCache(
            _MOST_TABLES, lambda catalog: min(len(catalog.schema.tables), _MOST_TABLES)
        )
        self._reading = asyncio.Lock()

    async def catalog(self, tenant: Tenant, held: StoredConnection) -> Catalog | None:
        """The schema of a connection; None if it was never read."""
        if (found := self._found(tenant, held)) is not None or held.edition == 0:
            return found
        async with self._reading:  # so that concurrent callers unpack it once
            if (found := self._found(tenant, held)) is not None:
                return found
            stored = await queries.read_snapshot(self._database, tenant, held.id)
            return None if stored is None else await self._keep(tenant, held.id, stored)

    def forget(self, tenant: Tenant, connection: int) -> None:
        """Drop the schema of a connection."""
        self._kept.pop((tenant.id, connection), None)

    def _found(self, tenant: Tenant, held: StoredConnection) -> Catalog | None:
        found = self._kept.get((tenant.id, held.id))
        return None if found is None or found.edition != held.edition else found

    async def _keep(self, tenant: Tenant, connection: int, stored: StoredSchema) -> Catalog:
        found = await asyncio.to_thread(catalog_of, stored)
        self._kept[tenant.id, connection] = found
        return found


def catalog_of(stored: StoredSchema) -> Catalog:
    """Unpack a stored schema."""
    return Catalog.of(unpacked(stored.document), unpacked_relations(stored.relations), stored.edition)
