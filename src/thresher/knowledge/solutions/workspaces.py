"""Adds, lists and removes workspaces, and lists and undoes their changes.

Invariant: a folder is read only after it is certain that the caller may add it; removing changes nothing on disk.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Final, TypeAlias

from cachetools import LRUCache
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
from thresher.knowledge.solutions.changes.journal import ChangeOwner
from thresher.knowledge.solutions.changes.storage import Storage
from thresher.knowledge.solutions.models import Backup, Change, UnreadableFile, WorkspaceInfo
from thresher.knowledge.solutions.queries import KnownWorkspace
from thresher.knowledge.solutions.servoy_workspace.workspace import METADATA, ServoyWorkspace
from thresher.knowledge.solutions.workspace import Workspace
from thresher.store import Database, clean, run_retrying, shared

logger = logging.getLogger("thresher.knowledge.solutions")

OnSchema: TypeAlias = Callable[[Caller, str, Mapping[str, Path]], Awaitable[object]]
"""Called with the caller, the name of its workspace, and the folder of each server with column information; an empty
mapping means that it is gone.
"""
_BROKEN_SHOWN: Final = 20


class Workspaces:
    """The workspaces of all tenants.

    Args:
        database: Where workspaces are stored.
        settings: Name the folders that callers with a key may add.
        storage: Writes files and keeps their changes.
        on_schema: Awaited when the column information of a workspace appears, may have changed, or disappears.
    """

    def __init__(self, database: Database, settings: Settings, storage: Storage, on_schema: OnSchema | None) -> None:
        self._database = database
        self._settings = settings
        self._storage = storage
        self._on_schema = on_schema
        self._open = OpenWorkspaces()
        self._announced: dict[tuple[int, int], Mapping[str, Path]] = {}

    async def add(self, caller: Caller, path: str, name: str, *, replace: bool) -> WorkspaceInfo:
        """Add a workspace under a name."""
        named = await asyncio.to_thread(_folder, caller, path, self._settings)
        default = re.sub(r"[^\w.-]+", "-", named.name).strip("-._")[:63] or "workspace"
        name = checked_name(name or default, "a workspace")
        folder = await asyncio.to_thread(_workspace_folder, caller, named, self._settings)
        workspace = await asyncio.to_thread(self._open.workspace, folder)
        if not await asyncio.to_thread(workspace.projects):
            raise InvalidInput(f"{folder} holds no solution.", hint=await asyncio.to_thread(_folder_hint, folder))
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
            raise Conflict(f"This folder is already the workspace '{other}'.", hint="Use it under that name.")
        if await queries.add_workspace(link, caller, name, folder, FORMAT):
            return
        if (known := own.get(name)) is not None and known.path != folder and not replace:
            raise Conflict(
                f"There is already a workspace '{name}', in {known.path}.", hint="Choose another name, or replace it."
            )
        await queries.replace_workspace(link, caller, name, folder, FORMAT)

    async def known(self, caller: Caller) -> dict[str, KnownWorkspace]:
        """Return the workspaces that the caller sees, by name."""
        key = ("workspaces", caller.tenant.id, caller.user)
        return await shared(key, lambda: queries.known(self._database, caller))

    async def found(self, caller: Caller, name: str) -> KnownWorkspace:
        """Return one that the caller sees.

        Raises:
            NotFound: There is none of this name.
        """
        known = await self.known(caller)
        if (one := known.get(name)) is None:
            raise unknown_workspace(name, list(known))
        return one

    async def opened(self, known: KnownWorkspace) -> Workspace:
        """Return a workspace as it is on disk.

        Raises:
            NotFound: Its folder does not exist, or is reached through a link that was made since.
        """
        if not await asyncio.to_thread(_is_there, known.path):
            raise NotFound(
                f"The folder of the workspace '{known.name}', {known.path}, does not exist.",
                hint="Add its new folder with replace, or remove the workspace.",
            )
        return await asyncio.to_thread(self._open.workspace, known.path)

    async def any(self, caller: Caller) -> bool:
        """Return whether the caller sees a workspace."""
        return bool(await self.known(caller))

    async def listed(self, caller: Caller) -> tuple[WorkspaceInfo, ...]:
        """Return all that the caller sees."""
        return tuple([await self._info(caller, one) for one in (await self.known(caller)).values()])

    async def info(self, caller: Caller, name: str) -> WorkspaceInfo:
        """Return one that the caller sees, by name."""
        return await self._info(caller, await self.found(caller, name))

    async def _info(self, caller: Caller, known: KnownWorkspace) -> WorkspaceInfo:
        try:
            workspace = await self.opened(known)
        except NotFound:
            return WorkspaceInfo(known.name, str(known.path), known.format, readable=False)
        await self._announce(caller, known, workspace)
        return await asyncio.to_thread(_info, known, workspace)

    async def remove(self, caller: Caller, name: str) -> None:
        """Remove a workspace."""
        known = await self.found(caller, name)
        if known.owner != caller.user:
            raise NotAllowed(f"The workspace '{name}' belongs to the tenant.", hint="Ask its owner to remove it.")
        gone = await run_retrying(
            self._database, caller.tenant, lambda link: queries.delete_workspace(link, caller.tenant, known)
        )
        if gone:
            await asyncio.to_thread(self._forget, caller, known)
        self._announced.pop((caller.tenant.id, known.id), None)
        await self._notify(caller, name, {})

    def _forget(self, caller: Caller, known: KnownWorkspace) -> None:
        """Drop the tenant's changes of a workspace that none of its users has any more."""
        try:
            forgotten = self._storage.forget(known.path, owner_of(caller))
        except (OSError, ThresherError) as error:  # they are pruned when they are too old
            event(logger, "changes not forgotten", level=logging.WARNING, workspace=known.name, reason=str(error))
        else:
            event(logger, "workspace removed", workspace=known.name, forgotten=forgotten)

    async def provide(self, caller: Caller) -> None:
        """Complete interrupted changes in the caller's workspaces, and announce the column information of its own."""
        for one in (await self.known(caller)).values():
            if await asyncio.to_thread(_is_there, one.path):
                await asyncio.to_thread(self._recover, one)
                self._announced.pop((caller.tenant.id, one.id), None)
                await self._announce(caller, one, await self.opened(one))

    def _recover(self, known: KnownWorkspace) -> None:
        try:
            for done in self._storage.recover(known.path):
                event(logger, "change recovered", workspace=known.name, change=done.id, outcome=done.outcome)
        except ThresherError as error:  # the next change tries again
            event(logger, "change not recovered", level=logging.WARNING, workspace=known.name, reason=str(error))

    async def _announce(self, caller: Caller, known: KnownWorkspace, workspace: Workspace) -> None:
        """Announce a workspace's servers if they have changed since the last announcement."""
        if self._on_schema is None or known.owner != caller.user:
            return
        folders = await asyncio.to_thread(_folders, workspace)
        key = (caller.tenant.id, known.id)
        if self._announced.get(key) != folders:
            self._announced[key] = folders
            await self._notify(caller, known.name, folders)

    async def _notify(self, caller: Caller, name: str, folders: Mapping[str, Path]) -> None:
        if self._on_schema is None:
            return
        try:
            await self._on_schema(caller, name, folders)
        except ThresherError as error:  # the workspace can be used without it
            event(logger, "schemas not provided", level=logging.WARNING, workspace=name, reason=str(error))

    async def undo(self, caller: Caller, change: str, name: str) -> Change:
        """Undo a change."""
        known = await self.found(caller, name)
        await self.opened(known)
        return await asyncio.to_thread(self._storage.undo, known.path, change, owner_of(caller))

    async def backups(self, caller: Caller, name: str) -> tuple[Backup, ...]:
        """Return the changes that can be undone."""
        known = await self.found(caller, name)
        await self.opened(known)
        kept = await asyncio.to_thread(self._storage.backups, known.path, owner_of(caller))
        return tuple(changed(one, workspace=known.name) for one in kept)


def unknown_workspace(name: str, known: Sequence[str]) -> NotFound:
    """Return the error for a workspace that the caller does not see."""
    if not known:
        return NotFound("There is no workspace.", hint="Add one: thresher solutions add PATH.")
    listed = f"There are: {', '.join(known[:20])}."
    return NotFound(f"There is no workspace '{name[:80]}'.", hint=did_you_mean(nearest(name[:80], known)) or listed)


def _folder(caller: Caller, path: str, settings: Settings) -> Path:
    """Return the folder that a caller names, without links."""
    if not path or clean(path) != path:
        raise InvalidInput("The path is not valid.", hint="Give the folder that holds the solutions' folders.")
    named = Path(path).expanduser() if not caller.keyed else Path(path)
    if not named.is_absolute():
        raise InvalidInput(f"'{path[:200]}' is not an absolute path.", hint="Start it at the root of the file system.")
    try:
        folder = named.resolve()
        check_may_add(caller, folder, settings)
        if not folder.is_dir():
            raise InvalidInput(f"There is no folder {folder}.", hint="Correct the path.")
    except (OSError, RuntimeError, ValueError) as error:  # too long, not accessible, or a circle of links
        raise InvalidInput(f"The folder cannot be read: {error}.", hint="Correct the path.") from None
    return folder


def _workspace_folder(caller: Caller, folder: Path, settings: Settings) -> Path:
    """Return the workspace of a folder: its parent, if it is a solution with its resources beside it.

    A solution that is alone, or beside folders that the caller may not add, is its own workspace.

    Raises:
        InvalidInput: Other solutions are beside it, so that the parent is the workspace.
    """
    if not (folder / METADATA).is_file():
        return folder
    try:
        check_may_add(caller, folder.parent, settings)
        beside = [one for one in folder.parent.iterdir() if one != folder and one.is_dir()]
    except (NotAllowed, OSError):  # the parent is not accessible to the caller or to this process
        return folder
    if any((one / METADATA).is_file() for one in beside):
        hint = f"Add the folder above it: {folder.parent}."
        raise InvalidInput(f"{folder} is one of several solutions.", hint=hint)
    return folder.parent if any((one / "datasources").is_dir() for one in beside) else folder


def _is_there(folder: Path) -> bool:
    """Return whether a folder is still the one that was checked; a link may lead anywhere by now."""
    try:
        return folder.is_dir() and folder.resolve() == folder
    except (OSError, RuntimeError):
        return False


def _folder_hint(folder: Path) -> str:
    """Return where a workspace may be, for a folder that is not one."""
    below = sorted(one for one in folder.glob("*/*/rootmetadata.obj") if one.is_file())[:1]
    if below:
        return f"Add {below[0].parent.parent}, which holds solutions."
    return "Add the folder whose subfolders each hold a file rootmetadata.obj."


def _folders(workspace: Workspace) -> dict[str, Path]:
    try:
        return {server: workspace.server_folder(server) for server in workspace.servers()}
    except OSError:
        return {}


def _info(known: KnownWorkspace, workspace: Workspace) -> WorkspaceInfo:
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


def broken_files(workspace: Workspace, projects: Sequence[str]) -> tuple[UnreadableFile, ...]:
    """Return the relations, value lists and column information that cannot be read, each file once."""
    found = [
        *workspace.problems(),
        *workspace.objects("relation", projects)[1],
        *workspace.objects("value list", projects)[1],
        *workspace.tables()[1],
    ]
    return tuple({one.path: one for one in found}.values())


def check_may_add(caller: Caller, folder: Path, settings: Settings) -> None:
    """Refuse a folder that a caller may not add.

    Its owner may read and write anything anyway; a caller with a key only what the settings name.

    Args:
        caller: The caller.
        folder: Absolute path without links.
        settings: Name the folders for callers with a key.

    Raises:
        NotAllowed: The caller has a key, and the settings name no folder at or above this one.
    """
    if not caller.keyed:
        return
    allowed = [one.expanduser().resolve() for one in settings.solution_folders]
    if not any(folder.is_relative_to(one) for one in allowed):
        raise NotAllowed(
            "A caller with a key may add workspaces only below the folders that the settings name.",
            hint="Ask the owner to add the workspace, or to name its folder in THRESHER_SOLUTION_FOLDERS.",
        )


def owner_of(caller: Caller) -> ChangeOwner:
    """Return the owner of a caller's changes."""
    return ChangeOwner(caller.tenant.id, caller.user or "")


_MOST: Final = 16
FORMAT: Final = "servoy"
"""The only format that is supported."""


class OpenWorkspaces:
    """Opened workspaces by folder, for all tenants; a workspace caches what it has read."""

    def __init__(self) -> None:
        self._opened: LRUCache[Path, Workspace] = LRUCache(_MOST)
        self._lock = threading.Lock()

    def workspace(self, root: Path) -> Workspace:
        """Return the workspace in a folder; may block on its file system."""
        with self._lock:
            if (found := self._opened.get(root)) is None:
                found = self._opened[root] = ServoyWorkspace(root)
            return found
