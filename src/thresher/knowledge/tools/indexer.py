"""Writes a server's tools into the catalogue and the search index.

Invariant: the catalogue is written first, in one transaction; the index follows and is healed by any later refresh,
since an upsert of what is already there costs nothing. Work is cut into small steps, so that nobody waits behind it.
Held tools are in the index under a facet of their own, which no ordinary search asks for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence

from thresher.core import Caller, NotFound, Tool, event
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import Catalogues
from thresher.knowledge.tools.enrichment import enrich, slots_of
from thresher.knowledge.tools.facets import facet_of
from thresher.knowledge.tools.models import KIND
from thresher.knowledge.tools.queries import ListingWrite, ServerRow, StoredTool, ToolWrite
from thresher.knowledge.tools.reader import cleaned, write_of
from thresher.knowledge.tools.scanner import Peers
from thresher.knowledge.tools.trust import AutoApprove, judge
from thresher.search import Entry, Progress, PutCounts, SearchIndex
from thresher.store import Database, run_retrying

logger = logging.getLogger("thresher.knowledge")

_STEP = 16
"""Tools prepared for the index without a pause: some 3 ms, so that a query in between hardly waits."""
_SCANNED = 4
"""Tools scanned without a pause: as long."""


class Indexer:
    """Keeps catalogue and index in step."""

    def __init__(self, database: Database, index: SearchIndex, catalogues: Catalogues) -> None:
        self._database = database
        self._index = index
        self._catalogues = catalogues

    async def store(
        self,
        caller: Caller,
        server: ServerRow,
        tools: Iterable[Tool],
        *,
        policy: AutoApprove,
        only: str | None = None,
        peers: Peers | None = None,
        problem: str = "",
    ) -> int:
        """Store a good listing of one server in the catalogue and take what is gone out of the index.

        Args:
            caller: Whose server.
            server: The server; its description is stored too.
            tools: What it listed.
            policy: Which changes are taken over without a person.
            only: The one tool to be stored; the others stay.
            peers: The tools of other servers, which the scanner compares with; None to scan nothing.
            problem: What was wrong with single definitions that are left out.

        Returns:
            How many tools were removed.

        Raises:
            NotFound: The server was removed in the meantime.
        """
        listed = [tool for tool in cleaned(tools) if only is None or tool.name == only]
        writes: list[ToolWrite] = []
        step = _STEP if peers is None else _SCANNED
        for start in range(0, len(listed), step):
            writes += [write_of(tool, server.description, peers) for tool in listed[start : start + step]]
            await asyncio.sleep(0)
        listing = ListingWrite(writes, only, server.description, problem)
        written = await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.write_listing(
                connection,
                caller.tenant,
                server.id,
                listing,
                lambda write, standing: judge(standing, write.definition_hash, write.findings, policy),
            ),
        )
        self._catalogues.changed(caller.tenant.id)
        if written is None:
            raise NotFound(f"Server '{server.name}' was removed while it was listed.")
        if written.gone:
            await self._index.remove(caller.tenant, KIND, list(written.gone))
        if written.held:
            fields = {"tenant": caller.tenant.id, "server": server.name, "tools": list(written.held)}
            event(logger, "tools_held", level=logging.WARNING, **fields)
        return len(written.gone)

    async def index(self, caller: Caller, servers: Sequence[ServerRow], progress: Progress | None = None) -> PutCounts:
        """Put all enabled tools of these servers into the index; what has not changed is kept as it is.

        What was removed or disabled while this ran is taken out again, so that the last state wins.
        """
        described = {server.id: server.description for server in servers}
        names = {server.id: server.name for server in servers}
        async with self._database.transaction(caller.tenant) as connection:
            stored = await queries.tools(connection, caller.tenant, names)
            findable = await queries.findable(connection, caller.tenant, names)
        entries = await _entries([tool for tool in stored if tool.id in findable], described, findable)
        counts = await self._index.put(caller.tenant, KIND, entries, progress=progress)
        async with self._database.transaction(caller.tenant) as connection:
            findable = await queries.findable(connection, caller.tenant, names)
        if gone := [tool.id for tool in stored if tool.id not in findable]:
            await self._index.remove(caller.tenant, KIND, gone)
        return counts

    async def withdraw(self, caller: Caller, ids: Sequence[int]) -> None:
        """Take tools out of the index; the catalogue keeps them."""
        self._catalogues.changed(caller.tenant.id)
        if ids:
            await self._index.remove(caller.tenant, KIND, list(ids))


async def _entries(tools: Sequence[StoredTool], described: Mapping[int, str], held: Mapping[int, bool]) -> list[Entry]:
    entries: list[Entry] = []
    for start in range(0, len(tools), _STEP):
        part = tools[start : start + _STEP]
        entries += [_entry(stored, described[stored.server_id], held=held[stored.id]) for stored in part]
        await asyncio.sleep(0)
    return entries


def _entry(stored: StoredTool, description: str, *, held: bool) -> Entry:
    text = enrich(stored.tool, description)
    return Entry(
        id=stored.id,
        texts=text.texts,
        weights=text.weights,
        fields={"text": text.lexical},
        facets=frozenset({facet_of(stored.server_id, held=held)}),
        owner=stored.owner,
        slots=slots_of(stored.tool.input_schema),
    )
