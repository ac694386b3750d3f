"""What people do with workspaces: add, list, remove; and their changes, as they are kept.

Invariant: a folder is looked into only after it is sure that the caller may add it; removing touches nothing on disk.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import (
    Caller,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Settings,
    ThresherError,
    checked_name,
    did_you_mean,
    event,
    nearest,
)
from thresher.knowledge.solutions import queries
from thresher.knowledge.solutions.access import may_add, owner_of
from thresher.knowledge.solutions.models import Backup, Broken, Change, WorkspaceInfo
from thresher.knowledge.solutions.queries import Known
from thresher.knowledge.solutions.servoy_workspace import METADATA
from thresher.knowledge.solutions.shelf import FORMAT, Shelf
from thresher.knowledge.solutions.storage import Storage
from thresher.knowledge.solutions.workspace import Workspace
from thresher.store import Database, clean, run_retrying

logger = logging.getLogger("thresher.knowledge.solutions")

OnSchema: TypeAlias = Callable[[Caller, str, Mapping[str, Path]], Awaitable[object]]
"""Told whose workspace of which name holds column information of which servers, in which folders; none: it is gone."""
_BROKEN_SHOWN: Final = 20


class Workspaces:
    """The workspaces of all tenants.

    Args:
        database: Where they are.
        settings: Who may add which folders.
        storage: Writes files, and keeps what was written.
        on_schema: Awaited whenever the column information of a workspace came, may have changed, or went.
    """

    def __init__(self, database: Database, settings: Settings, storage: Storage, on_schema: OnSchema | None) -> None:
        self._database = database
        self._settings = settings
        self._storage = storage
        self._on_schema = on_schema
        self._shelf = Shelf()
        self._told: dict[tuple[int, int], Mapping[str, Path]] = {}

    async def add(self, caller: Caller, path: str, name: str, *, replace: bool) -> WorkspaceInfo:
        """Keep a workspace under a name."""
        named = await asyncio.to_thread(_folder, caller, path, self._settings)
        name = checked_name(name or _name_of(named), "a workspace")
        folder = await asyncio.to_thread(_around, caller, named, self._settings)
        workspace = await asyncio.to_thread(self._shelf.workspace, folder)
        if not await asyncio.to_thread(workspace.projects):
            raise InvalidInput(f"{folder} holds no solution.", hint=await asyncio.to_thread(_elsewhere, folder))
        await run_retrying(
            self._database,
            caller.tenant,
            lambda link: self._written(link, caller, name, folder, replace=replace),
        )
        return await self.info(caller, name)

    async def _written(self, link: AsyncConnection, caller: Caller, name: str, folder: Path, *, replace: bool) -> None:
        own = await queries.own_workspaces(link, caller)
        other = next((one.name for one in own.values() if one.path == folder and one.name != name), None)
        if other is not None:
            raise Conflict(f"This folder is the workspace '{other}' already.", hint="Use it under that name.")
        if await queries.add_workspace(link, caller, name, folder, FORMAT):
            return
        if (known := own.get(name)) is not None and known.path != folder and not replace:
            raise Conflict(
                f"There is a workspace '{name}' already, in {known.path}.", hint="Choose another name, or replace it."
            )
        await queries.replace_workspace(link, caller, name, folder, FORMAT)

    async def known(self, caller: Caller) -> dict[str, Known]:
        """Those that the caller sees, by name."""
        return await queries.known(self._database, caller)

    async def found(self, caller: Caller, name: str) -> Known:
        """One that the caller sees.

        Raises:
            NotFound: There is none of this name.
        """
        known = await self.known(caller)
        if (one := known.get(name)) is None:
            raise unknown(name, list(known))
        return one

    async def opened(self, known: Known) -> Workspace:
        """A workspace, as it is on disk.

        Raises:
            NotFound: Its folder is not there, or leads elsewhere by a link that came since it was added.
        """
        if not await asyncio.to_thread(_is_there, known.path):
            raise NotFound(
                f"The folder of the workspace '{known.name}', {known.path}, is not there.",
                hint="Add it where it is now, with replace, or remove it.",
            )
        return await asyncio.to_thread(self._shelf.workspace, known.path)

    async def any(self, caller: Caller) -> bool:
        """Whether the caller sees one."""
        return bool(await self.known(caller))

    async def listed(self, caller: Caller) -> tuple[WorkspaceInfo, ...]:
        """All that the caller sees."""
        return tuple([await self._info(caller, one) for one in (await self.known(caller)).values()])

    async def info(self, caller: Caller, name: str) -> WorkspaceInfo:
        """One of them."""
        return await self._info(caller, await self.found(caller, name))

    async def _info(self, caller: Caller, known: Known) -> WorkspaceInfo:
        try:
            workspace = await self.opened(known)
        except NotFound:
            return WorkspaceInfo(known.name, str(known.path), known.format, readable=False)
        await self._tell(caller, known, workspace)
        return await asyncio.to_thread(_info, known, workspace)

    async def remove(self, caller: Caller, name: str) -> None:
        """Forget a workspace."""
        known = await self.found(caller, name)
        if known.owner != caller.user:
            raise NotAllowed(f"The workspace '{name}' is the tenant's.", hint="Ask who added it to remove it.")
        gone = await run_retrying(
            self._database, caller.tenant, lambda link: queries.delete_workspace(link, caller.tenant, known)
        )
        if gone:
            await asyncio.to_thread(self._forget, caller, known)
        self._told.pop((caller.tenant.id, known.id), None)
        await self._call(caller, name, {})

    def _forget(self, caller: Caller, known: Known) -> None:
        """Let go of the tenant's changes of a workspace that none of its users knows any longer."""
        try:
            forgotten = self._storage.forget(known.path, owner_of(caller))
        except (OSError, ThresherError) as error:  # they go when they are too old
            event(logger, "changes not forgotten", level=logging.WARNING, workspace=known.name, reason=str(error))
        else:
            event(logger, "workspace removed", workspace=known.name, forgotten=forgotten)

    async def provide(self, caller: Caller) -> None:
        """Complete what was interrupted in the caller's workspaces, and tell of the column information of its own."""
        for one in (await self.known(caller)).values():
            if await asyncio.to_thread(_is_there, one.path):
                await asyncio.to_thread(self._recover, one)
                self._told.pop((caller.tenant.id, one.id), None)
                await self._tell(caller, one, await self.opened(one))

    def _recover(self, known: Known) -> None:
        try:
            for done in self._storage.recover(known.path):
                event(logger, "change recovered", workspace=known.name, change=done.id, outcome=done.outcome)
        except ThresherError as error:  # the next change tries again
            event(logger, "change not recovered", level=logging.WARNING, workspace=known.name, reason=str(error))

    async def _tell(self, caller: Caller, known: Known, workspace: Workspace) -> None:
        """Tell of a workspace's servers where they are others than were told of last."""
        if self._on_schema is None or known.owner != caller.user:
            return
        folders = await asyncio.to_thread(_folders, workspace)
        key = (caller.tenant.id, known.id)
        if self._told.get(key) != folders:
            self._told[key] = folders
            await self._call(caller, known.name, folders)

    async def _call(self, caller: Caller, name: str, folders: Mapping[str, Path]) -> None:
        if self._on_schema is None:
            return
        try:
            await self._on_schema(caller, name, folders)
        except ThresherError as error:  # the workspace can be used all the same
            event(logger, "schemas not provided", level=logging.WARNING, workspace=name, reason=str(error))

    async def undo(self, caller: Caller, change: str, name: str) -> Change:
        """Take a change back."""
        known = await self.found(caller, name)
        await self.opened(known)
        return await asyncio.to_thread(self._storage.undo, known.path, change, owner_of(caller))

    async def backups(self, caller: Caller, name: str) -> tuple[Backup, ...]:
        """Changes that can be undone."""
        known = await self.found(caller, name)
        await self.opened(known)
        kept = await asyncio.to_thread(self._storage.backups, known.path, owner_of(caller))
        return tuple(changed(one, workspace=known.name) for one in kept)


def unknown(name: str, known: Sequence[str]) -> NotFound:
    """What to say of a workspace that the caller does not see."""
    if not known:
        return NotFound("There is no workspace.", hint="Add one: thresher solutions add PATH.")
    listed = f"There are: {', '.join(known[:20])}."
    return NotFound(f"There is no workspace '{name[:80]}'.", hint=did_you_mean(nearest(name[:80], known)) or listed)


def _folder(caller: Caller, path: str, settings: Settings) -> Path:
    """The folder that a caller names, without links."""
    if not path or clean(path) != path:
        raise InvalidInput("That is no path of a folder.", hint="Say the folder that holds the solutions' folders.")
    named = Path(path).expanduser() if not caller.keyed else Path(path)
    if not named.is_absolute():
        raise InvalidInput(f"'{path[:200]}' is no absolute path.", hint="Write it from the file system's root on.")
    try:
        folder = named.resolve()
        may_add(caller, folder, settings)
        if not folder.is_dir():
            raise InvalidInput(f"There is no folder {folder}.", hint="Correct the path.")
    except (OSError, RuntimeError, ValueError) as error:  # too long, may not be entered, or its links go round
        raise InvalidInput(f"The folder cannot be read: {error}.", hint="Correct the path.") from None
    return folder


def _around(caller: Caller, folder: Path, settings: Settings) -> Path:
    """The workspace that a folder stands for: of a solution with its resources beside it, the folder above.

    A solution that lies alone, or beside what the caller may not add, is a workspace by itself.

    Raises:
        InvalidInput: Other solutions lie beside it, so that the folder above is the workspace.
    """
    if not (folder / METADATA).is_file():
        return folder
    try:
        may_add(caller, folder.parent, settings)
        beside = [one for one in folder.parent.iterdir() if one != folder and one.is_dir()]
    except (NotAllowed, OSError):  # what lies beside it is not the caller's, or not ours
        return folder
    if any((one / METADATA).is_file() for one in beside):
        hint = f"It is a solution itself: add the folder above it, {folder.parent}."
        raise InvalidInput(f"{folder} is one solution of several.", hint=hint)
    return folder.parent if any((one / "datasources").is_dir() for one in beside) else folder


def _is_there(folder: Path) -> bool:
    """Whether a folder is still the one that was judged when it was added: a link could lead anywhere by now."""
    try:
        return folder.is_dir() and folder.resolve() == folder
    except (OSError, RuntimeError):
        return False


def _name_of(folder: Path) -> str:
    """A folder's name, as a workspace may have it."""
    return re.sub(r"[^\w.-]+", "-", folder.name).strip("-._")[:63] or "workspace"


def _elsewhere(folder: Path) -> str:
    """Where a workspace could be meant, where a folder is none."""
    below = sorted(one for one in folder.glob("*/*/rootmetadata.obj") if one.is_file())[:1]
    if below:
        return f"Solutions lie in {below[0].parent.parent}: add that folder."
    return "Add the folder whose folders hold a file rootmetadata.obj each."


def _folders(workspace: Workspace) -> dict[str, Path]:
    try:
        return {server: workspace.server_folder(server) for server in workspace.servers()}
    except OSError:
        return {}


def _info(known: Known, workspace: Workspace) -> WorkspaceInfo:
    projects = tuple(workspace.projects())
    broken = broken_files(workspace, [one.name for one in projects])
    return WorkspaceInfo(
        known.name,
        str(known.path),
        known.format,
        projects,
        tuple(workspace.servers()),
        broken[:_BROKEN_SHOWN],
        len(broken),
    )


def broken_files(workspace: Workspace, projects: Sequence[str]) -> tuple[Broken, ...]:
    """Relations, value lists and column information that cannot be read, each file once."""
    found = [
        *workspace.problems(),
        *workspace.objects("relation", projects)[1],
        *workspace.objects("value list", projects)[1],
        *workspace.tables()[1],
    ]
    return tuple({one.path: one for one in found}.values())
