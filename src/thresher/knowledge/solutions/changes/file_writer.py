"""Writes the files of one change: first as drafts beside their targets, then moved into place one by one.

Invariant: no file of the workspace changes before the last draft is on disk, and files are replaced as a whole.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from thresher.core import Conflict
from thresher.knowledge.solutions.changes.journal import Entry, FileStep, sync_to_disk
from thresher.knowledge.solutions.servoy_workspace.files import read_file

_Identity = tuple[int, int, int, int]


class FileWriter:
    """Writes a change to disk, or takes it back; every method can be repeated after a kill.

    Args:
        root: Folder of the workspace.
        entry: The change, which is already in the journal.
    """

    def __init__(self, root: Path, entry: Entry) -> None:
        self._root = root
        self._entry = entry
        self._seen: Mapping[str, _Identity | None] = {}

    def prepare(self) -> None:
        """Create folders and drafts; whatever lacks space or permissions fails here.

        Raises:
            Conflict: A file is not what the change starts from.
        """
        seen: dict[str, _Identity | None] = {}
        for step in self._entry.steps:
            seen[step.path] = _identity(self._root / step.path)
            if content(self._root, step.path) != step.before:
                raise changed_conflict([step.path])
        self._seen = seen
        for folder in self._entry.head.folders:
            (self._root / folder).mkdir(exist_ok=True)
        self._drafts([(number, step, step.after) for number, step in enumerate(self._entry.steps)])

    def put(self) -> None:
        """Move every draft into place, and delete files."""
        for number, step in enumerate(self._entry.steps):
            self._put(number, step)
        self._sync()

    def complete(self) -> None:
        """Finish after a kill; every file is either as before or as after."""
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
        """Restore everything after a failed step."""
        for number, step in reversed(list(enumerate(self._entry.steps))):
            if content(self._root, step.path) == step.after:
                self._restore(number, step)
        self.sweep()
        for folder in reversed(self._entry.head.folders):
            with suppress(OSError):
                (self._root / folder).rmdir()
        self._sync()

    def sweep(self) -> None:
        """Delete leftover drafts."""
        for number in range(len(self._entry.steps)):
            self._draft_path(number).unlink(missing_ok=True)

    def _draft_path(self, number: int) -> Path:
        target = self._root / self._entry.steps[number].path
        return target.with_name(f".thresher-{self._entry.head.id}-{number}.tmp")

    def _drafts(self, contents: Sequence[tuple[int, FileStep, bytes | None]]) -> None:
        """Write drafts, then wait for the disk once; thousands of single waits would take minutes."""
        drafts = [self._draft(number, step, data) for number, step, data in contents if data is not None]
        for draft in drafts:
            sync_to_disk(draft)

    def _draft(self, number: int, step: FileStep, data: bytes) -> Path:
        draft = self._draft_path(number)
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            _copy_owner(file.fileno(), self._root / step.path, step.mode)
            if sys.platform == "win32":  # waits only for a file that is open for writing
                os.fsync(file.fileno())
        return draft

    def _put(self, number: int, step: FileStep) -> None:
        target, draft = self._root / step.path, self._draft_path(number)
        if step.before is None:
            _put_new(draft, target, step.path)
            return
        if self._seen.get(step.path) != _identity(target):
            raise changed_conflict([step.path])
        if step.after is None:
            target.unlink()
        else:
            draft.replace(target)

    def _restore(self, number: int, step: FileStep) -> None:
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
                sync_to_disk(self._root / folder)


def content(root: Path, path: str) -> bytes | None:
    """Return the content of a file; None if there is no file of exactly this name.

    A file system that ignores case would otherwise show one file under two names.
    """
    target = root / path
    try:
        data = read_file(target)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    swapped = target.with_name(target.name.swapcase())
    if swapped.name != target.name and _identity(swapped) == _identity(target):
        return data if target.name in os.listdir(target.parent) else None  # noqa: PTH208 - only names are needed
    return data


def changed_conflict(paths: Sequence[str]) -> Conflict:
    """Return the error that refuses to overwrite what others wrote."""
    names = ", ".join(paths[:10]) + (f" and {len(paths) - 10} more" if len(paths) > 10 else "")
    return Conflict(
        f"Changed on disk since it was read: {names}.",
        hint="Nothing was written. Read the file again, and repeat the request.",
    )


def _put_new(draft: Path, target: Path, path: str) -> None:
    """Link a draft to a new name; unlike a rename, this fails if a file has appeared in the meantime."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise changed_conflict([path]) from None
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise changed_conflict([path]) from None
        draft.rename(target)
    else:
        draft.unlink()


def _identity(path: Path) -> _Identity | None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _copy_owner(descriptor: int, target: Path, mode: int | None) -> None:
    """Give a draft the permissions and, if possible, the owner of its file or folder."""
    like = target.stat() if target.exists() else target.parent.stat()
    if sys.platform == "win32":
        return
    if mode is not None:
        os.fchmod(descriptor, mode)
    if like.st_uid != os.geteuid():
        with suppress(PermissionError):
            os.fchown(descriptor, like.st_uid, like.st_gid)


def permissions(path: Path) -> int | None:
    """Return the permission bits of a file; None if it does not exist."""
    found = path.lstat() if os.path.lexists(path) else None
    return stat.S_IMODE(found.st_mode) if found else None
