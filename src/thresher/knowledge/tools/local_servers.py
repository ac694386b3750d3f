"""Servers inside this process: tools whose code runs here, under the same names, switches and search as all others.

Invariant: a stored local server is visible to exactly those callers to whom this process offers it now. A disabled tool
stays disabled while its server is not offered, since its row stays.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from thresher.core import JSON, Caller, NotFound
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache
from thresher.knowledge.tools.definitions import definition_hash
from thresher.knowledge.tools.indexer import Indexer
from thresher.knowledge.tools.models import LOCAL, LocalServer
from thresher.knowledge.tools.queries import ServerRow
from thresher.search import PutCounts
from thresher.store import Database, run_retrying

OfferSource: TypeAlias = Callable[[Caller, bool], Awaitable[str]]
"""Offers a caller its local servers, unless it has them already, and waits for a bounded time until their tools can be
called, or, if the second argument is true, until a search can find them. Returns what is still missing; empty if
nothing
is."""


class LocalServers:
    """Stores and shows the servers that faces of this process offer; one per process.

    Attributes:
        sources: The offering sources; the last one is called before each answer about tools, whatever the face.
    """

    def __init__(self, database: Database, indexer: Indexer, catalogues: CatalogueCache) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues
        self._storing: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.sources: list[OfferSource] = []

    def mirror(self, other: LocalServers) -> None:
        """Show each caller the servers that others offer it; nothing is stored for that."""

        async def source(caller: Caller, searching: bool) -> str:
            missing = await other.ready(caller, searching=searching)
            self._catalogues.offer(caller, other._catalogues.offered(caller))
            return missing

        self.sources.append(source)

    async def ready(self, caller: Caller, *, searching: bool) -> str:
        """Wait, for a bounded time, for a caller's local servers; see `OfferSource`."""
        return await self.sources[-1](caller, searching) if self.sources else ""

    async def offer(self, caller: Caller, servers: Sequence[LocalServer]) -> None:
        """Offer a caller exactly these servers in its current project.

        What is stored already is not written again. The tools can be called when this returns; `index` adds them to
        the search.

        Args:
            caller: The receiver; other projects, users and tenants see nothing of it.
            servers: What to offer; the offering code vouches for the definitions and runs the tools.
        """
        shared = replace(caller, user=None)
        async with self._storing[caller.tenant.id]:
            for server in servers:
                await self._store(shared, server)
        self._catalogues.offer(caller, frozenset(server.name for server in servers))

    async def index(self, caller: Caller) -> PutCounts:
        """Index the tools of all servers that a caller is offered; unchanged ones are kept."""
        if not (offered := self._catalogues.offered(caller)):
            return PutCounts()
        shared = replace(caller, user=None)
        async with self._database.transaction(shared.tenant) as connection:
            rows = [row for row in await queries.servers(connection, shared) if row.name in offered and row.enabled]
        return await self._indexer.index(shared, rows)

    async def _store(self, shared: Caller, server: LocalServer) -> None:
        digest = _digest(server)
        known = await self._row(shared, server.name)
        config: JSON = {"transport": LOCAL} if server.prefix else {"transport": LOCAL, "prefix": False}
        config |= {"aliases": dict(server.aliases)} if server.aliases else {}
        same = known is not None and (known.description, dict(known.config)) == (server.description, config)
        if same and known is not None and known.listing == digest:
            return
        values: dict[str, Any] = {"config": config, "sealed": None, "description": server.description}
        await run_retrying(
            self._database,
            shared.tenant,
            lambda connection: queries.put_server(connection, shared, server.name, **values),
        )
        row = await self._row(shared, server.name)
        if row is None:
            raise NotFound(f"Server '{server.name}' was removed while it was stored.")
        await self._indexer.store(shared, row, server.tools, policy="all", digest=digest)

    async def _row(self, shared: Caller, name: str) -> ServerRow | None:
        async with self._database.transaction(shared.tenant) as connection:
            found = await queries.servers(connection, shared, name)
        return found[0] if found else None


def _digest(server: LocalServer) -> bytes:
    """Identifies what a server offers, regardless of order."""
    hashes = sorted(definition_hash(tool) for tool in server.tools)
    return hashlib.sha256(b"".join(hashes)).digest()
