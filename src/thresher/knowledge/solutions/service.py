"""The operations of the solutions kind; every face calls these with the same names and arguments.

Invariant: only `Storage` writes, completely or not at all, and every change can be undone. Nothing outside the active
solution changes, and nothing that is still referenced is deleted or renamed, unless the caller says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from thresher.core import Caller, Settings
from thresher.knowledge.solutions.changes.storage import RehearsedStorage, Storage
from thresher.knowledge.solutions.contexts import Contexts
from thresher.knowledge.solutions.editor import EditOptions, EditResult, ObjectEditor
from thresher.knowledge.solutions.listing import listed
from thresher.knowledge.solutions.models import (
    Backup,
    Change,
    Deleted,
    ObjectListing,
    RelationAnswer,
    Scope,
    SolutionContext,
    ValueListAnswer,
    WorkspaceInfo,
)
from thresher.knowledge.solutions.relations import RelationService, relation_of
from thresher.knowledge.solutions.requests import RelationChanges, RelationSpec, ValueListChanges, ValueListSpec
from thresher.knowledge.solutions.value_list_draft import names_of, value_list_of
from thresher.knowledge.solutions.value_lists import ValueListService
from thresher.knowledge.solutions.work_context import WorkContext
from thresher.knowledge.solutions.workspaces import OnSchema, Workspaces
from thresher.servoy import TableFacts
from thresher.store import Database


class SolutionService:
    """Workspaces, and the objects in them; one per process.

    Args:
        database: Where workspaces and choices are stored.
        storage: Writes files.
        settings: Name the folders that callers with a key may add.
        on_schema: Awaited when the column information of a workspace appears, may have changed, or disappears.
    """

    def __init__(
        self, database: Database, storage: Storage, settings: Settings, on_schema: OnSchema | None = None
    ) -> None:
        self._database, self._settings = database, settings
        self._workspaces = Workspaces(database, settings, storage, on_schema)
        self._contexts = Contexts(database, self._workspaces)
        self._relation_files = ObjectEditor(storage, "relation")
        self._value_list_files = ObjectEditor(storage, "value list")
        self._relations = RelationService(self._relation_files)
        self._value_lists = ValueListService(self._value_list_files)

    def rehearsal(self) -> SolutionService:
        """Return the same service where a change of files that would be written raises `Planned` instead."""
        return SolutionService(self._database, RehearsedStorage(self._settings.data_dir), self._settings)

    async def add_workspace(self, caller: Caller, path: str, name: str = "", *, replace: bool = False) -> WorkspaceInfo:
        """Add a workspace under a name; nothing in it changes.

        Args:
            caller: The owner; the tenant if the caller has no user.
            path: Absolute path of the folder that holds the solutions' folders.
            name: Letters, digits, hyphens, dots and underscores; by default the folder's name.
            replace: Whether an existing workspace of this name takes the path.

        Raises:
            InvalidInput: The name is not valid, or the folder holds no solution.
            Conflict: The name is taken, or the folder has another name.
            NotAllowed: The caller may not add this folder.
        """
        return await self._workspaces.add(caller, path, name, replace=replace)

    async def list_workspaces(self, caller: Caller) -> tuple[WorkspaceInfo, ...]:
        """Return the workspaces that the caller sees, by name; a user's own hides the tenant's with the same name."""
        return await self._workspaces.listed(caller)

    async def workspace(self, caller: Caller, name: str) -> WorkspaceInfo:
        """Return a workspace, its files read as they are now.

        Raises:
            NotFound: There is none of this name; the hint suggests similar names.
        """
        return await self._workspaces.info(caller, name)

    async def remove_workspace(self, caller: Caller, name: str) -> None:
        """Remove a workspace; nothing on disk changes.

        Raises:
            NotFound: There is no such workspace.
            NotAllowed: A user may not remove the tenant's workspace.
        """
        await self._workspaces.remove(caller, name)

    async def provide_schemas(self, caller: Caller) -> None:
        """Announce the column information of the caller's own workspaces again, such as after a start."""
        await self._workspaces.provide(caller)

    async def sees_any(self, caller: Caller) -> bool:
        """Return whether the caller sees a workspace; one round trip."""
        return await self._workspaces.any(caller)

    async def get_solution_context(self, caller: Caller) -> SolutionContext:
        """Return where the caller works: as chosen, or else by its folder, or else in the only solution."""
        return await self._contexts.shown(caller)

    async def working_in(self, caller: Caller) -> tuple[str | None, str | None]:
        """Return the names of the workspace and the solution that the caller works in."""
        selection = await self._contexts.select(caller)
        return (selection.known.name if selection.known is not None else None), selection.active

    async def set_solution_context(self, caller: Caller, active: str, workspace: str = "") -> SolutionContext:
        """Choose the solution or module that new objects go into.

        Args:
            caller: The user; the choice counts first for the folder that its client works in.
            active: Name of the solution or module.
            workspace: Its workspace; empty for the current one, or else the only one that has it.

        Raises:
            NotFound: There is no such workspace or solution.
            InvalidInput: Several workspaces have it.
        """
        return await self._contexts.choose(caller, active, workspace)

    async def find_relation(self, caller: Caller, spec: RelationSpec) -> RelationAnswer | None:
        """Return the relation that a specification means; None if `open_relation` would create it.

        Raises:
            InvalidInput: A data source is not valid or unknown, or several solutions have the relation.
            Conflict: A relation of this name exists and differs from the specification.
            BrokenFile: Its file cannot be read.
        """
        context = await self._contexts.work_context(caller)
        found = await asyncio.to_thread(self._relations.find, context, spec)
        return None if found is None else _relation(found)

    async def open_relation(self, caller: Caller, spec: RelationSpec) -> RelationAnswer:
        """Return a relation, and create it if it does not exist.

        A new relation needs data sources and `items`; nothing is inferred here.

        Raises:
            InvalidInput: Something is missing or wrong; the hint says what exists.
            Conflict: The name is taken, also by a relation that differs from the specification.
            Unconfirmed: It would be created outside the active solution.
            BrokenFile: A file of this name cannot be read.
        """
        context = await self._contexts.work_context(caller)
        done = await asyncio.to_thread(self._relations.open, context, spec)
        answer = _relation(done)
        return replace(answer, reason=spec.reason, evidence=spec.evidence) if answer.change.id else answer

    async def update_relation(
        self, caller: Caller, name: str, changes: RelationChanges, *, solution: str = "", confirm: bool = False
    ) -> RelationAnswer:
        """Change properties of a relation, touching no other line of its file.

        Args:
            caller: The tenant and user.
            name: Name of the relation.
            changes: The properties to change.
            solution: Its solution; empty for the active one, or else its modules, or else any.
            confirm: Whether a person agreed to a change outside the active solution.

        Raises:
            NotFound: There is no such relation; the hint suggests similar ones.
            InvalidInput: A property is wrong or none is given, or several solutions have the relation.
            Unconfirmed: It is outside the active solution.
            BrokenFile: Its file cannot be read.
            Conflict: The file was changed in the meantime.
        """
        context = await self._contexts.work_context(caller)
        options = EditOptions(solution, confirm)
        return _relation(await asyncio.to_thread(self._relations.update, context, name, changes, options))

    async def rename_relation(
        self,
        caller: Caller,
        name: str,
        new_name: str,
        *,
        solution: str = "",
        confirm: bool = False,
        force: bool = False,
    ) -> RelationAnswer:
        """Rename a relation: move its file and rewrite what certainly refers to it.

        Args:
            caller: The tenant and user.
            name: Name of the relation.
            new_name: A free name.
            solution: Its solution; empty for the active one, or else its modules, or else any.
            confirm: Whether a person agreed to changes outside the active solution, including rewritten references.
            force: Whether to rename it although some places, such as scripts, keep the old name.

        Raises:
            Conflict: The new name is taken, or places would keep the old name; the error lists them.
            NotFound: There is no such relation.
            InvalidInput: Several solutions have the relation, or the new name is not valid.
            Unconfirmed: It is outside the active solution.
            BrokenFile: A file cannot be read.
        """
        context = await self._contexts.work_context(caller)
        options = EditOptions(solution, confirm, force)
        return _relation(await asyncio.to_thread(self._relations.rename, context, name, new_name, options))

    async def delete_relations(
        self,
        caller: Caller,
        names: Sequence[str],
        *,
        solution: str = "",
        confirm: bool = False,
        force: bool = False,
    ) -> Deleted:
        """Delete relations, all or none; `undo` restores them.

        Args:
            caller: The tenant and user.
            names: Names of the relations.
            solution: Their solution; empty for the active one, or else its modules, or else any.
            confirm: Whether a person agreed to a change outside the active solution.
            force: Whether to delete them although they are referenced.

        Raises:
            Conflict: One of them is referenced; the error lists where.
            NotFound: There is no such relation.
            InvalidInput: Several solutions have a relation of a name.
            Unconfirmed: One is outside the active solution.
            BrokenFile: A file cannot be read.
        """
        context = await self._contexts.work_context(caller)
        options = EditOptions(solution, confirm, force)
        return await asyncio.to_thread(self._relation_files.deleted, context, names, options)

    async def list_relations(
        self, caller: Caller, scope: Scope = "modules", *, cursor: str = "", limit: int = 100
    ) -> ObjectListing:
        """List relations by solution and name.

        Args:
            caller: The tenant and user.
            scope: The `current` solution, it and its `modules`, or `all` in the workspace.
            cursor: Cursor of the previous page of the same list.
            limit: Maximum relations, 1 to 1,000.

        Raises:
            InvalidInput: An argument is not valid.
            InvalidCursor: The cursor belongs to another list.
        """
        context = await self._contexts.work_context(caller)
        return await asyncio.to_thread(listed, context, "relation", scope, cursor=cursor, limit=limit)

    async def open_value_list(self, caller: Caller, spec: ValueListSpec) -> ValueListAnswer:
        """Return a value list, and create it if it does not exist; errors as of `open_relation`."""
        context = await self._contexts.work_context(caller)
        return await _value_list(context, await asyncio.to_thread(self._value_lists.open, context, spec))

    async def update_value_list(
        self, caller: Caller, name: str, changes: ValueListChanges, *, solution: str = "", confirm: bool = False
    ) -> ValueListAnswer:
        """Change properties of a value list; arguments and errors as of `update_relation`."""
        context = await self._contexts.work_context(caller)
        options = EditOptions(solution, confirm)
        done = await asyncio.to_thread(self._value_lists.update, context, name, changes, options)
        return await _value_list(context, done)

    async def rename_value_list(
        self,
        caller: Caller,
        name: str,
        new_name: str,
        *,
        solution: str = "",
        confirm: bool = False,
        force: bool = False,
    ) -> ValueListAnswer:
        """Rename a value list; arguments and errors as of `rename_relation`."""
        context = await self._contexts.work_context(caller)
        options = EditOptions(solution, confirm, force)
        done = await asyncio.to_thread(self._value_list_files.renamed, context, name, new_name, options)
        return await _value_list(context, done)

    async def delete_value_lists(
        self,
        caller: Caller,
        names: Sequence[str],
        *,
        solution: str = "",
        confirm: bool = False,
        force: bool = False,
    ) -> Deleted:
        """Delete value lists, all or none; arguments and errors as of `delete_relations`."""
        context = await self._contexts.work_context(caller)
        options = EditOptions(solution, confirm, force)
        return await asyncio.to_thread(self._value_list_files.deleted, context, names, options)

    async def list_value_lists(
        self, caller: Caller, scope: Scope = "modules", *, cursor: str = "", limit: int = 100
    ) -> ObjectListing:
        """List value lists by solution and name; arguments and errors as of `list_relations`."""
        context = await self._contexts.work_context(caller)
        return await asyncio.to_thread(listed, context, "value list", scope, cursor=cursor, limit=limit)

    async def undo(self, caller: Caller, change_id: str, workspace: str = "") -> Change:
        """Undo a change; this is itself a change that can be undone.

        Args:
            caller: The tenant and user.
            change_id: Id of the change.
            workspace: Its workspace; empty for the current one.

        Raises:
            NotFound: There is no such change.
            Conflict: A file was changed since.
        """
        return await self._workspaces.undo(caller, change_id, await self._named(caller, workspace))

    async def backups(self, caller: Caller, workspace: str = "") -> tuple[Backup, ...]:
        """Return the changes that can be undone, the last first; arguments as of `undo`."""
        return await self._workspaces.backups(caller, await self._named(caller, workspace))

    async def tables(self, caller: Caller, workspace: str = "") -> Sequence[TableFacts]:
        """Return the tables that a workspace knows, including in-memory tables.

        Args:
            caller: The tenant and user.
            workspace: Name of the workspace; empty for the current one, or no tables if there is none.

        Raises:
            NotFound: There is no such workspace.
        """
        if not workspace and (await self._contexts.select(caller)).known is None:
            return ()
        context = await self._contexts.work_context_in(caller, workspace)
        return (await asyncio.to_thread(context.workspace.tables))[0]

    async def _named(self, caller: Caller, workspace: str) -> str:
        return workspace or await self._contexts.workspace_name(caller)


def _relation(done: EditResult) -> RelationAnswer:
    return RelationAnswer(relation_of(done.stored), done.stored.project, done.place, done.change, notes=done.notes)


async def _value_list(context: WorkContext, done: EditResult) -> ValueListAnswer:
    record = value_list_of(done.stored)
    names = await asyncio.to_thread(names_of, context, (record,))
    return ValueListAnswer(
        record,
        done.stored.project,
        done.place,
        done.change,
        done.notes,
        method_name=names.get(record.method.upper(), ""),
        fallback_name=names.get(record.fallback.upper(), ""),
    )
