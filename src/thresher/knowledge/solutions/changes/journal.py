"""The changes of a workspace, stored outside it: before the first write to finish them, afterwards to undo them.

Invariant: an entry appears completely or not at all, and nothing in a workspace is written before its entry is on disk.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from thresher.core import NotFound
from thresher.store import make_private

KEPT: Final = 200
KEPT_DAYS: Final = 90
_NAME: Final = re.compile(r"(\d+)-[0-9a-f]{6}\.(pending|done|left)")
State: TypeAlias = Literal["pending", "done", "left"]
"""Started; done; or interrupted and left alone, because others changed its files."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """A change of one file.

    Attributes:
        path: Relative to the workspace.
        before: The bytes before; None if there was no file.
        after: The bytes after; None if it is deleted.
        mode: Permission bits; None for those of a new file.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeOwner:
    """The owner of a change.

    Attributes:
        tenant: Id of the only tenant that sees and may undo it; 0 without tenants.
        user: The user who made it; empty without users.
    """

    tenant: int = 0
    user: str = ""


NOBODY: Final = ChangeOwner()


@dataclass(frozen=True, slots=True)
class EntryHeader:
    """An entry without the bytes of its files.

    Attributes:
        id: Id of the change; increasing.
        root: Folder of the workspace.
        action: What is done, in words.
        when: Start time.
        files: Paths in the order in which they are written.
        folders: Paths of the folders to create, outermost first.
        undoes: Id of the change that it undoes; empty if none.
        owner: Owner of the change.
    """

    id: str
    root: str
    action: str
    when: dt.datetime
    files: tuple[str, ...]
    folders: tuple[str, ...] = ()
    undoes: str = ""
    owner: ChangeOwner = NOBODY


@dataclass(frozen=True, slots=True)
class Entry:
    """A change with everything needed to make it or take it back."""

    head: EntryHeader
    steps: tuple[FileStep, ...]


class Journal:
    """The changes of one workspace by all tenants that have it; any of them completes what another left unfinished.

    Args:
        folder: Folder of the journal, created with the first change.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        """Create its folder, which only its owner can enter."""
        if not self._folder.is_dir():
            make_private(self._folder)
            sync_to_disk(self._folder.parent)
            sync_to_disk(self._folder.parent.parent)

    @property
    def lock_path(self) -> Path:
        """A file to lock if the workspace's folder cannot be locked."""
        return self._folder / "lock"

    def next_id(self) -> str:
        """Return an id for the next change; the caller holds the lock."""
        last = max((number for number, _, _ in self._names()), default=0)
        return f"{last + 1}-{secrets.token_hex(3)}"

    def begin(self, entry: Entry) -> None:
        """Write an entry to disk before its change starts."""
        draft = self._folder / f".{entry.head.id}.new"
        try:
            with draft.open("xb") as file:
                file.write(json.dumps(_of_head(entry.head)).encode() + b"\n")
                file.writelines(json.dumps(_of_step(step)).encode() + b"\n" for step in entry.steps)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self._path(entry.head.id, "pending"))
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
        sync_to_disk(self._folder)

    def finish(self, change_id: str, state: State) -> None:
        """Record the outcome of an entry."""
        self._path(change_id, "pending").rename(self._path(change_id, state))
        sync_to_disk(self._folder)

    def drop(self, change_id: str) -> None:
        """Delete an entry of which nothing was done."""
        self._path(change_id, "pending").unlink(missing_ok=True)
        sync_to_disk(self._folder)

    def pending(self) -> list[Entry]:
        """Return the entries whose writer did not finish."""
        return [self._read(path) for _, state, path in sorted(self._names()) if state == "pending"]

    def heads(self, tenant: int) -> Iterator[tuple[EntryHeader, State]]:
        """Yield the headers of a tenant's entries, the last first; unreadable ones are skipped."""
        for _, state, path in sorted(self._names(), reverse=True):
            head = _head_in(path)
            if head is not None and head.owner.tenant == tenant:
                yield head, state

    def entry(self, change_id: str, tenant: int) -> tuple[Entry, State]:
        """Return an entry of a tenant.

        Raises:
            NotFound: It never existed, or is no longer kept.
        """
        for _, state, path in self._names():
            if path.stem == change_id and (entry := self._read(path)).head.owner.tenant == tenant:
                return entry, state
        raise NotFound(
            f"There is no change {change_id!r} to undo.",
            hint=f"The last {KEPT} changes of each workspace are kept, for {KEPT_DAYS} days: list them first.",
        )

    def path_of(self, change_id: str) -> Path:
        """Return the file of an entry."""
        return next((path for _, _, path in self._names() if path.stem == change_id), self._folder)

    def prune(self, now: dt.datetime) -> None:
        """Delete entries that are too old, and leftover drafts; one tenant's changes never displace another's."""
        for draft in self._folder.glob(".*.new"):
            draft.unlink(missing_ok=True)
        oldest = (now - dt.timedelta(days=KEPT_DAYS)).timestamp()
        settled = [path for _, state, path in sorted(self._names(), reverse=True) if state != "pending"]
        heads = {path: _head_in(path) for path in settled} if len(settled) > KEPT else {}
        seen: Counter[int] = Counter()
        for place, path in enumerate(settled):
            head = heads.get(path)
            tenant = head.owner.tenant if head is not None else NOBODY.tenant
            if seen[tenant] >= KEPT or (place and path.stat().st_mtime < oldest):
                path.unlink(missing_ok=True)
            seen[tenant] += 1

    def forget(self, tenant: int) -> bool:
        """Delete a tenant's entries; return False, and keep all, if any change is pending."""
        names = list(self._names())
        if any(state == "pending" for _, state, _ in names):
            return False
        for _, _, path in names:
            head = _head_in(path)
            if head is not None and head.owner.tenant == tenant:
                path.unlink(missing_ok=True)
        if names:
            sync_to_disk(self._folder)
        return True

    def _names(self) -> Iterator[tuple[int, State, Path]]:
        with suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                if match := _NAME.fullmatch(path.name):
                    state: Any = match[2]
                    yield int(match[1]), state, path

    def _path(self, change_id: str, state: State) -> Path:
        return self._folder / f"{change_id}.{state}"

    def _read(self, path: Path) -> Entry:
        head, *steps = path.read_bytes().splitlines()
        values = [json.loads(step) for step in steps]
        made = [FileStep(one["path"], _content(one["before"]), _content(one["after"]), one["mode"]) for one in values]
        return Entry(_head(json.loads(head)), tuple(made))


def sync_to_disk(place: Path) -> None:
    """Wait until a file's content, or a folder's names, are on disk."""
    if sys.platform == "win32":  # an open for reading cannot wait for either
        return
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _head_in(path: Path) -> EntryHeader | None:
    """Return the header of an entry's file; None if it cannot be read."""
    with suppress(OSError, ValueError, KeyError), path.open("rb") as file:
        return _head(json.loads(file.readline()))
    return None


def _of_head(head: EntryHeader) -> dict[str, Any]:
    return {
        "id": head.id,
        "workspace": head.root,
        "action": head.action,
        "when": head.when.isoformat(),
        "files": head.files,
        "folders": head.folders,
        "undoes": head.undoes,
        "tenant": head.owner.tenant,
        "user": head.owner.user,
    }


def _head(value: Mapping[str, Any]) -> EntryHeader:
    return EntryHeader(
        id=value["id"],
        root=value["workspace"],
        action=value["action"],
        when=dt.datetime.fromisoformat(value["when"]),
        files=tuple(value["files"]),
        folders=tuple(value["folders"]),
        undoes=value["undoes"],
        owner=ChangeOwner(value.get("tenant", 0), value.get("user", "")),
    )


def _of_step(step: FileStep) -> dict[str, Any]:
    return {
        "path": step.path,
        "mode": step.mode,
        "before": _of_content(step.before),
        "after": _of_content(step.after),
    }


def _of_content(content: bytes | None) -> str | dict[str, str] | None:
    """Return text as text, so that people can read the journal."""
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _content(value: str | Mapping[str, str] | None) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else base64.b64decode(value["base64"])
