"""Searches for packs: the locations, the walk through each, and whether anything has changed in them.

Invariant: nothing is imported or run to find a pack. A project's locations end at its repository. The walk is bounded
in depth and breadth; a link is followed only at the top, and never out of a project. One broken pack never stops the
rest, and a folder is read once. A `FolderWatch` reads no content, and looks only when asked and not too often.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thresher.core import InvalidInput, Settings
from thresher.knowledge.intents.client_files import BEGIN_FILE, FILES
from thresher.knowledge.intents.files import RULES_BYTES, TEXTS, opened
from thresher.knowledge.intents.models import FoundPacks, Origin, Pack, PackProblem
from thresher.knowledge.intents.reader import RULES, ReadPack, is_rule_file, read_pack

GROUP: Final = "thresher.packs"
"""Entry points of this group name a Python package whose folder holds packs."""
_SKILLS: Final = (".agents/skills", ".claude/skills")
_RULES: Final = (".cursor/rules", ".github/instructions")
_OUTWARDS: Final = 20


@dataclass(frozen=True, slots=True)
class PackLocation:
    """A folder to search, or a single pack.

    Attributes:
        path: A folder of packs, a pack's own folder, or a rule file; it need not exist.
        origin: The origin of packs found there.
        within: The folder that links in it must not leave; None if they may lead anywhere.
    """

    path: Path
    origin: Origin
    within: Path | None = None

    def real(self, path: Path) -> Path | None:
        """Return the real path of a path below the location; None if a link leads nowhere or out of bounds."""
        try:
            real = path.resolve(strict=True)
            kept = self.within is None or real.is_relative_to(self.within.resolve())
        except (OSError, RuntimeError):
            return None
        return real if kept else None


@dataclass(frozen=True, slots=True)
class Sources:
    """Where packs come from, apart from projects.

    Attributes:
        built_in: The folder of packs that ship with Thresher.
        packages: Folders of installed Python packages that offer packs.
        configured: Folders or files that a setting names.
        home: The person's home folder; None if its packs are not wanted.
        problems: Entry points that lead nowhere.
    """

    built_in: Path | None = None
    packages: tuple[Path, ...] = ()
    configured: tuple[Path, ...] = ()
    home: Path | None = None
    problems: tuple[PackProblem, ...] = ()

    def locations(self, project: str = "") -> tuple[PackLocation, ...]:
        """Return every location for a client whose project is in this folder.

        A later origin wins a name clash; inside one origin, an earlier location does.

        Args:
            project: Absolute folder; empty if none is known.
        """
        found = [PackLocation(self.built_in, "built-in")] if self.built_in else []
        found += [PackLocation(path, "entry point") for path in self.packages]
        found += [PackLocation(path, "configured") for path in self.configured]
        if self.home is not None:
            found += [PackLocation(self.home / folder, "user") for folder in _SKILLS]
        folders = _folders_of(Path(project)) if project else list[Path]()
        for folder in folders:
            found += [PackLocation(folder / name, "project", within=folders[-1]) for name in (*_SKILLS, *_RULES)]
        return tuple(found)


def sources_of(settings: Settings, built_in: Path | None = None) -> Sources:
    """Return the sources of these settings. Inspects the installed packages: once per start is enough.

    Args:
        settings: `packs` and `home_packs` are used.
        built_in: The folder of packs that ship with Thresher.
    """
    packages, problems = installed_packs()
    home = Path.home() if settings.home_packs == "on" else None
    return Sources(built_in, packages, settings.packs, home, problems)


def installed_packs() -> tuple[tuple[Path, ...], tuple[PackProblem, ...]]:
    """Return folders of packs in installed Python packages, without importing them, and problems of entry points."""
    folders: dict[Path, None] = {}
    problems: list[PackProblem] = []
    for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        folder = next(_folders_for(point), None)
        if folder is None:
            hint = f"Its value must name a Python package that is a folder: {GROUP} = {{ name = 'package.packs' }}."
            problems.append(PackProblem(Path(point.value), f"Entry point '{point.name}' leads to no folder.", hint))
        else:
            folders[folder] = None
    return tuple(folders), tuple(problems)


def _folders_for(point: importlib.metadata.EntryPoint) -> Iterator[Path]:
    steps = point.value.partition(":")[0].strip().split(".")
    roots: list[Path] = []
    try:
        spec = importlib.util.find_spec(steps[0])
        roots += [Path(location).parent for location in (spec.submodule_search_locations or ()) if spec] if spec else []
    except (ImportError, ValueError):
        pass
    if point.dist is not None:
        roots.append(Path(str(point.dist.locate_file(""))))
    for root in roots:
        if steps[0].isidentifier() and (folder := root.joinpath(*steps)).is_dir():
            yield folder.resolve()


def _folders_of(project: Path) -> list[Path]:
    """Return the project's folder and its parents up to its repository; the folder alone without one."""
    if not project.is_absolute():
        return []
    folders: list[Path] = []
    for folder in (project, *list(project.parents)[:_OUTWARDS]):
        folders.append(folder)
        try:
            if (folder / ".git").exists():
                return folders
        except OSError:
            break
    return [project]


_DEPTH: Final = 4
_FOLDERS: Final = 2_000
_ENTRIES: Final = 5_000
_PACKS: Final = 1_000
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__"})


class Walk:
    """One search of a location.

    Args:
        location: Where to search.
    """

    def __init__(self, location: PackLocation) -> None:
        self._location = location
        self.folders: list[Path] = []
        """The folders that were listed."""
        self.problems: list[PackProblem] = []

    def packs(self) -> Iterator[Path]:
        """Yield folders with a `SKILL.md`, and rule files: those nearest to the top first, each level by name."""
        root = self._location.path
        if is_rule_file(root.name) or (not root.is_dir() and self._location.origin == "configured"):
            if root.exists():
                yield root
            else:
                self._problem(root, "Nothing exists at this path.", "Correct THRESHER_PACKS.")
            return
        if root.is_symlink() and self.real(root) is None:
            return
        found = 0
        for path in self._below(root):
            if (found := found + 1) > _PACKS:
                return self._problem(root, f"It holds more than {_PACKS:,} packs; the rest is left out.", "")
            yield path

    def label(self, path: Path) -> str:
        """Return a rule file's path below the location, such as `backend/style.mdc`."""
        return path.relative_to(self._location.path).as_posix() if path != self._location.path else path.name

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
        """Return a real path; None, with a problem, if a link leads out of bounds."""
        if (real := self._location.real(path)) is None:
            self._problem(path, "It is a link out of the project, or to nothing.", "Copy the folder here.")
        return real

    def _is_folder(self, path: Path, depth: int) -> bool:
        """Return whether it is a folder; a link to one counts only at the top, where people and installers put them."""
        try:
            if path.is_symlink():
                return depth == 0 and self.real(path) is not None and path.is_dir()
            return path.is_dir()
        except OSError:
            return False

    def _names(self, folder: Path) -> list[str] | None:
        """Return the sorted names in a folder; None if it cannot be listed, or enough folders have been."""
        if len(self.folders) >= _FOLDERS:
            if len(self.folders) == _FOLDERS:
                self._problem(
                    self._location.path, f"It holds more than {_FOLDERS:,} folders; the rest is left out.", ""
                )
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
            self._problem(folder, f"It cannot be listed: {error.strerror or error}.", "Check its permissions.")
            return None
        self.folders.append(folder)
        return sorted(names)

    def _problem(self, path: Path, message: str, hint: str) -> None:
        self.problems.append(PackProblem(path, message, hint))


EVERY: Final = 2.0
"""Least seconds between two looks."""
_SHARE: Final = 20
"""After a slow look, as on a network drive, the pause is this many times as long."""
_UNWATCHED: Final = frozenset({"node_modules", ".git", "__pycache__"})
_WATCHED_DEPTH: Final = 10
_WATCHED_ENTRIES: Final = 20_000
_IN_FOLDER: Final = 1_200
"""More entries than a pack may have; of such a folder only the number of entries counts."""


class FolderWatch:
    """Compares the folders of some locations with their former state.

    Look before the packs are read: then the next look sees a change during the reading.

    Args:
        locations: What is watched.
        every: Least seconds between two looks.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self, locations: Iterable[PackLocation], *, every: float = EVERY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._locations = tuple(locations)
        self._every = every
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = b""
        self._next = clock()

    def is_due(self) -> bool:
        """Return whether it is time to look again; takes a microsecond, for the path of a request."""
        return self._clock() >= self._next

    def changed(self) -> bool:
        """Look, and return whether anything has changed since the last look; true the first time.

        Blocks for the file system (a millisecond for 100 files): call it beside the event loop. If two threads look at
        once, one does and the other gets false.
        """
        if not self._lock.acquire(blocking=False):
            return False
        begin = self._clock()
        try:
            seen = fingerprint(self._locations)
            changed, self._seen = seen != self._seen, seen
            return changed
        finally:
            end = self._clock()
            self._next = end + max(self._every, _SHARE * (end - begin))
            self._lock.release()


def fingerprint(locations: Iterable[PackLocation]) -> bytes:
    """Return a digest of the files of some locations: their names, sizes and times of change."""
    digest, left = hashlib.sha256(), _WATCHED_ENTRIES
    waiting = [(str(location.path), 0, location) for location in locations if _is_inside(location, location.path)]
    while waiting and left > 0:
        path, depth, location = waiting.pop()
        try:
            with os.scandir(path) as entries:
                kept = [entry for entry in entries if entry.name not in _UNWATCHED]
        except OSError:
            digest.update(_entry_state(path, Path(path)))
            continue
        inner = sorted(kept, key=lambda entry: entry.name)
        digest.update(b"%d" % len(inner))
        left -= len(inner)
        for entry in inner if len(inner) <= _IN_FOLDER else ():
            digest.update(_entry_state(entry.path, entry))
            if depth < _WATCHED_DEPTH and _is_folder(entry, depth, location):
                waiting.append((entry.path, depth + 1, location))
    return digest.digest()


def _is_inside(location: PackLocation, path: Path) -> bool:
    """Return whether a path is not a link, or a link that may be followed."""
    return not path.is_symlink() or location.real(path) is not None


def _is_folder(entry: os.DirEntry[str], depth: int, location: PackLocation) -> bool:
    try:
        return entry.is_dir(follow_symlinks=depth == 0) and _is_inside(location, Path(entry.path))
    except OSError:
        return False


def _entry_state(path: str, entry: os.DirEntry[str] | Path) -> bytes:
    try:
        told = entry.stat()
        line = f"{path!r} {told.st_ino} {told.st_size} {told.st_mtime_ns} {told.st_ctime_ns} {told.st_mode}\n"
    except OSError as error:
        line = f"{path!r} {error.errno}\n"
    return line.encode("utf-8", "replace")


_TEXT: Final[dict[Origin, int]] = {
    "built-in": 64 << 20, "entry point": 64 << 20, "configured": 64 << 20, "user": 64 << 20, "project": 4 << 20
}  # fmt: skip
"""Bytes of text in a location, which bound the scanner's work; a project can come from anyone."""


def discover(locations: Iterable[PackLocation], before: FoundPacks | None = None) -> FoundPacks:
    """Read every pack in some locations.

    Args:
        locations: As `Sources.locations` orders them.
        before: The former result; a pack with no changed byte is not read again.
    """
    known = _known(before or FoundPacks())
    packs: dict[Path, Pack] = {}
    problems: list[PackProblem] = []
    for location in locations:
        walk, left = Walk(location), _TEXT[location.origin]
        for path in walk.packs():
            if (real := walk.real(path)) is None or real in packs or _is_ours(real):
                continue
            if left < 0:
                problems.append(_too_much(location))
                break
            pack, said = _read(path, walk.label(path), real, location.origin, known)
            problems += said
            if pack is not None:
                packs[real] = pack
                left -= sum(one.size for one in pack.files if one.path.endswith(TEXTS) and one.size <= RULES_BYTES)
        problems += walk.problems
    return FoundPacks(tuple(packs.values()), tuple(problems))


def _read(
    path: Path, label: str, real: Path, origin: Origin, known: dict[tuple[Path, Origin], ReadPack]
) -> tuple[Pack | None, tuple[PackProblem, ...]]:
    """Return a pack with its warnings, or None and the error."""
    try:
        return read_pack(real, origin, label=label, before=known.get((real, origin)))
    except InvalidInput as error:
        return None, (PackProblem(path, error.message, error.hint),)
    except (OSError, RuntimeError, UnicodeError) as error:
        return None, (PackProblem(path, f"It cannot be read: {error}.", "Check the folder's permissions."),)


def _too_much(location: PackLocation) -> PackProblem:
    return PackProblem(
        location.path,
        f"It holds more than {_TEXT[location.origin] >> 20} MiB of text.",
        "Packs that come later are left out: remove some, or name them in THRESHER_PACKS.",
    )


def _known(before: FoundPacks) -> dict[tuple[Path, Origin], ReadPack]:
    mended: dict[Path, list[PackProblem]] = {}
    for problem in before.problems:
        mended.setdefault(problem.path, []).append(problem)
    return {(pack.path, pack.origin): (pack, tuple(mended.get(pack.path, ()))) for pack in before.packs}


def _is_ours(path: Path) -> bool:
    """Return whether it is the rule that `packs install` wrote for Cursor: its reader already follows it."""
    if path.name != Path(FILES["cursor"]).name:
        return False
    try:
        with opened(path) as stream:
            return BEGIN_FILE in stream.read(RULES_BYTES)
    except (OSError, InvalidInput):
        return False
