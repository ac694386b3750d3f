"""`thresher solutions`: value lists of the active solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import ask_confirmed, given
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show
from thresher.cli.solution_options import (
    Comment,
    Confirm,
    Cursor,
    Deprecated,
    Encapsulated,
    Force,
    Limit,
    Scoped,
    Solution,
    ValueType,
)
from thresher.cli.solution_views import deleted, listing, value_list

Name = Annotated[str, typer.Argument(metavar="NAME", help="A value list.")]
Values = Annotated[
    list[str] | None,
    typer.Option("--value", "-v", help="Of its own: what is shown, or 'shown|stored'; repeatable, in order."),
]
Datasource = Annotated[
    str | None, typer.Option("--datasource", "-d", help="A table: SERVER/TABLE, db:/... or mem:NAME.")
]
Relation = Annotated[str | None, typer.Option("--relation", "-r", help="The records of a relation.")]
Method = Annotated[str | None, typer.Option("--global-method", "-m", help="What scopes.NAME.method gives.")]
Display = Annotated[list[str] | None, typer.Option("--display-column", help="What is shown; repeatable, in order.")]
Return = Annotated[
    list[str] | None, typer.Option("--return-column", help="What is stored, if not the same; repeatable.")
]
Separator = Annotated[str | None, typer.Option(help="Between shown columns; a blank unless told.")]
Sort = Annotated[str | None, typer.Option(help="Such as 'name asc'; '' takes it away.")]
Empty = Annotated[
    Literal["always", "never"] | None,
    typer.Option("--add-empty", help="Whether nothing may be chosen; never unless told."),
]
Filtered = Annotated[
    bool | None,
    typer.Option("--use-table-filter/--no-use-table-filter", help="Only what the table's filter lets through."),
]
DisplayType = Annotated[ValueType | None, typer.Option(help="Of what is shown; that of the columns unless told.")]
RealType = Annotated[ValueType | None, typer.Option(help="Of what is stored.")]
Fallback = Annotated[str | None, typer.Option(help="The value list that names what this one lacks; '' takes it away.")]
Lazy = Annotated[bool | None, typer.Option("--lazy-loading/--no-lazy-loading", help="Only when it is looked at.")]


def register(solutions: typer.Typer) -> None:
    """Add the commands to `thresher solutions`."""
    solutions.command("value-lists")(value_lists)
    solutions.command("open-value-list")(writes(open_value_list))
    solutions.command("update-value-list")(writes(update_value_list))
    solutions.command("rename-value-list")(writes(rename_value_list))
    solutions.command("delete-value-lists")(writes(delete_value_lists))


def value_lists(scope: Scoped = "modules", limit: Limit = None, cursor: Cursor = None, as_json: AsJson = False) -> None:
    """List value lists."""
    show(ask("list_value_lists", given({"scope": scope, "limit": limit, "cursor": cursor})), as_json, listing)


def open_value_list(
    name: Name,
    value: Values = None,
    datasource: Datasource = None,
    relation: Relation = None,
    global_method: Method = None,
    display_column: Display = None,
    return_column: Return = None,
    separator: Separator = None,
    sort: Sort = None,
    add_empty: Empty = None,
    use_table_filter: Filtered = None,
    display_type: DisplayType = None,
    real_type: RealType = None,
    fallback: Fallback = None,
    lazy_loading: Lazy = None,
    encapsulation: Encapsulated = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = None,
    confirm: Confirm = False,
    as_json: AsJson = False,
) -> None:
    """Show a value list, or make it where there is none, of values, a table, a relation or a method."""
    wished = locals()  # the options are called as what the verb takes
    show(ask_confirmed("open_value_list", _said(wished), as_json=as_json), as_json, value_list)


def update_value_list(
    name: Name,
    value: Values = None,
    datasource: Datasource = None,
    relation: Relation = None,
    global_method: Method = None,
    display_column: Display = None,
    return_column: Return = None,
    separator: Separator = None,
    sort: Sort = None,
    add_empty: Empty = None,
    use_table_filter: Filtered = None,
    display_type: DisplayType = None,
    real_type: RealType = None,
    fallback: Fallback = None,
    lazy_loading: Lazy = None,
    encapsulation: Encapsulated = None,
    deprecated: Deprecated = None,
    comment: Comment = None,
    solution: Solution = None,
    confirm: Confirm = False,
    as_json: AsJson = False,
) -> None:
    """Change what is said of a value list; --value gives all of its values anew."""
    wished = locals()  # the options are called as what the verb takes
    show(ask_confirmed("update_value_list", _said(wished), as_json=as_json), as_json, value_list)


def rename_value_list(
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="What it is called from now on.")],
    solution: Solution = None,
    confirm: Confirm = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Give a value list another name; forms know it by its id, scripts that name it are listed."""
    arguments = {"name": name, "new_name": new_name, "solution": solution}
    more = {"confirm": confirm or None, "force": force or None}
    show(ask_confirmed("rename_value_list", given(arguments | more), as_json=as_json), as_json, value_list)


def delete_value_lists(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="All of them are deleted, or none.")],
    solution: Solution = None,
    confirm: Confirm = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Delete value lists that nothing names; `solutions undo` brings them back."""
    arguments = {"names": names, "solution": solution, "confirm": confirm or None, "force": force or None}
    show(ask_confirmed("delete_value_lists", given(arguments), as_json=as_json), as_json, deleted)


def _said(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the verbs take, of the options of a command."""
    named = {name: value for name, value in options.items() if name not in ("value", "as_json") and value != []}
    return given({**named, "custom_values": options["value"] or None, "confirm": options["confirm"] or None})
