"""One writer at a time in a workspace, among processes and threads.

Invariant: no lock file is left in the workspace; the lock is on its folder and ends with its holder, however that ends.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from thresher.core import Conflict

WAIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02
_WITHOUT_LOCKS: Final = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EISDIR}
"""Errors of file systems that cannot lock folders, such as NFS, which needs them open for writing."""

if sys.platform == "win32":  # not run by the tests
    import msvcrt

    def _open(folder: Path, beside: Path) -> int:  # noqa: ARG001 - folders cannot be opened there
        return os.open(beside, os.O_RDWR | os.O_CREAT)

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _open(folder: Path, beside: Path) -> int:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _try(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno not in _WITHOUT_LOCKS:
                raise
            return os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return descriptor

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(descriptor: int) -> None:
        # A forked child may hold a copy of the descriptor, so closing ours would not release the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(folder: Path, beside: Path, seconds: float = WAIT_SECONDS) -> Generator[None]:
    """Hold a workspace for writing.

    Args:
        folder: Folder of the workspace.
        beside: A file in the data folder to lock if the system cannot lock folders.
        seconds: How long to wait for another writer.

    Raises:
        Conflict: Another writer did not finish in time.
    """
    descriptor = _open(folder, beside)
    try:
        _wait(descriptor, folder, seconds)
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    never = threading.Event()
    while not _try(descriptor):
        if time.monotonic() >= deadline:
            raise Conflict(
                f"Another process has been writing to the workspace {folder} for {seconds:g} seconds.",
                hint="Nothing was changed. Try again when it has finished.",
            )
        never.wait(_POLL_SECONDS)  # no event signals that another process released a lock
