"""The health of servers' tools, measured in the background once their listing has changed, and kept.

Invariant: what is kept of a server names its own tools alone, as its owner knows them, and is measured with what the
owner sees, no matter who asks; so everybody who sees the server may read it. It holds for exactly the definitions,
words and rewrites that it was measured with. One server is measured at a time.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from thresher.core import JSON, Caller, ThresherError, event, plain
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, ToolCatalogue
from thresher.knowledge.tools.findability import (
    MOST_TOOLS,
    HealthFinding,
    Rule,
    ToolHealth,
    findings_of_definition,
    findings_of_servers,
    joined,
    measure_tools,
)
from thresher.knowledge.tools.models import LOCAL, Definition
from thresher.knowledge.tools.queries import HealthRow, ServerRow, ToolKey, ToolTexts
from thresher.search import Progress
from thresher.store import Database, run_retrying

if TYPE_CHECKING:
    from thresher.knowledge.tools.service import ToolService  # it holds the monitor

logger = logging.getLogger("thresher.knowledge")

EDITION: Final = 1
"""Raise it when the queries or the rules change, so that everything is measured again."""
_QUIET_SECONDS: Final = 1.0
"""How long the background waits after a listing: servers that are added together are indexed first."""


class HealthMonitor:
    """Measures and keeps the health of servers; one per process."""

    def __init__(
        self, database: Database, catalogues: CatalogueCache, tools: ToolService, edition: Callable[[], str]
    ) -> None:
        self._database = database
        self._catalogues = catalogues
        self._tools = tools
        self._edition = edition
        self._turn = asyncio.Lock()
        self._noted = asyncio.Event()
        self._waiting: dict[tuple[Caller, str], None] = {}

    def note(self, caller: Caller, server: str) -> None:
        """Have the background measure a server, if anything of it has changed; never waits.

        Args:
            caller: The server's tenant and owner.
            server: Its name.
        """
        self._waiting[caller, server] = None
        self._noted.set()

    async def run(self) -> None:
        """Measure the servers that were noted, until cancelled."""
        while True:
            await self._noted.wait()
            await asyncio.sleep(_QUIET_SECONDS)
            while self._waiting:
                caller, server = next(iter(self._waiting))
                del self._waiting[caller, server]
                try:
                    await self._tools.categories.follow(caller)
                    if await self.known(caller, server) is None:
                        await self.health(caller, server)
                except ThresherError as error:  # the server is gone, or the database; the next listing notes it again
                    event(logger, "health not measured", level=logging.WARNING, server=server, reason=str(error))
            self._noted.clear()

    async def health(
        self, caller: Caller, server: str | None = None, progress: Progress | None = None, *, again: bool = False
    ) -> ToolHealth:
        """Return the health of the tools that a caller can find; what is not known of a server is measured.

        Args:
            caller: The tenant and user whose tools are searched.
            server: Only tools of this server; the search is over all.
            progress: Called after each tool that is searched for: how many are done, of how many.
            again: Whether to measure what is known, too.

        Raises:
            NotFound: There is no such server.
        """
        await self._tools.ready(caller)
        catalogue = await self._catalogues.current(caller)
        asked = catalogue.servers.values() if server is None else [catalogue.server(server)]
        every = await self._tools.all_tools(caller)
        own: defaultdict[str, list[Definition]] = defaultdict(list)
        for definition in every:
            own[definition.tool.server].append(definition)
        there = [row for row in asked if row.name in own]
        parts = {} if again else {row.id: await self._known(caller, catalogue, row) for row in there}
        missing = [row for row in there if parts.get(row.id) is None]
        total = min(sum(len(own[row.name]) for row in missing), MOST_TOOLS)
        done = 0
        for row in missing:
            listed = own[row.name]
            if done < total:
                follow = None if progress is None else partial(_report, progress, done, total)
                who, known, listed_there = await self._owned(caller, catalogue, row, listed)
                parts[row.id] = await self._measured(who, known, row, listed_there, follow, again=again)
            else:
                parts[row.id] = _unsearched(listed)
            done += len(listed)
        names = {definition.name for row in there for definition in own[row.name]}
        shared = [one for one in findings_of_servers(every) if not names.isdisjoint((one.tool, *one.about))]
        return joined([part for part in parts.values() if part is not None], shared)

    async def glance(self, caller: Caller, servers: Sequence[str]) -> Mapping[Rule, int]:
        """Return how many findings the definitions of some servers alone give, by rule."""
        found: Counter[Rule] = Counter()
        for server in servers:
            definitions = await self._tools.list_tools(caller, server, whole=True)
            found.update(finding.rule for one in definitions for finding in findings_of_definition(one))
        return dict(found)

    async def known(self, caller: Caller, server: str) -> ToolHealth | None:
        """Return what is kept of a server, findings of its own tools alone; None if it has changed since.

        Raises:
            NotFound: There is no such server.
        """
        catalogue = await self._catalogues.current(caller)
        return await self._known(caller, catalogue, catalogue.server(server))

    async def _known(self, caller: Caller, catalogue: ToolCatalogue, server: ServerRow) -> ToolHealth | None:
        async with self._database.transaction(caller.tenant) as connection:
            kept = await queries.read_health(connection, caller.tenant, server.id)
            texts = await queries.texts_of(connection, caller.tenant, [server.name])
        if kept is None or kept.digest != self._digest(catalogue, server, texts):
            return None
        return _health_of(kept.report, kept.measured_at)

    async def _owned(
        self, caller: Caller, catalogue: ToolCatalogue, server: ServerRow, listed: Sequence[Definition]
    ) -> tuple[Caller, ToolCatalogue, Sequence[Definition]]:
        """The owner of a server, the owner's catalogue, and the server's tools as they are named there."""
        if server.owner == caller.user or server.config.get("transport") == LOCAL:
            return caller, catalogue, listed
        owner = replace(caller, user=server.owner)
        await self._tools.ready(owner)
        known = await self._catalogues.current(owner)
        there = await self._tools.list_tools(owner, server.name, whole=True)
        return owner, known, [definition for definition in there if definition.enabled]

    async def _measured(
        self,
        caller: Caller,
        catalogue: ToolCatalogue,
        server: ServerRow,
        own: Sequence[Definition],
        progress: Progress | None,
        *,
        again: bool,
    ) -> ToolHealth:
        async with self._turn:
            if not again and (known := await self._known(caller, catalogue, server)) is not None:
                return known  # it was measured while this call waited
            async with self._database.transaction(caller.tenant) as connection:
                texts = await queries.texts_of(connection, caller.tenant, [server.name])
            digest = self._digest(catalogue, server, texts)
            health = await measure_tools(self._tools.for_measuring(), caller, own, progress)
        if health.measured_at is not None and not health.degraded:
            row = HealthRow(digest, health.measured_at, plain(replace(health, measured_at=None)))
            await run_retrying(
                self._database,
                caller.tenant,
                lambda connection: queries.write_health(connection, caller.tenant, server.id, row),
            )
        return health

    def _digest(self, catalogue: ToolCatalogue, server: ServerRow, texts: Mapping[ToolKey, ToolTexts]) -> bytes:
        """Identifies what the search knows of a server's tools, and how they are measured."""
        hashed = hashlib.sha256(f"{EDITION} {self._edition()}".encode())
        for tool in catalogue.by_id.values():
            if tool.row.server_id == server.id:
                given = texts.get(catalogue.key_of(tool), queries.NO_TEXTS)
                read = [tool.row.name, tool.row.digest.hex(), given.words, given.description_of(tool.row.digest)]
                if tool.row.id in catalogue.questions:
                    read.append(given.questions_of(tool.row.digest))
                hashed.update(json.dumps(read).encode())
        return hashed.digest()


def _health_of(report: JSON, measured_at: dt.datetime) -> ToolHealth:
    """Return the health that was kept."""
    findings = (
        HealthFinding(one["rule"], one["tool"], one["server"], tuple(one["about"]), one["message"])
        for one in report["findings"]
    )
    counts = report["tools"], report["left_out"], report["queries"], report["found"]
    return ToolHealth(*counts, tuple(findings), report["degraded"], measured_at)


def _report(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    """Report the progress of one server as that of several."""
    progress(min(before + done, total), total)


def _unsearched(own: Sequence[Definition]) -> ToolHealth:
    """What the definitions of tools alone show."""
    return ToolHealth(0, len(own), 0, None, tuple(finding for one in own for finding in findings_of_definition(one)))
