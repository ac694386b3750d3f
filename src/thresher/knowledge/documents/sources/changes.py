"""Whether a source has changed: which of its folders tell, which names matter, and what a server says.

Invariant: nothing is fetched; a folder is entered only where a run would enter it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.exclusion import name_exclusion
from thresher.knowledge.documents.sources.folder import FolderWalk
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.origins import is_remote
from thresher.knowledge.documents.sources.patterns import PathSelection
from thresher.knowledge.documents.sources.sandbox.safe_folder import SafeFolder

MOST_FOLDERS: Final = 10_000
"""A source with more folders is not watched: each takes a place in a table of the operating system."""
_PASSING: Final = ("~", ".swp", ".swx", ".swo", ".tmp", ".part", ".crdownload")
"""Endings of files that programs write beside the one that is being edited."""
_REFS: Final = ("HEAD", "packed-refs")


@dataclass(frozen=True, slots=True)
class WatchedFolders:
    """What tells that a source may have changed.

    Attributes:
        folders: Absolute paths; what lies directly in each is watched. The others are below the first.
        matters: Whether a changed path may change what is indexed. Touches the disk.
        reshapes: Whether with it other folders must be watched. Touches the disk.
    """

    folders: tuple[Path, ...]
    matters: Callable[[str], bool]
    reshapes: Callable[[str], bool]

    def identity(self) -> tuple[int, int] | None:
        """What tells the first folder from another one in its place, which is not watched; None if it is gone."""
        try:
            status = self.folders[0].stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def watched_folders(origin: Origin, limits: SourceLimits, forbidden: tuple[Path, ...] = ()) -> WatchedFolders | None:
    """The folders to watch for a source; None if it cannot be watched: it is elsewhere, too large or not there.

    This function blocks: call it in a thread.

    Args:
        origin: The origin of the source.
        limits: Time limit of the walk.
        forbidden: Folders that are never entered.

    Raises:
        InvalidInput: Its folders cannot be listed.
    """
    root = Path(origin.location)
    if is_remote(origin.location) or not os.path.exists(root):  # noqa: PTH110 - also false where nobody may look
        return None
    if origin.kind == "file":
        return WatchedFolders((root.parent,), lambda path: Path(path) == root, lambda _: False)
    if origin.kind == "git":
        return _refs(root)
    folders = _entered(root, origin, limits, forbidden)
    return None if folders is None else WatchedFolders(folders, partial(_matters, root, origin), _reshapes)


def _entered(root: Path, origin: Origin, limits: SourceLimits, forbidden: tuple[Path, ...]) -> tuple[Path, ...] | None:
    """The folders that a run enters; None if there are too many, or none can be read."""
    try:
        folder = SafeFolder(root)
    except OSError:
        return None
    with closing(folder):
        walk = FolderWalk(folder, PathSelection(origin.include, origin.exclude), limits, forbidden)
        for _ in walk.files():
            if len(walk.folders) > MOST_FOLDERS:
                return None
    return tuple(root / one for one in walk.folders)


def _reshapes(path: str) -> bool:
    return Path(path).name == ".gitignore" or (os.path.isdir(path) and not os.path.islink(path))  # noqa: PTH112, PTH114 - names as the system gives them


def _matters(root: Path, origin: Origin, path: str) -> bool:
    if _reshapes(path):
        return True
    below = os.path.relpath(path, root).replace(os.sep, "/")
    name = below.rpartition("/")[2]
    if name.endswith(_PASSING) or name.startswith(".#") or name_exclusion(below) is not None:
        return False
    return PathSelection(origin.include, origin.exclude).exclusion(below) is None


def _refs(root: Path) -> WatchedFolders | None:
    """Where git notes to which commit a branch or tag leads."""
    inner = root / ".git"
    git = inner if os.path.isdir(inner) else root  # noqa: PTH112 - also false where nobody may look
    if os.path.islink(git) or os.path.islink(git / "refs"):  # noqa: PTH114 - a run refuses links too
        return None
    refs = [Path(folder) for folder, _, _ in islice(os.walk(git / "refs"), MOST_FOLDERS)]
    if not refs or len(refs) == MOST_FOLDERS:
        return None

    def matters(path: str) -> bool:
        changed = Path(path)
        return changed.suffix != ".lock" and (changed.name in _REFS or git / "refs" in changed.parents)

    return WatchedFolders(
        (git, *refs), matters, lambda path: git / "refs" in Path(path).parents and Path(path).is_dir()
    )
