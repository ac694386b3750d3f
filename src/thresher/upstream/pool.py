"""All upstream servers of the process: one warm session each, shared by every client.

Invariant: servers never wait for one another; after `close` no child process is left.
"""

from __future__ import annotations

import asyncio

from mcp.shared.dispatcher import ProgressFnT

from thresher.core import JSON, Settings, UpstreamError
from thresher.upstream.config import ServerConfig
from thresher.upstream.records import CallOutcome, Listing, ServerState
from thresher.upstream.session import Session


class Upstreams:
    """Sessions with upstream servers, opened at their first use. One per process, on one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._sessions: dict[str, Session] = {}
        self._leaving: dict[asyncio.Task[None], Session] = {}
        self._closed = False

    async def list_tools(self, config: ServerConfig) -> Listing:
        """List a server's tools, connecting first if need be.

        Raises:
            UpstreamError: The server cannot be started or reached, or its listing is unusable.
        """
        return await self._session(config).list_tools()

    async def call_tool(
        self,
        config: ServerConfig,
        name: str,
        arguments: JSON,
        *,
        timeout: float | None = None,
        progress: ProgressFnT | None = None,
    ) -> CallOutcome:
        """Call a server's tool once; see `Session.call_tool`.

        Raises:
            UpstreamError: The server cannot be reached or went away.
            UpstreamTimeout: No answer in time.
            UpstreamRefused: The server refused the call.
        """
        return await self._session(config).call_tool(name, arguments, timeout=timeout, progress=progress)

    def _session(self, config: ServerConfig) -> Session:
        if self._closed:
            raise UpstreamError("Thresher is stopping.", hint="Try again once it runs.")
        held = self._sessions.get(config.name)
        if held is not None and held.config.connection == config.connection:
            return held
        if held is not None:
            self._retire(held)
        session = self._sessions[config.name] = Session(config, self._settings)
        return session

    def _retire(self, session: Session) -> None:
        """Part with a session whose configuration has changed, without making its successor wait."""
        task = asyncio.create_task(session.retire(), name=f"retire {session.config.name}")
        self._leaving[task] = session
        task.add_done_callback(self._leaving.pop)

    def states(self) -> list[ServerState]:
        """The state of every server that was used, by name."""
        return [session.state for _, session in sorted(self._sessions.items())]

    def log(self, name: str) -> tuple[str, ...]:
        """The last lines that a server wrote to its stderr, oldest first, secrets hidden; empty if never used."""
        session = self._sessions.get(name)
        return session.log() if session else ()

    async def disconnect(self, name: str) -> None:
        """End the session with a server, if there is one; the next use opens a new one."""
        session = self._sessions.pop(name, None)
        if session is not None:
            await session.close()

    async def close(self) -> None:
        """End all sessions at once; returns within a few seconds, whatever the servers do."""
        self._closed = True
        sessions = [*self._sessions.values(), *self._leaving.values()]
        self._sessions.clear()
        await asyncio.gather(*(session.close() for session in sessions))
