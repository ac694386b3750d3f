"""The daemon's life: take the data folder, open the product, listen, wait, close.

Invariant: at most one daemon lives in a data folder (it holds the daemon lock from first to last), and whatever ends
it short of a kill closes sessions, upstream children and the embedded database, within a bounded time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from thresher import __version__
from thresher.app import App, open_app
from thresher.core import ConfigurationError, Settings, event, is_loopback
from thresher.daemon.imports import Importing
from thresher.daemon.lock import FileLock
from thresher.daemon.place import Place
from thresher.daemon.server.control import Verb, serve_control
from thresher.daemon.server.hooking import rules_for, serve_hook
from thresher.daemon.server.http import access_of, address_of, bind, check_keyless, serving
from thresher.daemon.server.listener import Client, Identity, Listener
from thresher.daemon.server.presence import Presence
from thresher.daemon.server.rehearsal import rehearse
from thresher.daemon.server.verbs import Facts, build_verbs
from thresher.upstream import ServerConfig

logger = logging.getLogger("thresher.daemon")

LOCK_SECONDS = 1.0
"""A client that looks whether the lock is free holds it for an instant."""
CLOSE_SECONDS = 20.0
"""After this long the daemon ends without further courtesy; the next start recovers what is left."""

THREAD_SECONDS = 2.0
"""For threads inside a driver once all is closed, such as one in a function of SQLite that looks at no interrupt."""


class Taken(Exception):
    """Another daemon holds the data folder."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a daemon is started.

    Attributes:
        started_by: `client` or `person`; only the former leaves by itself.
        http: Whether to open the HTTP door.
        servers: Servers to add to the catalogue.
    """

    started_by: Literal["client", "person"]
    http: bool = False
    servers: Sequence[ServerConfig] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """What is told once the daemon answers.

    Attributes:
        pid: The daemon's process.
        socket: Its local address.
        url: The MCP address over HTTP; empty without the HTTP door.
        access: Whom HTTP serves without a key, in a sentence.
    """

    pid: int
    socket: str
    url: str
    access: str


def place_of(settings: Settings) -> Place:
    """The daemon's files in the data folder of the settings."""
    return Place(str(Path(settings.data_dir).expanduser().absolute()))


def run_daemon(settings: Settings, options: Options, announce: Callable[[Ready], None]) -> int:
    """Be the daemon of the settings' data folder until told to end.

    Args:
        settings: The settings.
        options: How it is started.
        announce: Called once, when clients are served.

    Returns:
        The exit code: 0, or 130 after an interrupt.

    Raises:
        Taken: Another daemon holds the data folder.
        ThresherError: It cannot start; or DaemonFailure, for the data folder.
    """
    if options.http:
        check_keyless(settings)
    place = place_of(settings)
    place.prepare()
    door = bind(settings.host, settings.port) if options.http else None
    try:
        # Never released by us: it is held until the process is gone, with any thread that a driver does not let go.
        if not FileLock(place.daemon_lock).acquire(LOCK_SECONDS):
            raise Taken
        code = asyncio.run(_live(settings, options, place, door, announce))
    except BaseExceptionGroup as group:
        raise _sole(group) from None
    finally:
        if door is not None:
            door.close()
    _end_within(THREAD_SECONDS, code)
    return code


def _end_within(seconds: float, code: int) -> None:
    """See that the process ends, whatever its threads still do."""
    watchdog = threading.Timer(seconds, partial(os._exit, code))
    watchdog.daemon = True
    watchdog.start()


def _sole(error: BaseException) -> BaseException:
    """What one error was before the task groups on its way wrapped it."""
    inner = cast("tuple[BaseException, ...]", error.exceptions) if isinstance(error, BaseExceptionGroup) else ()
    return _sole(inner[0]) if len(inner) == 1 else cast("BaseException", error)


class _Life:
    """The daemon's end: asked for by a signal, a client, or nobody's presence."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._over = asyncio.Event()
        self.serving = False
        self.exit_code = 0

    def end(self) -> None:
        """End the daemon; while it is still starting, the start is given up."""
        if self._over.is_set():
            return
        self._over.set()
        _end_within(CLOSE_SECONDS, 9)
        if not self.serving and self._main is not None:
            self._main.cancel()

    async def over(self) -> None:
        """Wait for the end."""
        self.serving = True
        await self._over.wait()

    @contextmanager
    def signals(self) -> Generator[None]:
        """Let SIGTERM, SIGINT (and SIGHUP) end the daemon."""
        names = [name for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
        previous = {name: signal.signal(getattr(signal, name), self._signalled) for name in names}
        try:
            yield
        finally:
            for name, handler in previous.items():
                signal.signal(getattr(signal, name), handler)

    def _signalled(self, number: int, _frame: object) -> None:
        if number == signal.SIGINT:
            self.exit_code = 130
        self._loop.call_soon_threadsafe(self.end)


async def _live(
    settings: Settings, options: Options, place: Place, door: socket.socket | None, announce: Callable[[Ready], None]
) -> int:
    life = _Life()
    try:
        with life.signals():
            async with AsyncExitStack() as stack:
                app = await stack.enter_async_context(open_app(settings, servers=options.servers))
                ready = await stack.enter_async_context(_open_doors(app, settings, options, place, door, life))
                announce(ready)
                event(logger, "daemon ready", pid=ready.pid, version=__version__, url=ready.url, access=ready.access)
                await life.over()
                event(logger, "daemon ending", pid=ready.pid)
    except asyncio.CancelledError:
        event(logger, "start given up", level=logging.WARNING)
    return life.exit_code


@asynccontextmanager
async def _open_doors(
    app: App, settings: Settings, options: Options, place: Place, door: socket.socket | None, life: _Life
) -> AsyncGenerator[Ready]:
    identity = Identity(secrets.token_urlsafe(32), options.started_by)
    presence = Presence(settings.idle_exit_seconds if options.started_by == "client" else 0.0, lambda: listener.leave())
    url = address_of(door) if door is not None else ""
    access = access_of(settings)
    facts = Facts(place.folder, url, access, options.started_by, time.monotonic())

    async def protocol(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        await app.serve_stream(reader, writer, client.acting(app.services.caller))

    async def control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        def verbs(of: App) -> Mapping[str, Verb]:
            return build_verbs(of, presence, facts, client.caller, client.project)

        await serve_control(verbs(app), partial(rehearse, app, verbs), settings, reader, writer)

    async def hook(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        await serve_hook(rules_for(app, client.caller or app.services.caller), reader, writer)

    sessions = {"mcp": protocol, "control": control, "hook": hook}
    listener = Listener(place, identity, presence, sessions, app.services.keys, life.end)
    async with AsyncExitStack() as stack:
        if door is not None:
            await _check_reach(app, settings.host)
            with Importing():
                asgi = app.asgi
            await stack.enter_async_context(serving(asgi, door))
        address = await listener.open()
        stack.push_async_callback(listener.close)
        card: dict[str, Any] = {"pid": os.getpid(), "version": __version__, "address": address, "token": identity.token}
        place.write(card | {"url": url, "started_by": options.started_by})
        stack.callback(place.erase, os.getpid())
        stack.callback(presence.end)
        presence.begin()
        for staying in (_stay_for(presence, app.indexing), presence.follow("job", app.workers.busy, app.workers.idle)):
            stack.callback(asyncio.create_task(staying).cancel)
        yield Ready(os.getpid(), address, url, access)


async def _check_reach(app: App, host: str) -> None:
    """Refuse an address that other machines reach where nobody has a key yet."""
    if not is_loopback(host) and not await app.services.keys.exist():
        raise ConfigurationError(
            f"Thresher does not listen on {host} before there is a key: every request from there needs one.",
            hint="Make one first: thresher keys add NAME. Or stay on 127.0.0.1.",
        )


async def _stay_for(presence: Presence, job: asyncio.Task[None]) -> None:
    with presence.entered("job"):
        await asyncio.wait([job])
