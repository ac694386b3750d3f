"""The files of one change: written beside their targets first, then put in their places one after the other.

Invariant: until the last draft is on disk no file of the workspace has changed, and a file is replaced as a whole.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from thresher.core import Conflict
from thresher.knowledge.solutions.files import read_file
from thresher.knowledge.solutions.journal import Entry, Step, synced

_Identity = tuple[int, int, int, int]


class Writing:
    """Brings one change to disk, or back; every method can be called again after a kill.

    Args:
        root: Of the workspace.
        entry: The change, which is in the journal already.
    """

    def __init__(self, root: Path, entry: Entry) -> None:
        self._root = root
        self._entry = entry
        self._seen: Mapping[str, _Identity | None] = {}

    def prepare(self) -> None:
        """Make folders and drafts: what can fail for want of space or rights fails here.

        Raises:
            Conflict: A file is no longer what the change begins with.
        """
        seen: dict[str, _Identity | None] = {}
        for step in self._entry.steps:
            seen[step.path] = _identity(self._root / step.path)
            if content(self._root, step.path) != step.before:
                raise changed([step.path])
        self._seen = seen
        for folder in self._entry.head.folders:
            (self._root / folder).mkdir(exist_ok=True)
        self._drafts([(number, step, step.after) for number, step in enumerate(self._entry.steps)])

    def put(self) -> None:
        """Move every draft to its place, and remove what goes."""
        for number, step in enumerate(self._entry.steps):
            self._put(number, step)
        self._sync()

    def complete(self) -> None:
        """Do what was not done yet, after a kill; every file is as it was before or as it shall be."""
        for folder in self._entry.head.folders:
            (self._root / folder).mkdir(exist_ok=True)
        left = [(n, step) for n, step in enumerate(self._entry.steps) if content(self._root, step.path) != step.after]
        self._drafts([(number, step, step.after) for number, step in left])
        self._seen = {step.path: _identity(self._root / step.path) for _, step in left}
        for number, step in left:
            self._put(number, step)
        self.sweep()
        self._sync()

    def take_back(self) -> None:
        """Set everything back to what it was, after a step that failed."""
        for number, step in reversed(list(enumerate(self._entry.steps))):
            if content(self._root, step.path) == step.after:
                self._restore(number, step)
        self.sweep()
        for folder in reversed(self._entry.head.folders):
            with suppress(OSError):
                (self._root / folder).rmdir()
        self._sync()

    def sweep(self) -> None:
        """Remove drafts that were left over."""
        for number in range(len(self._entry.steps)):
            self._draft_path(number).unlink(missing_ok=True)

    def _draft_path(self, number: int) -> Path:
        target = self._root / self._entry.steps[number].path
        return target.with_name(f".thresher-{self._entry.head.id}-{number}.tmp")

    def _drafts(self, contents: Sequence[tuple[int, Step, bytes | None]]) -> None:
        """Write drafts, and wait for the disk once all are written: thousands of single waits would take minutes."""
        drafts = [self._draft(number, step, data) for number, step, data in contents if data is not None]
        for draft in drafts:
            synced(draft)

    def _draft(self, number: int, step: Step, data: bytes) -> Path:
        draft = self._draft_path(number)
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _own_alike(file.fileno(), self._root / step.path, step.mode)
            if sys.platform == "win32":  # waits only for a file that is open for writing
                os.fsync(file.fileno())
        return draft

    def _put(self, number: int, step: Step) -> None:
        target, draft = self._root / step.path, self._draft_path(number)
        if step.before is None:
            _put_new(draft, target, step.path)
            return
        if self._seen.get(step.path) != _identity(target):
            raise changed([step.path])
        if step.after is None:
            target.unlink()
        else:
            draft.replace(target)

    def _restore(self, number: int, step: Step) -> None:
        target = self._root / step.path
        if step.before is None:
            target.unlink(missing_ok=True)
        else:
            self._drafts([(number, step, step.before)])
            self._draft_path(number).replace(target)

    def _sync(self) -> None:
        made = {Path(folder).parent for folder in self._entry.head.folders}
        for folder in {Path(step.path).parent for step in self._entry.steps} | made:
            with suppress(FileNotFoundError):
                synced(self._root / folder)


def content(root: Path, path: str) -> bytes | None:
    """What a file holds; None where there is none, or none of exactly this name, or a folder.

    A file system that takes `Name` and `name` for one would else show one file under both.
    """
    target = root / path
    try:
        data = read_file(target)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    swapped = target.with_name(target.name.swapcase())
    if swapped.name != target.name and _identity(swapped) == _identity(target):
        return data if target.name in os.listdir(target.parent) else None  # noqa: PTH208 - names alone are wanted
    return data


def changed(paths: Sequence[str]) -> Conflict:
    """The refusal to write over what others wrote."""
    names = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
    return Conflict(
        f"Changed on disk since it was read: {names}.",
        hint="Nothing was written. Look at the file as it is now, and ask again.",
    )


def _put_new(draft: Path, target: Path, path: str) -> None:
    """A link fails where a file has appeared meanwhile; a rename would replace it."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise changed([path]) from None
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise changed([path]) from None
        draft.rename(target)
    else:
        draft.unlink()


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _own_alike(descriptor: int, target: Path, mode: int | None) -> None:
    """Give a draft the rights of its file, and its owner where we may (as root), else its folder's."""
    like = target.stat() if target.exists() else target.parent.stat()
    if sys.platform == "win32":
        return
    if mode is not None:
        os.fchmod(descriptor, mode)
    if like.st_uid != os.geteuid():
        with suppress(PermissionError):
            os.fchown(descriptor, like.st_uid, like.st_gid)


def permissions(path: Path) -> int | None:
    """The permission bits of a file; None where there is none."""
    found = path.lstat() if os.path.lexists(path) else None
    return stat.S_IMODE(found.st_mode) if found else None
