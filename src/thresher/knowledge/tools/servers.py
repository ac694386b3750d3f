"""Adding, removing and switching servers of the catalogue, and the sign-ins at them.

Invariant: secrets are sealed before they are stored and never returned. A server belongs to one user, or to the tenant
as a whole; users change only their own. A stored sign-in is durable before `save` and `exchange` return, and is removed
with its server.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

from thresher.core import (
    JSON,
    Caller,
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Tenant,
    ThresherError,
    dumps,
    event,
)
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, is_offered
from thresher.knowledge.tools.indexer import Indexer
from thresher.knowledge.tools.models import LOCAL, STATIC, ServerInfo, plain_name
from thresher.knowledge.tools.queries import ServerRow
from thresher.store import Database, SecretBox, run_retrying
from thresher.upstream import (
    GuardedSql,
    ServerConfig,
    Upstreams,
    identity_for,
    public_config,
    read_sql,
    restore_config,
    sealed_part,
    valid_name,
)

logger = logging.getLogger("thresher.knowledge")

DESCRIPTION_CHARACTERS = 1_000
"""The maximum length of a server's description."""


class Servers:
    """The servers of all tenants; one per process."""

    def __init__(
        self,
        database: Database,
        indexer: Indexer,
        catalogues: CatalogueCache,
        upstreams: Upstreams,
        secrets: SecretBox,
    ) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues
        self._upstreams = upstreams
        self._secrets = secrets

    async def add(
        self,
        caller: Caller,
        config: ServerConfig,
        *,
        replace: bool = False,
        auto_approve: bool | None = None,
        trusted: bool | None = None,
    ) -> ServerInfo:
        """Store a server for the caller's user, or for the tenant without one, without connecting to it.

        The same configuration again changes nothing. A server that was disabled stays disabled, and one whose
        statements are guarded stays guarded: only `guard` ends that.

        Args:
            caller: The owner.
            config: How to reach it.
            replace: Whether it may replace another configuration of that name.
            auto_approve: Whether changes of its tools are accepted without approval. By default this and `trusted` stay
                if the server is still reached in the same way; otherwise they are off, and consents end.
            trusted: Whether its claims about its tools are relied on.

        Raises:
            InvalidInput: The name cannot prefix tool names.
            Conflict: Another configuration has this name, and `replace` was not set.
        """
        if not valid_name(config.name):
            raise InvalidInput(
                f"'{config.name}' cannot be a server's name.",
                hint="Use at most 64 letters, digits, '_', '.' and '-', with a letter or digit first.",
            )
        held = await self._own(caller, config.name)
        if config.sql is None and held is not None:
            config = changed(config, sql=read_sql(held.config.get("sql")))
        stored = self._stored(caller, held)
        same = held if _is_reached_alike(stored, config) else None
        switches = {
            "auto_approve": same is not None and same.auto_approve if auto_approve is None else auto_approve,
            "trusted": same is not None and same.trusted if trusted is None else trusted,
        }
        kept = held is not None and switches == {"auto_approve": held.auto_approve, "trusted": held.trusted}
        if held is not None and kept and _same(held, stored, config):
            return info_of(held)
        if held is not None and not replace:
            raise Conflict(
                f"There is already a server '{config.name}' with another configuration.",
                hint="Remove it first, or choose another name.",
            )
        sealed = sealed_part(config)
        await self.put(
            caller,
            config.name,
            config=public_config(config) | ({} if config.prefix else {"prefix": False}),
            sealed=self._secrets.seal(dumps(sealed)) if sealed else None,
            description=config.description[:DESCRIPTION_CHARACTERS],
            enabled=config.enabled and (held is None or held.enabled),
            **switches,
        )
        if held is not None and not _is_reached_alike(stored, config):
            await self._end_consents(caller, held)
        if held is not None and held.enabled and not config.enabled:
            await self._withdraw(caller, held)
        return await self._info(caller, config.name)

    async def put(self, caller: Caller, name: str, **values: Any) -> None:
        """Write a server's row; see `queries.put_server`."""
        await run_retrying(
            self._database, caller.tenant, lambda connection: queries.put_server(connection, caller, name, **values)
        )
        self._catalogues.changed(caller.tenant.id)

    async def _end_consents(self, caller: Caller, server: ServerRow) -> None:
        await run_retrying(
            self._database, caller.tenant, lambda connection: queries.end_consents(connection, caller.tenant, server.id)
        )

    def config(self, caller: Caller, server: ServerRow) -> ServerConfig:
        """Return how to reach a stored server, secrets opened, with the caller's sessions and credentials.

        Raises:
            InvalidInput: It is a catalogue without a live server.
            Conflict: It is part of this process.
        """
        if server.config.get("transport") == LOCAL:
            raise _part_of_us(server.name, "nothing connects or signs in to it")
        sealed: JSON = json.loads(self._secrets.open(server.sealed)) if server.sealed else {}
        config = restore_config(
            server.name, server.config, sealed, enabled=server.enabled, description=server.description
        )
        prefix = server.config.get("prefix") is not False
        return changed(
            config,
            prefix=prefix,
            tenant=caller.tenant.id,
            identity=identity_for(config, owner=server.owner, user=caller.user),
            owner=server.owner or "",
        )

    async def check(self, caller: Caller, config: ServerConfig) -> str:
        """Connect to a server that is not stored yet, as the caller; see `ToolService.check_server`."""
        identity = identity_for(config, owner=caller.user, user=caller.user)
        meant = changed(config, tenant=caller.tenant.id, identity=identity, owner=caller.user or "")
        try:
            return await self._upstreams.check(meant)
        except ThresherError:
            await self._upstreams.disconnect(meant.tenant, meant.name, owner=meant.owner, identity=meant.identity)
            raise

    async def remove(self, caller: Caller, name: str) -> None:
        """Remove a server with its tools, and end its session.

        Raises:
            NotFound: No server has this name.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
            Conflict: It is a server inside this process, which would return.
        """
        server = await self._mine(caller, name)
        if server.config.get("transport") == LOCAL:
            raise _part_of_us(name, "it cannot be removed")
        ids = await self._tool_ids(caller, server)
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.delete_server(connection, caller.tenant, server.id),
        )
        await self._indexer.withdraw(caller, ids)
        await self._upstreams.disconnect(caller.tenant.id, name, owner=server.owner or "")
        event(logger, "server_removed", tenant=caller.tenant.id, server=name, tools=len(ids))

    async def switch(
        self,
        caller: Caller,
        name: str,
        *,
        enabled: bool | None = None,
        auto_approve: bool | None = None,
        trusted: bool | None = None,
    ) -> ServerInfo:
        """Switch a server, or the trust in its changes or claims, on or off; its tools and vectors are kept.

        Raises:
            NotFound: No server has this name.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
            Conflict: The server is part of this process, which is always trusted.
        """
        server = await self._mine(caller, name)
        if server.config.get("transport") == LOCAL and enabled is None:
            raise _part_of_us(name, "it is always trusted")
        given = {"enabled": enabled, "auto_approve": auto_approve, "trusted": trusted}
        values = {switch: value for switch, value in given.items() if value is not None}
        await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.switch_server(connection, caller.tenant, server.id, **values),
        )
        self._catalogues.changed(caller.tenant.id)
        if enabled:
            await self._indexer.index(caller, [server])
        elif enabled is False:
            await self._withdraw(caller, server)
        return await self._info(caller, name)

    async def guard(self, caller: Caller, name: str, sql: GuardedSql | None) -> ServerInfo:
        """Set which arguments of a server's tools are SQL, or that none is, from the next call on.

        Raises:
            NotFound: No server has this name.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
            InvalidInput: It is a catalogue without a live server.
            Conflict: It is part of this process, which guards its SQL itself.
        """
        server = await self._mine(caller, name)
        if server.config.get("transport") == LOCAL:
            raise _part_of_us(name, "its SQL is guarded already")
        config = {key: value for key, value in server.config.items() if key != "sql"}
        if config.get("transport") == STATIC:
            raise InvalidInput(f"'{name}' is a catalogue without a live server.", hint="There is nothing to guard.")
        await self.put(
            caller,
            name,
            config=config if sql is None else config | {"sql": sql.public()},
            sealed=server.sealed,
            description=server.description,
            enabled=server.enabled,
            auto_approve=server.auto_approve,
        )
        return await self._info(caller, name)

    async def infos(self, caller: Caller) -> tuple[ServerInfo, ...]:
        """Return the servers in the order in which they were added, as they are in the database now."""
        async with self._database.transaction(caller.tenant) as connection:
            servers = await queries.servers(connection, caller)
        offered = self._catalogues.offered(caller)
        return tuple(info_of(server) for server in servers if is_offered(server, offered))

    async def _info(self, caller: Caller, name: str) -> ServerInfo:
        return info_of((await self._catalogues.current(caller)).server(name))

    async def _own(self, caller: Caller, name: str) -> ServerRow | None:
        """The server of that name that belongs to the caller itself, not to its tenant."""
        found = (await self._catalogues.current(caller)).servers.get(name)
        return found if found is not None and found.owner == caller.user else None

    async def _mine(self, caller: Caller, name: str) -> ServerRow:
        return checked_owner(caller, (await self._catalogues.current(caller)).server(name))

    def _stored(self, caller: Caller, held: ServerRow | None) -> ServerConfig | None:
        """How a stored server is reached; None if it is not, or its secrets cannot be opened."""
        if held is None or held.config.get("transport") in (STATIC, LOCAL):
            return None
        try:
            return self.config(caller, held)
        except ConfigurationError:
            return None  # sealed with a lost key: adding the server again is the way out

    async def _withdraw(self, caller: Caller, server: ServerRow) -> None:
        await self._indexer.withdraw(caller, await self._tool_ids(caller, server))
        await self._upstreams.disconnect(caller.tenant.id, server.name, owner=server.owner or "")

    async def _tool_ids(self, caller: Caller, server: ServerRow) -> Sequence[int]:
        catalogue = await self._catalogues.current(caller)
        tools = (*catalogue.tools, *catalogue.held.values())
        return [tool.row.id for tool in tools if tool.row.server_id == server.id]


def _part_of_us(name: str, why: str) -> Conflict:
    """The refusal of a change that makes no sense for a server that runs in this process."""
    return Conflict(
        f"Server '{name}' is part of Thresher: its tools are those of the pack '{plain_name(name)}', and {why}.",
        hint=f"To disable them: thresher servers disable {name}.",
    )


def _same(held: ServerRow, stored: ServerConfig | None, config: ServerConfig) -> bool:
    if stored is None:
        return False
    description = config.description[:DESCRIPTION_CHARACTERS] or stored.description
    switched_off = held.enabled and not config.enabled
    same = stored.connection == config.connection and stored.prefix == config.prefix and stored.sql == config.sql
    return same and stored.description == description and not switched_off


def _is_reached_alike(stored: ServerConfig | None, config: ServerConfig) -> bool:
    """Return whether trust and consents continue: they apply to a program or address, not to a name."""
    return stored is not None and stored.connection == config.connection


def checked_owner(caller: Caller, server: ServerRow) -> ServerRow:
    """Return the server if the caller may change it and its tools.

    Raises:
        NotAllowed: The server belongs to the tenant, and the caller is one of its users.
    """
    if server.owner != caller.user:
        raise NotAllowed(
            f"Server '{server.name}' is shared by the whole tenant.",
            hint="Only a key that names no user can change it and its tools.",
        )
    return server


def info_of(server: ServerRow) -> ServerInfo:
    """Return a server as users may see it."""
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
        held=server.held,
        warned=server.warned,
        auto_approve=server.auto_approve,
        trusted=server.trusted,
        shared=server.owner is None,
        sql=guarded.dialect if (guarded := read_sql(config.get("sql"))) is not None else "",
    )


class CredentialStore:
    """The sign-ins of all tenants, behind `thresher.upstream.Credentials`; one per process."""

    def __init__(self, database: Database, secrets: SecretBox) -> None:
        self._database = database
        self._secrets = secrets

    async def load(self, config: ServerConfig) -> JSON | None:
        """Return what is stored for a server and identity; None if nothing is.

        Raises:
            ConfigurationError: It was sealed with another key.
            StoreUnavailable: The database cannot be reached.
        """
        tenant, owner = _whose(config)
        sealed = await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.read_credential(connection, tenant, config.name, owner),
        )
        return None if sealed is None else self._opened(config, sealed)

    async def save(self, config: ServerConfig, value: JSON) -> None:
        """Store a sign-in, replacing any other.

        Raises:
            NotFound: The server has been removed.
            StoreUnavailable: The database cannot be reached.
        """
        tenant, owner = _whose(config)
        sealed = self._secrets.seal(dumps(value))
        written = await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.put_credential(connection, tenant, config.name, owner, sealed),
        )
        if not written:
            raise NotFound(f"There is no server '{config.name}' any more.", hint="Add it again.")

    async def exchange(self, config: ServerConfig, old: JSON | None, new: JSON) -> bool:
        """Store `new` if `old` is still stored; False if it is not, or the server has been removed.

        Raises:
            ConfigurationError: What is stored was sealed with another key.
            StoreUnavailable: The database cannot be reached.
        """
        tenant, owner = _whose(config)
        sealed = self._secrets.seal(dumps(new))

        def expected(held: bytes | None) -> bool:
            return (None if held is None else self._opened(config, held)) == old

        return await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.exchange_credential(connection, tenant, config.name, owner, expected, sealed),
        )

    async def clear(self, config: ServerConfig) -> None:
        """Delete what is stored, if anything is.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        tenant, owner = _whose(config)
        await run_retrying(
            self._database,
            tenant,
            lambda connection: queries.delete_credential(connection, tenant, config.name, owner),
        )

    def _opened(self, config: ServerConfig, sealed: bytes) -> JSON:
        try:
            return json.loads(self._secrets.open(sealed))
        except ConfigurationError as error:
            raise ConfigurationError(
                f"The stored sign-in at server '{config.name}' cannot be opened with this secret key.",
                hint=f"{error.hint} Or sign in again: thresher servers login {config.name}.",
            ) from None


def _whose(config: ServerConfig) -> tuple[Tenant, str | None]:
    return Tenant(config.tenant, ""), config.identity or None
