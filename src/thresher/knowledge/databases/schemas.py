"""The schema of a connection for an answer: what is known, read first where nothing is.

Invariant: an answer from an old schema says so; it waits for the database only where nothing is known.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from thresher.core import Caller, DatabaseUnavailable, ThresherError
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.queries import Held
from thresher.knowledge.databases.refreshing import Refresher
from thresher.knowledge.databases.shelf import Shelf

_BEING_READ = "the schema is being read again and may have changed; ask again in a moment"


@dataclass(frozen=True, slots=True)
class Schemas:
    """Schemas by connection.

    Attributes:
        connections: Who sees which.
        shelf: What is known.
        refresher: Reads what is not.
    """

    connections: Connections
    shelf: Shelf
    refresher: Refresher

    async def of(self, caller: Caller, name: str) -> tuple[Held, Catalog, tuple[str, ...]]:
        """The schema of a connection, and what must be known of it.

        Raises:
            NotFound: There is no such connection.
            DatabaseUnavailable: Its schema was never read, and it cannot be reached.
            QueryFailed: The same, and its catalog cannot be read.
        """
        held = await self.connections.held(caller, name)
        if held.connection.state == "new" or (catalog := await self.shelf.catalog(caller.tenant, held)) is None:
            await self.refresher.read(caller.tenant, held)
            held = await self.connections.held(caller, name)
            catalog = await self.shelf.catalog(caller.tenant, held)
        elif (looked := await self.refresher.look(caller.tenant, held)) != "same":
            if looked == "reading":
                return held, catalog, (_BEING_READ, *_notes(held, catalog))
            held = await self.connections.held(caller, name)
            catalog = await self.shelf.catalog(caller.tenant, held)
        if catalog is None:
            raise DatabaseUnavailable(
                f"The schema of '{name}' is not known yet.", hint="Ask again, or refresh the connection."
            )
        return held, catalog, _notes(held, catalog)

    async def several(self, caller: Caller, name: str | None) -> dict[int, tuple[Held, Catalog]]:
        """The schemas of one connection, or of all that the caller sees and whose schema is known."""
        if name is not None:
            held, catalog, _ = await self.of(caller, name)
            return {held.id: (held, catalog)}
        known = await self.connections.all_held(caller)
        found = await asyncio.gather(*(self._known(caller, held) for held in known))
        return {held.id: (held, catalog) for held, catalog in zip(known, found, strict=True) if catalog is not None}

    async def _known(self, caller: Caller, held: Held) -> Catalog | None:
        try:
            return await self.shelf.catalog(caller.tenant, held)
        except ThresherError:
            return None


def _notes(held: Held, catalog: Catalog) -> tuple[str, ...]:
    notes: list[str] = []
    if held.connection.state == "stale":
        read = held.connection.schema_at
        since = f", as of {read:%Y-%m-%d %H:%M} UTC" if read is not None else ""
        notes.append(f"the schema could not be read again{since}: {held.connection.problem}")
    if not catalog.known.complete:
        notes.append("potential relations are still being looked for; ask again in a moment")
    if catalog.schema.left_out:
        notes.append(f"{catalog.schema.left_out:,} tables beyond the limit are not known here")
    return tuple(notes)
