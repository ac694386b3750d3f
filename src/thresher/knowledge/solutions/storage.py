"""Every write to a workspace: whole files under a lock, from a journal, all of them or none; and undoing them.

Invariant: a file that is not what it was when it was read is not written, and what is deleted is in the journal first.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from thresher.core import ConfigurationError, Conflict, InvalidInput, NotAllowed, ThresherError
from thresher.knowledge.solutions.differences import unified
from thresher.knowledge.solutions.journal import NOBODY, Entry, Head, Journal, Owner, Step
from thresher.knowledge.solutions.locking import WAIT_SECONDS, held
from thresher.knowledge.solutions.models import Backup, Change
from thresher.knowledge.solutions.workspace import FileChange
from thresher.knowledge.solutions.writing import Writing, changed, content, permissions

_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a change whose writer was killed.

    Attributes:
        id: Of the change.
        action: What it was to do.
        outcome: All of it was done; nothing of it had been; or others changed its files meanwhile, so that it stays as
            it was found.
        files: Those that it touches; where it was left, those that others changed.
    """

    id: str
    action: str
    outcome: Literal["completed", "taken back", "left"]
    files: tuple[str, ...]


class Storage:
    """Writes to workspaces, and the journals that make it safe.

    Args:
        data_dir: Where journals are kept, outside of every workspace.
        now: The clock.
        wait: How many seconds to wait for another writer.
    """

    def __init__(
        self,
        data_dir: Path,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        wait: float = WAIT_SECONDS,
    ) -> None:
        self._folder = data_dir / "undo"
        self._now = now
        self._wait = wait

    def apply(self, root: Path, action: str, changes: Sequence[FileChange], owner: Owner = NOBODY) -> Change:
        """Write some files, all of them or none.

        Args:
            root: Of the workspace.
            action: In words, for the list of changes.
            changes: Whole files; those that stay as they are are left out.
            owner: Whose change it is.

        Raises:
            Conflict: A file changed since it was read, the disk is full, or another process keeps writing.
            NotAllowed: A file or folder is read-only, or leads out of the workspace.
            ConfigurationError: The data folder cannot be written.
        """
        steps = [Step(one.path, one.before, one.after) for one in changes if one.before != one.after]
        if not steps:
            return Change("", "unchanged")
        with self._held(root) as (place, journal):
            return self._write(place, journal, _Plan(action, steps, owner))

    def undo(self, root: Path, change_id: str, owner: Owner = NOBODY) -> Change:
        """Take a change back; it is itself a change that can be undone.

        Args:
            root: Of the workspace.
            change_id: Of the change.
            owner: Who asks.

        Raises:
            NotFound: There is no such change of the owner's tenant, or it is no longer kept.
            Conflict: It was undone before, or one of its files was changed since; and as `apply`.
        """
        with self._held(root) as (place, journal):
            entry, state = journal.entry(change_id, owner.tenant)
            if change_id in _undone(journal, owner):
                raise Conflict(
                    f"The change {change_id} was undone already.",
                    hint="Undo the change that undid it to have it again.",
                )
            if state == "left":
                raise Conflict(
                    f"The change {change_id} was interrupted, and its files were changed before it could be completed.",
                    hint=f"What they held before stands in {journal.path_of(change_id)}.",
                )
            steps = [Step(step.path, step.after, step.before, step.mode) for step in entry.steps]
            plan = _Plan(f"undo: {entry.head.action}", steps, owner, undoes=change_id, emptied=entry.head.folders)
            return self._write(place, journal, plan)

    def recover(self, root: Path) -> tuple[Recovered, ...]:
        """Complete or take back what a killed process left half done; `apply` and `undo` do so first, too.

        Raises:
            Conflict: It cannot be completed now; nothing is lost, and the next call tries again.
        """
        place = _resolved(root)
        if not self._journal(place).pending():
            return ()
        with self._held(place, recovering=False) as (_, journal):
            return _recover(place, journal)

    def backups(self, root: Path, owner: Owner = NOBODY) -> tuple[Backup, ...]:
        """Changes of the owner's tenant that are kept, the last first; as `workspace` they name its folder."""
        place = _resolved(root)
        journal = self._journal(place)
        undone = _undone(journal, owner)
        return tuple(
            Backup(head.id, place.name, head.action, tuple(sorted(head.files)), head.when, head.id in undone)
            for head, state in journal.heads(owner.tenant)
            if state != "pending"
        )

    def forget(self, root: Path, owner: Owner) -> bool:
        """Let go of the changes of an owner's tenant.

        Args:
            root: Of the workspace, without links, as it was when it was added; its folder may be gone.
            owner: Whose tenant's changes go.

        Returns:
            Whether they went: where a change of anybody is pending, all are kept.

        Raises:
            Conflict: Another process keeps writing.
            OSError: The journal or the folder cannot be opened.
        """
        journal = self._journal(root)
        there = root.is_dir() and root.resolve() == root  # else nobody can be writing
        with held(root, journal.lock_path, self._wait) if there else nullcontext():
            return journal.forget(owner.tenant)

    def _journal(self, root: Path) -> Journal:
        return Journal(self._folder / hashlib.sha256(os.fsencode(root)).hexdigest()[:16])

    @contextmanager
    def _held(self, root: Path, *, recovering: bool = True) -> Generator[tuple[Path, Journal]]:
        place = _resolved(root)
        journal = self._journal(place)
        with _kept(self._folder):
            journal.prepare()
        with held(place, journal.lock_path, self._wait):
            if recovering:
                _recover(place, journal)
            yield place, journal

    def _write(self, root: Path, journal: Journal, plan: _Plan) -> Change:
        with _explained(root):
            entry = _planned(root, journal.next_id(), plan, self._now())
        with _kept(self._folder):
            journal.begin(entry)
        writing = Writing(root, entry)
        try:
            with _explained(root):
                writing.prepare()
                writing.put()
            with _kept(self._folder):
                journal.finish(entry.head.id, "done")
        except BaseException:
            _take_back(root, journal, entry)
            raise
        with _kept(self._folder):
            journal.prune(self._now())
        for folder in reversed(plan.emptied):
            with suppress(OSError):  # others put something into it
                (root / folder).rmdir()
        return _change(entry.head.id, plan)


class Planned(Exception):
    """A change was checked and would be written now; what comes after it cannot be known in a rehearsal.

    Attributes:
        change: How files would differ.
    """

    def __init__(self, change: Change) -> None:
        super().__init__(change.action)
        self.change = change


class RehearsedStorage(Storage):
    """Checks changes, ends with `Planned`, and writes nothing: no file, no journal, no lock."""

    def recover(self, root: Path) -> tuple[Recovered, ...]:
        """Nothing is completed or taken back."""
        del root
        return ()

    def forget(self, root: Path, owner: Owner) -> bool:
        """Nothing is forgotten; whether it would be is not known."""
        del root, owner
        return True

    @contextmanager
    def _held(self, root: Path, *, recovering: bool = True) -> Generator[tuple[Path, Journal]]:
        del recovering
        place = _resolved(root)
        yield place, self._journal(place)

    def _write(self, root: Path, journal: Journal, plan: _Plan) -> Change:
        del journal
        with _explained(root):
            _planned(root, "", plan, self._now())
        raise Planned(_change("", plan))


def _change(change_id: str, plan: _Plan) -> Change:
    """A change as its caller sees it."""
    shown = [FileChange(step.path, step.before, step.after) for step in plan.steps]
    return Change(change_id, plan.action, tuple(step.path for step in plan.steps), unified(shown))


@dataclass(frozen=True, slots=True)
class _Plan:
    """A change that shall be made: what, by whom, which one it takes back, and which folders go if they are empty."""

    action: str
    steps: Sequence[Step]
    owner: Owner
    undoes: str = ""
    emptied: Sequence[str] = ()


def _planned(root: Path, change_id: str, plan: _Plan, when: dt.datetime) -> Entry:
    """The change as it goes into the journal, once every file was found to be what the change begins with."""
    folders: dict[str, None] = {}
    paths = [step.path for step in plan.steps]
    if len(set(paths)) < len(paths):
        raise InvalidInput("A change names one file twice.")
    for path in paths:
        folders.update(dict.fromkeys(_missing_folders(root, path)))
    if differ := [step.path for step in plan.steps if content(root, step.path) != step.before]:
        raise changed(differ)
    ordered = _ordered([_with_mode(root, step) for step in plan.steps])
    files = tuple(step.path for step in ordered)
    head = Head(change_id, str(root), plan.action, when, files, tuple(folders), plan.undoes, plan.owner)
    return Entry(head, ordered)


def _with_mode(root: Path, step: Step) -> Step:
    mode = permissions(root / step.path)
    return Step(step.path, step.before, step.after, step.mode if mode is None else mode)


def _ordered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What comes before what goes, so that a kill between them leaves both; but where only case differs, the old first.

    A file system that ignores case has one place for both, and removing the old name last would remove the new file.
    """
    coming = {step.path.casefold() for step in steps if step.before is None}
    first = [step for step in steps if step.after is None and step.path.casefold() in coming]
    last = [step for step in steps if step.after is None and step not in first]
    between = [step for step in steps if step.after is not None]
    return (*first, *between, *last)


def _missing_folders(root: Path, path: str) -> list[str]:
    """Checks that a path stays in the workspace and may be written; returns the folders that must be made for it."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path or "\\" in path:
        raise InvalidInput(f"{path!r} is not the path of a file below a workspace.")
    missing: list[str] = []
    folder = root / PurePosixPath(*parts[:-1])
    while not folder.exists() and folder != root:
        missing.append(folder.relative_to(root).as_posix())
        folder = folder.parent
    if not folder.resolve().is_relative_to(root):
        raise NotAllowed(
            f"{path} leads out of the workspace {root}, by a symbolic link.",
            hint="Add the folder that it leads to as a workspace of its own.",
        )
    target = root / path
    _check_writable(path, target)
    _check_writable(folder.relative_to(root).as_posix(), folder)
    return missing[::-1]


def _check_writable(name: str, target: Path) -> None:
    if not os.path.lexists(target):
        return
    found = target.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise NotAllowed(f"{name} is a symbolic link, which is not written.", hint="Change the file that it leads to.")
    # Asked by bits too: root may write anything, but whoever took the bits away meant to keep it as it is.
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise _read_only(name)


def _read_only(name: str) -> NotAllowed:
    return NotAllowed(f"{name} is read-only.", hint="Nothing was changed. Make it writable, or choose another.")


def _recover(root: Path, journal: Journal) -> tuple[Recovered, ...]:
    return tuple(_settled(root, journal, entry) for entry in journal.pending())


def _settled(root: Path, journal: Journal, entry: Entry) -> Recovered:
    head, writing = entry.head, Writing(root, entry)
    try:
        now = [(step, content(root, step.path)) for step in entry.steps]
        others = tuple(step.path for step, found in now if found not in (step.before, step.after))
        if others:
            writing.sweep()
            journal.finish(head.id, "left")
            done = Recovered(head.id, head.action, "left", others)
        elif all(found == step.before for step, found in now):
            writing.take_back()
            journal.drop(head.id)
            done = Recovered(head.id, head.action, "taken back", head.files)
        else:
            writing.complete()
            journal.finish(head.id, "done")
            done = Recovered(head.id, head.action, "completed", head.files)
    except (OSError, ThresherError) as error:
        raise _unfinished(entry, journal, error) from error
    _logger.warning("The change %s (%s) in %s was interrupted: %s.", head.id, head.action, root, done.outcome)
    return done


def _take_back(root: Path, journal: Journal, entry: Entry) -> None:
    try:
        Writing(root, entry).take_back()
        journal.drop(entry.head.id)
    except OSError as error:
        raise _unfinished(entry, journal, error) from error


def _unfinished(entry: Entry, journal: Journal, error: Exception) -> Conflict:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Conflict(
        f"The change {entry.head.id} ({entry.head.action}) was interrupted, and cannot be completed now: {reason}",
        hint=f"Nothing is lost: {journal.path_of(entry.head.id)} holds all of its files. Remove the cause; "
        "the next write to this workspace completes it first.",
    )


def _undone(journal: Journal, owner: Owner) -> set[str]:
    """Ids of a tenant's changes that are undone now: by one that was not undone itself. Later ones come first."""
    undone: set[str] = set()
    for head, _ in journal.heads(owner.tenant):
        if head.undoes and head.id not in undone:
            undone.add(head.undoes)
    return undone


def _resolved(root: Path) -> Path:
    place = root.resolve()
    if not place.is_dir():
        raise ConfigurationError(f"The workspace {root} is not there, or is no folder.", hint="Add it where it is.")
    return place


@contextmanager
def _explained(root: Path) -> Generator[None]:
    """Turn what the operating system refuses in a workspace into an error with a way out."""
    try:
        yield
    except OSError as error:
        name = Path(error.filename).name if error.filename else str(root)
        if error.errno in _FULL:
            raise Conflict(
                f"There is no space left for {name} in {root}.",
                hint="Nothing was changed. Free some space, and try again.",
            ) from error
        if error.errno in _READ_ONLY:
            raise NotAllowed(
                f"{name} in {root} cannot be written: {error.strerror}.",
                hint="Nothing was changed. Make it writable, or choose another.",
            ) from error
        raise Conflict(
            f"{name} in {root} cannot be written: {error.strerror}.",
            hint="Nothing was changed. Look at it, and try again.",
        ) from error


@contextmanager
def _kept(folder: Path) -> Generator[None]:
    """Likewise for the journal: without it nothing is written."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"What is changed cannot be noted in {folder}: {error.strerror}.",
            hint="Nothing was changed. Free some space, make it writable, or set THRESHER_DATA_DIR to another folder.",
        ) from error
