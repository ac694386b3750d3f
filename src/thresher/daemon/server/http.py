"""The daemon's HTTP port: uvicorn on an address of this machine.

Invariant: the port is taken before anything else starts, and answers nobody before the product is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from thresher.core import ConfigurationError, Conflict

GRACE_SECONDS = 3
"""How long open streams may finish when the daemon ends."""
KEPT_SECONDS = 75
"""How long a connection stays for a next request: longer than usual clients and proxies keep theirs (5 s in httpx, 60
in nginx), for whoever closes first loses no request."""


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


class _Connection(AutoHTTPProtocol):
    """uvicorn's protocol, with whose process is at the other end among what every request of the connection gets."""

    def connection_made(self, transport: Any) -> None:
        """Note both ends."""
        from thresher.api import PEER, Peer  # noqa: PLC0415 - a second of imports that a daemon without the door does without

        super().connection_made(transport)
        theirs, ours = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if theirs and ours:
            self.app_state: dict[str, Any] = {**self.app_state, PEER: Peer(theirs[:2], ours[:2])}


@asynccontextmanager
async def serving(application: ASGIApp, door: socket.socket) -> AsyncGenerator[None]:
    """Serve an application for as long as the block lasts; its lifespan is the caller's business.

    Args:
        application: The ASGI application.
        door: A socket from `bind`; closed at the end.
    """
    config = uvicorn.Config(
        cast("Any", application),  # uvicorn spells the same type out with its own names
        http=cast("Any", _Connection),
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",  # an upgrade is answered as any other request
        timeout_keep_alive=KEPT_SECONDS,
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
