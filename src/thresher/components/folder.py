"""The folder of components: whether it may be used, which modules it contains, and whether it has changed.

Invariant: only reads names and attributes; no module's code is read or run.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SERVED = ("tools", "prompts", "resources")
"""Folders whose modules run in the process of components."""
PROXIES = "proxies"
"""The folder whose modules name servers."""

MOST_FILES = 5_000
"""The most files and folders; a folder with more is a mistake, such as a virtual environment in it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The contents of the folder.

    Attributes:
        path: The folder, links resolved.
        served: Modules for tools, prompts and resources, relative to it, in order.
        proxies: Modules that name servers, in the same form.
        version: Changes with any file in it; empty if there is none.
        problem: Why nothing of it may be used; empty if it may.
    """

    path: Path
    served: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    version: str = ""
    problem: str = ""


def look(path: Path) -> Folder:
    """Read a folder; one that does not exist is empty. Blocks on the disk."""
    root = path.expanduser().absolute()
    try:
        root = root.resolve()
        if not root.exists():
            return Folder(root)
        if problem := _reachable_by_others(root):
            return Folder(root, problem=problem)
        entries = list(_entries(root))
    except OSError as error:
        return Folder(root, problem=f"{error.filename or root} cannot be read: {error.strerror or error}.")
    except _Refused as refused:
        return Folder(root, problem=str(refused))
    served = tuple(name for kind in SERVED for name in _modules(root, kind, entries))
    return Folder(root, served, tuple(_modules(root, PROXIES, entries)), _version(root, entries))


class _Refused(Exception):
    """Something in the folder forbids its use."""


def _reachable_by_others(root: Path) -> str:
    """Return why others could replace this folder by another; empty if they could not."""
    for parent in root.parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"All users may rename what is in {parent}: remove that right with chmod o-w."
    return "" if root.is_dir() else f"{root} is not a folder."


def _entries(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the folder and its entries, without caches and names that begin with a dot.

    Raises:
        _Refused: Others could change it, or it has far too many entries.
    """
    waiting = [root]
    count = 0
    while waiting:
        path = waiting.pop()
        count += 1
        if count > MOST_FILES:
            raise _Refused(f"{root} has more than {MOST_FILES:,} files: keep only components and their data in it.")
        if not path.resolve().is_relative_to(root):
            raise _Refused(f"{path} is a link that leaves {root}: put the file itself there.")
        status = path.stat()
        _check(path, status)
        yield path, status
        if stat.S_ISDIR(status.st_mode) and not path.is_symlink():
            waiting += [one for one in path.iterdir() if not one.name.startswith(".") and one.name != "__pycache__"]


def _check(path: Path, status: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):  # Windows: the folder is in the user's profile, whose rights apply
        return
    if status.st_uid not in (os.geteuid(), 0):
        raise _Refused(f"{path} belongs to another account, which could change what is run here: chown it.")
    if status.st_mode & stat.S_IWOTH:
        raise _Refused(f"All users may write to {path}: remove that right with chmod o-w.")


def _modules(root: Path, kind: str, entries: list[tuple[Path, os.stat_result]]) -> list[str]:
    """Return modules of one kind; those whose name begins with `_` are only imported by others."""
    within = root / kind
    return sorted(
        path.relative_to(root).as_posix()
        for path, status in entries
        if path.suffix == ".py" and path.is_relative_to(within) and stat.S_ISREG(status.st_mode)
        if not path.name.startswith("_")
    )


def _version(root: Path, entries: list[tuple[Path, os.stat_result]]) -> str:
    """Return a hash of names, sizes and times of all files; folders change when a cache is written next to a module."""
    files = sorted((path, status) for path, status in entries if stat.S_ISREG(status.st_mode))
    lines = (f"{path.relative_to(root)}\0{one.st_size}\0{one.st_mtime_ns}\0{one.st_ino}" for path, one in files)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]
