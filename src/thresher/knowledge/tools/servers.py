"""Adds, removes, switches and refreshes the servers of the catalogue.

Invariant: a tool goes only when its server says so in a good, non-empty listing, or when a person removes the server.
Secrets are sealed before they are stored and never returned. No server waits for another.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from thresher.core import (
    JSON,
    Caller,
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotFound,
    ThresherError,
    Tool,
    dumps,
    event,
    mask_text,
)
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import Catalogues
from thresher.knowledge.tools.indexer import Indexer
from thresher.knowledge.tools.models import STATIC, Refreshed, ServerInfo
from thresher.knowledge.tools.queries import ServerRow
from thresher.search import Progress, PutCounts
from thresher.store import Database, SecretBox, run_retrying
from thresher.upstream import Listing, ServerConfig, Upstreams, public_config, restore_config, sealed_part, valid_name

logger = logging.getLogger("thresher.knowledge")

_DESCRIPTION_CHARACTERS = 1_000
_ERROR_CHARACTERS = 2_000


class Servers:
    """The servers of all tenants; one per process."""

    def __init__(
        self,
        database: Database,
        indexer: Indexer,
        catalogues: Catalogues,
        upstreams: Upstreams,
        secrets: SecretBox,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues
        self._upstreams = upstreams
        self._secrets = secrets
        self._busy: defaultdict[tuple[int, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def add(self, caller: Caller, config: ServerConfig, *, replace: bool = False) -> ServerInfo:
        """Store a server without connecting to it.

        The same configuration again changes nothing. A server that a person has disabled stays so.

        Raises:
            InvalidInput: The name cannot prefix tool names.
            Conflict: Another configuration has this name, and `replace` was not given.
        """
        if not valid_name(config.name):
            raise InvalidInput(
                f"'{config.name}' cannot be a server's name.",
                hint="Use at most 64 letters, digits, '_', '.' and '-', with a letter or digit first.",
            )
        held = (await self._catalogues.current(caller)).servers.get(config.name)
        if held is not None and self._same(caller, held, config):
            return _info(held)
        if held is not None and not replace:
            raise Conflict(
                f"There is already a server '{config.name}' with another configuration.",
                hint="Remove it first, or choose another name.",
            )
        sealed = sealed_part(config)
        await self._put(
            caller,
            config.name,
            config=public_config(config),
            sealed=self._secrets.seal(dumps(sealed)) if sealed else None,
            description=config.description[:_DESCRIPTION_CHARACTERS],
            enabled=config.enabled and (held is None or held.enabled),
        )
        if held is not None and held.enabled and not config.enabled:
            await self._withdraw(caller, held)
        return _info((await self._catalogues.current(caller)).server(config.name))

    def config(self, caller: Caller, server: ServerRow) -> ServerConfig:
        """How to reach a stored server, secrets opened, with the sessions of its tenant and owner alone.

        Raises:
            InvalidInput: It is a catalogue without a live server.
        """
        sealed: JSON = json.loads(self._secrets.open(server.sealed)) if server.sealed else {}
        config = restore_config(
            server.name, server.config, sealed, enabled=server.enabled, description=server.description
        )
        return replace(config, tenant=caller.tenant.id, identity=server.owner or "")

    async def remove(self, caller: Caller, name: str) -> None:
        """Remove a server with its tools, and end its session.

        Raises:
            NotFound: None has this name.
        """
        server = (await self._catalogues.current(caller)).server(name)
        ids = await self._tool_ids(caller, server)
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.delete_server(connection, caller.tenant, server.id),
        )
        await self._indexer.withdraw(caller, ids)
        await self._upstreams.disconnect(name)
        event(logger, "server_removed", tenant=caller.tenant.id, server=name, tools=len(ids))

    async def set_enabled(self, caller: Caller, name: str, enabled: bool) -> ServerInfo:
        """Switch a server; its tools stay in the catalogue and their vectors in the cache.

        Raises:
            NotFound: None has this name.
        """
        server = (await self._catalogues.current(caller)).server(name)
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.switch_server(connection, caller.tenant, server.id, enabled=enabled),
        )
        self._catalogues.changed(caller.tenant.id)
        if enabled:
            await self._indexer.index(caller, [server])
        else:
            await self._withdraw(caller, server)
        return _info((await self._catalogues.current(caller)).server(name))

    async def infos(self, caller: Caller) -> tuple[ServerInfo, ...]:
        """The servers in the order in which they were added, as they stand in the database now."""
        async with self._database.transaction(caller.tenant) as connection:
            return tuple(_info(server) for server in await queries.servers(connection, caller))

    async def refresh(
        self, caller: Caller, name: str | None, *, only: str | None = None, progress: Progress | None = None
    ) -> Refreshed:
        """List servers again, all at once, and index what changed.

        A server that cannot be listed, or that lists nothing where it had tools, keeps its last good list and is
        marked stale; its error is in the answer. What is stored is put into the index either way.

        Args:
            caller: Whose servers.
            name: One server; all enabled ones without it.
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
        reports = _Together(progress)
        done = await asyncio.gather(
            *(self._refresh(caller, server, only, reports.part(server.name)) for server in servers),
            return_exceptions=True,
        )
        results: list[Refreshed] = []
        for outcome in done:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        failures = {name: error for result in results for name, error in result.failures.items()}
        return Refreshed(
            embedded=sum(result.embedded for result in results),
            kept=sum(result.kept for result in results),
            removed=sum(result.removed for result in results),
            failures=failures,
        )

    async def take(
        self, caller: Caller, tools: Iterable[Tool], descriptions: Mapping[str, str], progress: Progress | None
    ) -> PutCounts:
        """Store tools of servers that are not live, replacing what these servers had, and index them in one batch.

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
            await self._put(
                caller,
                name,
                config={"transport": STATIC},
                sealed=None,
                description=descriptions.get(name, "")[:_DESCRIPTION_CHARACTERS],
                enabled=True,
            )
        servers = (await self._catalogues.current(caller)).servers
        removed = 0
        for name, listed in by_server.items():
            removed += await self._indexer.store(caller, servers[name], listed, description=servers[name].description)
        counts = await self._indexer.index(caller, [servers[name] for name in by_server], progress)
        return replace(counts, removed=removed)

    async def _put(self, caller: Caller, name: str, **values: Any) -> None:
        await run_retrying(
            self._database, caller.tenant, lambda connection: queries.put_server(connection, caller, name, **values)
        )
        self._catalogues.changed(caller.tenant.id)

    def _same(self, caller: Caller, held: ServerRow, config: ServerConfig) -> bool:
        if held.config.get("transport") == STATIC:
            return False
        try:
            stored = self.config(caller, held)
        except ConfigurationError:
            return False  # sealed with a key that is gone: adding the server again is the way out
        description = config.description[:_DESCRIPTION_CHARACTERS] or stored.description
        switched_off = held.enabled and not config.enabled
        return stored.connection == config.connection and stored.description == description and not switched_off

    async def _refresh(
        self, caller: Caller, server: ServerRow, only: str | None, progress: Progress | None
    ) -> Refreshed:
        async with self._busy[caller.tenant.id, server.id]:
            server = (await self._catalogues.current(caller)).servers.get(server.name, server)
            removed, error = 0, ""
            if server.config.get("transport") != STATIC:
                try:
                    listing = _usable(server, await self._upstreams.list_tools(self.config(caller, server)))
                    server = replace(server, description=server.description or _described(listing))
                    removed = await self._indexer.store(
                        caller, server, listing.tools, only=only, description=server.description
                    )
                except ThresherError as failure:
                    error = mask_text(str(failure))[:_ERROR_CHARACTERS]
                    await self._mark_failed(caller, server, error)
            counts = await self._indexer.index(caller, [server], progress)
        event(
            logger,
            "server_refreshed",
            tenant=caller.tenant.id,
            server=server.name,
            embedded=counts.embedded,
            kept=counts.kept,
            removed=removed,
            problem=error,
        )
        return Refreshed(counts.embedded, counts.kept, removed, {server.name: error} if error else {})

    async def _mark_failed(self, caller: Caller, server: ServerRow, error: str) -> None:
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.mark_failed(connection, caller.tenant, server.id, error),
        )
        self._catalogues.changed(caller.tenant.id)

    async def _withdraw(self, caller: Caller, server: ServerRow) -> None:
        await self._indexer.withdraw(caller, await self._tool_ids(caller, server))
        await self._upstreams.disconnect(server.name)

    async def _tool_ids(self, caller: Caller, server: ServerRow) -> Sequence[int]:
        tools = (await self._catalogues.current(caller)).tools
        return [tool.row.id for tool in tools if tool.row.server_id == server.id]


class _Together:
    """Adds up the progress of servers that are indexed at the same time."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._parts: dict[str, tuple[int, int]] = {}

    def part(self, name: str) -> Progress | None:
        """The callback of one server."""
        progress = self._progress
        if progress is None:
            return None

        def report(done: int, total: int) -> None:
            self._parts[name] = (done, total)
            progress(sum(part[0] for part in self._parts.values()), sum(part[1] for part in self._parts.values()))

        return report


def _usable(server: ServerRow, listing: Listing) -> Listing:
    if not listing.tools and server.tools:
        raise NotFound(
            f"Server '{server.name}' listed no tools where it had {server.tools}; its last good list is kept.",
            hint="If that is right, remove the server.",
        )
    return listing


def _described(listing: Listing) -> str:
    return " ".join(listing.instructions.split())[:_DESCRIPTION_CHARACTERS]


def _info(server: ServerRow) -> ServerInfo:
    config = server.config
    command = " ".join([str(config.get("command", "")), *map(str, config.get("args", ()))]).strip()
    return ServerInfo(
        name=server.name,
        transport=str(config.get("transport", "")),
        target=str(config.get("url") or command),
        description=server.description,
        enabled=server.enabled,
        state=server.state,
        error=server.error,
        tools=server.tools,
        listed_at=server.listed_at,
    )
