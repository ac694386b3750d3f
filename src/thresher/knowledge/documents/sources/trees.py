"""Lists the files of a commit.

Invariant: nothing is written to a file system; links and submodules are named and not followed; a tree that expands
without end is refused.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from dulwich.objects import S_ISGITLINK, Commit, ObjectID, ShaFile, Tag, Tree

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Skipped
from thresher.knowledge.documents.sources.exclusion import TOOL_FOLDERS, decoded_path, unusable_path
from thresher.knowledge.documents.sources.limits import SourceLimits
from thresher.knowledge.documents.sources.patterns import PathSelection

_ENTRIES: Final = 1_000_000
_LONGEST_CHAIN: Final = 10
"""Tags of tags."""


class ObjectLookup(Protocol):
    """Objects by id."""

    def __getitem__(self, name: ObjectID, /) -> ShaFile:
        """An object.

        Raises:
            KeyError: There is no such object.
        """
        ...


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a commit.

    Attributes:
        path: Path below the root.
        blob: Its blob id.
    """

    path: str
    blob: str


def commit_of(store: ObjectLookup, name: str) -> Commit:
    """The commit with an id, or the one that a tag leads to.

    Raises:
        NotFound: The id is that of something else.
        KeyError: It is not in the store.
    """
    found = store[ObjectID(name.encode())]
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(found, Tag):
            break
        found = store[found.object[1]]
    if not isinstance(found, Commit):
        raise NotFound(f"{name!r} is not a commit.", hint="Name a branch, a tag or a commit with --ref.")
    return found


class TreeWalk:
    """One walk through the tree of a commit.

    Args:
        store: The objects of the commit.
        selection: The selected paths.
        limits: Time limit of the walk.
    """

    def __init__(self, store: ObjectLookup, selection: PathSelection, limits: SourceLimits) -> None:
        self._store = store
        self._selection = selection
        self._until = time.monotonic() + limits.seconds
        self._seen = 0
        self.skipped: list[Skipped] = []
        """What was left out; a folder's path ends with a slash."""

    def files(self, commit: Commit) -> Iterator[TreeFile]:
        """The files whose names are acceptable.

        Raises:
            InvalidInput: There are too many entries, or the walk takes too long.
            KeyError: A tree is missing.
        """
        waiting = [(b"", commit.tree)]
        while waiting:
            prefix, tree = waiting.pop()
            found = self._store[tree]
            for entry in found.iteritems() if isinstance(found, Tree) else ():
                self._count()
                path = prefix + entry.path
                if not self._accepts(path, entry.mode):
                    continue
                if stat.S_ISDIR(entry.mode):
                    waiting.append((path + b"/", entry.sha))
                else:
                    yield TreeFile(path.decode(), entry.sha.decode())

    def _accepts(self, name: bytes, mode: int) -> bool:
        skipped = self._exclusion(name, mode)
        if skipped is not None:
            self.skipped.append(skipped)
        return skipped is None

    def _exclusion(self, name: bytes, mode: int) -> Skipped | None:
        path = decoded_path(name)
        if path is None:
            return unusable_path(name)
        if S_ISGITLINK(mode):
            return Skipped(f"{path}/", "link", "It is a submodule: index its repository by itself.")
        if stat.S_ISLNK(mode):
            return Skipped(path, "link", "Links are not followed; its target is indexed at its own path.")
        if stat.S_ISDIR(mode):
            if path.rpartition("/")[2] in TOOL_FOLDERS:
                return Skipped(f"{path}/", "ignored", "Tools fill this folder.")
            return (
                Skipped(f"{path}/", "excluded", "A pattern excludes it.")
                if self._selection.excludes_folder(path)
                else None
            )
        return self._selection.exclusion(path)

    def _count(self) -> None:
        self._seen += 1
        if self._seen > _ENTRIES:
            raise InvalidInput(
                f"The commit has more than {_ENTRIES:,} entries.", hint="Exclude folders with --exclude."
            )
        if time.monotonic() > self._until:
            raise InvalidInput(
                "Listing the commit takes too long.", hint="Use --exclude, or raise THRESHER_SOURCE_SECONDS."
            )
