"""The tools of value lists: thin functions around the verbs of the solutions kind.

Invariant: what a model reads of a workspace stands as data between lines of ours; programs find the whole record as
structured content.
"""

from __future__ import annotations

from typing import Annotated

from fastmcp.tools import ToolResult, tool
from pydantic import Field

from thresher.context import Situation
from thresher.knowledge.solutions import ValueListAnswer
from thresher.packs import current
from thresher.packs.agreeing import agreed
from thresher.packs.objects import deleted_text, listing_text, value_list_text
from thresher.packs.properties import (
    READS,
    REMOVES,
    SETS,
    WRITES,
    AddEmpty,
    Agreed,
    Comment,
    Cursor,
    Deprecated,
    Forced,
    Limit,
    Scopes,
    Solution,
    Value,
    Visible,
    given,
)
from thresher.packs.results import result
from thresher.packs.wishing import open_value_list as opened
from thresher.packs.wishing import update_value_list as updated
from thresher.servoy import ValueType

PREFIX = False
LISTED = ("open_value_list", "update_value_list", "rename_value_list", "delete_value_lists", "list_value_lists")

Name = Annotated[str, Field(description="Of the value list")]
Values = Annotated[list[str | Value] | None, Field(description="Fixed values in their order: shown, or shown|stored")]
Source = Annotated[str | None, Field(description="Values from rows: server/table, db:/server/table, mem:, view:")]
Related = Annotated[str | None, Field(description="Values from the rows of a relation; several joined by dots")]
Method = Annotated[str | None, Field(description="Values from code: scopes.NAME.method, or its UUID")]
Shown = Annotated[str | list[str] | None, Field(description="Column or columns that are shown")]
Stored = Annotated[
    str | list[str] | None, Field(description="Column or columns that are stored; those shown unless given")
]
Separator = Annotated[str | None, Field(description="Between shown columns; a blank unless given")]
Sort = Annotated[str | None, Field(description="Such as name asc; empty: none")]
TableFilter = Annotated[
    bool | None, Field(description="Only rows whose valuelist_name is this list; false unless given")
]
ShownType = Annotated[ValueType | None, Field(description="Of what is shown; found from columns")]
StoredType = Annotated[ValueType | None, Field(description="Of what is stored; found from columns")]
Fallback = Annotated[str | None, Field(description="Value list for what this one lacks; empty: none")]
Lazy = Annotated[bool | None, Field(description="Loaded only when it is needed")]


async def READY(situation: Situation) -> bool:  # noqa: N802 - the name that packs use
    """Of use where there is a workspace, or where the client may add one."""
    services = current().services
    return services.settings.admin_tools or await services.solutions.sees_any(situation.caller)


@tool(annotations=WRITES)
async def open_value_list(
    name: Name,
    custom_values: Values = None,
    datasource: Source = None,
    relation: Related = None,
    global_method: Method = None,
    display_column: Shown = None,
    return_column: Stored = None,
    separator: Separator = None,
    sort: Sort = None,
    use_table_filter: TableFilter = None,
    add_empty: AddEmpty = None,
    display_type: ShownType = None,
    real_type: StoredType = None,
    fallback: Fallback = None,
    lazy_loading: Lazy = None,
    encapsulation: Visible = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = "",
    confirm: Agreed = False,
) -> ToolResult:
    """Show a value list of the solution, or make it: of fixed values, a table, a relation or a global method."""
    request, arguments = current(), given(locals())

    async def work(confirmed: bool) -> ValueListAnswer:
        return await opened(request.services, request.caller, {**arguments, "confirm": confirmed})

    return _value_list(await agreed(work, confirm))


@tool(annotations=SETS)
async def update_value_list(
    name: Name,
    custom_values: Values = None,
    datasource: Source = None,
    relation: Related = None,
    global_method: Method = None,
    display_column: Shown = None,
    return_column: Stored = None,
    separator: Separator = None,
    sort: Sort = None,
    use_table_filter: TableFilter = None,
    add_empty: AddEmpty = None,
    display_type: ShownType = None,
    real_type: StoredType = None,
    fallback: Fallback = None,
    lazy_loading: Lazy = None,
    encapsulation: Visible = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = "",
    confirm: Agreed = False,
) -> ToolResult:
    """Change what is given of a value list of the solution, and nothing else; another source makes another kind."""
    request, arguments = current(), given(locals())

    async def work(confirmed: bool) -> ValueListAnswer:
        return await updated(request.services, request.caller, {**arguments, "confirm": confirmed})

    return _value_list(await agreed(work, confirm))


@tool(annotations=WRITES)
async def rename_value_list(
    name: Name, new_name: str, solution: Solution = "", confirm: Agreed = False, force: Forced = False
) -> ToolResult:
    """Give a value list of the solution another name; what surely means it is rewritten, all else is listed."""
    request = current()

    async def work(confirmed: bool) -> ValueListAnswer:
        return await request.services.solutions.rename_value_list(
            request.caller, name, new_name, solution=solution, confirm=confirmed, force=force
        )

    return _value_list(await agreed(work, confirm))


@tool(annotations=REMOVES)
async def delete_value_lists(
    names: Annotated[list[str], Field(min_length=1, description="Of value lists: all of them go, or none")],
    solution: Solution = "",
    confirm: Agreed = False,
    force: Forced = False,
) -> ToolResult:
    """Delete value lists of the solution; what still uses one is listed, and it can be undone."""
    request = current()
    gone = await agreed(
        lambda confirmed: request.services.solutions.delete_value_lists(
            request.caller, names, solution=solution, confirm=confirmed, force=force
        ),
        confirm,
    )
    return result(gone, deleted_text(gone))


@tool(annotations=READS)
async def list_value_lists(scope: Scopes = "modules", limit: Limit = 100, cursor: Cursor = "") -> ToolResult:
    """The value lists of the solution, with what each shows and stores."""
    request = current()
    found = await request.services.solutions.list_value_lists(request.caller, scope, cursor=cursor, limit=limit)
    return result(found, listing_text(found))


def _value_list(answer: ValueListAnswer) -> ToolResult:
    return result(answer, value_list_text(answer))
