"""What servers offer besides tools: resources, resource templates and prompts, under unambiguous names.

Invariant: an exposed address leads back to one server and its own address without a look at the list; a later component
never renames an earlier one. No server is asked to list or to resolve.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from cachetools import LRUCache

from thresher.core import JSON, Caller, NotFound, did_you_mean, nearest
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.models import LOCAL
from thresher.knowledge.tools.naming import expose
from thresher.knowledge.tools.queries import ServerRow
from thresher.knowledge.tools.queries.catalogue import ComponentRow, components, write_components
from thresher.store import Database, SecretBox, run_retrying
from thresher.upstream import Listing, ServerConfig, identity_for, restore_config

Kind: TypeAlias = Literal["resource", "template", "prompt"]

SCHEME = "thresher://"
"""Addresses are exposed as `thresher://SERVER/ADDRESS`: any address fits after it, templates too, and none is lost."""

_SNAPSHOTS = 64


@dataclass(frozen=True, slots=True)
class Component:
    """One component as clients see it.

    Attributes:
        name: The address, address template or name that clients use.
        key: The server's own.
        server: The server's id.
        definition: As the server listed it, under the exposed name.
    """

    name: str
    key: str
    server: int
    definition: JSON


@dataclass(frozen=True, slots=True)
class Offered:
    """Everything that one caller may read or fill in, at one version of the catalogue.

    Attributes:
        version: The catalogue's change count.
        servers: The enabled servers by name.
        resources: By exposed address, in the order in which they were first listed.
        templates: By exposed address template.
        prompts: By exposed name.
    """

    version: int
    servers: Mapping[str, ServerRow]
    resources: Mapping[str, Component]
    templates: Mapping[str, Component]
    prompts: Mapping[str, Component]

    def prompt(self, name: str) -> Component:
        """Return a prompt by exposed name.

        Raises:
            NotFound: No prompt has it.
        """
        if (found := self.prompts.get(name)) is None:
            raise NotFound(f"There is no prompt '{name}'.", hint=did_you_mean(nearest(name, self.prompts)))
        return found

    def home(self, uri: str) -> tuple[int, str] | None:
        """Return the server behind an exposed address, and its own address; None if the address names no server.

        This includes addresses that no list contains, as templates make them.
        """
        if (known := self.resources.get(uri) or self.templates.get(uri)) is not None:
            return known.server, known.key
        server, slash, own = uri.removeprefix(SCHEME).partition("/")
        if uri.startswith(SCHEME) and slash and (row := self.servers.get(server)) is not None:
            return row.id, own
        return None

    def bare(self) -> list[ServerRow]:
        """Return the upstream servers whose names are exposed unchanged, oldest first."""
        bare = (row for row in self.servers.values() if _bare(row) and row.config.get("transport") != LOCAL)
        return sorted(bare, key=lambda row: row.id)

    def uri(self, server: int, own: str) -> str:
        """Return the address under which clients reach a server's own address."""
        row = next((row for row in self.servers.values() if row.id == server), None)
        if row is None or (_bare(row) and self.resources.get(own, _NOWHERE).server in (server, 0)):
            return own
        return f"{SCHEME}{row.name}/{own}"


_NOWHERE = Component("", "", 0, {})


class Components:
    """Reads what servers offer; one per process.

    Args:
        database: The one pool.
        secrets: Opens the sealed part of a server's configuration.
    """

    def __init__(self, database: Database, secrets: SecretBox) -> None:
        self._database = database
        self._secrets = secrets
        self._held: LRUCache[tuple[int, str | None], Offered] = LRUCache(_SNAPSHOTS)

    async def offered(self, caller: Caller, version: int) -> Offered:
        """Return what the caller may use, at this version of the catalogue or a later one.

        Args:
            caller: The tenant and user.
            version: As `ToolService.version` returns it.
        """
        key = (caller.tenant.id, caller.user)
        if (held := self._held.get(key)) is None or held.version != version:
            async with self._database.transaction(caller.tenant) as connection:
                servers = await queries.servers(connection, caller)
                held = _offered(version, servers, await components(connection, caller))
            self._held[key] = held
        return held

    def config(self, caller: Caller, offered: Offered, server: int) -> ServerConfig:
        """Return how to reach a server, with the sessions and credentials that the caller may use."""
        row = next(row for row in offered.servers.values() if row.id == server)
        sealed: JSON = json.loads(self._secrets.open(row.sealed)) if row.sealed else {}
        config = restore_config(row.name, row.config, sealed, description=row.description)
        identity = identity_for(config, owner=row.owner, user=caller.user)
        return replace(config, prefix=not _bare(row), tenant=caller.tenant.id, identity=identity)


async def store(database: Database, caller: Caller, server: ServerRow, listing: Listing) -> bool:
    """Store what a server has just listed besides its tools; kinds that it could not list stay.

    Returns:
        Whether anything changed; the catalogue's version counts it.
    """
    groups: dict[str, tuple[str, Sequence[JSON]]] = {
        "resources": ("resource", listing.resources),
        "templates": ("template", listing.templates),
        "prompts": ("prompt", listing.prompts),
    }
    named = {"resource": "uri", "template": "uriTemplate", "prompt": "name"}
    listed = {
        kind: {str(made[named[kind]]): made for made in definitions}
        for part, (kind, definitions) in groups.items()
        if part not in listing.partial
    }
    return await run_retrying(
        database,
        caller.tenant,
        lambda connection: write_components(connection, caller.tenant, server.id, server.owner, listed),
    )


def _offered(version: int, servers: Sequence[ServerRow], rows: Sequence[ComponentRow]) -> Offered:
    # A user's own server takes precedence over the tenant's of the same name.
    by_name = {row.name: row for row in sorted(servers, key=lambda row: (row.owner is not None, row.id)) if row.enabled}
    by_id = {row.id: row for row in by_name.values()}
    seen = [row for row in rows if row.server_id in by_id]
    prompts = [row for row in seen if row.kind == "prompt"]
    bare = frozenset(row.name for row in by_name.values() if _bare(row))
    names = expose(((by_id[row.server_id].name, row.key) for row in prompts), bare=bare)
    return Offered(
        version=version,
        servers=by_name,
        resources=_addresses("uri", [row for row in seen if row.kind == "resource"], by_id),
        templates=_addresses("uriTemplate", [row for row in seen if row.kind == "template"], by_id),
        prompts={
            name: Component(name, row.key, row.server_id, {**row.definition, "name": name})
            for name, row in zip(names, prompts, strict=True)
        },
    )


def _addresses(field: str, rows: Sequence[ComponentRow], servers: Mapping[int, ServerRow]) -> dict[str, Component]:
    found: dict[str, Component] = {}
    for row in rows:
        server = servers[row.server_id]
        name = row.key if _bare(server) and row.key not in found else f"{SCHEME}{server.name}/{row.key}"
        found[name] = Component(name, row.key, row.server_id, {**row.definition, field: name})
    return found


def _bare(server: ServerRow) -> bool:
    return server.config.get("prefix") is False
