"""The folder of components: whether it may be used, which modules it holds, and whether it has changed.

Invariant: reads names and attributes alone; no module's code is looked at, let alone run.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SERVED = ("tools", "prompts", "resources")
"""Folders whose modules live in the process of components."""
PROXIES = "proxies"
"""The folder whose modules name servers."""

MOST_FILES = 5_000
"""Files and folders in all; a folder with more is a mistake, such as a virtual environment in it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """What was found.

    Attributes:
        path: The folder, links followed.
        served: Modules for tools, prompts and resources, relative to it, in order.
        proxies: Modules that name servers, likewise.
        version: Changes with any file in it; empty where there is none.
        problem: Why nothing of it may be used; empty when it may.
    """

    path: Path
    served: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    version: str = ""
    problem: str = ""


def look(path: Path) -> Folder:
    """Look at a folder; one that is not there holds nothing. Blocks for as long as the disk takes."""
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
    """Why others could put another folder in this one's place; empty when they could not."""
    for place in root.parents:
        mode = place.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"Everybody may rename what is in {place}: take that away with chmod o-w."
    return "" if root.is_dir() else f"{root} is no folder."


def _entries(root: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The folder and all that counts in it; what begins with a dot, and caches, do not.

    Raises:
        _Refused: Others could change it, or it holds far too much.
    """
    waiting = [root]
    count = 0
    while waiting:
        path = waiting.pop()
        count += 1
        if count > MOST_FILES:
            raise _Refused(f"{root} holds more than {MOST_FILES:,} files: keep only components and their data in it.")
        if not path.resolve().is_relative_to(root):
            raise _Refused(f"{path} is a link that leaves {root}: put the file itself there.")
        facts = path.stat()
        _check(path, facts)
        yield path, facts
        if stat.S_ISDIR(facts.st_mode) and not path.is_symlink():
            waiting += [one for one in path.iterdir() if not one.name.startswith(".") and one.name != "__pycache__"]


def _check(path: Path, facts: os.stat_result) -> None:
    if not hasattr(os, "geteuid"):  # Windows: the folder lies in the user's profile, whose rights hold
        return
    if facts.st_uid not in (os.geteuid(), 0):
        raise _Refused(f"{path} belongs to another account, which could change what is run here: chown it.")
    if facts.st_mode & stat.S_IWOTH:
        raise _Refused(f"Everybody may write {path}: take that away with chmod o-w.")


def _modules(root: Path, kind: str, entries: list[tuple[Path, os.stat_result]]) -> list[str]:
    """Modules of one kind; those whose name begins with `_` are there to be imported by others."""
    within = root / kind
    return sorted(
        path.relative_to(root).as_posix()
        for path, facts in entries
        if path.suffix == ".py" and path.is_relative_to(within) and stat.S_ISREG(facts.st_mode)
        if not path.name.startswith("_")
    )


def _version(root: Path, entries: list[tuple[Path, os.stat_result]]) -> str:
    """Names, sizes and times of all files; folders change when a cache is written beside a module."""
    files = sorted((path, facts) for path, facts in entries if stat.S_ISREG(facts.st_mode))
    lines = (f"{path.relative_to(root)}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ino}" for path, facts in files)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]
