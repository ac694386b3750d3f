"""The verbs of the solutions kind; every face calls these, with the same names and arguments.

Invariant: nothing is written but by `Storage`, whole or not at all, and each change can be undone; nothing outside of
the active solution is changed, and nothing that is referred to goes or gets another name, unless somebody says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from thresher.core import Caller, Settings
from thresher.knowledge.solutions.contexts import Contexts
from thresher.knowledge.solutions.desk import Desk
from thresher.knowledge.solutions.editing import Asked, Edited, Editing
from thresher.knowledge.solutions.listing import listed
from thresher.knowledge.solutions.models import (
    Backup,
    Change,
    Deleted,
    Listing,
    RelationAnswer,
    Scope,
    SolutionContext,
    ValueListAnswer,
    WorkspaceInfo,
)
from thresher.knowledge.solutions.relations import Relations, relation_of
from thresher.knowledge.solutions.storage import Storage
from thresher.knowledge.solutions.value_list_draft import names_of, value_list_of
from thresher.knowledge.solutions.value_lists import ValueLists
from thresher.knowledge.solutions.wishes import RelationChanges, RelationWish, ValueListChanges, ValueListWish
from thresher.knowledge.solutions.workspaces import OnSchema, Workspaces
from thresher.servoy import TableFacts
from thresher.store import Database


class SolutionService:
    """Workspaces, and what is read and written in them. One per process.

    Args:
        database: Where workspaces and choices are kept.
        storage: Writes files.
        settings: Who may add which folders.
        on_schema: Awaited whenever the column information of a workspace came, may have changed, or went.
    """

    def __init__(
        self, database: Database, storage: Storage, settings: Settings, on_schema: OnSchema | None = None
    ) -> None:
        self._workspaces = Workspaces(database, settings, storage, on_schema)
        self._contexts = Contexts(database, self._workspaces)
        self._relation_files = Editing(storage, "relation")
        self._value_list_files = Editing(storage, "value list")
        self._relations = Relations(self._relation_files)
        self._value_lists = ValueLists(self._value_list_files)

    async def add_workspace(self, caller: Caller, path: str, name: str = "", *, replace: bool = False) -> WorkspaceInfo:
        """Keep a workspace under a name; nothing in it is changed.

        Args:
            caller: Whose it will be: the tenant's where it has no user.
            path: Absolute path of the folder that holds the solutions' folders.
            name: Letters, digits, hyphens, dots, underscores; empty: the folder's.
            replace: Whether one of this name takes this path.

        Raises:
            InvalidInput: The name is none, or the folder holds no solution.
            Conflict: The name is taken, or the folder is known under another one.
            NotAllowed: The caller may not add this folder.
        """
        return await self._workspaces.add(caller, path, name, replace=replace)

    async def list_workspaces(self, caller: Caller) -> tuple[WorkspaceInfo, ...]:
        """The workspaces that the caller sees, by name; a user's own hides the tenant's of the same name."""
        return await self._workspaces.listed(caller)

    async def workspace(self, caller: Caller, name: str) -> WorkspaceInfo:
        """One of them, its files read as they are now.

        Raises:
            NotFound: There is none of this name; the hint offers near ones.
        """
        return await self._workspaces.info(caller, name)

    async def remove_workspace(self, caller: Caller, name: str) -> None:
        """Forget a workspace; nothing on disk is changed.

        Raises:
            NotFound: There is no such workspace.
            NotAllowed: It is the tenant's and the caller a user.
        """
        await self._workspaces.remove(caller, name)

    async def provide_schemas(self, caller: Caller) -> None:
        """Tell of the column information of the caller's own workspaces again, such as after a start."""
        await self._workspaces.provide(caller)

    async def sees_any(self, caller: Caller) -> bool:
        """Whether the caller sees a workspace; one round trip."""
        return await self._workspaces.any(caller)

    async def get_solution_context(self, caller: Caller) -> SolutionContext:
        """Where the caller works: as it chose, else as its folder says, else the only solution that there is."""
        return await self._contexts.shown(caller)

    async def working_in(self, caller: Caller) -> tuple[str | None, str | None]:
        """Names of the workspace and of the solution that the caller works in, without what is in them."""
        place = await self._contexts.place(caller)
        return (place.known.name if place.known is not None else None), place.active

    async def set_solution_context(self, caller: Caller, active: str, workspace: str = "") -> SolutionContext:
        """Choose the solution or module where new things go.

        Args:
            caller: Whose choice it is: of this user, and first of all in the folder that its client works in.
            active: Name of the solution or module.
            workspace: That holds it; empty: where the caller works, else the only one that has it.

        Raises:
            NotFound: There is no such workspace, or no such solution in it.
            InvalidInput: Several workspaces have it.
        """
        return await self._contexts.choose(caller, active, workspace)

    async def find_relation(self, caller: Caller, wish: RelationWish) -> RelationAnswer | None:
        """The relation that a wish means, where there is one; None: `open_relation` would make it.

        Raises:
            InvalidInput: A data source is none, or its table is not known; or several solutions have the relation.
            Conflict: There is one of this name, and it differs from what the wish says.
            BrokenFile: Its file cannot be read.
        """
        desk = await self._contexts.desk(caller)
        found = await asyncio.to_thread(self._relations.find, desk, wish)
        return None if found is None else _relation(found)

    async def open_relation(self, caller: Caller, wish: RelationWish) -> RelationAnswer:
        """Show a relation if it exists, make it otherwise.

        A new one needs data sources and `items`; nothing is inferred here.

        Raises:
            InvalidInput: Something is missing or wrong; the message says what, the hint what there is.
            Conflict: There is one of this name, and it differs from what the wish says; or the name is taken.
            Unconfirmed: It would be made outside of the active solution.
            BrokenFile: A file of this name cannot be read.
        """
        desk = await self._contexts.desk(caller)
        done = await asyncio.to_thread(self._relations.open, desk, wish)
        answer = _relation(done)
        return replace(answer, reason=wish.reason, evidence=wish.evidence) if answer.change.id else answer

    async def update_relation(
        self, caller: Caller, name: str, changes: RelationChanges, *, solution: str = "", confirm: bool = False
    ) -> RelationAnswer:
        """Change properties of a relation; only the lines that must are touched.

        Args:
            caller: Who asks.
            name: Of the relation.
            changes: What becomes different.
            solution: That holds it; empty: the active one, else its modules, else any.
            confirm: Whether somebody agreed to a change outside of the active solution.

        Raises:
            NotFound: There is no such relation; the hint offers near ones.
            InvalidInput: A property is wrong, or nothing is said; or several solutions have the relation.
            Unconfirmed: It stands outside of the active solution.
            BrokenFile: Its file cannot be read.
            Conflict: The file was changed meanwhile.
        """
        desk = await self._contexts.desk(caller)
        asked = Asked(solution, confirm)
        return _relation(await asyncio.to_thread(self._relations.update, desk, name, changes, asked))

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
        """Give a relation another name: its file is moved, and what surely means it is rewritten.

        Args:
            caller: Who asks.
            name: Of the relation.
            new_name: A name that no other has.
            solution: As for `update_relation`.
            confirm: The same; places outside of the active solution that are rewritten count, too.
            force: Whether it is renamed although some places, such as scripts, will still say the old name.

        Raises:
            Conflict: The new name is taken; or places are left that say the old one, which are listed.
            As `update_relation` does.
        """
        desk = await self._contexts.desk(caller)
        asked = Asked(solution, confirm, force)
        return _relation(await asyncio.to_thread(self._relations.rename, desk, name, new_name, asked))

    async def delete_relations(
        self,
        caller: Caller,
        names: Sequence[str],
        *,
        solution: str = "",
        confirm: bool = False,
        force: bool = False,
    ) -> Deleted:
        """Delete relations, all or none; `undo` brings them back.

        Args:
            caller: Who asks.
            names: Of the relations.
            solution: As for `update_relation`.
            confirm: The same.
            force: Whether they go although something refers to them.

        Raises:
            Conflict: Something refers to one of them; what does is listed.
            As `update_relation` does.
        """
        desk = await self._contexts.desk(caller)
        return await asyncio.to_thread(self._relation_files.deleted, desk, names, Asked(solution, confirm, force))

    async def list_relations(
        self, caller: Caller, scope: Scope = "modules", *, cursor: str = "", limit: int = 100
    ) -> Listing:
        """Relations by solution and name.

        Args:
            caller: Who asks.
            scope: Of the `current` solution alone, of it and its `modules`, or of `all` in the workspace.
            cursor: Of an answer to the same: the next ones.
            limit: At most, 1 to 1,000.

        Raises:
            InvalidInput: An argument is out of bounds, or the cursor belongs to another list.
        """
        desk = await self._contexts.desk(caller)
        return await asyncio.to_thread(listed, desk, "relation", scope, cursor=cursor, limit=limit)

    async def open_value_list(self, caller: Caller, wish: ValueListWish) -> ValueListAnswer:
        """Show a value list if it exists, make it otherwise.

        Raises:
            As `open_relation` does.
        """
        desk = await self._contexts.desk(caller)
        return await _value_list(desk, await asyncio.to_thread(self._value_lists.open, desk, wish))

    async def update_value_list(
        self, caller: Caller, name: str, changes: ValueListChanges, *, solution: str = "", confirm: bool = False
    ) -> ValueListAnswer:
        """Change properties of a value list; arguments and errors as of `update_relation`."""
        desk = await self._contexts.desk(caller)
        asked = Asked(solution, confirm)
        return await _value_list(desk, await asyncio.to_thread(self._value_lists.update, desk, name, changes, asked))

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
        """Give a value list another name; arguments and errors as of `rename_relation`."""
        desk = await self._contexts.desk(caller)
        asked = Asked(solution, confirm, force)
        done = await asyncio.to_thread(self._value_list_files.renamed, desk, name, new_name, asked)
        return await _value_list(desk, done)

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
        desk = await self._contexts.desk(caller)
        return await asyncio.to_thread(self._value_list_files.deleted, desk, names, Asked(solution, confirm, force))

    async def list_value_lists(
        self, caller: Caller, scope: Scope = "modules", *, cursor: str = "", limit: int = 100
    ) -> Listing:
        """Value lists by solution and name; arguments and errors as of `list_relations`."""
        desk = await self._contexts.desk(caller)
        return await asyncio.to_thread(listed, desk, "value list", scope, cursor=cursor, limit=limit)

    async def undo(self, caller: Caller, change_id: str, workspace: str = "") -> Change:
        """Take a change back, which is a change again.

        Args:
            caller: Who asks.
            change_id: As the change's answer, or `backups`, has it.
            workspace: Where it was made; empty: where the caller works.

        Raises:
            NotFound: There is no such change.
            Conflict: A file was changed since.
        """
        return await self._workspaces.undo(caller, change_id, await self._named(caller, workspace))

    async def backups(self, caller: Caller, workspace: str = "") -> tuple[Backup, ...]:
        """Changes that can be undone, the last one first; arguments as of `undo`."""
        return await self._workspaces.backups(caller, await self._named(caller, workspace))

    async def tables(self, caller: Caller, workspace: str = "") -> Sequence[TableFacts]:
        """The tables that a workspace knows, in-memory ones too.

        Args:
            caller: Who asks.
            workspace: Its name; empty: where the caller works, and nothing where that is not clear.

        Raises:
            NotFound: There is no such workspace.
        """
        if not workspace and (await self._contexts.place(caller)).known is None:
            return ()
        desk = await self._contexts.desk_in(caller, workspace)
        return (await asyncio.to_thread(desk.workspace.tables))[0]

    async def _named(self, caller: Caller, workspace: str) -> str:
        return workspace or await self._contexts.workspace_name(caller)


def _relation(done: Edited) -> RelationAnswer:
    return RelationAnswer(relation_of(done.stored), done.stored.project, done.place, done.change, notes=done.notes)


async def _value_list(desk: Desk, done: Edited) -> ValueListAnswer:
    record = value_list_of(done.stored)
    names = await asyncio.to_thread(names_of, desk, (record,))
    return ValueListAnswer(
        record,
        done.stored.project,
        done.place,
        done.change,
        done.notes,
        method_name=names.get(record.method.upper(), ""),
        fallback_name=names.get(record.fallback.upper(), ""),
    )
