"""Connections that a workspace provides: the column information in its folders, for servers that nobody connected.

Invariant: what somebody added is never touched, and comes first: where a connection of the server's name is there, the
workspace provides none for it, and where such a one is gone, it does so again at the next call.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.connectors import folder_url, read_address
from thresher.core import Caller, Conflict
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.models import Connection
from thresher.knowledge.databases.queries import Held, Write
from thresher.knowledge.databases.refreshing import Refresher
from thresher.knowledge.databases.shelf import Shelf
from thresher.store import Database, SecretBox, clean, run_retrying

_LONGEST: Final = 63
_UNSAFE: Final = re.compile(r"[^\w.-]+")
_ATTEMPTS: Final = 3
_NUMBERED: Final = 99


@dataclass(frozen=True, slots=True)
class Provider:
    """Keeps what workspaces provide.

    Attributes:
        database: Where connections are kept.
        connections: Removes them.
        refresher: Reads their schemas.
        shelf: Knows these.
        secrets: Seals addresses.
    """

    database: Database
    connections: Connections
    refresher: Refresher
    shelf: Shelf
    secrets: SecretBox

    async def provide(self, caller: Caller, workspace: str, folders: Mapping[str, Path]) -> dict[str, str]:
        """See `DatabaseService.provide`."""
        attempt = 1
        while True:
            try:
                return await self._provide(caller, workspace, folders)
            except _Taken:
                if attempt == _ATTEMPTS:
                    raise
                attempt += 1

    async def _provide(self, caller: Caller, workspace: str, folders: Mapping[str, Path]) -> dict[str, str]:
        """Choose names and write under one lock: two calls at once cannot choose from what both saw before."""
        writes = {server: await asyncio.to_thread(self._written, path, workspace) for server, path in folders.items()}

        async def work(link: AsyncConnection) -> _Provided:
            await queries.lock_names(link, caller.tenant)
            own = await queries.provided(link, caller, workspace)
            seen = {name: one.connection for name, one in (await queries.held_in(link, caller)).items()}
            names, mine = chosen(seen, {one.connection.name for one in own}, workspace, folders)
            changed = await _put(link, caller, [replace(writes[server], name=name) for name, server in mine.items()])
            return _Provided(names, changed, [one for one in own if one.connection.name not in mine])

        done = await run_retrying(self.database, caller.tenant, work)
        for one in done.gone:
            await self._remove(caller, one)
        for one in done.changed:
            self.refresher.begin(caller.tenant, one)
        return done.names

    def _written(self, folder: Path, workspace: str) -> Write:
        """A connection to a folder, without a name yet."""
        url = folder_url(folder)
        address = read_address(url)
        about = f"Column information of the workspace {workspace}: no live server."
        sealed = self.secrets.seal(url)
        return Write(
            "", address.dialect, clean(address.location), "", sealed, False, clean(about), (), workspace=workspace
        )

    async def _remove(self, caller: Caller, held: Held) -> None:
        await self.refresher.forget(caller.tenant, held.id)
        await self.connections.remove(caller.tenant, held)
        self.shelf.forget(caller.tenant, held.id)


@dataclass(frozen=True, slots=True)
class _Provided:
    """Server to connection, the connections that are another now, and those that are to go."""

    names: dict[str, str]
    changed: list[Held]
    gone: list[Held]


class _Taken(Conflict):
    """Somebody added a connection of this name in this moment."""


async def _put(link: AsyncConnection, caller: Caller, writes: Collection[Write]) -> list[Held]:
    """Insert or change connections; those that are another now."""
    changed: list[Held] = []
    for write in writes:
        number = await queries.add_connection(link, caller, write)
        if number is None:
            known = await queries.own_connection(link, caller, write.name)
            if known is None or known.connection.workspace != write.workspace:
                raise _Taken(f"The name '{write.name}' was taken in this moment.", hint="Refresh the workspace.")
            if known.connection.location == write.location:
                continue
            await queries.replace_connection(link, caller.tenant, known.id, write)
            number = known.id
        if (held := await queries.connection_by_id(link, caller.tenant, number)) is not None:
            changed.append(held)
    return changed


def chosen(
    seen: Mapping[str, Connection], own: Collection[str], workspace: str, servers: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Which connection stands for each server.

    Args:
        seen: The connections that the caller sees, by name.
        own: Names of those that the workspace provides already.
        workspace: Its name.
        servers: Of which it has column information.

    Returns:
        Server to connection; and of those that the workspace has to provide connection to server.
    """
    names: dict[str, str] = {}
    mine: dict[str, str] = {}
    for server in sorted(servers):
        plain, qualified = connection_names(workspace, server)
        added = next((name for name in (qualified, plain) if name in seen and seen[name].workspace is None), None)
        if added is not None:
            names[server] = added
            continue
        numbered = (f"{qualified[: _LONGEST - 3]}-{number}" for number in range(2, _NUMBERED))
        candidates = (name for name in (plain, qualified, *numbered) if name not in mine)
        free = next(name for name in candidates if name in own or name not in seen)
        names[server] = free
        mine[free] = server
    return names, mine


def connection_names(workspace: str, server: str) -> tuple[str, str]:
    """What a server's connection is called: as the server, and with the workspace before it."""
    return _name(server), _name(f"{workspace}.{server}")


def _name(text: str) -> str:
    """The nearest name that a connection may have."""
    return _UNSAFE.sub("-", text).lstrip("_.-")[:_LONGEST] or "server"


def standing_for(seen: Collection[Connection], workspace: str, server: str) -> Connection | None:
    """The connection that stands for a server of a workspace: the live one, or what the workspace provides."""
    named = {one.name: one for one in seen}
    plain, qualified = connection_names(workspace, server)
    added = [named[name] for name in (qualified, plain) if name in named and named[name].workspace is None]
    given = [one for one in seen if one.workspace == workspace and Path(one.location).name == server]
    return next(iter((*added, *given)), None)
