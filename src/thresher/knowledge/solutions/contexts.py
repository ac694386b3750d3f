"""Where a caller works: in which workspace, and in which solution or module of it.

What a caller chose in the folder that its client works in goes first; then that folder says the workspace, else the
last choice does, else it is the only one. In a workspace the caller's last choice there goes before the folder of its
client, and that before the only solution.

Invariant: what was chosen and is gone is not used, and that is said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from thresher.core import Caller, InvalidInput, NotFound, shortened
from thresher.knowledge.solutions import queries
from thresher.knowledge.solutions.access import owner_of
from thresher.knowledge.solutions.desk import Desk
from thresher.knowledge.solutions.models import ObjectKind, Project, SolutionContext
from thresher.knowledge.solutions.queries import Choice, Known
from thresher.knowledge.solutions.workspace import Workspace
from thresher.knowledge.solutions.workspaces import Workspaces, unknown
from thresher.store import Database, run_retrying

_MISSING: Final = 10
_LONGEST: Final = 100
"""Modules that a note names, and characters of each."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a caller works.

    Attributes:
        known: The workspace; None where there is none, or it is not clear which.
        workspace: The same, opened.
        active: Solution or module.
        source: How it was found.
        notes: What must be known of that.
        names: Of all workspaces that the caller sees.
        projects: Solutions and modules of the workspace.
    """

    known: Known | None
    workspace: Workspace | None
    active: str | None
    source: str
    notes: tuple[str, ...]
    names: tuple[str, ...]
    projects: tuple[Project, ...] = ()


class Contexts:
    """Finds, shows and changes where callers work.

    Args:
        database: Where choices are kept.
        workspaces: Knows the workspaces.
    """

    def __init__(self, database: Database, workspaces: Workspaces) -> None:
        self._database = database
        self._workspaces = workspaces

    async def place(self, caller: Caller) -> Place:
        """Where the caller works."""
        known = await self._workspaces.known(caller)
        chosen = await queries.choices(self._database, caller) if known else []
        one, said = workspace_of(tuple(known.values()), chosen, caller.project)
        if one is None:
            return Place(None, None, None, "", (), tuple(known))
        try:
            workspace = await self._workspaces.opened(one)
        except NotFound as error:
            return Place(one, None, None, "", (str(error),), tuple(known))
        projects = await asyncio.to_thread(workspace.projects)
        choice = said or next((choice for choice in chosen if choice.workspace == one.id), None)
        active, source, notes = active_of(projects, choice, one.path, caller.project)
        return Place(one, workspace, active, source, notes, tuple(known), tuple(projects))

    async def desk(self, caller: Caller) -> Desk:
        """What a call of the caller works with.

        Raises:
            NotFound: There is no workspace.
            InvalidInput: It is not clear which.
        """
        place = await self.place(caller)
        if place.known is None:
            raise _unclear(place.names)
        workspace = place.workspace or await self._workspaces.opened(place.known)
        projects = tuple(one.name for one in place.projects)
        return Desk(workspace, place.known.name, place.active, projects, owner_of(caller))

    async def desk_in(self, caller: Caller, workspace: str) -> Desk:
        """The same in a workspace that the caller names; empty: where it works."""
        if not workspace:
            return await self.desk(caller)
        known = await self._workspaces.found(caller, workspace)
        return await asyncio.to_thread(Desk.at, await self._workspaces.opened(known), known.name)

    async def workspace_name(self, caller: Caller) -> str:
        """Name of the workspace where the caller works; raises as `desk` does."""
        place = await self.place(caller)
        if place.known is None:
            raise _unclear(place.names)
        return place.known.name

    async def shown(self, caller: Caller) -> SolutionContext:
        """Where the caller works, with what there is."""
        place = await self.place(caller)
        if place.known is None:
            return SolutionContext(None, None, workspaces=place.names, notes=(str(_unclear(place.names)),))
        if place.workspace is None:
            return SolutionContext(place.known.name, None, workspaces=place.names, notes=place.notes)
        return await asyncio.to_thread(_shown, place, place.known, place.workspace)

    async def choose(self, caller: Caller, active: str, workspace: str) -> SolutionContext:
        """Work in this solution or module from now on."""
        known = await self._chosen(caller, active, workspace)
        desk = await asyncio.to_thread(Desk.at, await self._workspaces.opened(known), known.name)
        project = await asyncio.to_thread(desk.project, active)
        await run_retrying(self._database, caller.tenant, lambda link: queries.choose(link, caller, known.id, project))
        return await self.shown(caller)

    async def _chosen(self, caller: Caller, active: str, workspace: str) -> Known:
        """The workspace that a choice means."""
        if workspace:
            return await self._workspaces.found(caller, workspace)
        place = await self.place(caller)
        seen = await self._workspaces.known(caller)
        if not seen:
            raise unknown("", ())
        having = [one for one in seen.values() if await self._has(one, active)]
        if place.known is not None and (place.known in having or not having):
            return place.known
        if len(having) > 1:
            names = ", ".join(one.name for one in having)
            raise InvalidInput(f"Several workspaces have a solution '{active[:80]}': {names}.", hint="Say which.")
        if having:
            return having[0]
        raise NotFound(f"No workspace has a solution or module '{active[:80]}'.", hint="Say the workspace too.")

    async def _has(self, known: Known, project: str) -> bool:
        try:
            workspace = await self._workspaces.opened(known)
        except NotFound:
            return False
        names = await asyncio.to_thread(workspace.projects)
        return any(one.name.casefold() == project.casefold() for one in names)


def workspace_of(known: Sequence[Known], chosen: Sequence[Choice], folder: str) -> tuple[Known | None, Choice | None]:
    """The workspace that a caller works in, and its choice there where that says so.

    Args:
        known: Those that it sees.
        chosen: What it chose, the last first.
        folder: That its client works in; empty where that is not known.
    """
    by_id = {one.id: one for one in known}
    seen = [choice for choice in chosen if choice.workspace in by_id]
    if (here := next((choice for choice in seen if choice.folder == folder), None)) is not None and folder:
        return by_id[here.workspace], here
    if folder and (found := _by_folder(known, Path(folder))) is not None:
        return found, None
    if seen:
        return by_id[seen[0].workspace], seen[0]
    return (known[0], None) if len(known) == 1 else (None, None)


def active_of(
    projects: Collection[Project], choice: Choice | None, root: Path, folder: str
) -> tuple[str | None, str, tuple[str, ...]]:
    """The solution or module that a caller works in, how that was found, and what must be known of it.

    Args:
        projects: Of the workspace.
        choice: The caller's in it.
        root: Its folder.
        folder: That the caller's client works in; empty where that is not known.
    """
    names = {one.name for one in projects}
    if choice is not None and choice.active in names:
        return choice.active, "chosen", ()
    gone = f"'{choice.active}', which was chosen, is no longer in the workspace." if choice is not None else ""
    notes = (gone,) if gone else ()
    if folder and Path(folder).is_relative_to(root):
        parts = Path(folder).relative_to(root).parts
        if parts and parts[0] in names:
            return parts[0], "client's folder", notes
    solutions = [one.name for one in projects if not one.module]
    only = solutions if len(solutions) == 1 else sorted(names)
    return (only[0], "only one", notes) if len(only) == 1 else (None, "", notes)


def _by_folder(known: Sequence[Known], folder: Path) -> Known | None:
    """The workspace around a folder, the innermost; else the only one below it."""
    around = [one for one in known if folder.is_relative_to(one.path)]
    if around:
        return max(around, key=lambda one: len(one.path.parts))
    below = [one for one in known if one.path.is_relative_to(folder)]
    return below[0] if len(below) == 1 else None


def _unclear(names: Sequence[str]) -> NotFound | InvalidInput:
    if not names:
        return unknown("", ())
    return InvalidInput(
        f"There are several workspaces: {', '.join(names[:20])}.",
        hint="Choose a solution of one of them with set_solution_context.",
    )


def _shown(place: Place, known: Known, workspace: Workspace) -> SolutionContext:
    projects = place.projects
    desk = Desk(workspace, known.name, place.active, tuple(one.name for one in projects))
    modules = desk.reach(place.active)[1:] if place.active is not None else ()
    return SolutionContext(
        known.name,
        place.active,
        place.source,
        modules,
        projects,
        place.names,
        (*place.notes, *_notes(desk, projects, modules)),
    )


def _first(names: Sequence[str]) -> str:
    """Names that a file says, which may be any number of any texts."""
    more = f" and {len(names) - _MISSING} more" if len(names) > _MISSING else ""
    return ", ".join(shortened(name, _LONGEST) for name in names[:_MISSING]) + more


def _notes(desk: Desk, projects: Sequence[Project], modules: Sequence[str]) -> list[str]:
    """What must be known where one works: no solution is active, modules are missing, files cannot be read."""
    broken = list(desk.workspace.problems())
    notes = ["No solution is active: choose one with set_solution_context."]
    if desk.active is not None:
        used = {desk.active, *modules}
        missing = [one for one in projects if one.name in used and one.missing]
        notes = [f"'{one.name}' uses modules that are not in the workspace: {_first(one.missing)}." for one in missing]
        for kind in get_args(ObjectKind):
            broken += desk.workspace.objects(kind, tuple(used))[1]
    notes += [f"{file.path} cannot be read: {file.message}" for file in broken[:5]]
    return notes + ([f"{len(broken) - 5} more files cannot be read."] if len(broken) > 5 else [])
