"""Connections that are declared elsewhere: in a file that is read at the start, or by a workspace.

    {"databases": {"shop": {"url": "postgresql://reader:${SHOP_PASSWORD}@db.example.org/shop",
                            "description": "Orders and invoices", "samples": false,
                            "allow_functions": ["shop.net_price"]}}}

The file may also be YAML, and a connection its URL alone. A workspace provides the column information in its folders,
for servers without a connection.

Invariant: a password is in the environment or in the file, and is sealed before it reaches the database; a connection
that cannot be used is reported and does not stop the others. A connection that a user added is never changed, and
takes precedence: the workspace provides none for a server with such a connection, and provides it again at the next
call if that connection is removed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

import yaml
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.connectors import folder_url, read_address
from thresher.core import Caller, Conflict, InvalidInput, ThresherError
from thresher.knowledge.databases import queries
from thresher.knowledge.databases.cache import SchemaCache
from thresher.knowledge.databases.connections import Connections
from thresher.knowledge.databases.models import Connection
from thresher.knowledge.databases.queries import ConnectionValues, StoredConnection
from thresher.knowledge.databases.refresh import Refresher
from thresher.store import Database, SecretBox, clean, run_retrying

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_KEYS: Final = frozenset({"url", "description", "samples", "allow_functions"})
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ConfiguredConnection:
    """A connection that a configuration file declares.

    Attributes:
        name: The name that tools take as `connection`.
        url: The URL with its variables filled in.
        samples: Whether potential relations may sample values.
        description: What it holds.
        allow_functions: User-defined functions that statements may call.
    """

    name: str
    url: str = field(repr=False)
    samples: bool = True
    description: str = ""
    allow_functions: tuple[str, ...] = ()


def read_configured(path: Path, variables: Mapping[str, str]) -> tuple[list[ConfiguredConnection], dict[str, str]]:
    """Read a file of connections.

    Args:
        path: A JSON or YAML file.
        variables: Values for `${NAME}` and `${NAME:-default}` in URLs; they are URL-quoted.

    Returns:
        The valid connections, and reasons by name for the others.

    Raises:
        InvalidInput: It cannot be read, or is not such a file.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidInput(f"{path} is too large to be a list of connections.", hint="Correct the path.")
        document = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {type(error).__name__}.", hint="Correct the path.") from None
    except yaml.YAMLError as error:
        # The error's text quotes the file, which may hold a password.
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}"
        raise InvalidInput(f"{path} is neither JSON nor YAML{where}.", hint="Correct the file.") from None
    section = cast("dict[Any, Any]", document).get("databases") if isinstance(document, dict) else None
    if not isinstance(section, dict):
        raise InvalidInput(f"{path} has no section 'databases'.", hint='Write {"databases": {"name": {"url": "..."}}}.')
    return configured_of(cast("dict[Any, Any]", section), variables)


def configured_of(
    section: Mapping[Any, Any], variables: Mapping[str, str]
) -> tuple[list[ConfiguredConnection], dict[str, str]]:
    """The valid connections of a section, and reasons by name for the others."""
    good: list[ConfiguredConnection] = []
    wrong: dict[str, str] = {}
    for name, entry in section.items():
        try:
            good.append(_one(str(name), entry, variables))
        except InvalidInput as error:
            wrong[str(name)] = str(error)
    return good, wrong


def _one(name: str, entry: Any, variables: Mapping[str, str]) -> ConfiguredConnection:
    fields = cast("dict[str, Any]", {"url": entry} if isinstance(entry, str) else entry)
    if not isinstance(entry, str | dict) or not isinstance(fields.get("url"), str):
        raise InvalidInput(f"The connection '{name}' has no url.", hint="Write a SQLAlchemy URL under 'url'.")
    if unknown := sorted(set(fields) - _KEYS):
        hint = f"There are: {', '.join(sorted(_KEYS))}."
        raise InvalidInput(f"The connection '{name}' has an unknown key '{unknown[0]}'.", hint=hint)
    functions = fields.get("allow_functions", [])
    if not isinstance(functions, list) or not isinstance(fields.get("samples", True), bool):
        raise InvalidInput(
            f"The connection '{name}' is not valid.", hint="'samples' is true or false, 'allow_functions' a list."
        )
    named = tuple(str(one) for one in cast("list[Any]", functions))
    url = _filled(name, fields["url"], variables)
    return ConfiguredConnection(name, url, fields.get("samples", True), str(fields.get("description", "")), named)


def _filled(name: str, url: str, variables: Mapping[str, str]) -> str:
    """Fill in a URL's variables; a variable that holds the whole URL is used as it is, others are quoted."""

    def value(match: re.Match[str]) -> str:
        found = variables.get(match[1]) or match[2]
        if found is None:
            raise InvalidInput(
                f"The connection '{name}' needs the variable {match[1]}, which is not set.", hint="Set it and restart."
            )
        return found if match.span() == (0, len(url)) else quote(found, safe="")

    return _VARIABLE.sub(value, url.strip())


async def settle(
    connections: Connections, refresher: Refresher, caller: Caller, wanted: Sequence[ConfiguredConnection]
) -> dict[str, str]:
    """Make the configured connections exactly these; returns reasons by name for those that cannot be used."""
    failed: dict[str, str] = {}
    for one in wanted:
        try:
            held = await connections.add(
                caller,
                one.name,
                one.url,
                samples=one.samples,
                description=one.description,
                allow_functions=one.allow_functions,
                replace=True,
                configured=True,
            )
        except ThresherError as error:
            failed[one.name] = str(error)
        else:
            if held.connection.state == "new":
                refresher.begin(caller.tenant, held)
    for gone in await connections.configured(caller.tenant):
        if gone.connection.name not in {one.name for one in wanted}:
            await connections.remove(caller.tenant, gone)
    return failed


_LONGEST: Final = 63
_UNSAFE: Final = re.compile(r"[^\w.-]+")
_ATTEMPTS: Final = 3
_NUMBERED: Final = 99


@dataclass(frozen=True, slots=True)
class WorkspaceConnections:
    """Provides the connections of workspaces.

    Attributes:
        database: Stores connections.
        connections: Removes connections.
        refresher: Reads schemas.
        cache: Caches schemas.
        secrets: Seals addresses.
    """

    database: Database
    connections: Connections
    refresher: Refresher
    cache: SchemaCache
    secrets: SecretBox

    async def provide(self, caller: Caller, workspace: str, folders: Mapping[str, Path]) -> dict[str, str]:
        """See `DatabaseService.provide`."""
        attempt = 1
        while True:
            try:
                return await self._provide(caller, workspace, folders)
            except _NameTaken:
                if attempt == _ATTEMPTS:
                    raise
                attempt += 1

    async def _provide(self, caller: Caller, workspace: str, folders: Mapping[str, Path]) -> dict[str, str]:
        """Choose names and write under one lock, so that concurrent calls do not choose the same names."""
        writes = {server: await asyncio.to_thread(self._written, path, workspace) for server, path in folders.items()}

        async def work(link: AsyncConnection) -> _Provisioned:
            await queries.lock_names(link, caller.tenant)
            own = await queries.provided(link, caller, workspace)
            seen = {name: one.connection for name, one in (await queries.held_in(link, caller)).items()}
            names, mine = chosen(seen, {one.connection.name for one in own}, workspace, folders)
            changed = await _put(link, caller, [replace(writes[server], name=name) for name, server in mine.items()])
            return _Provisioned(names, changed, [one for one in own if one.connection.name not in mine])

        done = await run_retrying(self.database, caller.tenant, work)
        for one in done.gone:
            await self._remove(caller, one)
        for one in done.changed:
            self.refresher.begin(caller.tenant, one)
        return done.names

    def _written(self, folder: Path, workspace: str) -> ConnectionValues:
        """The row of a connection to a folder, without its name."""
        url = folder_url(folder)
        address = read_address(url)
        about = f"Column information of the workspace {workspace}: no live server."
        sealed = self.secrets.seal(url)
        return ConnectionValues(
            "", address.dialect, clean(address.location), "", sealed, False, clean(about), (), workspace=workspace
        )

    async def _remove(self, caller: Caller, held: StoredConnection) -> None:
        await self.refresher.forget(caller.tenant, held.id)
        await self.connections.remove(caller.tenant, held)
        self.cache.forget(caller.tenant, held.id)


@dataclass(frozen=True, slots=True)
class _Provisioned:
    """Connection names by server, changed connections, and those to remove."""

    names: dict[str, str]
    changed: list[StoredConnection]
    gone: list[StoredConnection]


class _NameTaken(Conflict):
    """A connection of this name was added concurrently."""


async def _put(link: AsyncConnection, caller: Caller, writes: Collection[ConnectionValues]) -> list[StoredConnection]:
    """Insert or replace connections; returns the changed ones."""
    changed: list[StoredConnection] = []
    for write in writes:
        number = await queries.add_connection(link, caller, write)
        if number is None:
            known = await queries.own_connection(link, caller, write.name)
            if known is None or known.connection.workspace != write.workspace:
                raise _NameTaken(f"The name '{write.name}' was just taken.", hint="Refresh the workspace.")
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
    """Choose the connection for each server.

    Args:
        seen: The connections that the caller sees, by name.
        own: Names of those that the workspace already provides.
        workspace: The workspace's name.
        servers: Servers with column information.

    Returns:
        Connection names by server; and servers by name for the connections that the workspace must provide.
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
    """The names for a server's connection: the server's, and the same after the workspace's."""
    return _name(server), _name(f"{workspace}.{server}")


def _name(text: str) -> str:
    """Convert a text to a valid name of a connection."""
    return _UNSAFE.sub("-", text).lstrip("_.-")[:_LONGEST] or "server"


def server_connection(seen: Collection[Connection], workspace: str, server: str) -> Connection | None:
    """The connection for a server of a workspace: one that a user added, or what the workspace provides."""
    named = {one.name: one for one in seen}
    plain, qualified = connection_names(workspace, server)
    added = [named[name] for name in (qualified, plain) if name in named and named[name].workspace is None]
    given = [one for one in seen if one.workspace == workspace and Path(one.location).name == server]
    return next(iter((*added, *given)), None)
