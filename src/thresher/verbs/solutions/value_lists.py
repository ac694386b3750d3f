"""The verbs of value lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired, TypeAlias

from annotated_types import MinLen
from typing_extensions import Doc, TypedDict, Unpack

from thresher.verbs.declaration import implementation
from thresher.verbs.solutions.workspaces import (
    SOLUTIONS,
    Comment,
    Confirmed,
    Cursor,
    Deprecated,
    FieldDoc,
    Forced,
    Limit,
    Scope,
    Solution,
    Visible,
)

if TYPE_CHECKING:
    from thresher.knowledge.solutions import Deleted, ObjectListing, ValueListAnswer
    from thresher.verbs.request import Request

Name: TypeAlias = Annotated[str, Doc("Of the value list")]
ValueType: TypeAlias = Literal["text", "integer", "number", "datetime"]


class Value(TypedDict):
    """A line of a custom value list; in short `shown|stored`."""

    display: Annotated[str, FieldDoc("What is shown")]
    real: NotRequired[Annotated[str | None, FieldDoc("What is stored; the same unless given")]]


class ValueListProperties(TypedDict, total=False):
    """What can be said of a value list; None is left as it is or, in a new list, the default."""

    custom_values: Annotated[list[str | Value] | None, Doc("Fixed values in their order: shown, or shown|stored")]
    datasource: Annotated[str | None, Doc("Values from rows: server/table, db:/server/table, mem:, view:")]
    relation: Annotated[str | None, Doc("Values from the rows of a relation; several joined by dots")]
    global_method: Annotated[str | None, Doc("Values from code: scopes.NAME.method, or its UUID")]
    display_column: Annotated[str | list[str] | None, Doc("Column or columns that are shown")]
    return_column: Annotated[str | list[str] | None, Doc("Column or columns that are stored; those shown unless given")]
    separator: Annotated[str | None, Doc("Between shown columns; a blank unless given")]
    sort: Annotated[str | None, Doc("Such as name asc; empty: none")]
    use_table_filter: Annotated[bool | None, Doc("Only rows whose valuelist_name is this list; false unless given")]
    add_empty: Annotated[Literal["always", "never"] | None, Doc("An empty entry first; never unless given")]
    display_type: Annotated[ValueType | None, Doc("Of what is shown; found from columns")]
    real_type: Annotated[ValueType | None, Doc("Of what is stored; found from columns")]
    fallback: Annotated[str | None, Doc("Value list for what this one lacks; empty: none")]
    lazy_loading: Annotated[bool | None, Doc("Loaded only when it is needed")]
    encapsulation: Visible
    deprecated: Deprecated
    comment: Comment


@SOLUTIONS.verb("write")
async def open_value_list(
    request: Request,
    name: Name,
    *,
    solution: Solution = "",
    confirm: Confirmed = False,
    **properties: Unpack[ValueListProperties],
) -> ValueListAnswer:
    """Show a value list of the solution, or make it: of fixed values, a table, a relation or a global method.

    Raises:
        InvalidInput: Something is missing, or more than one source is given.
        NotFound: There is no such solution or module.
        Conflict: There is a value list of this name, and it differs; or somebody must agree first.
        BrokenFile: Its file cannot be read.
    """
    return await implementation("solutions.object_specs").open_value_list(
        request, properties, name=name, solution=solution, confirm=confirm
    )


@SOLUTIONS.verb("write", idempotent=True)
async def update_value_list(
    request: Request,
    name: Name,
    *,
    solution: Solution = "",
    confirm: Confirmed = False,
    **properties: Unpack[ValueListProperties],
) -> ValueListAnswer:
    """Change what is given of a value list of the solution, and nothing else; another source makes another kind.

    Raises:
        InvalidInput: A property is not valid.
        NotFound: There is no such value list.
        Conflict: Somebody must agree first.
        BrokenFile: Its file cannot be read.
    """
    return await implementation("solutions.object_specs").update_value_list(
        request, properties, name=name, solution=solution, confirm=confirm
    )


@SOLUTIONS.verb("write")
async def rename_value_list(
    request: Request,
    name: Name,
    new_name: str,
    solution: Solution = "",
    confirm: Confirmed = False,
    force: Forced = False,
) -> ValueListAnswer:
    """Give a value list of the solution another name; what surely means it is rewritten, all else is listed.

    Raises:
        InvalidInput: The new name is not valid.
        NotFound: There is no such value list.
        Conflict: The new name is taken, places would go on naming the old one, or somebody must agree first.
        BrokenFile: A file cannot be read.
    """
    return await request.services.solutions.rename_value_list(
        request.caller, name, new_name, solution=solution, confirm=confirm, force=force
    )


@SOLUTIONS.verb("write", destroys=True)
async def delete_value_lists(
    request: Request,
    names: Annotated[list[str], MinLen(1), Doc("Of value lists: all of them go, or none")],
    solution: Solution = "",
    confirm: Confirmed = False,
    force: Forced = False,
) -> Deleted:
    """Delete value lists of the solution; what still uses one is listed, and it can be undone.

    Raises:
        NotFound: There is no such value list.
        Conflict: Something uses one, or somebody must agree first.
        BrokenFile: A file cannot be read.
    """
    return await request.services.solutions.delete_value_lists(
        request.caller, names, solution=solution, confirm=confirm, force=force
    )


@SOLUTIONS.verb("read")
async def list_value_lists(
    request: Request, scope: Scope = "modules", limit: Limit = 100, cursor: Cursor = ""
) -> ObjectListing:
    """The value lists of the solution, with what each shows and stores.

    Raises:
        InvalidInput: The limit is out of bounds.
        InvalidCursor: The cursor belongs to another list.
    """
    return await request.services.solutions.list_value_lists(request.caller, scope, cursor=cursor, limit=limit)
