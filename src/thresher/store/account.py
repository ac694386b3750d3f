"""The operating-system account that the embedded server runs under.

Invariant: PostgreSQL never runs as root, and no folder that is not Thresher's changes its mode for it.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thresher.core import ConfigurationError, Settings, environment

if sys.platform == "win32":

    def _find(account: str | int) -> tuple[str, int, int] | None:
        return None if isinstance(account, str) else (str(account), account, account)
else:
    import pwd

    def _find(account: str | int) -> tuple[str, int, int] | None:
        """Name, number and group of an account."""
        try:
            entry = pwd.getpwnam(account) if isinstance(account, str) else pwd.getpwuid(account)
        except KeyError:
            return None
        return entry.pw_name, entry.pw_uid, entry.pw_gid


_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ")


@dataclass(frozen=True, slots=True)
class Account:
    """An account of the operating system.

    Attributes:
        name: Its name, for messages.
        uid: Its number; -1 on Windows.
        groups: The groups it belongs to, its own first; empty on Windows.
        switched: Whether it differs from the one that this process runs under.
    """

    name: str
    uid: int
    groups: tuple[int, ...]
    switched: bool

    def options(self) -> dict[str, Any]:
        """Arguments that make `subprocess` run a child under this account."""
        return {"user": self.uid, "group": self.groups[0], "extra_groups": []} if self.switched else {}

    def barrier(self, target: Path) -> Path | None:
        """The outermost folder on the way to `target` that this account may not enter; None when it gets there."""
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
        """Hand a path of ours over to this account."""
        if self.switched:
            os.chown(path, self.uid, self.groups[0])


def server_account(settings: Settings) -> Account:
    """The account for the embedded server: the caller's own, or `server_user` for root.

    Raises:
        ConfigurationError: Root without `THRESHER_ALLOW_ROOT`, or no usable `THRESHER_SERVER_USER`.
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
    found = _find(name)
    if found is None or found[1] == 0:
        problem = "does not exist" if found is None else "is root"
        raise ConfigurationError(
            f"THRESHER_SERVER_USER: the account {name!r} {problem}.", hint="Name an existing account without rights."
        )
    # The child gets no supplementary groups (`options`), so only its own group counts.
    return Account(name, found[1], (found[2],), switched=True)


def _user_name(uid: int) -> str:
    found = _find(uid)
    return found[0] if found else str(uid)


def owner_name(path: Path) -> str:
    """The name of the account that owns a path, for messages."""
    return _user_name(path.stat().st_uid)


def child_environment(**extra: str) -> dict[str, str]:
    """What the server's programs may see of our environment: no PG* variable, no secret.

    `LC_ALL=C` keeps messages in one language (macOS refuses to start a server without it).
    """
    kept = {name: value for name, value in environment().items() if name.upper() in _KEPT_VARIABLES}
    return kept | {"LC_ALL": "C", "PGCONNECT_TIMEOUT": "10"} | extra
