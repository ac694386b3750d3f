"""Reads the files of a folder that somebody else wrote: bounded, without leaving it, without waiting.

Invariant: only regular files inside the folder are opened; a pipe, a socket or a device never is, and a link is
followed only to a file of the same folder. What is kept of a file and the hash told of it come from the same octets.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from thresher.core import InvalidInput
from thresher.knowledge.intents.models import PackFile

RULES_BYTES: Final = 256 << 10
"""Octets of one text that is kept: about 64,000 tokens, more than a client can use."""
LINES_BYTES: Final = 1 << 20
"""Octets of one file of training lines or evaluation queries."""
_FILES: Final = 1_000
_FOLDER_BYTES: Final = 64 << 20
_DEPTH: Final = 8
_CHUNK: Final = 1 << 20
TEXTS: Final = (".md", ".txt", ".mdc")
"""How the names of texts end that a model may read."""
_LINES: Final = ("examples.txt", "not_examples.txt", "evals/eval_queries.json")
_PASSED_OVER: Final = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".DS_Store", ".pytest_cache", ".ruff_cache"}
)
"""Not part of a pack: neither hashed nor served."""
_PASSED_OVER_ENDS: Final = (".pyc", ".pyo", ".swp", ".tmp", "~")
_OPEN: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""A pipe without a writer is opened at once, and then refused, instead of being waited for."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The files of a folder.

    Attributes:
        files: All that belong to it, by path.
        texts: The octets of texts, by path inside the folder.
        refused: What was left out: path inside the folder, and why.
    """

    files: tuple[PackFile, ...]
    texts: dict[str, bytes]
    refused: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file: its path inside the folder, and where it is opened."""

    path: str
    place: Path


def read_folder(folder: Path) -> Contents:
    """Read a folder of at most 1,000 files and 64 MiB.

    Args:
        folder: Absolute, without links.

    Raises:
        InvalidInput: It is too large, or cannot be listed.
    """
    files: list[PackFile] = []
    texts: dict[str, bytes] = {}
    refused: list[tuple[str, str]] = []
    left = _FOLDER_BYTES
    for entry in _entries(folder, refused):
        try:
            octets, file = _read(entry, left)
        except (OSError, InvalidInput) as error:
            refused.append((entry.path, _reason(error)))
            continue
        if (left := left - file.size) < 0:
            raise InvalidInput(
                f"It holds more than {_FOLDER_BYTES >> 20} MiB.", hint="Keep large files outside the folder."
            )
        files.append(file)
        if octets is not None:
            texts[file.path] = octets
    return Contents(tuple(sorted(files, key=lambda file: file.path)), texts, tuple(refused))


def read_file(path: Path) -> Contents:
    """Read a single file of rules, by its name.

    Raises:
        InvalidInput: It is no regular file, or too large.
    """
    try:
        octets, file = _read(_Entry(path.name, path), RULES_BYTES)
    except OSError as error:
        raise InvalidInput(_reason(error)) from None
    if octets is None or file.size > RULES_BYTES:
        raise InvalidInput(f"It is larger than {RULES_BYTES >> 10} KiB.", hint="Split it.")
    return Contents((file,), {file.path: octets})


def opened(path: Path) -> BinaryIO:
    """Open a regular file; nothing else, and no link.

    Raises:
        InvalidInput: It is no regular file.
        OSError: It cannot be opened.
    """
    descriptor = os.open(path, _OPEN)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise InvalidInput("It is no regular file.")


def digest_of(files: tuple[PackFile, ...]) -> str:
    """SHA-256 in hex over path, size and hash of every file, in the order of paths."""
    digest = hashlib.sha256()
    for file in files:
        path = file.path.encode("utf-8", "surrogateescape")
        digest.update(b"%d %b %d %b\n" % (len(path), path, file.size, file.sha256.encode()))
    return digest.hexdigest()


def _entries(folder: Path, refused: list[tuple[str, str]]) -> Iterator[_Entry]:
    """The files of a folder, in a fixed order; what cannot belong to it goes to `refused`."""
    folders, seen = [(folder, "", 0)], 0
    while folders:
        place, prefix, depth = folders.pop()
        try:
            names = _names(place, _FILES - seen)
        except OSError as error:
            if place == folder:
                raise InvalidInput(_reason(error)) from None
            refused.append((prefix.rstrip("/"), _reason(error)))
            continue
        for name in names:
            seen += 1
            path = Path(place, name)
            what = _sort(folder, path, depth)
            if what == "folder":
                folders.append((path, f"{prefix}{name}/", depth + 1))
            elif what == "file":
                yield _Entry(f"{prefix}{name}", path.resolve())
            else:
                refused.append((_shown(f"{prefix}{name}"), what))


def _names(place: Path, limit: int) -> list[str]:
    """The names in a folder, sorted; reading stops as soon as there are too many."""
    names: list[str] = []
    with os.scandir(place) as entries:
        for entry in entries:
            if entry.name in _PASSED_OVER or entry.name.endswith(_PASSED_OVER_ENDS):
                continue
            names.append(entry.name)
            if len(names) > limit:
                raise InvalidInput(f"It holds more than {_FILES:,} files.", hint="Keep them outside the folder.")
    return sorted(names)


def _sort(folder: Path, path: Path, depth: int) -> str:
    """`file`, `folder`, or why it is neither."""
    if not path.name.isprintable() or "\\" in path.name:
        return "its name cannot be shown"
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            return "file" if target.is_file() and target.is_relative_to(folder) else "it is a link out of the folder"
        mode = path.lstat().st_mode
    except (OSError, RuntimeError) as error:
        return _reason(error)
    if stat.S_ISDIR(mode):
        return "folder" if depth < _DEPTH else "it lies too deep"
    return "file" if stat.S_ISREG(mode) else "it is no regular file"


def _read(entry: _Entry, left: int) -> tuple[bytes | None, PackFile]:
    """A file's octets where it is a text that is kept, else None, and what is told of it."""
    limit = LINES_BYTES if entry.path in _LINES else RULES_BYTES
    digest, size, kept = hashlib.sha256(), 0, bytearray()
    keeps = entry.path.lower().endswith(TEXTS) or entry.path in _LINES
    with opened(entry.place) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if keeps and size <= limit:
                kept += chunk
            if size > left:
                break
    file = PackFile(entry.path, size, digest.hexdigest())
    return (bytes(kept) if keeps and size <= limit else None), file


def _shown(path: str) -> str:
    return path.encode("unicode_escape").decode("ascii") if not path.isprintable() else path


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidInput):
        return error.message
    if isinstance(error, PermissionError):
        return "It may not be read by this account."
    if isinstance(error, OSError) and error.strerror:
        return f"It cannot be read: {error.strerror}."
    return "It cannot be read: a link that leads to itself."
