"""The files of a workspace: lists them without leaving it, and reads each only after it has changed.

Invariant: a link out of the workspace is reported and not followed; a file that cannot be read is a result, not an
error.
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

from thresher.core import BrokenFile, NotFound
from thresher.knowledge.solutions.models import RoundTrip, UnreadableFile
from thresher.servoy import LARGEST, read_document

T = TypeVar("T")
Stamp: TypeAlias = "tuple[int, int, int, int]"
"""Times of the last change of content and entry, size, and inode; a different stamp means different content."""
SETTLED_NANOSECONDS: Final = 2_000_000_000
"""A file that changed less than this before it was read may change again within a tick of the file system's clock."""
_UNSPEAKABLE: Final = "Its name has characters that cannot be shown, or is not UTF-8; it is skipped."
_OUTSIDE: Final = "A symbolic link that leads out of the workspace, or nowhere; it is not followed."


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in a listing.

    Attributes:
        path: Relative to the workspace.
        stamp: Its stamp when it was listed.
    """

    path: str
    stamp: Stamp

    @property
    def stem(self) -> str:
        """Name without suffix."""
        return self.path.rpartition("/")[2].rpartition(".")[0]


class Files:
    """Lists and reads files.

    Args:
        root: Resolved folder of the workspace.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def folders(self, path: str = "") -> tuple[list[str], list[UnreadableFile]]:
        """Return the paths of the folders in a folder, by name, except hidden ones."""
        entries, broken = self._entries(path)
        return [name for name, entry in entries if entry.is_dir() and not entry.name.startswith(".")], broken

    def listed(self, path: str, ending: str) -> tuple[list[FoundFile], list[UnreadableFile]]:
        """Return the files with a suffix in a folder, by name; none if there is no such folder."""
        entries, broken = self._entries(path, ending)
        found: list[FoundFile] = []
        for name, entry in entries:
            if entry.name.endswith(ending) and not entry.name.startswith(".") and entry.is_file():
                found.append(FoundFile(name, _stamp(entry.stat())))
        return found, broken

    def count(self, path: str, ending: str) -> int:
        """Count the files with a suffix in a folder, reading only names."""
        entries, _ = self._entries(path, ending)
        return sum(not entry.name.startswith(".") and entry.is_file() for _, entry in entries)

    def found(self, path: str) -> FoundFile | None:
        """Return a file if it exists inside the workspace."""
        file = self._root / path
        if not self._inside(file):
            return None
        try:
            return FoundFile(path, _stamp(file.stat()))
        except OSError:
            return None

    def below(self, path: str, endings: tuple[str, ...]) -> Iterator[FoundFile]:
        """Yield the files with some suffixes in a folder and its subfolders; links to folders are not followed."""
        if not self._inside(self._root / path):
            return
        for folder, names, files in os.walk(self._root / path):
            names[:] = sorted(name for name in names if not name.startswith("."))
            base = Path(folder).relative_to(self._root).as_posix()
            for file in sorted(file for file in files if file.endswith(endings)):
                place = Path(folder, file)
                if not place.is_symlink() or self._inside(place):
                    with suppress(FileNotFoundError):  # deleted just now
                        entry = place.stat()
                        if stat.S_ISREG(entry.st_mode):
                            yield FoundFile(f"{base}/{file}", _stamp(entry))

    def read(self, path: str) -> bytes:
        """Return all bytes of a file.

        Raises:
            BrokenFile: The system refuses, it is too large, or it is a pipe or device.
        """
        try:
            return read_file(self._root / path)
        except OSError as error:
            raise BrokenFile(
                f"{path} cannot be read: {error.strerror}.", hint="Correct its permissions, or remove it."
            ) from error

    def _entries(self, path: str, ending: str = "") -> tuple[list[tuple[str, os.DirEntry[str]]], list[UnreadableFile]]:
        prefix = f"{path}/" if path else ""
        if path and os.path.lexists(self._root / path) and not self._inside(self._root / path):
            return [], [UnreadableFile(path, _OUTSIDE)]
        try:
            with os.scandir(self._root / path) as entries:
                named = sorted((f"{prefix}{entry.name}", entry) for entry in entries if entry.name.endswith(ending))
        except (FileNotFoundError, NotADirectoryError):
            return [], []
        except OSError as error:
            return [], [UnreadableFile(path or ".", f"The folder cannot be read: {error.strerror}.")]
        broken = [UnreadableFile(readable(name), _UNSPEAKABLE) for name, _ in named if not name.isprintable()]
        named = [(name, entry) for name, entry in named if name.isprintable()]
        outside = {name for name, entry in named if entry.is_symlink() and not self._inside(Path(entry.path))}
        broken += [UnreadableFile(name, _OUTSIDE) for name in sorted(outside)]
        return [(name, entry) for name, entry in named if name not in outside], broken

    def _inside(self, file: Path) -> bool:
        try:
            return file.resolve(strict=True).is_relative_to(self._root)
        except (OSError, RuntimeError):  # a dead link, or a circle of links
            return False


class FileCache(Generic[T]):
    """Caches what files contain, parsed once for each content.

    Args:
        files: Files of the workspace.
        make: Parses the bytes of a file.
    """

    def __init__(self, files: Files, make: Callable[[str, bytes], T]) -> None:
        self._files = files
        self._make = make
        self._known: dict[str, tuple[Stamp, bytes, T | BrokenFile]] = {}

    def get(self, found: FoundFile) -> tuple[bytes, T]:
        """Return the bytes and parsed content of a file.

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

    def all(self, listed: list[FoundFile], broken: list[UnreadableFile]) -> Iterator[tuple[FoundFile, bytes, T]]:
        """Yield the files that can be read; add the others to `broken`."""
        for found in listed:
            try:
                data, made = self.get(found)
            except BrokenFile as error:
                broken.append(UnreadableFile(found.path, error.message, error.line, error.column))
            else:
                yield found, data, made

    def _read(self, path: str) -> tuple[bytes, T | BrokenFile]:
        try:
            data = self._files.read(path)
            return data, self._make(path, data)
        except BrokenFile as error:
            return b"", error


def read_file(path: Path) -> bytes:
    """Return all bytes of a file, without blocking, as on a pipe, and up to the size limit.

    Raises:
        OSError: It does not exist, is a folder, or the system refuses.
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
                f"The file has {entry.st_size:,} bytes; the limit is {LARGEST:,}.", hint="Remove it from the workspace."
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST + 1)
    finally:
        os.close(descriptor)


def named(path: str, error: BrokenFile) -> BrokenFile:
    """Return an error with the name of its file."""
    place = f"{path}:{error.line}:{error.column}" if error.line else path
    return BrokenFile(f"{place}: {error.message}", hint=error.hint, line=error.line, column=error.column)


def readable(path: str) -> str:
    """Return a printable path; other characters, such as bytes that are not UTF-8, are escaped."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in path)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


ENDINGS: Final = (".rel", ".val", ".dbi", ".tbl", ".obj", ".frm", ".mnu", ".sec")


def check_round_trip(folder: Path) -> RoundTrip:
    """Read every solution file below a folder and write it in memory.

    Hidden folders are skipped, and links to folders are not followed.

    Raises:
        NotFound: There is no such folder.
    """
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.", hint="Give a workspace, or a folder of one.")
    files = 0
    differ: list[str] = []
    broken: list[UnreadableFile] = []
    for path in _solution_files(folder):
        files += 1
        name = path.relative_to(folder).as_posix()
        try:
            data = read_file(path)
            if read_document(data).rendered() != data:
                differ.append(name)
        except BrokenFile as error:
            broken.append(UnreadableFile(name, error.message, error.line, error.column))
        except OSError as error:
            broken.append(UnreadableFile(name, f"It cannot be read: {error.strerror}."))
    return RoundTrip(files, tuple(differ), tuple(broken))


def _solution_files(folder: Path) -> Iterator[Path]:
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(files) if name.endswith(ENDINGS))
