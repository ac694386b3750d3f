"""The schemas that this process holds, unpacked; they are never changed, only replaced.

Invariant: a schema is kept by its connection's edition and can never be out of date; all of them together are bounded.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from thresher.core import Tenant
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.queries import Held, Stored
from thresher.knowledge.databases.snapshots import unpacked, unpacked_relations
from thresher.store import Database

_MOST_TABLES: Final = 60_000
"""About 300 MB; one schema is kept however large it is."""


class Shelf:
    """Schemas by connection.

    Args:
        database: Where they are stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[tuple[int, int], Catalog] = OrderedDict()
        self._reading = asyncio.Lock()

    async def catalog(self, tenant: Tenant, held: Held) -> Catalog | None:
        """The schema of a connection; None where none was read yet."""
        if (found := self._found(tenant, held)) is not None or held.edition == 0:
            return found
        async with self._reading:  # so that many who ask at once unpack it once
            if (found := self._found(tenant, held)) is not None:
                return found
            stored = await queries.read_snapshot(self._database, tenant, held.id)
            return None if stored is None else await self._keep(tenant, held.id, stored)

    def forget(self, tenant: Tenant, connection: int) -> None:
        """Let the schema of a connection go."""
        self._kept.pop((tenant.id, connection), None)

    def _found(self, tenant: Tenant, held: Held) -> Catalog | None:
        found = self._kept.get((tenant.id, held.id))
        if found is None or found.edition != held.edition:
            return None
        self._kept.move_to_end((tenant.id, held.id))
        return found

    async def _keep(self, tenant: Tenant, connection: int, stored: Stored) -> Catalog:
        found = await asyncio.to_thread(catalog_of, stored)
        self._kept[tenant.id, connection] = found
        self._kept.move_to_end((tenant.id, connection))
        while len(self._kept) > 1 and sum(len(one.schema.tables) for one in self._kept.values()) > _MOST_TABLES:
            self._kept.popitem(last=False)
        return found


def catalog_of(stored: Stored) -> Catalog:
    """What is stored, unpacked."""
    return Catalog.of(unpacked(stored.document), unpacked_relations(stored.relations), stored.edition)
