"""The verbs of relations."""

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
    from thresher.knowledge.solutions import Deleted, ObjectListing, RelationAnswer
    from thresher.verbs.request import Request

Name: TypeAlias = Annotated[str, Doc("Of the relation")]
JoinType: TypeAlias = Literal["inner", "left outer", "right outer", "full"]
Operator: TypeAlias = Literal["=", ">", "<", ">=", "<=", "!=", "in", "like", "not in", "not like"]


class Pair(TypedDict):
    """Two columns that are compared."""

    primary: Annotated[str, FieldDoc("Column, calculation, scopes.NAME.variable, globals.variable or LITERAL:value")]
    foreign: Annotated[str, FieldDoc("Column of the foreign data source")]
    operator: NotRequired[Operator]
    or_null: NotRequired[Annotated[bool, FieldDoc("Rows without a value too")]]
    ignore_case: NotRequired[bool]
    remove_when_null: NotRequired[Annotated[bool, FieldDoc("Left out while the left side has no value")]]


class RelationProperties(TypedDict, total=False):
    """What can be said of a relation; None is left as it is or, in a new relation, the default."""

    primary_datasource: Annotated[
        str | None, Doc("Where it starts: server/table, db:/server/table, mem:, view:, menu:")
    ]
    foreign_datasource: Annotated[str | None, Doc("Where it leads, written the same way")]
    items: Annotated[list[Pair] | None, Doc("All pairs of columns; all of them hold")]
    primary_column: Annotated[str | None, Doc("With foreign_column, instead of items")]
    foreign_column: Annotated[str | None, Doc("With primary_column, instead of items")]
    join_type: Annotated[JoinType | None, Doc("left outer unless given")]
    allow_creation: Annotated[bool | None, Doc("Records may be made by it; false unless given")]
    allow_parent_delete: Annotated[bool | None, Doc("Parent may go while it has records; true unless given")]
    delete_related: Annotated[bool | None, Doc("Its records go with the parent; false unless given")]
    duplicate_related: Annotated[bool | None, Doc("Its records are copied with the parent; false unless given")]
    initial_sort: Annotated[str | None, Doc("Such as name asc, id desc; empty: none")]
    encapsulation: Visible
    deprecated: Deprecated
    comment: Comment


@SOLUTIONS.verb("write")
async def open_relation(
    request: Request,
    name: Annotated[str, Doc("Unless given: primary_to_foreign, of the tables' names")] = "",
    *,
    solution: Solution = "",
    confirm: Confirmed = False,
    **properties: Unpack[RelationProperties],
) -> RelationAnswer:
    """Show a relation of the solution, or make it; columns that nobody gives come from keys, and it says why.

    Raises:
        InvalidInput: Something is missing, or the tables can be related in several ways: the hint asks.
        NotFound: There is no such solution or module.
        Conflict: There is a relation of this name, and it differs; or somebody must agree first.
        BrokenFile: Its file cannot be read.
    """
    return await implementation("solutions.object_specs").open_relation(
        request, properties, name=name, solution=solution, confirm=confirm
    )


@SOLUTIONS.verb("write", idempotent=True)
async def update_relation(
    request: Request,
    name: Name,
    *,
    solution: Solution = "",
    confirm: Confirmed = False,
    **properties: Unpack[RelationProperties],
) -> RelationAnswer:
    """Change what is given of a relation of the solution, and nothing else.

    Raises:
        InvalidInput: A property is not valid.
        NotFound: There is no such relation.
        Conflict: Somebody must agree first.
        BrokenFile: Its file cannot be read.
    """
    return await implementation("solutions.object_specs").update_relation(
        request, properties, name=name, solution=solution, confirm=confirm
    )


@SOLUTIONS.verb("write")
async def rename_relation(
    request: Request,
    name: Name,
    new_name: str,
    solution: Solution = "",
    confirm: Confirmed = False,
    force: Forced = False,
) -> RelationAnswer:
    """Give a relation of the solution another name; what surely means it is rewritten, all else is listed.

    Raises:
        InvalidInput: The new name is not valid.
        NotFound: There is no such relation.
        Conflict: The new name is taken, places would go on naming the old one, or somebody must agree first.
        BrokenFile: A file cannot be read.
    """
    return await request.services.solutions.rename_relation(
        request.caller, name, new_name, solution=solution, confirm=confirm, force=force
    )


@SOLUTIONS.verb("write", destroys=True)
async def delete_relations(
    request: Request,
    names: Annotated[list[str], MinLen(1), Doc("Of relations: all of them go, or none")],
    solution: Solution = "",
    confirm: Confirmed = False,
    force: Forced = False,
) -> Deleted:
    """Delete relations of the solution; what still names one is listed, and it can be undone.

    Raises:
        NotFound: There is no such relation.
        Conflict: Something names one, or somebody must agree first.
        BrokenFile: A file cannot be read.
    """
    return await request.services.solutions.delete_relations(
        request.caller, names, solution=solution, confirm=confirm, force=force
    )


@SOLUTIONS.verb("read")
async def list_relations(
    request: Request, scope: Scope = "modules", limit: Limit = 100, cursor: Cursor = ""
) -> ObjectListing:
    """The relations of the solution, with data sources and columns.

    Raises:
        InvalidInput: The limit is out of bounds.
        InvalidCursor: The cursor belongs to another list.
    """
    return await request.services.solutions.list_relations(request.caller, scope, cursor=cursor, limit=limit)
