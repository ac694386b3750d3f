"""The address of the embedded server: a Unix socket in a folder closed to others, or loopback TCP on Windows.

Invariant: only the server's account can reach the socket, and no TCP port is open where sockets exist.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from thresher.core import ConfigurationError
from thresher.store.account import Account
from thresher.store.cluster import Layout
from thresher.store.private import explained

PORT = 5432
# sockaddr_un.sun_path holds 104 bytes on macOS and 108 on Linux, with the closing zero.
_LONGEST = 103


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of the embedded server.

    Attributes:
        host: The socket's folder, or 127.0.0.1.
        port: The number in the socket's name, or the TCP port.
    """

    host: str
    port: int

    def url(self, role: str, password: str, database: str) -> str:
        """Return the libpq address of a database for a role."""
        where = urlencode({"host": self.host, "port": self.port}, quote_via=quote)
        return f"postgresql://{role}:{quote(password)}@/{quote(database)}?{where}"

    def options(self) -> dict[str, str]:
        """Return the server settings that make it listen only here."""
        if sys.platform == "win32":
            return {"listen_addresses": self.host, "port": str(self.port)}
        folder = self.host.replace('"', '""')
        return {
            "listen_addresses": "",
            "unix_socket_directories": f'"{folder}"',
            "unix_socket_permissions": "0600",
            "port": str(self.port),
        }


def choose_address(layout: Layout, account: Account) -> ServerAddress:
    """Create the socket's folder without leftovers; call this only while no server of this data folder runs.

    Raises:
        ConfigurationError: The folder cannot be created, or every path would be too long for a socket.
    """
    if sys.platform == "win32":  # not run by the tests
        with socket.create_server(("127.0.0.1", 0)) as probe:
            return ServerAddress("127.0.0.1", probe.getsockname()[1])
    folder = layout.sockets if _fits(layout.sockets) else _short_folder(layout, account)
    with explained(layout.root):
        if not folder.exists():
            folder.mkdir(mode=0o700)
            account.give(folder)
        folder.chmod(0o700)
        for leftover in folder.glob(".s.PGSQL.*"):
            leftover.unlink()
    return ServerAddress(str(folder), PORT)


def remove_address(layout: Layout, address: ServerAddress) -> None:
    """Remove a socket folder outside the data folder, once the server has stopped."""
    if sys.platform != "win32" and Path(address.host) != layout.sockets:
        shutil.rmtree(address.host, ignore_errors=True)


def _fits(folder: Path) -> bool:
    return len(str(folder / f".s.PGSQL.{PORT}").encode()) <= _LONGEST


def _short_folder(layout: Layout, account: Account) -> Path:
    """Return a folder of the same name each time, so that killed owners leave only one."""
    name = f"thresher-{hashlib.sha256(str(layout.root).encode()).hexdigest()[:16]}"
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108 - a TMPDIR may be too long itself
        folder = parent / name
        if not _fits(folder) or not parent.is_dir() or account.barrier(parent):
            continue
        if not folder.exists() or _is_ours(folder, account):
            return folder
    raise ConfigurationError(
        f"The path of the data folder {layout.root} is too long for a socket, and no shorter place is free.",
        hint=f"Set THRESHER_DATA_DIR to a path of at most {_LONGEST - 30} bytes.",
    )


def _is_ours(folder: Path, account: Account) -> bool:
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == account.uid and not status.st_mode & 0o077
