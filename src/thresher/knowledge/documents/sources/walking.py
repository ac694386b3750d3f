"""Walks through a folder as git would: what `.gitignore` files leave out is left out, links are not followed.

Invariant: bounded in depth and entries; names are in the order of their bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Skipped
from thresher.knowledge.documents.sources.apart.places import Entry, Place
from thresher.knowledge.documents.sources.naming import PASSED_OVER, odd, path_of
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.selecting import Rules, Selection, rules_of

_ENTRIES: Final = 1_000_000
_IGNORE_FILE: Final = ".gitignore"
_LARGEST_RULES: Final = 1 << 20
_HIGHEST: Final = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of a folder.

    Attributes:
        path: Below the root, with `/`.
        status: Its size, times and number in the file system.
    """

    path: str
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class _Level:
    """An ignore file's rules, and how a path below the root is seen from where it lies."""

    rules: Rules
    lead: str = ""
    cut: int = 0

    def decide(self, path: str, *, folder: bool) -> bool | None:
        return self.rules.decide(self.lead + path[self.cut :], folder=folder)


class Walk:
    """One walk through a folder.

    Args:
        place: The folder.
        selection: What is wanted of it.
        limits: How long it may take.
        apart: Folders that are never entered.
    """

    def __init__(self, place: Place, selection: Selection, limits: Limits, apart: tuple[Path, ...] = ()) -> None:
        self._place = place
        self._selection = selection
        self._until = time.monotonic() + limits.seconds
        self._seconds = limits.seconds
        self._apart = {_identity(path) for path in apart} - {None}
        self._seen = 0
        self.skipped: list[Skipped] = []
        """What was passed over; a folder's path ends with a slash."""

    def files(self) -> Iterator[Listed]:
        """The files that names and ignore files do not leave out.

        Raises:
            InvalidInput: There are too many entries, or the walk takes too long.
        """
        waiting: list[tuple[tuple[str, ...], tuple[_Level, ...]]] = [((), tuple(_above(self._place.root)))]
        while waiting:
            steps, levels = waiting.pop()
            entries = self._entries(steps)
            levels = (*levels, *self._level(steps, entries))
            below: list[tuple[tuple[str, ...], tuple[_Level, ...]]] = []
            for entry in entries:
                path = "/".join((*steps, entry.name))
                if not self._is_wanted(path, entry, levels):
                    continue
                if entry.kind == "folder":
                    below.append(((*steps, entry.name), levels))
                else:
                    yield Listed(path, entry.status)
            waiting += reversed(below)

    def _entries(self, steps: tuple[str, ...]) -> list[Entry]:
        try:
            entries = self._place.entries(steps)
        except OSError as error:
            self.skipped.append(Skipped("/".join(steps) + "/", "unreadable", f"{error.strerror or 'It is gone'}."))
            return []
        self._seen += len(entries)
        if self._seen > _ENTRIES:
            raise InvalidInput(
                f"The folder holds more than {_ENTRIES:,} entries.", hint="Index a folder of it, or use --exclude."
            )
        if time.monotonic() > self._until:
            raise InvalidInput(
                f"Listing the folder took longer than {self._seconds:g} s.",
                hint="Index a folder of it, use --exclude, or raise THRESHER_SOURCE_SECONDS.",
            )
        return entries

    def _level(self, steps: tuple[str, ...], entries: list[Entry]) -> Iterator[_Level]:
        """The rules of the ignore file in a folder, if it has one."""
        for entry in entries:
            if entry.name == _IGNORE_FILE and entry.kind == "file" and entry.status.st_size <= _LARGEST_RULES:
                try:
                    with self._place.opened((*steps, entry.name)) as stream:
                        rules = rules_of(stream.read(_LARGEST_RULES))
                except (OSError, InvalidInput):
                    return
                if rules.patterns:
                    yield _Level(rules, cut=len("/".join(steps)) + 1 if steps else 0)

    def _is_wanted(self, path: str, entry: Entry, levels: tuple[_Level, ...]) -> bool:
        skipped = self._refused(path, entry) or self._ignored(path, entry, levels)
        if skipped is not None:
            self.skipped.append(skipped)
        return skipped is None

    def _refused(self, path: str, entry: Entry) -> Skipped | None:
        name = os.fsencode(path)
        if path_of(name) is None:
            return odd(name)
        if entry.kind == "link":
            return Skipped(path, "link", "Links are not followed; index what it leads to where that lies.")
        if entry.kind == "other":
            return Skipped(path, "unreadable", "It is a pipe, a socket or a device.")
        if entry.kind == "folder" and (entry.name in PASSED_OVER or _key(entry.status) in self._apart):
            return Skipped(f"{path}/", "ignored", "Tools fill this folder.")
        if entry.kind == "folder" and self._selection.passes_over(path):
            return Skipped(f"{path}/", "excluded", "A pattern excludes it.")
        return self._selection.judge(path) if entry.kind == "file" else None

    def _ignored(self, path: str, entry: Entry, levels: tuple[_Level, ...]) -> Skipped | None:
        folder = entry.kind == "folder"
        if entry.name == ".git":
            return Skipped(path, "ignored", "It says where git keeps the repository.")
        for level in reversed(levels):
            decision = level.decide(path, folder=folder)
            if decision is not None:
                shown = f"{path}/" if folder else path
                return Skipped(shown, "ignored", "A .gitignore leaves it out.") if decision else None
        return None


def _above(root: Path) -> Iterator[_Level]:
    """The rules of the git checkout that a folder belongs to, outermost first."""
    top = next((folder for folder in (root, *root.parents)[:_HIGHEST] if (folder / ".git").exists()), None)
    if top is None:
        return
    lead = root.relative_to(top).as_posix()
    yield from _rules_at(top / ".git" / "info" / "exclude", "" if lead == "." else f"{lead}/")
    for folder in reversed(root.parents):
        if folder.is_relative_to(top):
            yield from _rules_at(folder / _IGNORE_FILE, f"{root.relative_to(folder).as_posix()}/")


def _rules_at(path: Path, lead: str) -> Iterator[_Level]:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_RULES:
            return
        rules = rules_of(path.read_bytes())
    except OSError:
        return
    if rules.patterns:
        yield _Level(rules, lead)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        return _key(path.stat())
    except OSError:
        return None


def _key(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
