"""All upstream servers of the process: one warm session each, shared by every client.

Invariant: servers never wait for one another; after `close` no child process is left. A filled-in address is in no
stored part of a definition; what comes from a server is searched for its address and password.
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
from thresher.upstream.limits import Limits
from thresher.upstream.oauth import Credentials
from thresher.upstream.peer import Peer
from thresher.upstream.records import CallOutcome, Changed, Listing, ServerState
from thresher.upstream.session import Session
from thresher.upstream.transport.process import find_program

_REFERENCE: Final = re.compile(r"\$\{connection:(?P<name>[^}]*)\}")

Addresses: TypeAlias = Callable[[ServerConfig, str], Awaitable[str]]
"""The whole address of one of our connections, for a server that names it."""


def names_connections(config: ServerConfig) -> bool:
    """Whether a definition wants the address of a connection of ours."""
    texts = (*config.env.values(), *config.headers.values(), *config.args, config.url)
    return any("${connection:" in text for text in texts)


async def fill_connections(config: ServerConfig, addresses: Addresses) -> ServerConfig:
    """The definition with addresses in the place of `${connection:NAME}`; what it is started and reached with.

    Raises:
        ThresherError: There is no such connection for this server.
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


DEFAULT = Limits()
Key: TypeAlias = tuple[int, str, str]
"""Tenant, identity, name: sessions are never shared beyond."""


class Upstreams:
    """Sessions with upstream servers, opened at their first use. One per process, on one event loop."""

    def __init__(
        self,
        settings: Settings,
        *,
        credentials: Credentials | None = None,
        changed: Callable[[ServerConfig, Changed], None] | None = None,
        addresses: Addresses | None = None,
        limits: Limits = DEFAULT,
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._changed = changed if changed is not None else _unheard
        self._addresses = addresses
        self._limits = limits
        self._tending: asyncio.Task[None] | None = None
        self._sessions: dict[Key, Session] = {}
        self._leaving: dict[asyncio.Task[None], Session] = {}
        self._closed = False

    async def list_tools(self, config: ServerConfig) -> Listing:
        """List a server's tools, and what else it says it has, connecting first if need be.

        Raises:
            UpstreamError: The server cannot be started or reached, or its listing is unusable.
        """
        return await (await self._filled(config)).list_tools()

    async def check(self, config: ServerConfig) -> str:
        """Connect to a server and list its tools, to see whether its definition is right.

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
        """Call a server's tool once; see `Session.call_tool`.

        Raises:
            UpstreamError: The server cannot be reached or went away.
            UpstreamTimeout: No answer in time.
            UpstreamRefused: The server refused the call.
        """
        return await (await self._filled(config)).call_tool(name, arguments, peer=peer, timeout=timeout, meta=meta)

    async def stateless(self, config: ServerConfig) -> bool:
        """Whether the server speaks 2026-07-28, in which a request can be answered with questions.

        Raises:
            UpstreamError: It is not known yet, and the server cannot be started or reached.
        """
        return await (await self._filled(config)).stateless()

    async def read_resource(
        self, config: ServerConfig, uri: str, *, peer: Peer | None = None
    ) -> ReadResourceResult | InputRequiredResult:
        """Read a resource; errors as `call_tool`. Only a peer with `rounds` gets a request for input."""
        return await (await self._filled(config)).read_resource(uri, peer=peer)

    async def get_prompt(
        self, config: ServerConfig, name: str, arguments: Mapping[str, str] | None, *, peer: Peer | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Fill in a prompt; errors as `call_tool`. Only a peer with `rounds` gets a request for input."""
        return await (await self._filled(config)).get_prompt(name, arguments, peer=peer)

    async def complete(self, config: ServerConfig, params: CompleteRequestParams) -> CompleteResult:
        """Complete an argument of a prompt or a resource template; errors as `call_tool`."""
        return await (await self._filled(config)).complete(params)

    async def subscribe(self, config: ServerConfig, uri: str, on_update: Callable[[str], None]) -> None:
        """Call `on_update` with the address whenever the server says that the resource has changed.

        Outlives a reconnect; the same function twice is one subscription. Errors as `call_tool`.
        """
        await (await self._filled(config)).subscribe(uri, on_update)

    async def unsubscribe(self, config: ServerConfig, uri: str, on_update: Callable[[str], None]) -> None:
        """End one subscription; does nothing when there is none."""
        await (await self._filled(config)).unsubscribe(uri, on_update)

    async def release(self, peer_id: str) -> None:
        """End the sessions that were leased for a client which has gone."""
        await asyncio.gather(*(session.release(peer_id) for session in self._sessions.values()))

    async def _filled(self, config: ServerConfig) -> Session:
        """The session with a server, addresses of our connections filled in where its definition names them."""
        if names_connections(config):
            if self._addresses is None:
                raise UpstreamError(
                    f"Server '{config.name}' wants the address of a connection, and there are none here.",
                    hint="Write the address itself into its definition.",
                )
            config = await fill_connections(config, self._addresses)
        return self._session(config)

    def _session(self, config: ServerConfig) -> Session:
        if self._closed:
            raise UpstreamError("Thresher is stopping.", hint="Try again once it runs.")
        key = _key(config)
        held = self._sessions.get(key)
        if held is not None and held.config.connection == config.connection:
            return held
        if held is not None:
            self._retire(held)
        self._make_room()
        session = Session(config, self._settings, self._limits, self._changed, self._credentials)
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

    def _retire(self, session: Session) -> None:
        """Part with a session whose configuration has changed, without making its successor wait."""
        task = asyncio.create_task(session.retire(), name=f"retire {session.config.name}")
        self._leaving[task] = session
        task.add_done_callback(self._leaving.pop)

    def states(self) -> list[ServerState]:
        """The state of every server that was used, by name."""
        return [session.state for _, session in sorted(self._sessions.items(), key=lambda item: item[0][::-1])]

    def log(self, server: ServerConfig | str) -> tuple[str, ...]:
        """The last lines that a server wrote to its stderr, oldest first, secrets hidden; empty if never used."""
        return tuple(
            line
            for key, session in self._sessions.items()
            if key[2] == server or (isinstance(server, ServerConfig) and key == _key(server))
            for line in session.log()
        )

    async def disconnect(self, tenant_id: int, name: str, *, owner: str = "", identity: str | None = None) -> None:
        """End the sessions with a server; its next use opens another.

        Args:
            tenant_id: The tenant.
            name: The server's.
            owner: The user whose server it is; empty: the tenant's. Another owner's server of that name is left alone.
            identity: Ends only the sessions that use the credentials of this identity.
        """
        ending = [
            key
            for key, session in self._sessions.items()
            if (key[0], key[2], session.config.owner) == (tenant_id, name, owner) and identity in (None, key[1])
        ]
        await asyncio.gather(*(self._sessions.pop(key).close() for key in ending))

    async def close(self) -> None:
        """End all sessions at once; returns within a few seconds, whatever the servers do."""
        self._closed = True
        if self._tending is not None:
            self._tending.cancel()
        sessions = [*self._sessions.values(), *self._leaving.values()]
        self._sessions.clear()
        await asyncio.gather(*(session.close() for session in sessions))
        if self._leaving:
            await asyncio.wait(self._leaving)


class IdleUpstreams(Upstreams):
    """Sessions that are never opened, for dry runs: nothing is started and no server is asked."""

    async def check(self, config: ServerConfig) -> str:
        """Whether the program is there; of a remote server nothing can be said without asking it."""
        if config.transport != "stdio":
            return f"the address of server '{config.name}' is well formed; it was not asked"
        program = await asyncio.to_thread(find_program, config)
        return f"the command of server '{config.name}' is {program}; it was not started"

    async def list_tools(self, config: ServerConfig) -> Listing:
        """Refuse."""
        raise UpstreamError(f"Server '{config.name}' is not asked in a dry run.", hint="Run it without --dry-run.")


def _unheard(_config: ServerConfig, _change: Changed) -> None:
    """Nobody wants to hear of changes."""


def _key(config: ServerConfig) -> Key:
    return (config.tenant, config.identity, config.name)
