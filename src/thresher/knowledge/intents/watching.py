"""Notices that packs have changed, by what the file system says of them: no content is read.

Invariant: looking is asked for, never started by itself, and costs nothing more often than every two seconds.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from thresher.knowledge.intents.sources import Place

EVERY: Final = 2.0
"""Seconds between two looks."""
_SHARE: Final = 20
"""Where a look takes long, as on a network's drive, the pause is this many times as long."""
_PASSED_OVER: Final = frozenset({"node_modules", ".git", "__pycache__"})
_DEPTH: Final = 10
_ENTRIES: Final = 20_000
_IN_FOLDER: Final = 1_200
"""More entries than a pack may have; of such a folder only the number of entries is told."""


class Watch:
    """Compares the folders of some places with what they were.

    Look before the packs are read: a change during the reading is then seen by the next look.

    Args:
        places: What is watched.
        every: Least seconds between two looks.
        clock: Seconds that never go back.
    """

    def __init__(
        self, places: Iterable[Place], *, every: float = EVERY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._places = tuple(places)
        self._every = every
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = b""
        self._next = clock()

    def is_due(self) -> bool:
        """Whether it is time to look again; a microsecond, for the path of a request."""
        return self._clock() >= self._next

    def changed(self) -> bool:
        """Look, and say whether anything has changed since the last look; true the first time.

        Blocks for the file system's answers (a millisecond for 100 files): call it beside the event loop. Of two
        threads that look at once, one does, and the other is told no.
        """
        if not self._lock.acquire(blocking=False):
            return False
        begin = self._clock()
        try:
            seen = fingerprint(self._places)
            changed, self._seen = seen != self._seen, seen
            return changed
        finally:
            end = self._clock()
            self._next = end + max(self._every, _SHARE * (end - begin))
            self._lock.release()


def fingerprint(places: Iterable[Place]) -> bytes:
    """What the file system says of the files of some places: their names, sizes and times of change."""
    digest, left = hashlib.sha256(), _ENTRIES
    waiting = [(str(place.path), 0, place) for place in places if _is_inside(place, place.path)]
    while waiting and left > 0:
        path, depth, place = waiting.pop()
        try:
            with os.scandir(path) as entries:
                kept = [entry for entry in entries if entry.name not in _PASSED_OVER]
        except OSError:
            digest.update(_told(path, Path(path)))
            continue
        inner = sorted(kept, key=lambda entry: entry.name)
        digest.update(b"%d" % len(inner))
        left -= len(inner)
        for entry in inner if len(inner) <= _IN_FOLDER else ():
            digest.update(_told(entry.path, entry))
            if depth < _DEPTH and _is_folder(entry, depth, place):
                waiting.append((entry.path, depth + 1, place))
    return digest.digest()


def _is_inside(place: Place, path: Path) -> bool:
    """Whether a path is no link, or one that may be followed."""
    return not path.is_symlink() or place.real(path) is not None


def _is_folder(entry: os.DirEntry[str], depth: int, place: Place) -> bool:
    try:
        return entry.is_dir(follow_symlinks=depth == 0) and _is_inside(place, Path(entry.path))
    except OSError:
        return False


def _told(path: str, entry: os.DirEntry[str] | Path) -> bytes:
    try:
        told = entry.stat()
        line = f"{path!r} {told.st_ino} {told.st_size} {told.st_mtime_ns} {told.st_ctime_ns} {told.st_mode}\n"
    except OSError as error:
        line = f"{path!r} {error.errno}\n"
    return line.encode("utf-8", "replace")
