"""The places where packs are looked for, and who wins where two have packs of one name.

Invariant: nothing is imported and nothing of a place is run to find it; a project's places end at its repository.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thresher.core import Settings
from thresher.knowledge.intents.models import Origin, PackProblem

GROUP: Final = "thresher.packs"
"""Entry points of this group name a Python package whose folder holds packs."""
_SKILLS: Final = (".agents/skills", ".claude/skills")
_RULES: Final = (".cursor/rules", ".github/instructions")
_OUTWARDS: Final = 20


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to search, or a single pack.

    Attributes:
        path: A folder of packs, a pack's own folder, or a rule file; it need not exist.
        origin: What is found there counts as this.
        within: What a link in it may not leave; None where links lead where they will.
    """

    path: Path
    origin: Origin
    within: Path | None = None

    def real(self, path: Path) -> Path | None:
        """Where a path below the place lies; None where a link leads to nothing, or out of what it may not leave."""
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
        home: The person's home folder; None where its packs are not wanted.
        problems: Entry points that lead nowhere.
    """

    built_in: Path | None = None
    packages: tuple[Path, ...] = ()
    configured: tuple[Path, ...] = ()
    home: Path | None = None
    problems: tuple[PackProblem, ...] = ()

    def places(self, project: str = "") -> tuple[Place, ...]:
        """Every place, for a client whose project lies in this folder.

        A later origin wins a name clash; inside one origin, an earlier place does.

        Args:
            project: Absolute folder; empty where none is known.
        """
        found = [Place(self.built_in, "built-in")] if self.built_in else []
        found += [Place(path, "entry point") for path in self.packages]
        found += [Place(path, "configured") for path in self.configured]
        if self.home is not None:
            found += [Place(self.home / folder, "user") for folder in _SKILLS]
        folders = _folders_of(Path(project)) if project else list[Path]()
        for folder in folders:
            found += [Place(folder / name, "project", within=folders[-1]) for name in (*_SKILLS, *_RULES)]
        return tuple(found)


def sources_of(settings: Settings, built_in: Path | None = None) -> Sources:
    """The sources that the settings ask for. Looks at the installed packages: once a start is enough.

    Args:
        settings: `packs` and `home_packs` count.
        built_in: The folder of packs that ship with Thresher.
    """
    packages, problems = installed_packs()
    home = Path.home() if settings.home_packs == "on" else None
    return Sources(built_in, packages, settings.packs, home, problems)


def installed_packs() -> tuple[tuple[Path, ...], tuple[PackProblem, ...]]:
    """Folders that installed Python packages offer, without importing them, and entry points that lead nowhere."""
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
        roots += [Path(place).parent for place in (spec.submodule_search_locations or ()) if spec] if spec else []
    except (ImportError, ValueError):
        pass
    if point.dist is not None:
        roots.append(Path(str(point.dist.locate_file(""))))
    for root in roots:
        if steps[0].isidentifier() and (folder := root.joinpath(*steps)).is_dir():
            yield folder.resolve()


def _folders_of(project: Path) -> list[Path]:
    """The project's folder and those around it up to its repository; the folder alone without one."""
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
