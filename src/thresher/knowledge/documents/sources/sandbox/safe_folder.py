"""Opens files below a folder, and nothing else.

Invariant: no link is followed, neither at the end of a path nor within it: each step is opened relative to the previous
one, so that a folder replaced by a link between two steps cannot lead outside. A pipe or device is never waited for.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

EntryKind = Literal["folder", "file", "link", "other"]

_STEPWISE: Final = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_FILE: Final = _FLAGS | getattr(os, "O_NONBLOCK", 0)
_FOLDER: Final = _FLAGS | getattr(os, "O_DIRECTORY", 0)
_STEP: Final = _FOLDER | getattr(os, "O_PATH", 0)
"""An intermediate folder may be one that this account may enter but not list."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """An entry of a folder.

    Attributes:
        name: Name as the system returns it.
        kind: Kind of the entry.
        status: Its size, times and inode.
    """

    name: str
    kind: EntryKind
    status: os.stat_result


class SafeFolder:
    """A folder whose content is opened step by step.

    Args:
        root: Absolute path without links.

    Raises:
        OSError: There is no such folder, it is not a folder, it is a link, or it may not be read.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._descriptor = _descend(os.open(root.anchor, _STEP), root.parts[1:]) if _STEPWISE else -1
        if not _STEPWISE and not self._checked(()).is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))

    def close(self) -> None:
        """Close the folder."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def entries(self, steps: tuple[str, ...]) -> list[FolderEntry]:
        """The entries of a folder, by name.

        Raises:
            OSError: It cannot be listed, or has been replaced.
        """
        found: list[FolderEntry] = []
        with self._folder(steps, _FOLDER) as folder, os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                found.append(FolderEntry(entry.name, _kind_of(status.st_mode), status))
        return sorted(found, key=lambda entry: os.fsencode(entry.name))

    @contextmanager
    def opened(self, steps: tuple[str, ...]) -> Generator[BinaryIO]:
        """Open a regular file.

        Raises:
            OSError: It cannot be opened, is not a regular file, or its path has a link.
        """
        with self._folder(steps[:-1], _STEP) as folder:
            descriptor = (
                os.open(steps[-1], _FILE, dir_fd=folder)
                if isinstance(folder, int)
                else os.open(self._checked(steps), _FILE)
            )
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "It is not a regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as stream:
                yield stream
        finally:
            os.close(descriptor)

    @contextmanager
    def _folder(self, steps: tuple[str, ...], last: int) -> Generator[int | str]:
        """A folder below the root, as a descriptor; as a path if the system cannot open relative to a descriptor."""
        if not _STEPWISE:
            yield str(self._checked(steps))
            return
        descriptor = _descend(os.dup(self._descriptor), (*steps[:-1],))
        try:
            below = os.open(steps[-1] if steps else ".", last, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        try:
            yield below
        finally:
            os.close(below)

    def _checked(self, steps: tuple[str, ...]) -> Path:
        path = self.root.joinpath(*steps)
        if path.resolve() != path:
            raise OSError(f"The path to {path.name!r} has a link.")
        return path


def _descend(descriptor: int, steps: tuple[str, ...]) -> int:
    """Go down from an open folder, which is closed."""
    for step in steps:
        try:
            below = os.open(step, _STEP, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def _kind_of(mode: int) -> EntryKind:
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "other"
