"""Listing servers again and storing their answers.

Invariant: a tool is removed only if its server leaves it out of a good, non-empty listing, or if the server is removed.
Changed tools wait for approval. No server waits for another. A listing is recognised as stored only if judging and
storing it would do the same: the same definitions, next to the same tools of other servers, under the same policy, by
the same code.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from thresher import __version__
from thresher.core import Caller, Conflict, InvalidInput, NotFound, ThresherError, Tool, event, mask_text, plain
from thresher.knowledge.tools import components, queries
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue
from thresher.knowledge.tools.indexer import Indexer
from thresher.knowledge.tools.models import LOCAL, STATIC, Refreshed
from thresher.knowledge.tools.queries import ServerRow
from thresher.knowledge.tools.refresh_schedule import Retries
from thresher.knowledge.tools.servers import DESCRIPTION_CHARACTERS, Servers
from thresher.knowledge.tools.trust import REJECTED, AutoApprove, AutoApproveSetting, policy_of
from thresher.scanner import PeerTool, PeerTools, scan_text
from thresher.search import Progress, PutCounts
from thresher.store import Database, run_retrying
from thresher.upstream import Listing, Upstreams

logger = logging.getLogger("thresher.knowledge")

_ERROR_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class _ListingOutcome:
    """The outcome of one listing.

    Attributes:
        server: The server with its current description.
        removed: The number of tools that are gone.
        error: Why it could not be listed; empty if it was.
        known: Whether the listing was stored before.
    """

    server: ServerRow
    removed: int = 0
    error: str = ""
    known: bool = False


class ServerRefresher:
    """Keeps the catalogue up to date with its servers; one per process."""

    def __init__(
        self,
        database: Database,
        indexer: Indexer,
        catalogues: CatalogueCache,
        upstreams: Upstreams,
        servers: Servers,
        setting: AutoApproveSetting,
        listed: Callable[[Caller, str], None],
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues
        self._upstreams = upstreams
        self._servers = servers
        self._setting: AutoApproveSetting = setting
        self._has_listed = listed
        self._busy: defaultdict[tuple[int, int], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._recognition = ListingDigests()
        self._retries = Retries(self.refresh)
        self._quiet = asyncio.Lock()
        """What changes nothing is done for one server at a time; a server with news never waits for it."""

    async def close(self) -> None:
        """Stop retrying failed servers."""
        await self._retries.close()

    async def refresh(
        self, caller: Caller, name: str | None, *, only: str | None = None, progress: Progress | None = None
    ) -> Refreshed:
        """List servers again, all at once, and index what changed.

        A server that cannot be listed, or that lists nothing although it had tools, keeps its last good list and is
        marked stale; its error is in the answer. What is stored is indexed either way.

        Args:
            caller: The tenant and user of the servers.
            name: One server; by default all enabled ones.
            only: One tool of that server, by its own name.
            progress: Called with tools done and tools known so far, over all servers.

        Raises:
            NotFound: No server has this name.
            InvalidInput: The named server is disabled.
        """
        catalogue = await self._catalogues.current(caller)
        if name is not None and not catalogue.server(name).enabled:
            raise InvalidInput(f"Server '{name}' is disabled.", hint="Enable it first.")
        servers = [s for s in catalogue.servers.values() if s.enabled] if name is None else [catalogue.server(name)]
        reports = _ProgressSum(progress)
        fixed = [server for server in servers if _is_fixed(server)]
        done = await asyncio.gather(
            *(
                self._refresh(caller, server, only, reports.part(server.name))
                for server in servers
                if not _is_fixed(server)
            ),
            self._index_fixed(caller, fixed, reports.part("")),
            return_exceptions=True,
        )
        results: list[Refreshed] = []
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        numbers, catalogue = {server.id for server in servers}, await self._catalogues.current(caller)
        undecided = (tool for tool in catalogue.held.values() if tool.row.held != REJECTED)
        held, lapsed = (_names_of(tools, numbers) for tools in (undecided, catalogue.lapsed))
        return replace(total_of(results), held=held, lapsed=lapsed)

    async def import_tools(
        self, caller: Caller, tools: Iterable[Tool], descriptions: Mapping[str, str], progress: Progress | None
    ) -> PutCounts:
        """Store tools of servers that are not live, replacing what they had, and index them in one batch.

        The user who imports a catalogue vouches for it: nothing is scanned or held.

        Raises:
            Conflict: A live server has one of the names.
        """
        by_server: defaultdict[str, list[Tool]] = defaultdict(list)
        for tool in tools:
            by_server[tool.server].append(tool)
        catalogue = await self._catalogues.current(caller)
        for name in by_server:
            if name in catalogue.servers and catalogue.servers[name].config.get("transport") != STATIC:
                raise Conflict(f"There is a live server '{name}'.", hint="Give the imported server another name.")
        for name in by_server:
            description = descriptions.get(name, "")[:DESCRIPTION_CHARACTERS]
            fixed = {"config": {"transport": STATIC}, "sealed": None, "enabled": True}
            await self._servers.put(caller, name, description=description, **fixed)
        servers = (await self._catalogues.current(caller)).servers
        removed = 0
        for name, listed in by_server.items():
            removed += await self._indexer.store(caller, servers[name], listed, policy="all")
        counts = await self._indexer.index(caller, [servers[name] for name in by_server], progress)
        return replace(counts, removed=removed)

    async def _index_fixed(self, caller: Caller, servers: list[ServerRow], progress: Progress | None) -> Refreshed:
        """Index catalogues without a live server, all in one batch."""
        if not servers:
            return Refreshed()
        async with self._quiet:
            counts = await self._indexer.index(caller, servers, progress)
        return Refreshed(counts.embedded, counts.kept)

    async def _refresh(
        self, caller: Caller, server: ServerRow, only: str | None, progress: Progress | None
    ) -> Refreshed:
        async with self._busy[caller.tenant.id, server.id]:
            catalogue = await self._catalogues.current(caller)
            server = next((now for now in catalogue.servers.values() if now.id == server.id), server)
            listed = await self._listed(caller, catalogue, server, only)
            owner = replace(caller, user=server.owner)
            self._retries.note(owner, server.id, server.name, failed=bool(listed.error))
            async with self._quiet if listed.known or listed.error else nullcontext():
                counts = await self._indexer.index(caller, [listed.server], progress)
        if not listed.error:
            self._has_listed(owner, server.name)
        event(
            logger,
            "server_refreshed",
            tenant=caller.tenant.id,
            server=server.name,
            embedded=counts.embedded,
            kept=counts.kept,
            removed=listed.removed,
            problem=listed.error,
        )
        failures = {server.name: listed.error} if listed.error else {}
        return Refreshed(counts.embedded, counts.kept, listed.removed, failures)

    async def _listed(
        self, caller: Caller, catalogue: ToolCatalogue, server: ServerRow, only: str | None
    ) -> _ListingOutcome:
        """List a server and store its answer."""
        try:
            # As its owner, whoever asks: the list that is kept is the owner's.
            config = self._servers.config(replace(caller, user=server.owner), server)
            listing = _usable(server, await self._upstreams.list_tools(config))
            server = replace(server, description=server.description or _description(listing))
            listed = await self._store(caller, catalogue, server, listing, only)
            if only is None and await components.store(self._database, caller, server, listing):
                self._catalogues.changed(caller.tenant.id)
        except ThresherError as failure:
            error = mask_text(str(failure))[:_ERROR_CHARACTERS]
            await self._mark_failed(caller, server, error)
            return _ListingOutcome(server, error=error)
        return listed

    async def _store(
        self, caller: Caller, catalogue: ToolCatalogue, server: ServerRow, listing: Listing, only: str | None
    ) -> _ListingOutcome:
        policy = policy_of(self._setting, trusted_server=server.auto_approve)
        problem = mask_text(" ".join(listing.problems))[:_ERROR_CHARACTERS]
        digest = await self._recognition.digest(catalogue, server, listing, policy) if only is None else None
        if digest is not None and await self._is_stored(caller, server, digest, problem):
            return _ListingOutcome(server, known=True)
        removed = await self._indexer.store(
            caller,
            server,
            listing.tools,
            policy=policy,
            only=only,
            peers=_peers(catalogue, server, listing),
            problem=problem,
            digest=digest,
        )
        return _ListingOutcome(server, removed)

    async def _is_stored(self, caller: Caller, server: ServerRow, digest: bytes, problem: str) -> bool:
        """Return whether a listing is the stored one, and mark its server as ready."""
        return digest == server.listing and await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.mark_listed(connection, caller.tenant, server.id, digest, problem),
        )

    async def _mark_failed(self, caller: Caller, server: ServerRow, error: str) -> None:
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.mark_failed(connection, caller.tenant, server.id, error),
        )
        self._catalogues.changed(caller.tenant.id)


def total_of(results: Sequence[Refreshed]) -> Refreshed:
    """Return several refreshes as one."""
    return Refreshed(
        embedded=sum(result.embedded for result in results),
        kept=sum(result.kept for result in results),
        removed=sum(result.removed for result in results),
        failures={name: error for result in results for name, error in result.failures.items()},
        held=tuple(sorted({name for result in results for name in result.held})),
        lapsed=tuple(sorted({name for result in results for name in result.lapsed})),
    )


class _ProgressSum:
    """Adds up the progress of servers that are indexed at the same time."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._parts: dict[str, tuple[int, int]] = {}

    def part(self, name: str) -> Progress | None:
        """Return the callback of one server."""
        progress = self._progress
        if progress is None:
            return None

        def report(done: int, total: int) -> None:
            self._parts[name] = (done, total)
            progress(sum(part[0] for part in self._parts.values()), sum(part[1] for part in self._parts.values()))

        return report


def _names_of(tools: Iterable[NamedTool], servers: Collection[int]) -> tuple[str, ...]:
    """The exposed names of those tools that are of some servers, sorted."""
    return tuple(sorted(tool.name for tool in tools if tool.row.server_id in servers))


def _is_fixed(server: ServerRow) -> bool:
    """Return whether a server is never listed: a catalogue without a live server, or a local one."""
    return server.config.get("transport") in (STATIC, LOCAL)


def _usable(server: ServerRow, listing: Listing) -> Listing:
    if not listing.tools and server.tools:
        raise NotFound(
            f"Server '{server.name}' listed no tools where it had {server.tools}; its last good list is kept.",
            hint="If that is right, remove the server.",
        )
    return listing


def _description(listing: Listing) -> str:
    """The server's description of itself; models read it, so it is dropped if the scanner calls it dangerous."""
    text = " ".join(listing.instructions.split())[:DESCRIPTION_CHARACTERS]
    return "" if any(finding.severity == "danger" for finding in scan_text(text)) else text


def _peers(catalogue: ToolCatalogue, server: ServerRow, listing: Listing) -> PeerTools:
    """The tools in use on the other servers, for the scanner to compare with."""
    rows = (tool.row for tool in catalogue.tools if tool.row.server_id != server.id)
    others = (PeerTool(row.server, row.name, row.line.partition(" - ")[2]) for row in rows)
    return PeerTools.of(others, (tool.name for tool in listing.tools))


EDITION = 2
"""Raise it when what is derived from a definition changes (scanner, enrichment, line, token count) between two
versions of the package, so that every server's next listing is judged and stored again."""

_STEP = 8
"""Tools hashed without a pause: a millisecond or two."""


class ListingDigests:
    """Digests of listings, by which a start recognises stored ones instead of judging thousands of tools again.

    Caches the hashes of the last catalogue.
    """

    def __init__(self) -> None:
        self._catalogue: ToolCatalogue | None = None
        self._sums: Mapping[int, bytes] = {}

    async def digest(self, catalogue: ToolCatalogue, server: ServerRow, listing: Listing, policy: AutoApprove) -> bytes:
        """Return the SHA-256 of a listing and of everything that its judgement depends on.

        Args:
            catalogue: The other tools.
            server: The server, with the description that will be stored.
            listing: The listing.
            policy: Which changes are accepted without approval.
        """
        sums = await self._summed(catalogue)
        others = b"".join(sorted(part for number, part in sums.items() if number != server.id))
        hashed = hashlib.sha256(others)
        judged_by = [__version__, EDITION, server.name, server.description, policy, listing.problems]
        hashed.update(json.dumps(judged_by).encode())
        for start in range(0, len(listing.tools), _STEP):
            hashed.update(json.dumps(plain(listing.tools[start : start + _STEP])).encode())
            await asyncio.sleep(0)
        return hashed.digest()

    async def _summed(self, catalogue: ToolCatalogue) -> Mapping[int, bytes]:
        """One hash per server of what the scanner compares with."""
        if self._catalogue is catalogue:
            return self._sums
        lines: defaultdict[int, list[str]] = defaultdict(list)
        for number, tool in enumerate(catalogue.tools):
            lines[tool.row.server_id].append(f"{tool.row.server}\0{tool.row.name}\0{tool.row.line}\0")
            if number % 1000 == 0:
                await asyncio.sleep(0)
        sums = {server: hashlib.sha256("".join(mine).encode()).digest() for server, mine in lines.items()}
        self._catalogue, self._sums = catalogue, sums
        return sums
