"""Writes servers' tools into the catalogue and the search index, also those of servers inside this process.

Local servers are such servers: code of this process runs their tools, under the same names, switches and search as all
others. A disabled tool stays disabled while its server is not offered, since its row stays.

Invariant: the catalogue is written first, in one transaction; the index follows, and any later refresh repairs it,
since an upsert of unchanged entries costs nothing. Work is cut into small steps, so that nothing waits long behind it.
Held tools are in the index under a facet of their own, which no ordinary search requests. A stored local server is
visible to exactly those callers to whom this process offers it now.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from thresher.core import JSON, Caller, NotFound, Tool, event
from thresher.embedding import count_tokens
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, category_facet, facet_of
from thresher.knowledge.tools.definitions import (
    cleaned,
    definition_hash,
    definition_text,
    enrich,
    gists,
    line,
    slots_of,
    summaries,
)
from thresher.knowledge.tools.models import KIND, LOCAL, LocalServer
from thresher.knowledge.tools.queries import ListingWrite, Mark, ServerRow, StoredTool, ToolKey, ToolTexts, ToolWrite
from thresher.knowledge.tools.trust import AutoApprove, judge
from thresher.scanner import ALONE, PeerTools, scan
from thresher.search import Entry, Progress, PutCounts, SearchIndex, language_of
from thresher.store import Database, run_retrying

_STEP = 16
"""Tools prepared for the index without a pause: about 3 ms, so that a concurrent query hardly waits."""
_READ = 128
"""Tools read at once: about 5 ms of decoding."""
_SCANNED = 4
"""Tools scanned without a pause: about as long."""
_LARGE = 32 * 1024
"""Characters of tools above which they are prepared in a thread."""


class Indexer:
    """Keeps catalogue and index in step.

    Attributes:
        followers: Called with the owner and the name of each server whose tools are being indexed, except local ones.
    """

    def __init__(self, database: Database, index: SearchIndex, catalogues: CatalogueCache) -> None:
        self._database = database
        self._index = index
        self._catalogues = catalogues
        self._turn = asyncio.Lock()
        """Held for one step of work: however many servers are prepared at once, the loop takes one step at a time."""
        self.followers: list[Callable[[Caller, str], None]] = []

    async def store(
        self,
        caller: Caller,
        server: ServerRow,
        tools: Iterable[Tool],
        *,
        policy: AutoApprove,
        only: str | None = None,
        peers: PeerTools | None = None,
        problem: str = "",
        digest: bytes | None = None,
    ) -> int:
        """Store a good listing of one server in the catalogue and remove missing tools from the index.

        Args:
            caller: The owner of the server.
            server: The server; its description is stored too.
            tools: The listed tools.
            policy: Which changes are accepted without approval.
            only: The one tool to store; the others stay.
            peers: The tools of other servers, with which the scanner compares; None to scan nothing.
            problem: What was wrong with single definitions that are left out.
            digest: Identifies this listing, so that it is recognised later.

        Returns:
            How many tools were removed.

        Raises:
            NotFound: The server was removed in the meantime.
        """
        everything = cleaned(tools)
        summarized = summaries(everything)
        words = {name: (summarized[name], gist) for name, gist in gists(everything, summarized).items()}
        listed = [tool for tool in everything if only is None or tool.name == only]
        writes: list[ToolWrite] = []
        step = _STEP if peers is None else _SCANNED
        for start in range(0, len(listed), step):
            async with self._turn:
                writes += await _prepared(listed[start : start + step], server.description, words, peers)
                await asyncio.sleep(0)
        listing = ListingWrite(writes, only, server.description, problem, digest)
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
        """Index all enabled tools of these servers; unchanged ones are kept.

        Servers that are marked as indexed, and are, are not even read. What was removed or disabled meanwhile is
        removed from the index afterwards, so that the last state wins.
        """
        for server in servers:
            if server.config.get("transport") != LOCAL:
                for follower in self.followers:
                    follower(replace(caller, user=server.owner), server.name)
        before = await self._marks(caller, servers)
        marked = [number for mark in before.values() if mark.stands for number in mark.tools]
        wanted = [server for server in servers if server.id in before and not before[server.id].stands]
        if marked and not await self._index.holds(caller.tenant, KIND, marked):
            wanted, marked = list(servers), []
        counts = PutCounts(kept=len(marked))
        if not wanted:
            return counts
        await self._mark(caller, dict.fromkeys((server.id for server in wanted), None))
        counts += await self._put(caller, wanted, progress)
        after = await self._marks(caller, wanted)
        whole = await self._index.holds(caller.tenant, KIND, [tool for mark in after.values() for tool in mark.tools])
        same = {number: mark.value for number, mark in after.items() if mark.value == before[number].value}
        if whole:
            await self._mark(caller, same)
        return counts

    async def _put(self, caller: Caller, servers: Sequence[ServerRow], progress: Progress | None) -> PutCounts:
        described = {server.id: server.description for server in servers}
        names = {server.id: server.name for server in servers}
        async with self._database.transaction(caller.tenant) as connection:
            known = await queries.tool_ids(connection, caller.tenant, names)
            findable = await queries.findable(connection, caller.tenant, names)
        entries = await self._entries(caller, described, names, findable)
        counts = await self._index.put(caller.tenant, KIND, entries, progress=progress)
        async with self._database.transaction(caller.tenant) as connection:
            findable = await queries.findable(connection, caller.tenant, names)
        if gone := [number for number in known if number not in findable]:
            await self._index.remove(caller.tenant, KIND, gone)
        return counts

    async def _marks(self, caller: Caller, servers: Sequence[ServerRow]) -> dict[int, Mark]:
        async with self._database.transaction(caller.tenant) as connection:
            ids = [server.id for server in servers]
            edition = self._index.edition(KIND)
            if edition and self._catalogues.questions:
                edition += " with questions"
            return await queries.marks(connection, caller.tenant, ids, edition)

    async def _mark(self, caller: Caller, values: Mapping[int, bytes | None]) -> None:
        await run_retrying(
            self._database, caller.tenant, lambda connection: queries.mark(connection, caller.tenant, values)
        )

    async def _entries(
        self, caller: Caller, described: Mapping[int, str], names: Mapping[int, str], held: Mapping[int, bool]
    ) -> list[Entry]:
        """The entries of these tools, read and made in small parts."""
        wanted, entries, lapsed = list(held), list[Entry](), list[str]()
        async with self._database.transaction(caller.tenant) as connection:
            texts = await queries.texts_of(connection, caller.tenant, set(names.values()))
        if not self._catalogues.questions:
            texts = {key: replace(own, questions=()) for key, own in texts.items()}
        for first in range(0, len(wanted), _READ):
            async with self._database.transaction(caller.tenant) as connection:
                stored = await queries.tools(connection, caller.tenant, names, ids=wanted[first : first + _READ])
            for start in range(0, len(stored), _STEP):
                async with self._turn:
                    part = stored[start : start + _STEP]
                    lapsed += [tool.tool.key for tool in part if _is_lapsed(tool, texts)]
                    entries += [_entry(tool, described[tool.server_id], texts, held=held[tool.id]) for tool in part]
                    await asyncio.sleep(0)
        if lapsed:
            event(logger, "rewrites_lapsed", level=logging.WARNING, tenant=caller.tenant.id, tools=lapsed)
        return entries

    async def withdraw(self, caller: Caller, ids: Sequence[int]) -> None:
        """Remove tools from the index; the catalogue keeps them."""
        self._catalogues.changed(caller.tenant.id)
        if ids:
            await self._index.remove(caller.tenant, KIND, list(ids))


def _texts_of(stored: StoredTool, texts: Mapping[ToolKey, ToolTexts]) -> ToolTexts:
    return texts.get(ToolKey(stored.owner, stored.tool.server, stored.tool.name), queries.NO_TEXTS)


def _is_lapsed(stored: StoredTool, texts: Mapping[ToolKey, ToolTexts]) -> bool:
    """Whether a tool has a rewrite that was approved for another definition."""
    own = _texts_of(stored, texts)
    return own.rewrite is not None and own.description_of(stored.digest) is None


def _entry(stored: StoredTool, description: str, texts: Mapping[ToolKey, ToolTexts], *, held: bool) -> Entry:
    own = _texts_of(stored, texts)
    rewrite = own.description_of(stored.digest)
    tool = stored.tool if rewrite is None else replace(stored.tool, description=rewrite)
    text = enrich(tool, description, own.words, own.questions_of(stored.digest))
    return Entry(
        id=stored.id,
        texts=text.texts,
        weights=text.weights,
        fields=text.fields,
        facets=frozenset(
            {facet_of(stored.server_id, held=held)}
            | ({category_facet(stored.server_id, own.category)} if own.category and not held else set[str]())
        ),
        owner=stored.owner,
        slots=slots_of(stored.tool.input_schema),
        language=language_of(tool.description),
    )


def write_of(
    tool: Tool, server_description: str, peers: PeerTools | None = ALONE, words: tuple[str, str] | None = None
) -> ToolWrite:
    """Return what is stored of a tool: the enriched text, the hashes, the cost, its gist and the findings.

    Args:
        tool: A cleaned tool.
        server_description: What its server is for.
        peers: The tools of other servers with which the scanner compares; None to skip the scan.
        words: What it does, and a few words that tell it from its server's other tools; None to take both from the
            tool alone.
    """
    if words is None:
        summarized = summaries([tool])
        words = summarized[tool.name], gists([tool], summarized)[tool.name]
    text = enrich(tool, server_description)
    enriched = "\n".join((*text.texts, *text.fields.values()))
    return ToolWrite(
        tool=tool,
        enriched=enriched,
        content_hash=hashlib.sha256(enriched.encode()).digest(),
        definition_hash=definition_hash(tool),
        tokens=count_tokens(definition_text(tool.name, tool)),
        line=line("", tool, words[0]),
        gist=words[1],
        body_hash=definition_hash(replace(tool, name="")),
        findings=() if peers is None else scan(tool, peers),
    )


async def _prepared(
    tools: Sequence[Tool], description: str, words: Mapping[str, tuple[str, str]], peers: PeerTools | None
) -> list[ToolWrite]:
    def prepare() -> list[ToolWrite]:
        return [write_of(tool, description, peers, words[tool.name]) for tool in tools]

    return await asyncio.to_thread(prepare) if len(repr(tools)) > _LARGE else prepare()


OfferSource: TypeAlias = Callable[[Caller, bool], Awaitable[str]]
"""Offers a caller its local servers, unless it has them already, and waits for a bounded time until their tools can be
called, or, if the second argument is true, until a search can find them. Returns what is still missing; empty if
nothing is."""


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


logger = logging.getLogger("thresher.knowledge")
