"""All upstream servers of the process: one warm session each, shared by all clients.

Invariant: servers never wait for one another; after `close` no child process is left. A filled-in address is not in
any stored part of a definition, and texts from the server are searched for its address and password.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from mcp_types import CompleteRequestParams, CompleteResult, GetPromptResult, InputRequiredResult, ReadResourceResult

from thresher.core import JSON, Settings, UpstreamError
from thresher.upstream.config import ServerConfig
from thresher.upstream.oauth import Credentials
from thresher.upstream.peer import Peer
from thresher.upstream.records import CallOutcome, Changed, Listing, ServerState, UpstreamLimits
from thresher.upstream.session import ServerSession
from thresher.upstream.transport.process import find_program

_REFERENCE: Final = re.compile(r"\$\{connection:(?P<name>[^}]*)\}")

Addresses: TypeAlias = Callable[[ServerConfig, str], Awaitable[str]]
"""Returns the full address of a database connection for a server that names it."""


def names_connections(config: ServerConfig) -> bool:
    """Whether a definition refers to a database connection."""
    texts = (*config.env.values(), *config.headers.values(), *config.args, config.url)
    return any("${connection:" in text for text in texts)


async def fill_connections(config: ServerConfig, addresses: Addresses) -> ServerConfig:
    """Replace `${connection:NAME}` in a definition by addresses, for starting and reaching the server.

    Raises:
        ThresherError: This server has no such connection.
    """
    texts = " ".join((*config.env.values(), *config.headers.values(), *config.args, config.url))
    known = {name: await addresses(config, name) for name in dict.fromkeys(_REFERENCE.findall(texts))}

    def filled(text: str) -> str:
        return _REFERENCE.sub(lambda found: known[found["name"]], text)

    return replace(
        config,
        env={name: filled(value) for name, value in config.env.items()},
        headers={name: filled(value) for name, value in config.headers.items()},
        args=tuple(filled(value) for value in config.args),
        url=filled(config.url),
        handed=tuple(known.values()),
    )


DEFAULT = UpstreamLimits()
Key: TypeAlias = tuple[int, str, str]
"""Tenant, identity, name; sessions are never shared between keys."""


class Upstreams:
    """Sessions with upstream servers, opened on first use. One per process, on one event loop."""

    def __init__(
        self,
        settings: Settings,
        *,
        credentials: Credentials | None = None,
        changed: Callable[[ServerConfig, Changed], None] | None = None,
        addresses: Addresses | None = None,
        limits: UpstreamLimits = DEFAULT,
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._changed = changed if changed is not None else _unheard
        self._addresses = addresses
        self._limits = limits
        self._tending: asyncio.Task[None] | None = None
        self._sessions: dict[Key, ServerSession] = {}
        self._leaving: dict[asyncio.Task[None], ServerSession] = {}
        self._closed = False

    async def list_tools(self, config: ServerConfig) -> Listing:
        """List a server's tools and other components, connecting first if necessary.

        Raises:
            UpstreamError: The server cannot be started or reached, or its listing is unusable.
        """
        return await (await self._filled(config)).list_tools()

    async def check(self, config: ServerConfig) -> str:
        """Check a definition by connecting to the server and listing its tools.

        Returns:
            What was checked, in words.

        Raises:
            UpstreamError: The server cannot be started or reached, or its listing is unusable.
        """
        listing = await self.list_tools(config)
        return f"server '{config.name}' lists {len(listing.tools)} tools"

    async def call_tool(
        self,
        config: ServerConfig,
        name: str,
        arguments: JSON,
        *,
        peer: Peer | None = None,
        timeout: float | None = None,
        meta: JSON | None = None,
    ) -> CallOutcome:
        """Call a server's tool once; see `ServerSession.call_tool`.

        Raises:
            UpstreamError: The server cannot be reached, or the connection was lost.
            UpstreamTimeout: No answer in time.
            UpstreamRefused: The server refused the call.
        """
        return await (await self._filled(config)).call_tool(name, arguments, peer=peer, timeout=timeout, meta=meta)

    async def stateless(self, config: ServerConfig) -> bool:
        """Whether the server uses 2026-07-28, in which a request can be answered with questions.

        Raises:
            UpstreamError: That is not known yet, and the server cannot be started or reached.
        """
        return await (await self._filled(config)).stateless()

    async def read_resource(
        self, config: ServerConfig, uri: str, *, peer: Peer | None = None
    ) -> ReadResourceResult | InputRequiredResult:
        """Read a resource; raises what `call_tool` raises. Only a peer with `rounds` gets a request for input."""
        return await (await self._filled(config)).read_resource(uri, peer=peer)

    async def get_prompt(
        self, config: ServerConfig, name: str, arguments: Mapping[str, str] | None, *, peer: Peer | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Fill in a prompt; raises what `call_tool` raises. Only a peer with `rounds` gets a request for input."""
        return await (await self._filled(config)).get_prompt(name, arguments, peer=peer)

    async def complete(self, config: ServerConfig, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt or a resource template; raises what `call_tool` raises."""
        return await (await self._filled(config)).complete(params)

    async def subscribe(self, config: ServerConfig, uri: str, on_update: Callable[[str], None]) -> None:
        """Call `on_update` with the address whenever the server reports a change of the resource.

        A subscription survives a reconnect; the same function is subscribed once. Raises what `call_tool` raises.
        """
        await (await self._filled(config)).subscribe(uri, on_update)

    async def unsubscribe(self, config: ServerConfig, uri: str, on_update: Callable[[str], None]) -> None:
        """End a subscription, if there is one."""
        await (await self._filled(config)).unsubscribe(uri, on_update)

    async def release(self, peer_id: str) -> None:
        """End the sessions that were leased for a client, after it has disconnected."""
        await asyncio.gather(*(session.release(peer_id) for session in self._sessions.values()))

    async def _filled(self, config: ServerConfig) -> ServerSession:
        """The session with a server, with the addresses of database connections filled in."""
        if names_connections(config):
            if self._addresses is None:
                raise UpstreamError(
                    f"Server '{config.name}' refers to a database connection, but there are none here.",
                    hint="Write the address itself into its definition.",
                )
            config = await fill_connections(config, self._addresses)
        return self._session(config)

    def _session(self, config: ServerConfig) -> ServerSession:
        if self._closed:
            raise UpstreamError("Thresher is stopping.", hint="Try again once it runs.")
        key = _key(config)
        held = self._sessions.get(key)
        if held is not None and held.config.connection == config.connection:
            return held
        if held is not None:
            self._retire(held)
        self._make_room()
        session = ServerSession(config, self._settings, self._limits, self._changed, self._credentials)
        self._sessions[key] = session
        if self._tending is None:
            self._tending = asyncio.create_task(self._tend(), name="tend upstream sessions")
        return session

    def _make_room(self) -> None:
        if len(self._sessions) < self._limits.servers:
            return
        idle = [(session.used_at, key) for key, session in self._sessions.items() if not session.busy]
        if idle:
            self._retire(self._sessions.pop(min(idle)[1]))

    async def _tend(self) -> None:
        while True:
            await asyncio.sleep(self._limits.tending)
            for session in [*self._sessions.values()]:
                session.tend()

    def _retire(self, session: ServerSession) -> None:
        """Close a session whose configuration has changed, without delaying its successor."""
        task = asyncio.create_task(session.retire(), name=f"retire {session.config.name}")
        self._leaving[task] = session
        task.add_done_callback(self._leaving.pop)

    def states(self) -> list[ServerState]:
        """The states of all used servers, sorted by name."""
        return [session.state for _, session in sorted(self._sessions.items(), key=lambda item: item[0][::-1])]

    def log(self, server: ServerConfig | str) -> tuple[str, ...]:
        """The last lines of a server's stderr, oldest first, with secrets hidden; empty if it was never used."""
        return tuple(
            line
            for key, session in self._sessions.items()
            if key[2] == server or (isinstance(server, ServerConfig) and key == _key(server))
            for line in session.log()
        )

    async def disconnect(self, tenant_id: int, name: str, *, owner: str = "", identity: str | None = None) -> None:
        """End the sessions with a server; the next use opens another.

        Args:
            tenant_id: The tenant.
            name: The server's name.
            owner: The owning user; empty for the tenant. Another owner's server of this name is not affected.
            identity: End only sessions with this identity's credentials; None for all.
        """
        ending = [
            key
            for key, session in self._sessions.items()
            if (key[0], key[2], session.config.owner) == (tenant_id, name, owner) and identity in (None, key[1])
        ]
        await asyncio.gather(*(self._sessions.pop(key).close() for key in ending))

    async def close(self) -> None:
        """End all sessions; returns within a few seconds in any case."""
        self._closed = True
        if self._tending is not None:
            self._tending.cancel()
        sessions = [*self._sessions.values(), *self._leaving.values()]
        self._sessions.clear()
        await asyncio.gather(*(session.close() for session in sessions))
        if self._leaving:
            await asyncio.wait(self._leaving)


class IdleUpstreams(Upstreams):
    """Sessions for dry runs: nothing is started, and no server is contacted."""

    async def check(self, config: ServerConfig) -> str:
        """Check that the program exists; a remote server is not contacted."""
        if config.transport != "stdio":
            return f"the address of server '{config.name}' is well formed; it was not asked"
        program = await asyncio.to_thread(find_program, config)
        return f"the command of server '{config.name}' is {program}; it was not started"

    async def list_tools(self, config: ServerConfig) -> Listing:
        """Refuse."""
        raise UpstreamError(f"Server '{config.name}' is not asked in a dry run.", hint="Run it without --dry-run.")


def _unheard(_config: ServerConfig, _change: Changed) -> None:
    """Ignore changes."""


def _key(config: ServerConfig) -> Key:
    return (config.tenant, config.identity, config.name)
