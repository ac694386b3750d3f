"""The daemon's HTTP port: uvicorn on an address of this machine.

Invariant: the port is taken before anything else starts, and answers nobody before the product is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp

from thresher.core import ConfigurationError, Conflict, Settings, is_loopback, why_keys
from thresher.daemon.server.connection import Connection, Limits, Newcomers
from thresher.peers import user_name

GRACE_SECONDS = 3
"""How long open streams may finish when the daemon ends."""


def check_keyless(settings: Settings) -> None:
    """Refuse settings that would serve other machines without a key.

    Raises:
        ConfigurationError: THRESHER_KEYLESS is on, and the address is not a loopback address.
    """
    if settings.keyless == "on" and not is_loopback(settings.host):
        raise ConfigurationError(
            f"THRESHER_KEYLESS=on is for loopback addresses: other machines can reach {settings.host}.",
            hint="Unset THRESHER_KEYLESS, or stay on 127.0.0.1.",
        )


def access_of(settings: Settings) -> str:
    """Return whom HTTP serves without a key, as a sentence for people."""
    if why := why_keys(settings):
        return f"Every HTTP request needs a key: {why}."
    root = " The daemon runs as root, so root is the owner." if sys.platform != "win32" and os.geteuid() == 0 else ""
    return (
        f"Without a key, HTTP serves processes of the user {user_name()!r} on this machine, as the owner, "
        f"and nobody else.{root}"
    )


def bind(host: str, port: int) -> socket.socket:
    """Take an address.

    Args:
        host: `localhost`, or an address of either family; `0.0.0.0` and `::` are all of this machine's.
        port: The port; 0 lets the system choose.

    Returns:
        The bound socket, not yet listening.

    Raises:
        ConfigurationError: It is no address of this machine.
        Conflict: The port is taken.
    """
    address = "127.0.0.1" if host == "localhost" else host
    if not _is_address(address):
        raise ConfigurationError(
            f"Thresher listens on addresses, and {host!r} is none.",
            hint="Use 127.0.0.1 for this machine alone, or 0.0.0.0 for every address of it.",
        )
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # Naming the protocol matters: asyncio switches Nagle's delay (40 ms an answer) off for such sockets alone.
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((address, port))
    except OSError as error:
        door.close()
        raise _explained(host, port, error) from None
    return door


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _explained(host: str, port: int, error: OSError) -> Exception:
    if error.errno == errno.EADDRINUSE:
        return Conflict(
            f"Port {port} on {host} is taken.",
            hint="End what uses it (perhaps another daemon: thresher stop), or choose one: thresher serve --port 0.",
        )
    return ConfigurationError(
        f"Thresher cannot listen on {host}:{port}: {error.strerror or error}.", hint="Choose another --host or --port."
    )


def address_of(door: socket.socket) -> str:
    """The address for MCP clients on this machine, such as `http://127.0.0.1:8642/mcp`."""
    host, port = door.getsockname()[:2]
    host = str(_REACHED_BY.get(host, host))
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


_REACHED_BY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound
"""What this machine calls a port that is open on every address."""


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the daemon has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the process's signals alone."""
        yield


@asynccontextmanager
async def serving(application: ASGIApp, door: socket.socket, limits: Limits | None = None) -> AsyncGenerator[None]:
    """Serve an application for as long as the block lasts; its lifespan is the caller's business.

    Args:
        application: The ASGI application.
        door: A socket from `bind`; closed at the end.
        limits: How long and how often clients may keep a connection open.
    """
    limits = limits or Limits()
    config = uvicorn.Config(
        cast("Any", application),  # uvicorn spells the same type out with its own names
        http=cast("Any", partial(Connection, Newcomers(limits))),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",  # an upgrade is answered as any other request
        timeout_keep_alive=cast("int", limits.kept_seconds),  # asyncio takes fractions, too
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config)
    door.listen(config.backlog)  # from here on a client that connects is kept waiting, not refused
    task = asyncio.create_task(server.serve(sockets=[door]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
        door.close()
