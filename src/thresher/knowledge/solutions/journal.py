"""What was changed in a workspace, kept outside of it: before the first write to finish it, afterwards to undo it.

Invariant: an entry appears whole or not at all, and nothing of a workspace is written before its entry is on disk.
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
"""Begun; done; interrupted, and others changed its files before it was found."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one file becomes.

    Attributes:
        path: Relative to the workspace.
        before: Its bytes before; None: there was no such file.
        after: Its bytes afterwards; None: it goes.
        mode: Its permission bits; None: those of any new file.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a change is.

    Attributes:
        tenant: Id of the tenant, which alone sees it and may undo it; 0 where none is told apart.
        user: Who made it; empty where users are not told apart.
    """

    tenant: int = 0
    user: str = ""


NOBODY: Final = Owner()


@dataclass(frozen=True, slots=True)
class Head:
    """What an entry is about, without the bytes of its files.

    Attributes:
        id: Of the change; grows.
        root: The workspace.
        action: In words.
        when: When it was begun.
        files: Paths, in the order in which they are written.
        folders: Paths of the folders that are made for them, outermost first.
        undoes: Id of the change that it takes back, or empty.
        owner: Whose it is.
    """

    id: str
    root: str
    action: str
    when: dt.datetime
    files: tuple[str, ...]
    folders: tuple[str, ...] = ()
    undoes: str = ""
    owner: Owner = NOBODY


@dataclass(frozen=True, slots=True)
class Entry:
    """A change with all that is needed to make it, or to take it back."""

    head: Head
    steps: tuple[Step, ...]


class Journal:
    """The changes of one workspace, of all tenants that know it: what one of them left half done, any other completes.

    Args:
        folder: Where it is kept; made when the first change is written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        """Make its folder, which only its owner can enter."""
        if not self._folder.is_dir():
            make_private(self._folder)
            synced(self._folder.parent)
            synced(self._folder.parent.parent)

    @property
    def lock_path(self) -> Path:
        """A file to be locked where the workspace's folder cannot be."""
        return self._folder / "lock"

    def next_id(self) -> str:
        """An id for the next change; the caller holds the workspace."""
        last = max((number for number, _, _ in self._names()), default=0)
        return f"{last + 1}-{secrets.token_hex(3)}"

    def begin(self, entry: Entry) -> None:
        """Put an entry on disk, before anything of it is done."""
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
        synced(self._folder)

    def finish(self, change_id: str, state: State) -> None:
        """Note what became of an entry."""
        self._path(change_id, "pending").rename(self._path(change_id, state))
        synced(self._folder)

    def drop(self, change_id: str) -> None:
        """Forget an entry of which nothing was done."""
        self._path(change_id, "pending").unlink(missing_ok=True)
        synced(self._folder)

    def pending(self) -> list[Entry]:
        """Entries whose writer did not come to the end."""
        return [self._read(path) for _, state, path in sorted(self._names()) if state == "pending"]

    def heads(self, tenant: int) -> Iterator[tuple[Head, State]]:
        """All that a tenant did, the last first; an entry that cannot be read is left out."""
        for _, state, path in sorted(self._names(), reverse=True):
            head = _head_in(path)
            if head is not None and head.owner.tenant == tenant:
                yield head, state

    def entry(self, change_id: str, tenant: int) -> tuple[Entry, State]:
        """One entry of a tenant.

        Raises:
            NotFound: It was never, or is no longer kept.
        """
        for _, state, path in self._names():
            if path.stem == change_id and (entry := self._read(path)).head.owner.tenant == tenant:
                return entry, state
        raise NotFound(
            f"There is no change {change_id!r} to undo.",
            hint=f"The last {KEPT} changes of each workspace are kept, for {KEPT_DAYS} days: list them first.",
        )

    def path_of(self, change_id: str) -> Path:
        """The file of an entry."""
        return next((path for _, _, path in self._names() if path.stem == change_id), self._folder)

    def prune(self, now: dt.datetime) -> None:
        """Let go of what is too old, and of drafts that were left behind; no tenant's changes push out another's."""
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
        """Let go of all that a tenant did; False where anything is pending, for then all is kept."""
        names = list(self._names())
        if any(state == "pending" for _, state, _ in names):
            return False
        for _, _, path in names:
            head = _head_in(path)
            if head is not None and head.owner.tenant == tenant:
                path.unlink(missing_ok=True)
        if names:
            synced(self._folder)
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
        return Entry(_head(json.loads(head)), tuple(_step(json.loads(step)) for step in steps))


def synced(place: Path) -> None:
    """Wait until a file's content, or a folder's names, are on disk."""
    if sys.platform == "win32":  # neither can be waited for by an open that only reads
        return
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _head_in(path: Path) -> Head | None:
    """What a file's entry is about; None where it cannot be read."""
    with suppress(OSError, ValueError, KeyError), path.open("rb") as file:
        return _head(json.loads(file.readline()))
    return None


def _of_head(head: Head) -> dict[str, Any]:
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


def _head(value: Mapping[str, Any]) -> Head:
    return Head(
        id=value["id"],
        root=value["workspace"],
        action=value["action"],
        when=dt.datetime.fromisoformat(value["when"]),
        files=tuple(value["files"]),
        folders=tuple(value["folders"]),
        undoes=value["undoes"],
        owner=Owner(value.get("tenant", 0), value.get("user", "")),
    )


def _of_step(step: Step) -> dict[str, Any]:
    return {
        "path": step.path,
        "mode": step.mode,
        "before": _of_content(step.before),
        "after": _of_content(step.after),
    }


def _step(value: Mapping[str, Any]) -> Step:
    return Step(value["path"], _content(value["before"]), _content(value["after"]), value["mode"])


def _of_content(content: bytes | None) -> str | dict[str, str] | None:
    """Text as text, so that a person can read what is kept."""
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
