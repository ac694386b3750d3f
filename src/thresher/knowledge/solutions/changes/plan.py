"""A change before it is written: checked, ordered, and shown as a unified diff."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from thresher.core import InvalidInput, NotAllowed
from thresher.knowledge.solutions.changes.file_writer import changed_conflict, content, permissions
from thresher.knowledge.solutions.changes.journal import ChangeOwner, Entry, EntryHeader, FileStep
from thresher.knowledge.solutions.models import Change
from thresher.knowledge.solutions.workspace import FileChange

LONGEST: Final = 400
"""Maximum lines of a diff; `git diff` has the rest."""
_CONTEXT: Final = 3
_NO_FINAL_LINE_FEED: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """A change to make: its action, files and owner, the change it undoes, and the folders to delete if empty."""

    action: str
    steps: Sequence[FileStep]
    owner: ChangeOwner
    undoes: str = ""
    emptied: Sequence[str] = ()


def journal_entry(root: Path, change_id: str, plan: ChangePlan, when: dt.datetime) -> Entry:
    """Return the journal entry of a change, after checking that every file is what the change starts from."""
    folders: dict[str, None] = {}
    paths = [step.path for step in plan.steps]
    if len(set(paths)) < len(paths):
        raise InvalidInput("A change names one file twice.")
    for path in paths:
        folders.update(dict.fromkeys(_missing_folders(root, path)))
    if differ := [step.path for step in plan.steps if content(root, step.path) != step.before]:
        raise changed_conflict(differ)
    ordered = _ordered([_with_mode(root, step) for step in plan.steps])
    files = tuple(step.path for step in ordered)
    head = EntryHeader(change_id, str(root), plan.action, when, files, tuple(folders), plan.undoes, plan.owner)
    return Entry(head, ordered)


def change_record(change_id: str, plan: ChangePlan) -> Change:
    """Return a change as its caller sees it."""
    shown = [FileChange(step.path, step.before, step.after) for step in plan.steps]
    return Change(change_id, plan.action, tuple(step.path for step in plan.steps), unified(shown))


def _with_mode(root: Path, step: FileStep) -> FileStep:
    mode = permissions(root / step.path)
    return FileStep(step.path, step.before, step.after, step.mode if mode is None else mode)


def _ordered(steps: Sequence[FileStep]) -> tuple[FileStep, ...]:
    """Order deletions last, so that a kill leaves both files; but first if only the case of a name differs.

    On a file system that ignores case, deleting the old name last would delete the new file.
    """
    coming = {step.path.casefold() for step in steps if step.before is None}
    first = [step for step in steps if step.after is None and step.path.casefold() in coming]
    last = [step for step in steps if step.after is None and step not in first]
    between = [step for step in steps if step.after is not None]
    return (*first, *between, *last)


def _missing_folders(root: Path, path: str) -> list[str]:
    """Check that a path is in the workspace and writable; return the folders to create for it."""
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
        raise NotAllowed(f"{name} is a symbolic link, which is never written.", hint="Change its target.")
    # Checked by bits too: root may write anything, but whoever removed the bits wants the file unchanged.
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise NotAllowed(f"{name} is read-only.", hint="Nothing was changed. Make it writable, or choose another.")


def unified(changes: Sequence[FileChange], longest: int = LONGEST) -> str:
    """Return a unified diff of all files, with a maximum number of lines.

    A deleted file and a new file in its place are shown as a rename.
    """
    gone = [change for change in changes if change.after is None]
    come = [change for change in changes if change.before is None]
    lines: list[str] = []
    if len(gone) == len(come) == 1:
        lines.extend(_file(gone[0].path, come[0].path, gone[0].before, come[0].after))
        changes = [change for change in changes if change not in (gone[0], come[0])]
    for change in changes:
        lines.extend(_file(change.path, change.path, change.before, change.after))
    if len(lines) > longest:
        lines = [*lines[:longest], f"... {len(lines) - longest} more lines"]
    return "\n".join(lines)


def _file(old: str, new: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    if before == after:
        yield from (f"rename from {old}", f"rename to {new}")
        return
    if old != new:
        yield from (f"rename from {old}", f"rename to {new}")
    was, now = _lines(before), _lines(after)
    skipped = _alike(was, now)
    ending = _alike(was[skipped:][::-1], now[skipped:][::-1])
    start = max(skipped - _CONTEXT, 0)
    end = max(ending - _CONTEXT, 0)
    hunks = difflib.unified_diff(
        was[start : len(was) - end],
        now[start : len(now) - end],
        f"a/{old}" if before is not None else "/dev/null",
        f"b/{new}" if after is not None else "/dev/null",
        n=_CONTEXT,
        lineterm="",
    )
    for line in hunks:
        yield from (_moved(line, start) if line.startswith("@@") else line).split("\n")


def _alike(was: Sequence[str], now: Sequence[str]) -> int:
    """Return the number of equal lines at the start, which need not be compared in quadratic time."""
    count = 0
    for one, other in zip(was, now, strict=False):
        if one != other:
            break
        count += 1
    return count


def _moved(hunk: str, lines: int) -> str:
    """Return the header of a hunk with its line numbers moved."""

    def later(part: str) -> str:
        first, _, count = part[1:].partition(",")
        return f"{part[0]}{int(first) + lines}" + (f",{count}" if count else "")

    _, was, now, _ = hunk.split(" ", 3)
    return f"@@ {later(was)} {later(now)} @@"


def _lines(content: bytes | None) -> list[str]:
    """Split at line feeds only, and mark the last line if it has none."""
    if not content:
        return []
    lines = content.decode(errors="replace").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n{_NO_FINAL_LINE_FEED}"]
