"""The stdio bridge: bytes from a client's standard input to the daemon, and back.

Invariant: the standard library only; it reads no message, so it can break none.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

from thresher.daemon.attaching import attach
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.folder import own_expose
from thresher.daemon.paths import DaemonPaths, here

CHUNK = 65_536
STDIN, STDOUT, STDERR = 0, 1, 2


def run_bridge(paths: DaemonPaths | None = None, *, expose: str = "") -> int:
    """Serve one client until it or the daemon ends.

    At the end of its input the bridge tells the daemon, passes on the answers that are outstanding, and ends when
    the daemon closes. A daemon that ends first is an error.

    Args:
        paths: The data folder's files; those that the environment names by default.
        expose: What `tools/list` shows to the client: `meta`, `own` or `all`; THRESHER_EXPOSE by default.

    Returns:
        The exit code: 0, 5 for a wrong THRESHER_EXPOSE, 9 when the daemon is missing or ended, 10 without a good key,
        130 after Ctrl-C.
    """
    paths = paths or here()
    _fill_standard_streams()
    try:
        link = attach(paths, "mcp", expose=expose or own_expose())
        return _pump(link, paths)
    except DaemonFailure as error:
        return _complain(error)
    except KeyboardInterrupt:
        return 130


def _fill_standard_streams() -> None:
    """Open what a launcher left closed: our socket would get the number, and be taken for the client's stream."""
    for descriptor in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def _pump(link: socket.socket, paths: DaemonPaths) -> int:
    ended = threading.Event()
    threading.Thread(target=_send, args=(link, ended), daemon=True).start()
    while chunk := _receive(link):
        if not _write(chunk):
            return 0  # the client no longer reads: it is gone
    if ended.is_set():
        return 0
    if _still_runs(paths):
        raise DaemonFailure(
            "This client's session has ended, while the daemon runs.",
            hint=f"Start the client again. The daemon's log says why: {paths.log}",
        )
    raise DaemonFailure(
        "The daemon ended while this client was connected (stopped, killed or crashed).",
        hint=f"Start the client again: a new daemon comes up by itself. Its log: {paths.log}",
    )


def _still_runs(paths: DaemonPaths) -> bool:
    """Whether the daemon lets this client in again; raises the reason if that is a key which was revoked."""
    try:
        attach(paths, "mcp", start=False).close()
    except DaemonFailure as error:
        if error.code == "access_denied":
            raise
        return False
    return True


def _receive(link: socket.socket) -> bytes:
    try:
        return link.recv(CHUNK)
    except OSError:
        return b""


def _send(link: socket.socket, ended: threading.Event) -> None:
    try:
        while chunk := _read():
            link.sendall(chunk)
        ended.set()
        link.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the daemon is gone; the other direction says so


def _read() -> bytes:
    try:
        return os.read(STDIN, CHUNK)
    except OSError:
        return b""  # the terminal has gone


def _write(chunk: bytes) -> bool:
    view = memoryview(chunk)
    try:
        while view:
            view = view[os.write(STDOUT, view) :]
    except OSError:
        return False
    return True


def _complain(error: DaemonFailure) -> int:
    sys.stderr.write(f"thresher: {error}\n")
    return error.exit_code
