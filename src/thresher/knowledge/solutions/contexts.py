"""Finds the workspace and the solution or module that a caller works in.

The workspace is the one chosen in the client's folder, or else the one around that folder, or else the last chosen one,
or else the only one. In it the caller's last choice counts before the client's folder, and that before the only
solution.

Invariant: a choice that no longer exists is not used, and a note says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from thresher.core import Caller, InvalidInput, NotFound, shortened
from thresher.knowledge.solutions import queries
from thresher.knowledge.solutions.models import ObjectKind, Project, SolutionContext
from thresher.knowledge.solutions.queries import Choice, KnownWorkspace
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.knowledge.solutions.workspace import Workspace
from thresher.knowledge.solutions.workspaces import Workspaces, owner_of, unknown_workspace
from thresher.store import Database, run_retrying

_MISSING: Final = 10
_LONGEST: Final = 100
"""Maximum modules in a note, and maximum characters of each."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The workspace and solution that a caller works in.

    Attributes:
        known: The workspace; None if there is none or it is ambiguous.
        workspace: The opened workspace.
        active: Solution or module.
        source: How it was found.
        notes: Warnings about it.
        names: Names of all workspaces that the caller sees.
        projects: Solutions and modules of the workspace.
    """

    known: KnownWorkspace | None
    workspace: Workspace | None
    active: str | None
    source: str
    notes: tuple[str, ...]
    names: tuple[str, ...]
    projects: tuple[Project, ...] = ()


class Contexts:
    """Finds and changes where callers work.

    Args:
        database: Where choices are stored.
        workspaces: The workspaces.
    """

    def __init__(self, database: Database, workspaces: Workspaces) -> None:
        self._database = database
        self._workspaces = workspaces

    async def select(self, caller: Caller) -> Selection:
        """Return where the caller works."""
        known = await self._workspaces.known(caller)
        chosen = await queries.choices(self._database, caller) if known else []
        one, here = workspace_of(tuple(known.values()), chosen, caller.project)
        if one is None:
            return Selection(None, None, None, "", (), tuple(known))
        try:
            workspace = await self._workspaces.opened(one)
        except NotFound as error:
            return Selection(one, None, None, "", (str(error),), tuple(known))
        projects = await asyncio.to_thread(workspace.projects)
        choice = here or next((choice for choice in chosen if choice.workspace == one.id), None)
        active, source, notes = active_of(projects, choice, one.path, caller.project)
        return Selection(one, workspace, active, source, notes, tuple(known), tuple(projects))

    async def work_context(self, caller: Caller) -> WorkContext:
        """Return the context of a call.

        Raises:
            NotFound: There is no workspace.
            InvalidInput: There are several, and none is chosen.
        """
        selection = await self.select(caller)
        if selection.known is None:
            raise _unclear(selection.names)
        workspace = selection.workspace or await self._workspaces.opened(selection.known)
        projects = tuple(one.name for one in selection.projects)
        return WorkContext(workspace, selection.known.name, selection.active, projects, owner_of(caller))

    async def work_context_in(self, caller: Caller, workspace: str) -> WorkContext:
        """Return the context of a call in a named workspace; empty for the current one."""
        if not workspace:
            return await self.work_context(caller)
        known = await self._workspaces.found(caller, workspace)
        return await asyncio.to_thread(WorkContext.at, await self._workspaces.opened(known), known.name)

    async def workspace_name(self, caller: Caller) -> str:
        """Return the name of the workspace where the caller works; errors as of `work_context`."""
        selection = await self.select(caller)
        if selection.known is None:
            raise _unclear(selection.names)
        return selection.known.name

    async def shown(self, caller: Caller) -> SolutionContext:
        """Return where the caller works, as a record."""
        selection = await self.select(caller)
        if selection.known is None:
            return SolutionContext(None, None, workspaces=selection.names, notes=(str(_unclear(selection.names)),))
        if selection.workspace is None:
            return SolutionContext(selection.known.name, None, workspaces=selection.names, notes=selection.notes)
        return await asyncio.to_thread(_context_record, selection, selection.known, selection.workspace)

    async def choose(self, caller: Caller, active: str, workspace: str) -> SolutionContext:
        """Choose a solution or module."""
        known = await self._chosen(caller, active, workspace)
        context = await asyncio.to_thread(WorkContext.at, await self._workspaces.opened(known), known.name)
        project = await asyncio.to_thread(context.project, active)
        await run_retrying(self._database, caller.tenant, lambda link: queries.choose(link, caller, known.id, project))
        return await self.shown(caller)

    async def _chosen(self, caller: Caller, active: str, workspace: str) -> KnownWorkspace:
        """Return the workspace that a choice means."""
        if workspace:
            return await self._workspaces.found(caller, workspace)
        selection = await self.select(caller)
        seen = await self._workspaces.known(caller)
        if not seen:
            raise unknown_workspace("", ())
        having = [one for one in seen.values() if await self._has(one, active)]
        if selection.known is not None and (selection.known in having or not having):
            return selection.known
        if len(having) > 1:
            names = ", ".join(one.name for one in having)
            raise InvalidInput(
                f"Several workspaces have a solution '{active[:80]}': {names}.", hint="Name the workspace."
            )
        if having:
            return having[0]
        raise NotFound(f"No workspace has a solution or module '{active[:80]}'.", hint="Name the workspace too.")

    async def _has(self, known: KnownWorkspace, project: str) -> bool:
        try:
            workspace = await self._workspaces.opened(known)
        except NotFound:
            return False
        names = await asyncio.to_thread(workspace.projects)
        return any(one.name.casefold() == project.casefold() for one in names)


def workspace_of(
    known: Sequence[KnownWorkspace], chosen: Sequence[Choice], folder: str
) -> tuple[KnownWorkspace | None, Choice | None]:
    """Return the workspace that a caller works in, and its choice there if that decided.

    Args:
        known: The workspaces that it sees.
        chosen: Its choices, the last first.
        folder: Folder of its client; empty if unknown.
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
    """Return the solution or module that a caller works in, how it was found, and warnings.

    Args:
        projects: Solutions and modules of the workspace.
        choice: The caller's choice in it.
        root: Folder of the workspace.
        folder: Folder of the caller's client; empty if unknown.
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


def _by_folder(known: Sequence[KnownWorkspace], folder: Path) -> KnownWorkspace | None:
    """Return the innermost workspace around a folder, or else the only one below it."""
    around = [one for one in known if folder.is_relative_to(one.path)]
    if around:
        return max(around, key=lambda one: len(one.path.parts))
    below = [one for one in known if one.path.is_relative_to(folder)]
    return below[0] if len(below) == 1 else None


def _unclear(names: Sequence[str]) -> NotFound | InvalidInput:
    if not names:
        return unknown_workspace("", ())
    return InvalidInput(
        f"There are several workspaces: {', '.join(names[:20])}.",
        hint="Choose a solution of one of them with set_solution_context.",
    )


def _context_record(selection: Selection, known: KnownWorkspace, workspace: Workspace) -> SolutionContext:
    projects = selection.projects
    context = WorkContext(workspace, known.name, selection.active, tuple(one.name for one in projects))
    modules = context.reach(selection.active)[1:] if selection.active is not None else ()
    return SolutionContext(
        known.name,
        selection.active,
        selection.source,
        modules,
        projects,
        selection.names,
        (*selection.notes, *_notes(context, projects, modules)),
    )


def _first(names: Sequence[str]) -> str:
    """Return the first of some names from a file, which may be many and long."""
    more = f" and {len(names) - _MISSING} more" if len(names) > _MISSING else ""
    return ", ".join(shortened(name, _LONGEST) for name in names[:_MISSING]) + more


def _notes(context: WorkContext, projects: Sequence[Project], modules: Sequence[str]) -> list[str]:
    """Return warnings: no active solution, missing modules, files that cannot be read."""
    broken = list(context.workspace.problems())
    notes = ["No solution is active: choose one with set_solution_context."]
    if context.active is not None:
        used = {context.active, *modules}
        missing = [one for one in projects if one.name in used and one.missing]
        notes = [f"'{one.name}' uses modules that are not in the workspace: {_first(one.missing)}." for one in missing]
        for kind in get_args(ObjectKind):
            broken += context.workspace.objects(kind, tuple(used))[1]
    notes += [f"{file.path} cannot be read: {file.message}" for file in broken[:5]]
    return notes + ([f"{len(broken) - 5} more files cannot be read."] if len(broken) > 5 else [])
