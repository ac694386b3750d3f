"""Every write to a workspace: whole files under a lock and from a journal, all or none; and undo.

Invariant: one writer at a time in a workspace, among processes and threads. No lock file is left in the workspace: the
lock is on its folder and ends with its holder, however that ends. A file that has changed since it was read is not
written, and deleted content is in the journal first.
"""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from thresher.core import ConfigurationError, Conflict, NotAllowed, ThresherError
from thresher.knowledge.solutions.changes.file_writer import FileWriter, content
from thresher.knowledge.solutions.changes.journal import NOBODY, ChangeOwner, Entry, FileStep, Journal
from thresher.knowledge.solutions.changes.plan import ChangePlan, change_record, journal_entry
from thresher.knowledge.solutions.models import Backup, Change
from thresher.knowledge.solutions.workspace import FileChange

WAIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.02
_WITHOUT_LOCKS: Final = {errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EISDIR}
"""Errors of file systems that cannot lock folders, such as NFS, which needs them open for writing."""

if sys.platform == "win32":  # not run by the tests
    import msvcrt

    def _open(folder: Path, beside: Path) -> int:  # noqa: ARG001 - folders cannot be opened there
        return os.open(beside, os.O_RDWR | os.O_CREAT)

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _open(folder: Path, beside: Path) -> int:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _try(descriptor)
        except OSError as error:
            os.close(descriptor)
            if error.errno not in _WITHOUT_LOCKS:
                raise
            return os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return descriptor

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(descriptor: int) -> None:
        # A forked child may hold a copy of the descriptor, so closing ours would not release the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(folder: Path, beside: Path, seconds: float = WAIT_SECONDS) -> Generator[None]:
    """Hold a workspace for writing.

    Args:
        folder: Folder of the workspace.
        beside: A file in the data folder to lock if the system cannot lock folders.
        seconds: How long to wait for another writer.

    Raises:
        Conflict: Another writer did not finish in time.
    """
    descriptor = _open(folder, beside)
    try:
        _wait(descriptor, folder, seconds)
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    never = threading.Event()
    while not _try(descriptor):
        if time.monotonic() >= deadline:
            raise Conflict(
                f"Another process has been writing to the workspace {folder} for {seconds:g} seconds.",
                hint="Nothing was changed. Try again when it has finished.",
            )
        never.wait(_POLL_SECONDS)  # no event signals that another process released a lock


_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recovered:
    """The outcome of a change whose writer was killed.

    Attributes:
        id: Id of the change.
        action: What it does.
        outcome: Finished; taken back because nothing was done; or left as found because others changed its files.
        files: Its files; if it was left, those that others changed.
    """

    id: str
    action: str
    outcome: Literal["completed", "taken back", "left"]
    files: tuple[str, ...]


class Storage:
    """Writes to workspaces, with a journal for each.

    Args:
        data_dir: Folder for journals, outside every workspace.
        now: The clock.
        wait: Seconds to wait for another writer.
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

    def apply(self, root: Path, action: str, changes: Sequence[FileChange], owner: ChangeOwner = NOBODY) -> Change:
        """Write some files, all or none.

        Args:
            root: Folder of the workspace.
            action: What is done, in words, for the list of changes.
            changes: Whole files; unchanged ones are skipped.
            owner: Owner of the change.

        Raises:
            Conflict: A file changed since it was read, the disk is full, or another process keeps writing.
            NotAllowed: A file or folder is read-only, or leads out of the workspace.
            ConfigurationError: The data folder cannot be written.
        """
        steps = [FileStep(one.path, one.before, one.after) for one in changes if one.before != one.after]
        if not steps:
            return Change("", "unchanged")
        with self._locked(root) as (place, journal):
            return self._write(place, journal, ChangePlan(action, steps, owner))

    def undo(self, root: Path, change_id: str, owner: ChangeOwner = NOBODY) -> Change:
        """Undo a change; this is itself a change that can be undone.

        Args:
            root: Folder of the workspace.
            change_id: Id of the change.
            owner: The caller.

        Raises:
            NotFound: The owner's tenant has no such change, or it is no longer kept.
            Conflict: It was already undone, or one of its files was changed since.
            NotAllowed: A file or folder is read-only, or leads out of the workspace.
            ConfigurationError: The data folder cannot be written.
        """
        with self._locked(root) as (place, journal):
            entry, state = journal.entry(change_id, owner.tenant)
            if change_id in _undone(journal, owner):
                raise Conflict(
                    f"The change {change_id} has already been undone.",
                    hint="To redo it, undo the change that undid it.",
                )
            if state == "left":
                raise Conflict(
                    f"The change {change_id} was interrupted, and its files were changed before it could be completed.",
                    hint=f"Their former content is in {journal.path_of(change_id)}.",
                )
            steps = [FileStep(step.path, step.after, step.before, step.mode) for step in entry.steps]
            plan = ChangePlan(f"undo: {entry.head.action}", steps, owner, undoes=change_id, emptied=entry.head.folders)
            return self._write(place, journal, plan)

    def recover(self, root: Path) -> tuple[Recovered, ...]:
        """Complete or take back what a killed process left unfinished; `apply` and `undo` do so first, too.

        Raises:
            Conflict: It cannot be completed now; nothing is lost, and the next call tries again.
        """
        place = _resolved(root)
        if not self._journal(place).pending():
            return ()
        with self._locked(place, recovering=False) as (_, journal):
            return _recover(place, journal)

    def backups(self, root: Path, owner: ChangeOwner = NOBODY) -> tuple[Backup, ...]:
        """Return the changes of the owner's tenant, the last first; `workspace` is the name of the folder."""
        place = _resolved(root)
        journal = self._journal(place)
        undone = _undone(journal, owner)
        return tuple(
            Backup(head.id, place.name, head.action, tuple(sorted(head.files)), head.when, head.id in undone)
            for head, state in journal.heads(owner.tenant)
            if state != "pending"
        )

    def forget(self, root: Path, owner: ChangeOwner) -> bool:
        """Delete the changes of an owner's tenant.

        Args:
            root: Folder of the workspace when it was added, without links; it may no longer exist.
            owner: The owner whose tenant's changes are deleted.

        Returns:
            Whether they were deleted; while any change is pending, all are kept.

        Raises:
            Conflict: Another process keeps writing.
            OSError: The journal or the folder cannot be opened.
        """
        journal = self._journal(root)
        there = root.is_dir() and root.resolve() == root  # otherwise nothing can be writing
        with locked(root, journal.lock_path, self._wait) if there else nullcontext():
            return journal.forget(owner.tenant)

    def _journal(self, root: Path) -> Journal:
        return Journal(self._folder / hashlib.sha256(os.fsencode(root)).hexdigest()[:16])

    @contextmanager
    def _locked(self, root: Path, *, recovering: bool = True) -> Generator[tuple[Path, Journal]]:
        place = _resolved(root)
        journal = self._journal(place)
        with _journal_errors(self._folder):
            journal.prepare()
        with locked(place, journal.lock_path, self._wait):
            if recovering:
                _recover(place, journal)
            yield place, journal

    def _write(self, root: Path, journal: Journal, plan: ChangePlan) -> Change:
        with _workspace_errors(root):
            entry = journal_entry(root, journal.next_id(), plan, self._now())
        with _journal_errors(self._folder):
            journal.begin(entry)
        writer = FileWriter(root, entry)
        try:
            with _workspace_errors(root):
                writer.prepare()
                writer.put()
            with _journal_errors(self._folder):
                journal.finish(entry.head.id, "done")
        except BaseException:
            _take_back(root, journal, entry)
            raise
        with _journal_errors(self._folder):
            journal.prune(self._now())
        for folder in reversed(plan.emptied):
            with suppress(OSError):  # others put something into it
                (root / folder).rmdir()
        return change_record(entry.head.id, plan)


class Planned(Exception):
    """Raised in a rehearsal where a checked change would be written; its consequences cannot be known.

    Attributes:
        change: The difference to the files.
    """

    def __init__(self, change: Change) -> None:
        super().__init__(change.action)
        self.change = change


class RehearsedStorage(Storage):
    """Checks changes and raises `Planned`; writes no file and no journal, and takes no lock."""

    def recover(self, root: Path) -> tuple[Recovered, ...]:
        """Do nothing."""
        del root
        return ()

    def forget(self, root: Path, owner: ChangeOwner) -> bool:
        """Do nothing; report the changes as deleted."""
        del root, owner
        return True

    @contextmanager
    def _locked(self, root: Path, *, recovering: bool = True) -> Generator[tuple[Path, Journal]]:
        del recovering
        place = _resolved(root)
        yield place, self._journal(place)

    def _write(self, root: Path, journal: Journal, plan: ChangePlan) -> Change:
        del journal
        with _workspace_errors(root):
            journal_entry(root, "", plan, self._now())
        raise Planned(change_record("", plan))


def _recover(root: Path, journal: Journal) -> tuple[Recovered, ...]:
    return tuple(_recover_entry(root, journal, entry) for entry in journal.pending())


def _recover_entry(root: Path, journal: Journal, entry: Entry) -> Recovered:
    head, writer = entry.head, FileWriter(root, entry)
    try:
        now = [(step, content(root, step.path)) for step in entry.steps]
        others = tuple(step.path for step, found in now if found not in (step.before, step.after))
        if others:
            writer.sweep()
            journal.finish(head.id, "left")
            done = Recovered(head.id, head.action, "left", others)
        elif all(found == step.before for step, found in now):
            writer.take_back()
            journal.drop(head.id)
            done = Recovered(head.id, head.action, "taken back", head.files)
        else:
            writer.complete()
            journal.finish(head.id, "done")
            done = Recovered(head.id, head.action, "completed", head.files)
    except (OSError, ThresherError) as error:
        raise _unfinished(entry, journal, error) from error
    _logger.warning("The change %s (%s) in %s was interrupted: %s.", head.id, head.action, root, done.outcome)
    return done


def _take_back(root: Path, journal: Journal, entry: Entry) -> None:
    try:
        FileWriter(root, entry).take_back()
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


def _undone(journal: Journal, owner: ChangeOwner) -> set[str]:
    """Return the ids of a tenant's changes that are undone now, by a change that is not undone itself."""
    undone: set[str] = set()
    for head, _ in journal.heads(owner.tenant):
        if head.undoes and head.id not in undone:
            undone.add(head.undoes)
    return undone


def _resolved(root: Path) -> Path:
    place = root.resolve()
    if not place.is_dir():
        raise ConfigurationError(
            f"The workspace {root} does not exist, or is not a folder.", hint="Add its new folder."
        )
    return place


@contextmanager
def _workspace_errors(root: Path) -> Generator[None]:
    """Convert errors of the operating system in a workspace into errors with hints."""
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
            hint="Nothing was changed. Check it, and try again.",
        ) from error


@contextmanager
def _journal_errors(folder: Path) -> Generator[None]:
    """Convert errors of the operating system in the journal into errors with hints."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"The change cannot be recorded in {folder}: {error.strerror}.",
            hint="Nothing was changed. Free some space, make it writable, or set THRESHER_DATA_DIR to another folder.",
        ) from error
