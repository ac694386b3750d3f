"""Walks through a place and names what may be a pack there.

Invariant: bounded in depth and breadth; a link is followed at the top alone, and never out of what it may not leave.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from thresher.knowledge.intents.models import PackProblem
from thresher.knowledge.intents.reader import RULES, is_rule_file
from thresher.knowledge.intents.sources import Place

_DEPTH: Final = 4
_FOLDERS: Final = 2_000
_ENTRIES: Final = 5_000
_PACKS: Final = 1_000
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__"})


class Walk:
    """One search of a place.

    Args:
        place: Where.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self.folders: list[Path] = []
        """The folders that were listed."""
        self.problems: list[PackProblem] = []

    def packs(self) -> Iterator[Path]:
        """Folders with a `SKILL.md`, and rule files: those nearest to the top first, each level by name."""
        root = self._place.path
        if is_rule_file(root.name) or (not root.is_dir() and self._place.origin == "configured"):
            if root.exists():
                yield root
            else:
                self._problem(root, "There is nothing at this place.", "Correct THRESHER_PACKS.")
            return
        if root.is_symlink() and self.real(root) is None:
            return
        found = 0
        for path in self._below(root):
            if (found := found + 1) > _PACKS:
                return self._problem(root, f"It holds more than {_PACKS:,} packs; the rest is left out.", "")
            yield path

    def label(self, path: Path) -> str:
        """A rule file's path below the place, which tells `backend/style.mdc` from `frontend/style.mdc`."""
        return path.relative_to(self._place.path).as_posix() if path != self._place.path else path.name

    def _below(self, root: Path) -> Iterator[Path]:
        waiting = deque([(root, 0)])
        while waiting:
            folder, depth = waiting.popleft()
            names = self._names(folder)
            if names is None:
                continue
            if any(name.lower() == RULES.lower() for name in names):
                yield folder
                continue
            yield from (folder / name for name in names if is_rule_file(name))
            if depth < _DEPTH:
                inner = [folder / name for name in names if name not in _PASSED_OVER and not name.startswith(".")]
                waiting += [(path, depth + 1) for path in inner if self._is_folder(path, depth)]

    def real(self, path: Path) -> Path | None:
        """Where a path really lies; None, with a problem, where a link leads out of what it may not leave."""
        if (real := self._place.real(path)) is None:
            self._problem(path, "It is a link out of the project, or to nothing.", "Copy the folder to this place.")
        return real

    def _is_folder(self, path: Path, depth: int) -> bool:
        """A folder; a link to one only at the top, where people and installers put them."""
        try:
            if path.is_symlink():
                return depth == 0 and self.real(path) is not None and path.is_dir()
            return path.is_dir()
        except OSError:
            return False

    def _names(self, folder: Path) -> list[str] | None:
        """What a folder holds, sorted; None where it cannot be listed, or enough have been."""
        if len(self.folders) >= _FOLDERS:
            if len(self.folders) == _FOLDERS:
                self._problem(self._place.path, f"It holds more than {_FOLDERS:,} folders; the rest is left out.", "")
                self.folders.append(folder)
            return None
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) > _ENTRIES:
                        self._problem(
                            folder, f"It holds more than {_ENTRIES:,} entries.", "Give packs their own folder."
                        )
                        return None
        except FileNotFoundError:
            return None
        except OSError as error:
            self._problem(folder, f"It cannot be listed: {error.strerror or error}.", "Look at its rights.")
            return None
        self.folders.append(folder)
        return sorted(names)

    def _problem(self, path: Path, message: str, hint: str) -> None:
        self.problems.append(PackProblem(path, message, hint))
