"""The tools of relations, and of workspaces: thin functions around the verbs of the solutions kind.

Invariant: what a model reads of a workspace stands as data between lines of ours; programs find the whole record as
structured content.
"""

from __future__ import annotations

from typing import Annotated

from fastmcp.tools import ToolResult, tool
from pydantic import Field

from thresher.context import Situation
from thresher.knowledge.solutions import RelationAnswer
from thresher.packs import current
from thresher.packs.agreeing import agreed
from thresher.packs.objects import (
    backups_text,
    change_text,
    context_text,
    deleted_text,
    listing_text,
    relation_text,
    workspace_text,
)
from thresher.packs.properties import (
    READS,
    REMOVES,
    SETS,
    WRITES,
    Agreed,
    Comment,
    Cursor,
    Deprecated,
    Forced,
    Limit,
    Pair,
    Scopes,
    Solution,
    Visible,
    Workspace,
    given,
)
from thresher.packs.results import result
from thresher.packs.wishing import open_relation as opened
from thresher.packs.wishing import update_relation as updated
from thresher.servoy import JoinType

PREFIX = False
LISTED = (
    *("open_relation", "update_relation", "rename_relation", "delete_relations", "list_relations"),
    *("get_solution_context", "set_solution_context", "undo_solution_change", "list_solution_changes"),
    *("add_workspace", "remove_workspace"),
)

Name = Annotated[str, Field(description="Of the relation")]
Primary = Annotated[
    str | None, Field(description="Where it starts: server/table, db:/server/table, mem:, view:, menu:")
]
Foreign = Annotated[str | None, Field(description="Where it leads, written the same way")]
Items = Annotated[list[Pair] | None, Field(description="All pairs of columns; all of them hold")]
PrimaryColumn = Annotated[str | None, Field(description="With foreign_column, instead of items")]
ForeignColumn = Annotated[str | None, Field(description="With primary_column, instead of items")]
Join = Annotated[JoinType | None, Field(description="left outer unless given")]
AllowCreation = Annotated[bool | None, Field(description="Records may be made by it; false unless given")]
AllowParentDelete = Annotated[bool | None, Field(description="Parent may go while it has records; true unless given")]
DeleteRelated = Annotated[bool | None, Field(description="Its records go with the parent; false unless given")]
DuplicateRelated = Annotated[
    bool | None, Field(description="Its records are copied with the parent; false unless given")
]
InitialSort = Annotated[str | None, Field(description="Such as name asc, id desc; empty: none")]


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Of use where there is a workspace, or where the client may add one."""
    services = current().services
    return services.settings.admin_tools or await services.solutions.sees_any(situation.caller)


@tool(annotations=WRITES)
async def open_relation(
    name: Annotated[str, Field(description="Unless given: primary_to_foreign, of the tables' names")] = "",
    primary_datasource: Primary = None,
    foreign_datasource: Foreign = None,
    items: Items = None,
    primary_column: PrimaryColumn = None,
    foreign_column: ForeignColumn = None,
    join_type: Join = None,
    allow_creation: AllowCreation = None,
    allow_parent_delete: AllowParentDelete = None,
    delete_related: DeleteRelated = None,
    duplicate_related: DuplicateRelated = None,
    initial_sort: InitialSort = None,
    encapsulation: Visible = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = "",
    confirm: Agreed = False,
) -> ToolResult:
    """Show a relation of the solution, or make it; columns that nobody gives come from keys, and it says why."""
    request, arguments = current(), given(locals())

    async def work(confirmed: bool) -> RelationAnswer:
        return await opened(request.services, request.caller, {**arguments, "confirm": confirmed})

    return _relation(await agreed(work, confirm))


@tool(annotations=SETS)
async def update_relation(
    name: Name,
    primary_datasource: Primary = None,
    foreign_datasource: Foreign = None,
    items: Items = None,
    primary_column: PrimaryColumn = None,
    foreign_column: ForeignColumn = None,
    join_type: Join = None,
    allow_creation: AllowCreation = None,
    allow_parent_delete: AllowParentDelete = None,
    delete_related: DeleteRelated = None,
    duplicate_related: DuplicateRelated = None,
    initial_sort: InitialSort = None,
    encapsulation: Visible = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = "",
    confirm: Agreed = False,
) -> ToolResult:
    """Change what is given of a relation of the solution, and nothing else."""
    request, arguments = current(), given(locals())

    async def work(confirmed: bool) -> RelationAnswer:
        return await updated(request.services, request.caller, {**arguments, "confirm": confirmed})

    return _relation(await agreed(work, confirm))


@tool(annotations=WRITES)
async def rename_relation(
    name: Name, new_name: str, solution: Solution = "", confirm: Agreed = False, force: Forced = False
) -> ToolResult:
    """Give a relation of the solution another name; what surely means it is rewritten, all else is listed."""
    request = current()

    async def work(confirmed: bool) -> RelationAnswer:
        return await request.services.solutions.rename_relation(
            request.caller, name, new_name, solution=solution, confirm=confirmed, force=force
        )

    return _relation(await agreed(work, confirm))


@tool(annotations=REMOVES)
async def delete_relations(
    names: Annotated[list[str], Field(min_length=1, description="Of relations: all of them go, or none")],
    solution: Solution = "",
    confirm: Agreed = False,
    force: Forced = False,
) -> ToolResult:
    """Delete relations of the solution; what still names one is listed, and it can be undone."""
    request = current()
    gone = await agreed(
        lambda confirmed: request.services.solutions.delete_relations(
            request.caller, names, solution=solution, confirm=confirmed, force=force
        ),
        confirm,
    )
    return result(gone, deleted_text(gone))


@tool(annotations=READS)
async def list_relations(scope: Scopes = "modules", limit: Limit = 100, cursor: Cursor = "") -> ToolResult:
    """The relations of the solution, with data sources and columns."""
    request = current()
    found = await request.services.solutions.list_relations(request.caller, scope, cursor=cursor, limit=limit)
    return result(found, listing_text(found))


@tool(annotations=READS)
async def get_solution_context() -> ToolResult:
    """The workspace, its solutions and modules, and the active one, where new relations and value lists go."""
    request = current()
    context = await request.services.solutions.get_solution_context(request.caller)
    return result(context, context_text(context))


@tool(annotations=SETS)
async def set_solution_context(
    active: Annotated[str, Field(description="Name of a solution or module")], workspace: Workspace = ""
) -> ToolResult:
    """Choose the solution or module where new relations and value lists go."""
    request = current()
    context = await request.services.solutions.set_solution_context(request.caller, active, workspace)
    return result(context, context_text(context))


@tool(annotations=WRITES)
async def undo_solution_change(
    change_id: Annotated[str, Field(description="Of the answer that made the change")], workspace: Workspace = ""
) -> ToolResult:
    """Take back a change of relations or value lists; refused where a file was changed since."""
    request = current()
    change = await request.services.solutions.undo(request.caller, change_id, workspace)
    return result(change, change_text(change))


@tool(annotations=READS)
async def list_solution_changes(workspace: Workspace = "") -> ToolResult:
    """Changes of relations and value lists that can be taken back, the last one first."""
    request = current()
    found = await request.services.solutions.backups(request.caller, workspace)
    return result({"changes": found}, backups_text(found))


@tool(annotations=WRITES, tags={"admin"})
async def add_workspace(
    path: Annotated[str, Field(description="Absolute path of the folder that holds the solutions' folders")],
    name: Annotated[str, Field(description="The folder's unless given")] = "",
) -> ToolResult:
    """Make the relations and value lists of a workspace known; nothing in it is changed."""
    request = current()
    kept = await request.services.solutions.add_workspace(request.caller, path, name)
    return result(kept, workspace_text(kept))


@tool(annotations=REMOVES, tags={"admin"})
async def remove_workspace(workspace: str) -> ToolResult:
    """Forget a workspace; its files are left alone."""
    request = current()
    await request.services.solutions.remove_workspace(request.caller, workspace)
    return result({"removed": workspace}, f"Removed '{workspace}'.")


def _relation(answer: RelationAnswer) -> ToolResult:
    return result(answer, relation_text(answer))
