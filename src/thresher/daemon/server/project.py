"""Finds the project of a local client: the nearest folder above its working folder that looks like one.

Invariant: only a client on this machine, past its handshake, may name a folder; nothing outside of it is looked into,
and the file system's root and the user's home are never a project, since everything lies below them.
"""

from __future__ import annotations

import os
from pathlib import Path

PATH_LIMIT = 4096
"""The maximum length of a path on Linux, in bytes."""
DEPTH_LIMIT = 40
"""The maximum number of folders to search upwards."""
MARKS = (".git", ".agents", ".claude", ".cursor", ".github")
"""Entries that mark a project folder; `.git` is a file in a worktree."""


def find_project(named: object) -> str:
    """The project's folder.

    Args:
        named: The folder that the client named; anything but a path counts as none.

    Returns:
        An absolute path without links: the nearest folder at or above `named` that holds one of `MARKS`, else `named`
        itself; empty if that is not a folder, or is the root, the home folder or above it.
    """
    if not isinstance(named, str) or not _may_be_path(named):
        return ""
    try:
        start = Path(named).resolve(strict=True)
        barred = _barred()
        if not start.is_dir() or start in barred:
            return ""
        return str(next((folder for folder in _upward(start, barred) if _is_marked(folder)), start))
    except (OSError, RuntimeError):  # it is gone, may not be entered, or its links go round
        return ""


def _may_be_path(text: str) -> bool:
    try:
        return os.path.isabs(text) and "\0" not in text and len(text.encode()) <= PATH_LIMIT
    except UnicodeEncodeError:  # bytes that are no text
        return False


def _barred() -> frozenset[Path]:
    """The home folder and everything above it, the root included."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # an account without one
        return frozenset({Path(Path.cwd().anchor)})
    return frozenset({home, *home.parents})


def _upward(start: Path, barred: frozenset[Path]) -> list[Path]:
    way = [start, *start.parents][:DEPTH_LIMIT]
    return [folder for folder in way if folder not in barred]


def _is_marked(folder: Path) -> bool:
    return any(os.path.lexists(folder / mark) for mark in MARKS)
