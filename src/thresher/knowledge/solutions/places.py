"""Where something stands, as a person's editor opens it.

Invariant: pure; the path in a URI is quoted, so that blanks, `$` and letters of any language arrive.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from thresher.knowledge.solutions.models import Location


def location(root: Path, path: str, line: int = 1) -> Location:
    """A place in a workspace.

    Args:
        root: The workspace's folder, absolute.
        path: Of the file, relative to it, with slashes.
        line: From 1.
    """
    file = (root / path).as_posix()
    uri = f"vscode://file/{quote(file.removeprefix('/'))}:{line}"
    return Location(path, line, uri, str(root / path))


def first_difference(before: bytes | None, after: bytes | None) -> int:
    """The first line, from 1, in which a file differs from what it was; 1 where it was not or no longer is."""
    if before is None or after is None:
        return 1
    was, now = before.splitlines(), after.splitlines()
    same = next((number for number, (old, new) in enumerate(zip(was, now, strict=False)) if old != new), None)
    return 1 + (min(len(was), len(now)) if same is None else same) if was != now else 1
