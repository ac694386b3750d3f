"""`thresher solutions`: relations of the active solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import ask_confirmed, given
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show
from thresher.cli.solution_items import items_of
from thresher.cli.solution_options import (
    Comment,
    Confirm,
    Cursor,
    Deprecated,
    Encapsulated,
    Force,
    JoinType,
    Limit,
    Scoped,
    Solution,
)
from thresher.cli.solution_views import deleted, listing, relation

Name = Annotated[str, typer.Argument(metavar="NAME", help="A relation.")]
Primary = Annotated[
    str | None, typer.Option("--primary-datasource", "-p", help="Where it starts: SERVER/TABLE, db:/... or mem:NAME.")
]
Foreign = Annotated[str | None, typer.Option("--foreign-datasource", "-f", help="Where it leads to.")]
Items = Annotated[
    list[str] | None,
    typer.Option(
        "--item", "-i", help="A pair, such as 'customer_id = id' or 'name like title [ignore case]'; repeatable."
    ),
]
PrimaryColumn = Annotated[str | None, typer.Option(help="Where one pair is enough: its left column.")]
ForeignColumn = Annotated[str | None, typer.Option(help="Its right column.")]
Join = Annotated[JoinType | None, typer.Option("--join-type", "-j", help="left outer unless told.")]
Sort = Annotated[str | None, typer.Option("--initial-sort", help="Such as 'name asc, id desc'; '' takes it away.")]
Creation = Annotated[bool | None, typer.Option("--allow-creation/--no-allow-creation", help="Of related records.")]
ParentDelete = Annotated[
    bool | None,
    typer.Option(
        "--allow-parent-delete/--no-allow-parent-delete", help="Where related records are there; as a rule yes."
    ),
]
DeleteRelated = Annotated[
    bool | None, typer.Option("--delete-related/--no-delete-related", help="With the record that they belong to.")
]
Duplicate = Annotated[
    bool | None, typer.Option("--duplicate-related/--no-duplicate-related", help="With their record.")
]


def register(solutions: typer.Typer) -> None:
    """Add the commands to `thresher solutions`."""
    solutions.command("relations")(relations)
    solutions.command("open-relation")(writes(open_relation))
    solutions.command("update-relation")(writes(update_relation))
    solutions.command("rename-relation")(writes(rename_relation))
    solutions.command("delete-relations")(writes(delete_relations))


def relations(scope: Scoped = "modules", limit: Limit = None, cursor: Cursor = None, as_json: AsJson = False) -> None:
    """List relations."""
    show(ask("list_relations", given({"scope": scope, "limit": limit, "cursor": cursor})), as_json, listing)


def open_relation(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Made of both tables' names if left out.")] = None,
    primary_datasource: Primary = None,
    foreign_datasource: Foreign = None,
    item: Items = None,
    primary_column: PrimaryColumn = None,
    foreign_column: ForeignColumn = None,
    join_type: Join = None,
    initial_sort: Sort = None,
    allow_creation: Creation = None,
    allow_parent_delete: ParentDelete = None,
    delete_related: DeleteRelated = None,
    duplicate_related: Duplicate = None,
    encapsulation: Encapsulated = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = None,
    confirm: Confirm = False,
    as_json: AsJson = False,
) -> None:
    """Show a relation, or make it where there is none.

    Without --item the columns are found by keys, or by what looks like one; what was found is shown with the reasons.
    """
    wished = locals()  # the options are called as what the verb takes
    show(ask_confirmed("open_relation", _said(wished), as_json=as_json), as_json, relation)


def update_relation(
    name: Name,
    primary_datasource: Primary = None,
    foreign_datasource: Foreign = None,
    item: Items = None,
    primary_column: PrimaryColumn = None,
    foreign_column: ForeignColumn = None,
    join_type: Join = None,
    initial_sort: Sort = None,
    allow_creation: Creation = None,
    allow_parent_delete: ParentDelete = None,
    delete_related: DeleteRelated = None,
    duplicate_related: Duplicate = None,
    encapsulation: Encapsulated = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = None,
    confirm: Confirm = False,
    as_json: AsJson = False,
) -> None:
    """Change what is said of a relation; --item gives all of its pairs anew."""
    wished = locals()  # the options are called as what the verb takes
    show(ask_confirmed("update_relation", _said(wished), as_json=as_json), as_json, relation)


def rename_relation(
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="What it is called from now on.")],
    solution: Solution = None,
    confirm: Confirm = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Give a relation another name, also where forms and value lists name it; scripts are listed."""
    arguments = {"name": name, "new_name": new_name, "solution": solution}
    more = {"confirm": confirm or None, "force": force or None}
    show(ask_confirmed("rename_relation", given(arguments | more), as_json=as_json), as_json, relation)


def delete_relations(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="All of them are deleted, or none.")],
    solution: Solution = None,
    confirm: Confirm = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Delete relations that nothing names; `solutions undo` brings them back."""
    arguments = {"names": names, "solution": solution, "confirm": confirm or None, "force": force or None}
    show(ask_confirmed("delete_relations", given(arguments), as_json=as_json), as_json, deleted)


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the verbs take, of the options of a command."""
    named = {name: value for name, value in options.items() if name not in ("item", "as_json")}
    return given({**named, "items": items_of(options["item"]), "confirm": options["confirm"] or None})
