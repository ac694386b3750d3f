"""A lock on a file that the system releases when its holder ends, however it ends.

Invariant: the standard library only; the file's content means nothing.
"""

from __future__ import annotations

import os
import select
import sys
import time

from thresher.daemon.paths import unwritable

if sys.platform == "win32":  # not run by the tests
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _pause(seconds: float) -> None:
        time.sleep(seconds)  # noqa: TID251 - no event tells that another process released a lock
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _pause(seconds: float) -> None:
        select.select([], [], [], seconds)


POLL_SECONDS = 0.02


class FileLock:
    """An exclusive lock between processes.

    Args:
        path: The lock file; created when missing, never removed (removing it would split the lock in two).
    """

    __slots__ = ("_descriptor", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, seconds: float) -> bool:
        """Take the lock, waiting for at most some seconds.

        Returns:
            False when another process still held it at the end.

        Raises:
            DaemonFailure: The file cannot be created.
        """
        deadline = time.monotonic() + seconds
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise unwritable(os.path.dirname(self._path), error) from None
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return False
            _pause(POLL_SECONDS)
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release the lock; does nothing if it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_free(path: str, seconds: float = 0.0) -> bool:
    """Return whether the lock is free, or becomes free within some seconds."""
    lock = FileLock(path)
    free = lock.acquire(seconds)
    lock.release()
    return free
