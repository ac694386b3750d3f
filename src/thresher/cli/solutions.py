"""`thresher solutions`: workspaces, relations and value lists, where new things go, and changes that can be undone.

Invariant: what the user leaves out is not sent, so that an update changes nothing that the user did not name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from thresher.cli.files import given_path
from thresher.cli.output import AsJson, show
from thresher.cli.solution_views import (
    backup_list,
    deleted,
    listing,
    relation,
    removed,
    round_trip,
    solution_context,
    undone,
    value_list,
    workspace_card,
    workspace_list,
)
from thresher.cli.verbs import add_command
from thresher.verbs import SOLUTIONS

commands = typer.Typer(
    help="Relations and value lists of Servoy workspaces.", no_args_is_help=True, rich_markup_mode=None
)

DIFFERENT = 1
"""Exit code where a file would not be written as it is, or cannot be read."""
_OPERATORS = ("=", ">", "<", ">=", "<=", "!=", "in", "like", "not in", "not like")
_MODIFIERS = {"ignore case": "ignore_case", "or null": "or_null", "remove when null": "remove_when_null"}
_PAIR = re.compile(
    r"\s*(?P<primary>.+?)(?:\s*(?P<sign>>=|<=|!=|(?<![<>!])=|>|<)\s*|\s+(?P<word>not\s+like|not\s+in|like|in)\s+)"
    r"(?P<foreign>[^\s\[\]=<>!]+)\s*(?:\[(?P<modifiers>[^\]]*)\])?\s*"
)


def items_of(texts: Sequence[str] | None) -> list[dict[str, Any]] | None:
    """The pairs of `--item`, as the verbs take them; None if there are none.

    Args:
        texts: `PRIMARY OPERATOR FOREIGN [MODIFIER, ...]`, or the pair as a JSON object.

    Raises:
        BadParameter: A text is not one of these.
    """
    return [_item(text) for text in texts] if texts else None


def _item(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        return _object(text)
    if (found := _PAIR.fullmatch(text)) is None:
        raise typer.BadParameter(
            f"'{text}' is not a pair of columns: write 'customer_id = id'; operators: {', '.join(_OPERATORS)}."
        )
    operator = found["sign"] or " ".join(found["word"].split())
    item: dict[str, Any] = {"primary": found["primary"], "foreign": found["foreign"], "operator": operator}
    return item | _modifiers(found["modifiers"] or "")


def _modifiers(text: str) -> dict[str, bool]:
    given = [part.strip() for part in text.split(",") if part.strip()]
    if unknown := [part for part in given if part not in _MODIFIERS]:
        raise typer.BadParameter(f"There is no modifier '{unknown[0]}'; known: {', '.join(_MODIFIERS)}.")
    return {_MODIFIERS[part]: True for part in given}


def _object(text: str) -> dict[str, Any]:
    try:
        value: object = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"This pair of columns is not a JSON object: {error}.") from None
    return cast("dict[str, Any]", value)


def _folder(text: str) -> str:
    return str(given_path(text).absolute())


_WORKSPACE = {"workspace": "NAME: A workspace, as `solutions list` names it"}
_CHOSEN = {"workspace": "-w"}
_RELATION = {"name": "NAME: A relation"}
_VALUE_LIST = {"name": "NAME: A value list"}
_NEW_NAME = {"new_name": "NEW_NAME: What it is called from now on"}
_NAMES = {"names": "NAME...: All of them are deleted, or none"}
_PAGE = {"scope": "-s", "limit": "-n"}
_AGREED = {"confirm": "-y"}
_OF_RELATION = _AGREED | {
    "primary_datasource": "-p",
    "foreign_datasource": "-f",
    "items": "--item -i",
    "join_type": "-j",
}
_OF_VALUE_LIST = _AGREED | {
    "custom_values": "--value -v",
    "datasource": "-d",
    "relation": "-r",
    "global_method": "-m",
}


def _add(name: str, verb: str, view: Any, **options: Any) -> None:
    add_command(commands, name, SOLUTIONS[verb], view, **options)


_add(
    "add",
    "add_workspace",
    workspace_card,
    arguments={"path": "FOLDER: Of the workspace: the solutions lie in it"},
    read={"path": _folder},
)
_add("list", "list_workspaces", workspace_list)
_add("show", "show_workspace", workspace_card, arguments=_WORKSPACE)
_add("remove", "remove_workspace", removed, arguments=_WORKSPACE)
_add("context", "get_solution_context", solution_context)
_add(
    "use",
    "set_solution_context",
    solution_context,
    arguments={"active": "SOLUTION: The solution or module where new things go from now on"},
    flags=_CHOSEN,
)
_add("relations", "list_relations", listing, flags=_PAGE)
_add(
    "open-relation",
    "open_relation",
    relation,
    arguments={"name": "NAME: Made of both tables' names if left out"},
    flags=_OF_RELATION,
    read={"items": items_of},
)
_add("update-relation", "update_relation", relation, arguments=_RELATION, flags=_OF_RELATION, read={"items": items_of})
_add("rename-relation", "rename_relation", relation, arguments=_RELATION | _NEW_NAME, flags=_AGREED)
_add("delete-relations", "delete_relations", deleted, arguments=_NAMES, flags=_AGREED)
_add("value-lists", "list_value_lists", listing, flags=_PAGE)
_add("open-value-list", "open_value_list", value_list, arguments=_VALUE_LIST, flags=_OF_VALUE_LIST)
_add("update-value-list", "update_value_list", value_list, arguments=_VALUE_LIST, flags=_OF_VALUE_LIST)
_add("rename-value-list", "rename_value_list", value_list, arguments=_VALUE_LIST | _NEW_NAME, flags=_AGREED)
_add("delete-value-lists", "delete_value_lists", deleted, arguments=_NAMES, flags=_AGREED)
_add("backups", "list_solution_changes", backup_list, flags=_CHOSEN)
_add(
    "undo",
    "undo_solution_change",
    undone,
    arguments={"change_id": "CHANGE: As `solutions backups` and each change name it"},
    flags=_CHOSEN,
)


@commands.command("check")
def check(
    folder: Annotated[
        Path,
        typer.Option(
            "--round-trip", parser=given_path, metavar="DIR", help="Read and rewrite every solution file below it."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say which files would not be written back byte for byte; nothing is written, and no daemon is asked."""
    from thresher.knowledge.solutions import check_round_trip  # noqa: PLC0415 - `--help` does without what it imports

    found = check_round_trip(folder)
    broken = [
        {"path": one.path, "message": one.message, "line": one.line, "column": one.column} for one in found.broken
    ]
    figures: dict[str, Any] = {"files": found.files, "differ": len(found.differ), "differing": list(found.differ)}
    show({**figures, "broken": broken}, as_json, round_trip)
    if found.differ or found.broken:
        raise typer.Exit(DIFFERENT)
