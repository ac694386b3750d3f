"""The files of a workspace: listing them without leaving it, and reading each only when it changed.

Invariant: a link out of the workspace is not followed but reported, and what cannot be read is an answer, not an error.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from thresher.core import BrokenFile
from thresher.knowledge.solutions.models import Broken
from thresher.servoy import LARGEST

T = TypeVar("T")
Stamp: TypeAlias = "tuple[int, int, int, int]"
"""Time of the last change of its content, of its entry, size, and number of a file: another one is another content."""
SETTLED_NANOSECONDS: Final = 2_000_000_000
"""A file that changed less than this before it was read may change again within one tick of its file system's clock."""
_UNSPEAKABLE: Final = "Its name has characters that cannot be shown, or is not UTF-8; it is left alone."
_OUTSIDE: Final = "A symbolic link that leads out of the workspace, or nowhere; it is not followed."


@dataclass(frozen=True, slots=True)
class Found:
    """A file.

    Attributes:
        path: Relative to the workspace.
        stamp: As it was when it was listed.
    """

    path: str
    stamp: Stamp

    @property
    def stem(self) -> str:
        """Its name without the ending."""
        return self.path.rpartition("/")[2].rpartition(".")[0]


class Files:
    """Lists and reads.

    Args:
        root: Of the workspace, resolved.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def folders(self, path: str = "") -> tuple[list[str], list[Broken]]:
        """Paths of the folders in a folder, by name; hidden ones are none of the workspace's."""
        entries, broken = self._entries(path)
        return [name for name, entry in entries if entry.is_dir() and not entry.name.startswith(".")], broken

    def listed(self, path: str, ending: str) -> tuple[list[Found], list[Broken]]:
        """The files of an ending in a folder, by name; none where there is no such folder."""
        entries, broken = self._entries(path, ending)
        found: list[Found] = []
        for name, entry in entries:
            if entry.name.endswith(ending) and not entry.name.startswith(".") and entry.is_file():
                found.append(Found(name, _stamp(entry.stat())))
        return found, broken

    def count(self, path: str, ending: str) -> int:
        """How many files of an ending are in a folder, without asking for more than their names."""
        entries, _ = self._entries(path, ending)
        return sum(not entry.name.startswith(".") and entry.is_file() for _, entry in entries)

    def found(self, path: str) -> Found | None:
        """One file, if it is there and does not lie outside."""
        file = self._root / path
        if not self._inside(file):
            return None
        try:
            return Found(path, _stamp(file.stat()))
        except OSError:
            return None

    def below(self, path: str, endings: tuple[str, ...]) -> Iterator[Found]:
        """The files of some endings in a folder and all folders in it; links to folders are not followed."""
        if not self._inside(self._root / path):
            return
        for folder, names, files in os.walk(self._root / path):
            names[:] = sorted(name for name in names if not name.startswith("."))
            base = Path(folder).relative_to(self._root).as_posix()
            for file in sorted(file for file in files if file.endswith(endings)):
                place = Path(folder, file)
                if not place.is_symlink() or self._inside(place):
                    with suppress(FileNotFoundError):  # it went just now
                        entry = place.stat()
                        if stat.S_ISREG(entry.st_mode):
                            yield Found(f"{base}/{file}", _stamp(entry))

    def read(self, path: str) -> bytes:
        """All bytes of a file.

        Raises:
            BrokenFile: The system refuses, it is too large, or it is a pipe or device.
        """
        try:
            return read_file(self._root / path)
        except OSError as error:
            raise BrokenFile(
                f"{path} cannot be read: {error.strerror}.", hint="Correct its rights, or remove it."
            ) from error

    def _entries(self, path: str, ending: str = "") -> tuple[list[tuple[str, os.DirEntry[str]]], list[Broken]]:
        prefix = f"{path}/" if path else ""
        if path and os.path.lexists(self._root / path) and not self._inside(self._root / path):
            return [], [Broken(path, _OUTSIDE)]
        try:
            with os.scandir(self._root / path) as entries:
                named = sorted((f"{prefix}{entry.name}", entry) for entry in entries if entry.name.endswith(ending))
        except (FileNotFoundError, NotADirectoryError):
            return [], []
        except OSError as error:
            return [], [Broken(path or ".", f"The folder cannot be read: {error.strerror}.")]
        broken = [Broken(readable(name), _UNSPEAKABLE) for name, _ in named if not name.isprintable()]
        named = [(name, entry) for name, entry in named if name.isprintable()]
        outside = {name for name, entry in named if entry.is_symlink() and not self._inside(Path(entry.path))}
        broken += [Broken(name, _OUTSIDE) for name in sorted(outside)]
        return [(name, entry) for name, entry in named if name not in outside], broken

    def _inside(self, file: Path) -> bool:
        try:
            return file.resolve(strict=True).is_relative_to(self._root)
        except (OSError, RuntimeError):  # it leads nowhere, or in a circle
            return False


class Kept(Generic[T]):
    """What files say, read once for each content.

    Args:
        files: Of the workspace.
        make: What a file's bytes say.
    """

    def __init__(self, files: Files, make: Callable[[str, bytes], T]) -> None:
        self._files = files
        self._make = make
        self._known: dict[str, tuple[Stamp, bytes, T | BrokenFile]] = {}

    def get(self, found: Found) -> tuple[bytes, T]:
        """A file's bytes, and what they say.

        Raises:
            BrokenFile: It cannot be read; the message does not name it.
        """
        known = self._known.get(found.path)
        if known is None or known[0] != found.stamp:
            known = (found.stamp, *self._read(found.path))
            if time.time_ns() - found.stamp[0] > SETTLED_NANOSECONDS:
                self._known[found.path] = known
            else:
                self._known.pop(found.path, None)
        if isinstance(known[2], BrokenFile):
            error = known[2]
            raise BrokenFile(error.message, hint=error.hint, line=error.line, column=error.column)
        return known[1], known[2]

    def all(self, listed: list[Found], broken: list[Broken]) -> Iterator[tuple[Found, bytes, T]]:
        """Files that can be read; the others are added to the broken ones."""
        for found in listed:
            try:
                data, made = self.get(found)
            except BrokenFile as error:
                broken.append(Broken(found.path, error.message, error.line, error.column))
            else:
                yield found, data, made

    def _read(self, path: str) -> tuple[bytes, T | BrokenFile]:
        try:
            data = self._files.read(path)
            return data, self._make(path, data)
        except BrokenFile as error:
            return b"", error


def read_file(path: Path) -> bytes:
    """All bytes of a file: nothing is waited for, as at a pipe, and no more is read than a workspace's file may hold.

    Raises:
        OSError: It is not there, is a folder, or the system refuses.
        BrokenFile: It is too large, or it is a pipe or device.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        entry = os.fstat(descriptor)
        if stat.S_ISDIR(entry.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(entry.st_mode):
            raise BrokenFile("It is a pipe or device, which is not read.", hint="Remove it.")
        if entry.st_size > LARGEST:
            raise BrokenFile(
                f"The file has {entry.st_size:,} bytes; {LARGEST:,} are read.", hint="It can hardly be meant."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    finally:
        os.close(descriptor)


def named(path: str, error: BrokenFile) -> BrokenFile:
    """The same error with the name of its file."""
    place = f"{path}:{error.line}:{error.column}" if error.line else path
    return BrokenFile(f"{place}: {error.message}", hint=error.hint, line=error.line, column=error.column)


def readable(path: str) -> str:
    """A path as an answer can hold it: what cannot be shown, such as bytes that are no UTF-8, becomes its number."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in path)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
