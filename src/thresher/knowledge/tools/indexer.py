"""Writes a server's tools into the catalogue and the search index.

Invariant: the catalogue is written first, in one transaction; the index follows and is healed by any later refresh,
since an upsert of what is already there costs nothing. Work is cut into small steps, so that nobody waits behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from thresher.core import Caller, NotFound, Tool
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import Catalogues
from thresher.knowledge.tools.enrichment import enrich
from thresher.knowledge.tools.finder import server_facet
from thresher.knowledge.tools.models import KIND
from thresher.knowledge.tools.queries import ServerRow, StoredTool, ToolWrite
from thresher.knowledge.tools.reader import cleaned, write_of
from thresher.search import Entry, Progress, PutCounts, SearchIndex
from thresher.store import Database, run_retrying

_STEP = 16
"""Tools prepared without a pause: some 3 ms, so that a query in between hardly waits."""


class Indexer:
    """Keeps catalogue and index in step."""

    def __init__(self, database: Database, index: SearchIndex, catalogues: Catalogues) -> None:
        self._database = database
        self._index = index
        self._catalogues = catalogues

    async def store(
        self, caller: Caller, server: ServerRow, tools: Iterable[Tool], *, only: str | None = None, description: str
    ) -> int:
        """Store a good listing of one server in the catalogue and take what is gone out of the index.

        Returns:
            How many tools were removed.

        Raises:
            NotFound: The server was removed in the meantime.
        """
        listed = [tool for tool in cleaned(tools) if only is None or tool.name == only]
        writes: list[ToolWrite] = []
        for start in range(0, len(listed), _STEP):
            writes += [write_of(tool, description) for tool in listed[start : start + _STEP]]
            await asyncio.sleep(0)
        removed = await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.write_listing(
                connection, caller.tenant, server.id, writes, only=only, description=description
            ),
        )
        self._catalogues.changed(caller.tenant.id)
        if removed is None:
            raise NotFound(f"Server '{server.name}' was removed while it was listed.")
        if removed:
            await self._index.remove(caller.tenant, KIND, removed)
        return len(removed)

    async def index(self, caller: Caller, servers: Sequence[ServerRow], progress: Progress | None = None) -> PutCounts:
        """Put all enabled tools of these servers into the index; what has not changed is kept as it is.

        What was removed or disabled while this ran is taken out again, so that the last state wins.
        """
        described = {server.id: server.description for server in servers}
        names = {server.id: server.name for server in servers}
        async with self._database.transaction(caller.tenant) as connection:
            stored = await queries.tools(connection, caller.tenant, names)
            enabled = await queries.enabled_ids(connection, caller.tenant, names)
        entries = await _entries([tool for tool in stored if tool.id in enabled], described)
        counts = await self._index.put(caller.tenant, KIND, entries, progress=progress)
        async with self._database.transaction(caller.tenant) as connection:
            enabled = await queries.enabled_ids(connection, caller.tenant, names)
        if gone := [tool.id for tool in stored if tool.id not in enabled]:
            await self._index.remove(caller.tenant, KIND, gone)
        return counts

    async def withdraw(self, caller: Caller, ids: Sequence[int]) -> None:
        """Take tools out of the index; the catalogue keeps them."""
        self._catalogues.changed(caller.tenant.id)
        if ids:
            await self._index.remove(caller.tenant, KIND, list(ids))


async def _entries(tools: Sequence[StoredTool], described: Mapping[int, str]) -> list[Entry]:
    entries: list[Entry] = []
    for start in range(0, len(tools), _STEP):
        entries += [_entry(stored, described[stored.server_id]) for stored in tools[start : start + _STEP]]
        await asyncio.sleep(0)
    return entries


def _entry(stored: StoredTool, description: str) -> Entry:
    text = enrich(stored.tool, description)
    return Entry(
        id=stored.id,
        texts=text.texts,
        weights=text.weights,
        fields={"text": text.lexical},
        facets=frozenset({server_facet(stored.server_id)}),
        owner=stored.owner,
    )
