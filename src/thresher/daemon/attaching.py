"""Attach to the daemon of a data folder, or start one: exactly one, however many clients race.

Invariant: the standard library only. A daemon lives as long as it holds the daemon lock; `daemon.json` and the
socket file are hints that may be stale. The client that starts a daemon holds the start lock until it answers.
"""

from __future__ import annotations

import json
import socket
import time

from thresher import __version__
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.folder import own_key, own_project
from thresher.daemon.lock import FileLock, is_free
from thresher.daemon.paths import DaemonPaths, as_object

START_SECONDS = 90.0
"""The maximum duration of a first start: creating and migrating the database on a slow disk."""
ANSWER_SECONDS = 15.0
"""The maximum time in which a living daemon answers a handshake."""
LINE_LIMIT = 65_536

TYPE_CHECKING = False  # `typing` itself costs a bridge more than all of this module
if TYPE_CHECKING:
    from collections.abc import Callable


def attach(
    paths: DaemonPaths,
    mode: str,
    *,
    start: bool = True,
    version: str = __version__,
    project: str | None = None,
    expose: str = "",
    starting: Callable[[], None] | None = None,
) -> socket.socket:
    """Connect to the daemon, starting one where none runs.

    Args:
        paths: The data folder's files.
        mode: `mcp` for a session of the protocol, `control` for a command.
        start: Whether to start a daemon when none runs.
        version: The version to claim.
        project: The folder that the client works in; this process's own by default.
        expose: What `tools/list` shows to the client: `meta`, `own` or `all`; empty: what the daemon's setting says.
        starting: Called if the start of a daemon takes longer than a moment.

    Returns:
        A connected blocking socket, past its handshake.

    Raises:
        DaemonFailure: No daemon answers, it is of another version and in use, or it cannot be started.
    """
    deadline = time.monotonic() + START_SECONDS
    greeting = {"thresher": version, "mode": mode, "key": own_key()}
    greeting["project"] = own_project() if project is None else project
    greeting["expose"] = expose
    link = _greet(paths, greeting, deadline)
    if link is not None:
        return link
    if not start:
        raise DaemonFailure(
            f"No daemon runs for the data folder {paths.folder}.", hint="Start one: thresher serve.", code="not_running"
        )
    return _start_and_attach(paths, greeting, deadline, starting)


def _start_and_attach(
    paths: DaemonPaths, greeting: dict[str, str], deadline: float, starting: Callable[[], None] | None
) -> socket.socket:
    from thresher.daemon.process import NOTICE_SECONDS, later, start_daemon  # noqa: PLC0415 - subprocess costs half of Python's own start

    paths.prepare()
    lock = FileLock(paths.start_lock)
    with later(NOTICE_SECONDS, starting):
        if not lock.acquire(deadline - time.monotonic()):
            raise DaemonFailure(
                "Another client has been starting the daemon for too long.",
                hint=f"Look into {paths.log}, then try again.",
            )
        try:
            while time.monotonic() < deadline:
                link = _greet(paths, greeting, deadline)
                if link is not None:
                    return link
                start_daemon(paths, deadline)
        finally:
            lock.release()
    raise DaemonFailure("The daemon was started but does not answer.", hint=f"Look into {paths.log}, then try again.")


def _greet(paths: DaemonPaths, greeting: dict[str, str], deadline: float) -> socket.socket | None:
    """One handshake with the daemon on the card; None when there is none, or it has just left."""
    card = paths.read()
    link = _connect(paths, card)
    if card is None or link is None:
        return None
    try:
        answer = _handshake(link, {**greeting, "token": card.get("token")})
    except TimeoutError:
        link.close()
        raise DaemonFailure(
            f"The daemon (process {card.get('pid')}) does not answer.", hint="Stop it: thresher stop --force."
        ) from None
    if answer is not None and answer.get("ok") is True:
        return link
    link.close()
    if answer is None or answer.get("code") == "leaving":
        if is_free(paths.daemon_lock, max(0.0, deadline - time.monotonic())):
            return None
        raise DaemonFailure(
            f"The daemon (process {card.get('pid')}) was asked to leave and has not.",
            hint="Stop it: thresher stop --force.",
        )
    raise failure(answer)


def _connect(paths: DaemonPaths, card: dict[str, object] | None) -> socket.socket | None:
    address = "" if card is None else str(card.get("address", ""))
    scheme, _, target = address.partition(":")
    try:
        if scheme == "unix":
            link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            link.settimeout(ANSWER_SECONDS)
            link.connect(target)
            return link
        # A port may belong to somebody else by now; the lock tells whether our daemon lives.
        if scheme == "tcp" and not is_free(paths.daemon_lock):
            host, _, port = target.rpartition(":")
            return socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS)
    except (OSError, ValueError):
        return None
    return None


def _handshake(link: socket.socket, greeting: dict[str, object]) -> dict[str, object] | None:
    """Exchange one line each; None when the daemon closed the connection (it is ending)."""
    try:
        link.sendall(json.dumps(greeting).encode() + b"\n")
        line = read_line(link)
        answer = json.loads(line)
    except TimeoutError:
        raise
    except (OSError, ValueError):
        return None
    link.settimeout(None)
    return as_object(answer)


def read_line(link: socket.socket) -> bytes:
    """Read one line without reading past it; empty at the end of the stream."""
    line = bytearray()
    while not line.endswith(b"\n") and len(line) < LINE_LIMIT:
        seen = link.recv(4096, socket.MSG_PEEK)
        if not seen:
            return b""
        end = seen.find(b"\n") + 1 or len(seen)
        line += link.recv(end)
    return bytes(line)


def failure(answer: dict[str, object]) -> DaemonFailure:
    """The error that a daemon sent: `{code, message, hint, exit_code, trace}`."""
    exit_code = answer.get("exit_code")
    return DaemonFailure(
        str(answer.get("message") or "The daemon refused."),
        hint=str(answer.get("hint") or ""),
        code=str(answer.get("code") or "daemon"),
        exit_code=exit_code if isinstance(exit_code, int) else 9,
        trace=str(answer.get("trace") or ""),
    )
