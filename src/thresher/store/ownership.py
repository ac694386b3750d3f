"""The lock that gives a data folder one owner at a time.

Invariant: the lock dies with the process that holds it; its file stays and only names the last owner.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Self

from thresher.core import Conflict
from thresher.store.private import LOCK_NAME, explained

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A byte far behind the content, so that others may still read who owns the folder.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Ownership:
    """An exclusive hold on a data folder."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Become the owner of a data folder.

        Raises:
            Conflict: Another process owns it; the message names its process id.
            ConfigurationError: The lock file cannot be written.
        """
        path = folder / LOCK_NAME
        with explained(folder):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            _lock(descriptor)
        except OSError:
            owner = _describe(descriptor)
            os.close(descriptor)
            raise Conflict(
                f"The data folder {folder} is in use by {owner}.",
                hint="Attach to that daemon, stop it with `thresher stop`, or set THRESHER_DATA_DIR to another folder.",
            ) from None
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
        return cls(descriptor)

    def release(self) -> None:
        """Let the folder go; does nothing the second time."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _describe(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        owner = json.loads(os.read(descriptor, 4096))
        here = owner["host"] == platform.node()
        return f"process {owner['pid']}" + ("" if here else f" on {owner['host']}")
    except (ValueError, KeyError, TypeError):
        return "another process"
