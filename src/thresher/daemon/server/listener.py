"""The local socket: handshakes, sessions of the protocol, commands.

Invariant: no client is served before a handshake with the right token; a silent, flooding or dying client affects no
other. Answers are one JSON line; a client of another version is told what to do.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import anyio

from thresher import __version__
from thresher.core import AccessDenied, Caller, Expose, ThresherError, dumps, event
from thresher.daemon.paths import DaemonPaths, has_unix_sockets
from thresher.daemon.server.presence import Presence
from thresher.daemon.server.project import find_project
from thresher.store import Keys, without_placeholder

logger = logging.getLogger("thresher.daemon")

HANDSHAKE_SECONDS = 10.0
LINE_LIMIT = 64 * 1024
"""Longest greeting in bytes; it also bounds what one slow session may buffer."""
CLOSE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Identity:
    """What clients need to know of the daemon.

    Attributes:
        token: The secret that every client must send; it is in the card, which only the owner can read.
        started_by: `client`: it may be asked to leave; `person`: only a person stops it.
        version: The version that clients must have.
    """

    token: str
    started_by: Literal["client", "person"]
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Client:
    """A client after its handshake.

    Attributes:
        caller: The holder of its key; None for the owner of the data folder, who needs no key.
        project: Its project folder; empty if there is none.
        expose: What `tools/list` shows to it; None: what the setting says.
    """

    caller: Caller | None
    project: str = ""
    expose: Expose | None = None

    def acting(self, owner: Caller) -> Caller:
        """The caller that its requests are served for."""
        return replace(self.caller or owner, project=self.project, expose=self.expose)


Session: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter, Client], Awaitable[None]]
"""Serves one client."""


class Listener:
    """Accepts clients on the local socket.

    Args:
        paths: The data folder's files.
        identity: Token, origin and version.
        presence: Counts the clients.
        sessions: What serves each mode, `mcp` and `control`.
        keys: Finds the caller of a key.
        stop: Called to end the daemon.
    """

    def __init__(
        self,
        paths: DaemonPaths,
        identity: Identity,
        presence: Presence,
        sessions: Mapping[str, Session],
        keys: Keys,
        stop: Callable[[], None],
    ) -> None:
        self._place = paths
        self._identity = identity
        self._presence = presence
        self._sessions = sessions
        self._keys = keys
        self._stop = stop
        self._leaving = False
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, *, unix: bool = has_unix_sockets()) -> str:
        """Listen, and return the address: `unix:PATH`, or `tcp:HOST:PORT` where Unix sockets are missing."""
        if not unix:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=LINE_LIMIT)
            host, port = self._server.sockets[0].getsockname()
            return f"tcp:{host}:{port}"
        path = self._place.socket_path()
        _remove(path)  # stale: we hold the daemon lock
        self._server = await asyncio.start_unix_server(self._accept, path, limit=LINE_LIMIT, backlog=256)
        return f"unix:{path}"

    async def close(self) -> None:
        """Stop listening and end every session within a few seconds."""
        self._leaving = True
        if self._server is not None:
            for listening in self._server.sockets:
                if isinstance(path := listening.getsockname(), str):
                    _remove(path)
            self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)

    def leave(self) -> None:
        """Refuse new clients and end the daemon."""
        self._leaving = True
        self._stop()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._tasks.add(task)
        try:
            await self._meet(reader, writer)
        except asyncio.CancelledError:
            if not self._leaving:  # ours, from close(): the stream machinery would log it as an error
                raise
        except (ConnectionError, TimeoutError, ValueError) as error:
            event(logger, "client lost", level=logging.DEBUG, reason=str(error))
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting = _decode(await asyncio.wait_for(reader.readline(), HANDSHAKE_SECONDS))
        mode, key = str(greeting.get("mode", "")), without_placeholder(str(greeting.get("key") or "").strip())
        refusal = self._refusal(greeting, mode)
        caller = None
        if refusal is None and key and mode in self._sessions:
            try:
                caller = await self._holder(key)
            except ThresherError as error:
                refusal = _problem(error.code, error.message, error.hint, error.exit_code)
        if refusal is not None:
            event(logger, "client refused", mode=mode, code=refusal["code"], client_version=greeting.get("thresher"))
            await _say(writer, {"ok": False} | refusal)
            return
        named = greeting.get("project")
        project = await asyncio.to_thread(find_project, named) if named else ""
        client = Client(caller, project, cast("Expose | None", greeting.get("expose") or None))
        await _say(writer, {"ok": True, "version": self._identity.version, "pid": os.getpid()})
        if mode == "stop":
            self.leave()
            return
        with self._presence.entered(mode):
            event(logger, "client attached", mode=mode, clients=self._presence.clients)
            with anyio.CancelScope() as work, self._keys.watched(key, work.cancel) if key else nullcontext():
                await self._sessions[mode](reader, writer, client)
            if work.cancelled_caught:
                event(logger, "client ended", mode=mode, reason="its key was revoked")

    async def _holder(self, key: str) -> Caller:
        caller = await self._keys.holder(key)
        if caller is None:
            raise AccessDenied(
                "The key in THRESHER_KEY is unknown or revoked.",
                hint="Ask for a new one (thresher keys add NAME), or unset THRESHER_KEY to act as yourself.",
            )
        return caller

    def _refusal(self, greeting: Mapping[str, Any], mode: str) -> dict[str, Any] | None:
        """The reason to refuse a client, `{code, message, hint, exit_code}`; None to serve it."""
        if not hmac.compare_digest(str(greeting.get("token", "")).encode(), self._identity.token.encode()):
            return _problem("token", "The token does not fit this daemon.", "Read daemon.json again, or restart it.")
        if self._leaving:
            return _problem("leaving", "The daemon is ending.", "Try again.")
        if mode == "stop":
            return None
        if greeting.get("thresher") != self._identity.version or mode == "takeover":
            return self._make_way(str(greeting.get("thresher")), mode)
        if mode not in self._sessions:
            return _problem("mode", f"There is no mode {mode!r}.", "Use mcp, control or hook.")
        if (expose := greeting.get("expose")) and expose not in get_args(Expose):
            wanted = f"Use {', '.join(get_args(Expose))}, or unset THRESHER_EXPOSE."
            return _problem("configuration", f"{expose!r} is not a valid value of expose.", wanted, 5)
        return None

    def _make_way(self, version: str, mode: str) -> dict[str, Any]:
        if self._identity.started_by == "client" and self._presence.clients == 0:
            self.leave()
            return _problem("leaving", "The daemon makes way.", "Try again.")
        who = f"The running daemon (process {os.getpid()}, {self._presence.clients} clients)"
        if mode == "takeover":
            return _problem("conflict", f"{who} holds this data folder.", "End it first: thresher stop.", 4)
        return _problem(
            "version",
            f"{who} is of version {self._identity.version}, this client of {version}.",
            "End it: thresher stop. Then start the client again.",
        )


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _problem(code: str, message: str, hint: str, exit_code: int = 9) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": hint, "exit_code": exit_code}


def _decode(line: bytes) -> dict[str, Any]:
    value = json.loads(line or b"{}")
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


async def _say(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    writer.write(dumps(message).encode() + b"\n")
    await writer.drain()
