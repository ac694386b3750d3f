"""Lists what a commit holds.

Invariant: nothing of it is written to a file system; links and submodules are named and not followed; a tree that
unfolds without end is refused.
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
from thresher.knowledge.documents.sources.naming import PASSED_OVER, odd, path_of
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.selecting import Selection

_ENTRIES: Final = 1_000_000
_LONGEST_CHAIN: Final = 10
"""Tags of tags of tags."""


class Objects(Protocol):
    """Objects by id."""

    def __getitem__(self, name: ObjectID, /) -> ShaFile:
        """An object.

        Raises:
            KeyError: It is not there.
        """
        ...


@dataclass(frozen=True, slots=True)
class Tracked:
    """A file of a commit.

    Attributes:
        path: Below the root.
        blob: Its id.
    """

    path: str
    blob: str


def commit_of(store: Objects, name: str) -> Commit:
    """The commit under an id, or the one that a tag leads to.

    Raises:
        NotFound: It leads to something else.
        KeyError: It is not in the store.
    """
    found = store[ObjectID(name.encode())]
    for _ in range(_LONGEST_CHAIN):
        if not isinstance(found, Tag):
            break
        found = store[found.object[1]]
    if not isinstance(found, Commit):
        raise NotFound(f"{name!r} is no commit.", hint="Name a branch, a tag or a commit with --ref.")
    return found


class TreeWalk:
    """One walk through the tree of a commit.

    Args:
        store: Where its objects are.
        selection: What is wanted of it.
        limits: How long it may take.
    """

    def __init__(self, store: Objects, selection: Selection, limits: Limits) -> None:
        self._store = store
        self._selection = selection
        self._until = time.monotonic() + limits.seconds
        self._seen = 0
        self.skipped: list[Skipped] = []
        """What was passed over; a folder's path ends with a slash."""

    def files(self, commit: Commit) -> Iterator[Tracked]:
        """The files that names do not leave out.

        Raises:
            InvalidInput: There are too many entries, or the walk takes too long.
            KeyError: A tree is not in the store.
        """
        waiting = [(b"", commit.tree)]
        while waiting:
            prefix, tree = waiting.pop()
            found = self._store[tree]
            for entry in found.iteritems() if isinstance(found, Tree) else ():
                self._count()
                path = prefix + entry.path
                if not self._is_wanted(path, entry.mode):
                    continue
                if stat.S_ISDIR(entry.mode):
                    waiting.append((path + b"/", entry.sha))
                else:
                    yield Tracked(path.decode(), entry.sha.decode())

    def _is_wanted(self, name: bytes, mode: int) -> bool:
        skipped = self._refused(name, mode)
        if skipped is not None:
            self.skipped.append(skipped)
        return skipped is None

    def _refused(self, name: bytes, mode: int) -> Skipped | None:
        path = path_of(name)
        if path is None:
            return odd(name)
        if S_ISGITLINK(mode):
            return Skipped(f"{path}/", "link", "It is a submodule: index its repository by itself.")
        if stat.S_ISLNK(mode):
            return Skipped(path, "link", "Links are not followed; what it leads to is indexed where it lies.")
        if stat.S_ISDIR(mode):
            if path.rpartition("/")[2] in PASSED_OVER:
                return Skipped(f"{path}/", "ignored", "Tools fill this folder.")
            return (
                Skipped(f"{path}/", "excluded", "A pattern excludes it.") if self._selection.passes_over(path) else None
            )
        return self._selection.judge(path)

    def _count(self) -> None:
        self._seen += 1
        if self._seen > _ENTRIES:
            raise InvalidInput(
                f"The commit holds more than {_ENTRIES:,} entries.", hint="Leave folders out with --exclude."
            )
        if time.monotonic() > self._until:
            raise InvalidInput(
                "Listing the commit takes too long.", hint="Use --exclude, or raise THRESHER_SOURCE_SECONDS."
            )
