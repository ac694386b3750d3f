"""A real listener on a real socket in a thread of its own, serving sessions that need no database."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from thresher import __version__
from thresher.core import Conflict, NotFound, Settings
from thresher.daemon.lock import FileLock
from thresher.daemon.paths import DaemonPaths
from thresher.daemon.server.control import Progress, serve_control
from thresher.daemon.server.hook_session import serve_hook
from thresher.daemon.server.listener import Client, Identity, Listener
from thresher.daemon.server.presence import Presence
from thresher.store import Keys


@dataclass
class Listening:
    """What a test sees of the listener."""

    place: DaemonPaths
    listener: Listener
    presence: Presence
    stopped: asyncio.Event
    loop: asyncio.AbstractEventLoop
    asked_to_leave: threading.Event
    cancelled: threading.Event = field(default_factory=threading.Event)
    projects: list[str] = field(default_factory=list[str])
    folders: list[str] = field(default_factory=list[str])
    exposed: list[str | None] = field(default_factory=list[str | None])


RULES = "# Rules\n\nSay “hello” first."


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send every chunk back until the client has said all."""
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()


def verbs(state: Listening) -> dict[str, Any]:
    """Verbs that show each way a command can end."""

    async def greet(arguments: Any, tell: Progress) -> Any:
        tell({"done": 1, "total": 2})
        return {"hello": arguments.get("name")}

    async def clash(arguments: Any, tell: Progress) -> Any:
        raise Conflict("It is taken.", hint="Take another.")

    async def crash(arguments: Any, tell: Progress) -> Any:
        raise RuntimeError("secret detail")

    async def hang(arguments: Any, tell: Progress) -> Any:
        tell({"begun": True})
        try:
            await asyncio.Event().wait()
        finally:
            state.cancelled.set()

    return {"greet": greet, "clash": clash, "crash": crash, "hang": hang}


async def no_dry_run(verb: str, _arguments: Mapping[str, Any], _tell: Progress) -> dict[str, Any]:
    """Without a product nothing can be rehearsed."""
    raise NotFound(f"There is no dry run of '{verb}'.")


@asynccontextmanager
async def listening(
    folder: Path,
    *,
    started_by: Literal["client", "person"] = "client",
    version: str = __version__,
    unix: bool = True,
    idle_seconds: float = 0.0,
) -> AsyncGenerator[Listening]:
    """Be a daemon without a product: lock, card, socket, sessions."""
    place = DaemonPaths(str(folder))
    place.prepare()
    lock = FileLock(place.daemon_lock)
    assert lock.acquire(1)
    stopped = asyncio.Event()
    asked_to_leave = threading.Event()

    def leave() -> None:
        asked_to_leave.set()
        stopped.set()

    presence = Presence(idle_seconds, leave)
    token = secrets.token_hex(8)
    sessions: dict[str, Any] = {}
    keys = Keys(cast("Any", None))  # no client of these tests shows a key, so no database is asked
    listener = Listener(place, Identity(token, started_by, version), presence, sessions, keys, leave)
    state = Listening(place, listener, presence, stopped, asyncio.get_running_loop(), asked_to_leave)

    async def protocol(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        state.exposed.append(client.expose)
        await echo(reader, writer)

    async def control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        state.projects.append(client.project)
        await serve_control(verbs(state), no_dry_run, Settings(data_dir=folder), reader, writer)

    async def rules(prompt: str, folder: str) -> str:
        state.folders.append(folder)
        if prompt in ("hang", "crash", "clash"):
            await verbs(state)[prompt]({}, lambda _progress: None)
        return prompt if prompt.startswith("echo") else RULES if "greet" in prompt else ""

    async def hook(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _: Client) -> None:
        await serve_hook(rules, reader, writer)

    sessions |= {"mcp": protocol, "control": control, "hook": hook}
    address = await listener.open(unix=unix)
    place.write({"pid": 0, "version": version, "address": address, "token": token})
    presence.begin()
    try:
        yield state
    finally:
        await listener.close()
        presence.end()
        lock.release()


@contextmanager
def listening_thread(folder: Path, **options: Any) -> Generator[Listening]:
    """The same in a thread, for tests that block; it ends itself when asked to leave."""
    ready = threading.Event()
    states: list[Listening] = []
    end: list[asyncio.Event] = []

    async def live() -> None:
        async with listening(folder, **options) as state:
            end.append(state.stopped)
            states.append(state)
            ready.set()
            await state.stopped.wait()

    thread = threading.Thread(target=lambda: asyncio.run(live()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield states[0]
    finally:
        if thread.is_alive():
            states[0].loop.call_soon_threadsafe(end[0].set)
        thread.join(10)
