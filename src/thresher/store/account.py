"""The operating-system account of the embedded server.

Invariant: PostgreSQL never runs as root or as an account that other programs share, and only folders of Thresher change
their mode for it.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.core import SERVER_USER, ConfigurationError, Settings, environment, event

if sys.platform == "win32":

    def _find(account: str | int) -> tuple[str, int, int] | None:
        return None if isinstance(account, str) else (str(account), account, account)

    @contextmanager
    def _alone() -> Generator[None]:
        yield
else:
    import fcntl
    import pwd

    def _find(account: str | int) -> tuple[str, int, int] | None:
        """Name, number and group of an account."""
        try:
            entry = pwd.getpwnam(account) if isinstance(account, str) else pwd.getpwuid(account)
        except KeyError:
            return None
        return entry.pw_name, entry.pw_uid, entry.pw_gid

    @contextmanager
    def _alone() -> Generator[None]:
        """One process of Thresher at a time: a lock that no other program uses, on a file that always exists."""
        with Path("/etc/passwd").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


_logger = logging.getLogger("thresher.store")
_SHARED = {"nobody", "nfsnobody", "daemon"}
"""Accounts that other programs use too: each of those could read the data and reach the socket."""
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ")


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the operating system.

    Attributes:
        name: Its name, for messages.
        uid: Its number; -1 on Windows.
        groups: Its groups, the primary one first; empty on Windows.
        switched: Whether it differs from the account of this process.
    """

    name: str
    uid: int
    groups: tuple[int, ...]
    switched: bool

    def options(self) -> dict[str, Any]:
        """Return the arguments with which `subprocess` runs a child under this account."""
        return {"user": self.uid, "group": self.groups[0], "extra_groups": []} if self.switched else {}

    def barrier(self, target: Path) -> Path | None:
        """Return the outermost folder on the way to `target` that this account cannot enter; None without one."""
        if not self.switched:
            return None
        return next((folder for folder in [*reversed(target.parents), target] if not self._enters(folder)), None)

    def _enters(self, folder: Path) -> bool:
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid in self.groups:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)

    def give(self, path: Path) -> None:
        """Make this account the owner of a path."""
        if self.switched:
            os.chown(path, self.uid, self.groups[0])

    def take_over(self, folder: Path) -> None:
        """Make this account the owner of a folder and its content if an earlier `THRESHER_SERVER_USER` owned them.

        Links are not followed. Call this only while no server runs in the folder.
        """
        if not self.switched or not folder.is_dir() or (before := folder.lstat().st_uid) == self.uid:
            return
        for _, folders, files, descriptor in os.fwalk(folder):
            for name in [*folders, *files]:
                if os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_uid == before:
                    os.chown(name, self.uid, self.groups[0], dir_fd=descriptor, follow_symlinks=False)
        self.give(folder)  # last, so that an interrupted hand-over is begun again
        event(_logger, "folder handed over", folder=str(folder), account=self.name)


def server_account(settings: Settings) -> Account:
    """Return the account of the embedded server: the user's own, or `server_user` for root.

    Thresher's own account (the default for root) is created if it does not exist.

    Raises:
        ConfigurationError: Root without `THRESHER_ALLOW_ROOT`, or an unusable `THRESHER_SERVER_USER`.
    """
    if sys.platform == "win32":
        return Account("", -1, (), switched=False)
    if os.geteuid() != 0:
        return Account(_user_name(os.geteuid()), os.geteuid(), (os.getegid(), *os.getgroups()), switched=False)
    if not settings.allow_root:
        raise ConfigurationError(
            "PostgreSQL does not run as root.",
            hint="Start Thresher as an ordinary user, or set THRESHER_ALLOW_ROOT=1 to run the database under the "
            f"account {settings.server_user!r}, or point THRESHER_DATABASE_URL to a server of yours.",
        )
    return _named_account(settings.server_user)


def _named_account(name: str) -> Account:
    if name in _SHARED:
        raise ConfigurationError(
            f"THRESHER_SERVER_USER: other programs run as {name!r} too, and would reach the data.",
            hint=f"Name an account that nothing else uses, or leave the variable out: {SERVER_USER!r} is made then.",
        )
    if name == SERVER_USER and _find(name) is None:
        _make(name)
    found = _find(name)
    if found is None or found[1] == 0:
        problem = "does not exist" if found is None else "is root"
        raise ConfigurationError(
            f"THRESHER_SERVER_USER: the account {name!r} {problem}.", hint="Name an existing account without rights."
        )
    # The child gets no supplementary groups (`options`), so only its own group counts.
    return Account(name, found[1], (found[2],), switched=True)


def _make(name: str) -> None:
    """Create a system account without home, shell or password."""
    program, reason = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin"), "there is no `useradd` here"
    options = ["--system", "--user-group", "--no-create-home", "--home-dir", "/", "--shell", "/usr/sbin/nologin"]
    with _alone():  # of two at once, `useradd` refuses one
        if program and _find(name) is None:
            reason = subprocess.run([program, *options, name], capture_output=True, text=True, check=False).stderr
    if _find(name) is None:
        raise ConfigurationError(
            f"As root the database runs under an account of its own, and {name!r} could not be made: {reason.strip()}",
            hint="Make a system account without rights by hand, and name it with THRESHER_SERVER_USER.",
        )
    event(_logger, "account made", account=name)


def _user_name(uid: int) -> str:
    found = _find(uid)
    return found[0] if found else str(uid)


def owner_name(path: Path) -> str:
    """Return the name of the account that owns a path, for messages."""
    return _user_name(path.stat().st_uid)


def child_environment(**extra: str) -> dict[str, str]:
    """Return the environment of the server's programs: without PG* variables and secrets.

    `LC_ALL=C` keeps messages in one language (macOS refuses to start a server without it).
    """
    kept = {name: value for name, value in environment().items() if name.upper() in _KEPT_VARIABLES}
    return kept | {"LC_ALL": "C", "PGCONNECT_TIMEOUT": "10"} | extra
