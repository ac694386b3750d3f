"""The doors of a daemon: its local socket, and the HTTP port.

Invariant: the card is written once the local socket listens, and erased when it no longer does.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from thresher import __version__
from thresher.app import App, open_app
from thresher.core import ConfigurationError, Settings, is_loopback
from thresher.daemon.memory import Importing, return_memory
from thresher.daemon.paths import DaemonPaths
from thresher.daemon.server.control import Verb, serve_control
from thresher.daemon.server.hook_session import rules_for, serve_hook
from thresher.daemon.server.http import access_of, address_of, serving
from thresher.daemon.server.listener import Client, Identity, Listener
from thresher.daemon.server.presence import Presence
from thresher.daemon.server.rehearsal import rehearse
from thresher.daemon.server.runtime import Options, Ready
from thresher.daemon.server.verbs import Facts, build_verbs
from thresher.store import Database

HEAD_START_SECONDS = 0.5
"""How long background work waits for the answer to the first command, which it would slow down."""


@asynccontextmanager
async def open_daemon(
    settings: Settings,
    options: Options,
    paths: DaemonPaths,
    door: socket.socket | None,
    database: Database,
    leave: Callable[[], None],
) -> AsyncGenerator[Ready]:
    """Open the product over a database, and its doors.

    Args:
        settings: The settings.
        options: How the daemon is started.
        paths: Its files.
        door: The HTTP port, not yet listening.
        database: The open database.
        leave: Ends the daemon.

    Raises:
        ThresherError: A key cannot be read, or the address needs a key and there is none.
    """
    served = asyncio.Event()
    async with (
        open_app(settings, servers=options.servers, database=database, served=served) as app,
        _open_doors(app, settings, options, paths, door, served, leave) as ready,
    ):
        head_start = asyncio.get_running_loop().call_later(HEAD_START_SECONDS, served.set)
        yield ready
        head_start.cancel()


@asynccontextmanager
async def _open_doors(
    app: App,
    settings: Settings,
    options: Options,
    paths: DaemonPaths,
    door: socket.socket | None,
    served: asyncio.Event,
    leave: Callable[[], None],
) -> AsyncGenerator[Ready]:
    identity = Identity(secrets.token_urlsafe(32), options.started_by)
    presence = Presence(settings.idle_exit_seconds if options.started_by == "client" else 0.0, lambda: listener.leave())
    url = address_of(door) if door is not None else ""
    access = access_of(settings)
    facts = Facts(paths.folder, url, access, options.started_by, time.monotonic())

    async def protocol(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        await app.serve_stream(reader, writer, client.acting(app.services.caller))

    async def control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        def verbs(of: App) -> Mapping[str, Verb]:
            return build_verbs(of, presence, facts, client.caller, client.project)

        await serve_control(verbs(app), partial(rehearse, app, verbs), settings, reader, writer)
        served.set()

    async def hook(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: Client) -> None:
        await serve_hook(rules_for(app, client.caller or app.services.caller), reader, writer)

    sessions = {"mcp": protocol, "control": control, "hook": hook}
    listener = Listener(paths, identity, presence, sessions, app.services.keys, leave)
    async with AsyncExitStack() as stack:
        if door is not None:
            await _check_reach(app, settings.host)
            with Importing():
                asgi = app.asgi
            await stack.enter_async_context(serving(asgi, door))
        address = await listener.open()
        stack.push_async_callback(listener.close)
        card: dict[str, Any] = {"pid": os.getpid(), "version": __version__, "address": address, "token": identity.token}
        paths.write(card | {"url": url, "started_by": options.started_by})
        stack.callback(paths.erase, os.getpid())
        stack.callback(presence.end)
        presence.begin()
        for staying in (
            _settled(presence, app.indexing, app.preparing),
            presence.follow("job", app.workers.busy, app.workers.idle),
        ):
            stack.callback(asyncio.create_task(staying).cancel)
        yield Ready(os.getpid(), address, url, access)


async def _check_reach(app: App, host: str) -> None:
    """Refuse an address that other machines reach where nobody has a key yet."""
    if not is_loopback(host) and not await app.services.keys.exist():
        raise ConfigurationError(
            f"Thresher does not listen on {host} before there is a key: every request from there needs one.",
            hint="Make one first: thresher keys add NAME. Or stay on 127.0.0.1.",
        )


async def _settled(presence: Presence, *starting: asyncio.Task[None]) -> None:
    """Stay while servers are listed and the router is made, then give back the memory that only the start needed."""
    with presence.entered("job"):
        await asyncio.wait(starting)
    return_memory()
