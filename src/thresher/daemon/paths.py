"""The files of the daemon of one user and data folder: its card, locks, logs and socket.

Invariant: the standard library only. Everything written here is readable by its owner alone.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Mapping

from thresher.daemon.failure import DaemonFailure
from thresher.daemon.folder import data_dir, variable

SOCKET_PATH_LIMIT = 103
"""Longest path of a Unix socket in bytes: `sun_path` holds 104 on macOS and 108 on Linux, with a closing zero."""


class DaemonPaths:
    """The files of one daemon.

    Args:
        folder: The data folder, absolute.
    """

    __slots__ = ("folder",)

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @property
    def card(self) -> str:
        """`daemon.json`: pid, version, address and token of the daemon (0600)."""
        return os.path.join(self.folder, "daemon.json")

    @property
    def daemon_lock(self) -> str:
        """Held by the daemon for as long as it lives."""
        return os.path.join(self.folder, "daemon.lock")

    @property
    def start_lock(self) -> str:
        """Held by the client that is starting a daemon."""
        return os.path.join(self.folder, "start.lock")

    @property
    def log(self) -> str:
        """The log of a daemon that a client started."""
        return os.path.join(self.folder, "logs", "daemon.log")

    @property
    def stderr(self) -> str:
        """What a started daemon's interpreter and its children write to standard error."""
        return os.path.join(self.folder, "logs", "daemon.stderr.log")

    def prepare(self) -> None:
        """Create the data folder.

        Raises:
            DaemonFailure: It cannot be created or written.
        """
        try:
            os.makedirs(self.folder, mode=_folder_mode(), exist_ok=True)
            if not os.listdir(self.folder):
                os.chmod(self.folder, _folder_mode())
            os.makedirs(os.path.dirname(self.log), mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from None
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise unwritable(self.folder, PermissionError(13, "Permission denied"))

    def socket_path(self) -> str:
        """Where the local socket goes: in the data folder, or in a runtime folder if that path is too long.

        Returns:
            A path inside a 0700 folder of this user; the folder exists, the socket need not.

        Raises:
            DaemonFailure: The folder belongs to somebody else or cannot be made private.
        """
        path = os.path.join(self.folder, "clients", "daemon.sock")
        if len(os.fsencode(path)) > SOCKET_PATH_LIMIT:
            path = os.path.join(_runtime_folder(self.folder), "daemon.sock")
        _make_private(os.path.dirname(path))
        return path

    def read(self) -> dict[str, object] | None:
        """The card of the daemon that wrote it last; None when there is none or it is broken (then it is stale)."""
        try:
            with open(self.card, encoding="utf-8") as file:
                card = json.load(file)
        except (OSError, ValueError):
            return None
        return as_object(card)

    def write(self, card: Mapping[str, object]) -> None:
        """Replace the card in one step, readable by its owner alone."""
        fresh = f"{self.card}.{os.getpid()}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(dict(card), file)
        os.replace(fresh, self.card)

    def erase(self, pid: int) -> None:
        """Remove the card if it is still the one of this process."""
        card = self.read()
        if card is not None and card.get("pid") == pid:
            os.unlink(self.card)


def as_object(value: object) -> dict[str, object] | None:
    """A decoded JSON object, or None for any other JSON."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON has no others


def here() -> DaemonPaths:
    """The files in the data folder that the environment names."""
    return DaemonPaths(data_dir())


def unwritable(folder: str, error: OSError) -> DaemonFailure:
    """The error of a data folder that cannot be used."""
    return DaemonFailure(
        f"The data folder {folder} cannot be written: {error.strerror or error}.",
        hint="Give this user the right to write there, or point THRESHER_DATA_DIR to another folder.",
        code="configuration",
        exit_code=5,
    )


def has_unix_sockets() -> bool:
    """Whether this Python knows Unix sockets (on Windows it does not)."""
    return hasattr(socket, "AF_UNIX")


def _folder_mode() -> int:
    # Root's database runs under an account of its own, which must be able to pass through.
    return 0o711 if hasattr(os, "geteuid") and os.geteuid() == 0 else 0o700


def _runtime_folder(folder: str) -> str:
    from hashlib import sha256  # noqa: PLC0415 - only for long paths; its import costs half of Python's start

    base = variable("XDG_RUNTIME_DIR")
    name = f"thresher-{os.geteuid()}-{sha256(os.fsencode(folder)).hexdigest()[:16]}"
    if not base or not os.path.isdir(base) or len(os.fsencode(base)) > 50:  # leaves room for name and socket
        base = "/tmp"  # noqa: S108 - the folder below is created 0700 and its owner is checked
    return os.path.join(base, name)


def _make_private(folder: str) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise unwritable(folder, error) from None
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
        raise DaemonFailure(
            f"The folder {folder} for the local socket belongs to somebody else.",
            hint="Remove it, or point THRESHER_DATA_DIR to another folder.",
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        os.chmod(folder, 0o700)
