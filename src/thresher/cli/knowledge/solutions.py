"""`thresher solutions`: workspaces, relations and value lists, where new things go, and changes that can be undone.

Invariant: what the user leaves out is not sent, so that an update changes nothing that the user did not name. Names and
files are never markup, and what a terminal would hide or obey is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.arguments import given_path
from thresher.cli.command_table import CommandEntry, new_group
from thresher.cli.commands import add_command
from thresher.cli.views import Row, plain_table
from thresher.verbs import SOLUTIONS

_ACTIONS = {"created": "green", "updated": "yellow", "renamed": "yellow", "deleted": "red"}

_SHOWN = "unchanged"
"""The action of an object that was only read."""

_DIFF = {"+": "green", "-": "red", "@": "cyan"}

_FLAGS = {
    "allow_creation": "allow creation",
    "delete_related": "delete related",
    "duplicate_related": "duplicate related",
}

_TEXTS = ("initial_sort", "sort", "fallback", "comment", "deprecated")
"""Texts of a record that are shown if they are set."""

_FILES = 2
"""Files of a change that are shown."""

_FOR_MODELS = "set_solution_context"
"""Notes that name this tool are left out: a hint for the command replaces them."""

_VALUES = 12
"""Lines of a custom value list that are shown; `--json` has all."""


def workspace_list(workspaces: Sequence[Row]) -> RenderableType:
    """One line for each workspace, then their problems."""
    if not workspaces:
        return Text("No workspaces yet. Add one: thresher solutions add FOLDER", "bold")
    table = plain_table("workspace", "format", "solutions", "modules", "relations", "value lists", "servers", "folder")
    for one in workspaces:
        projects: Sequence[Row] = one["projects"]
        modules = sum(project["module"] for project in projects)
        counts = [len(projects) - modules, modules, *(_total(projects, name) for name in ("relations", "value_lists"))]
        place = Text(one["path"], "dim")
        servers = Text(", ".join(one["servers"]))
        table.add_row(_bold(one["name"]), one["format"], *(f"{count:,}" for count in counts), servers, place)
    return Group(table, *(note for one in workspaces for note in _problems(one, whose=f"{one['name']}: ")))


def workspace_card(one: Row) -> RenderableType:
    """A workspace with its solutions and modules."""
    head = Text(one["name"], "bold")
    head.append(f"  {one['path']}", "dim")
    servers = Text(f"columns known from: {', '.join(one['servers']) or 'no server'}")
    return Group(head, _projects(one["projects"]), servers, *_problems(one))


def forgotten(answer: Row) -> RenderableType:
    """What was removed."""
    return Text(f"Removed {answer['removed']}; its files are unchanged.")


def solution_context(answer: Row) -> RenderableType:
    """The active solution, and the solutions and modules of its workspace."""
    if answer["workspace"] is None:
        known = ", ".join(answer["workspaces"])
        hint = f"Choose one: thresher solutions use SOLUTION --workspace NAME (of {known})" if known else _NONE_YET
        return Group(Text(hint, "bold"), *_notes(answer))
    active = Text(answer["active"] or "no solution chosen", "bold" if answer["active"] else "yellow")
    active.append(f"  in {answer['workspace']}")
    active.append(f"  ({answer['source']})" if answer["source"] else "", "dim")
    modules = [Text(f"uses {', '.join(answer['modules'])}")] if answer["modules"] else []
    choose = [] if answer["active"] else [Text("Choose one: thresher solutions use SOLUTION", "yellow")]
    notes = {"notes": [note for note in answer["notes"] if _FOR_MODELS not in note]}
    return Group(active, *modules, *choose, _projects(answer["projects"], answer["active"]), *_notes(notes))


def listing(answer: Row) -> RenderableType:
    """One line for each object."""
    what = {"relation": "relations", "value list": "value lists"}[answer["kind"]]
    broken = [broken_file(one) for one in answer["broken"]]
    if not answer["objects"]:
        wider = "" if answer["scope"] == "all" else "; --scope all searches every solution"
        return Group(Text(f"No {what} in {_where(answer)}{wider}."), *broken)
    table = plain_table("name", "in", "what it is")
    for one in answer["objects"]:
        table.add_row(_bold(one["name"]), Text(one["project"], "dim"), Text(one["summary"]))
    summary = f"({len(answer['objects']):,} of {answer['total']:,} {what}; {_where(answer)})"
    more = [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer["cursor"] else []
    return Group(table, Text(summary, "dim"), *broken, *more)


def relation(answer: Row) -> RenderableType:
    """A relation, how its columns were found, and what was written."""
    one = answer["relation"]
    sides = f"{one['primary_datasource']} -> {one['foreign_datasource']}  ({one['join_type']})"
    items = [Text(f"  {_item(item)}") for item in one["items"]] or [Text("  no columns: every record", "dim")]
    why = [Text(f"why these columns: {answer['reason']}")] if answer["reason"] else []
    evidence = [Text(f"  {reason}", "dim") for reason in answer["evidence"]]
    flags = [text for name, text in _FLAGS.items() if one[name]]
    flags += [] if one["allow_parent_delete"] else ["no delete of a parent with related records"]
    parts = [Text(sides), *items, *_flags(flags, one), *_texts(one), *why, *evidence]
    return Group(_head(answer, one["name"]), *parts, *_written(answer))


def value_list(answer: Row) -> RenderableType:
    """A value list, and what was written."""
    one = answer["value_list"]
    one = one | {
        held: f"{answer[f'{held}_name']} ({one[held]})" for held in ("method", "fallback") if answer[f"{held}_name"]
    }
    values = [Text(f"  {_value(value)}") for value in one["custom_values"][:_VALUES]]
    more = len(one["custom_values"]) - _VALUES
    values += [Text(f"  and {more:,} more", "dim")] if more > 0 else []
    flags = ["an empty value"] if one["add_empty"] == "always" else []
    flags += ["the table's filter"] if one["use_table_filter"] else []
    parts = [Text(_source(one)), *values, *_flags(flags, one), *_texts(one)]
    return Group(_head(answer, one["name"]), *parts, *_written(answer))


def deleted(answer: Row) -> RenderableType:
    """What was deleted, and what still refers to it."""
    head = Text(f"deleted  {', '.join(answer['names'])}", "red")
    return Group(head, *_change(answer["change"]))


def undone(change: Row) -> RenderableType:
    """The change that was undone."""
    return Group(Text(change["action"], "green"), *_change(change))


def backup_list(backups: Sequence[Row]) -> RenderableType:
    """One line for each change, newest first."""
    if not backups:
        return Text("No changes yet.")
    table = plain_table("change", "when", "workspace", "what", "files", "")
    for one in backups:
        more = len(one["files"]) - _FILES
        files = ", ".join(one["files"][:_FILES]) + (f" and {more:,} more" if more > 0 else "")
        when = str(one["when"])[:19].replace("T", " ")
        state = Text("undone" if one["undone"] else "", "dim")
        names = Text(one["workspace"]), Text(one["action"]), Text(files, "dim")
        table.add_row(_bold(one["id"]), when, *names, state)
    return table


_NONE_YET = "No workspaces yet. Add one: thresher solutions add FOLDER"


def _projects(projects: Sequence[Row], active: str | None = None) -> Table:
    table = plain_table("", "solution", "kind", "files", "relations", "value lists", "forms", "uses")
    for one in projects:
        uses = Text(", ".join(name for name in one["modules"] if name not in one["missing"]), "dim")
        missing = f"missing: {', '.join(one['missing'])}" if one["missing"] else ""
        uses.append("; " if uses and missing else "").append(missing, "yellow")
        counts = (f"{one[name]:,}" for name in ("relations", "value_lists", "forms"))
        mark = "*" if one["name"] == active else ""
        table.add_row(mark, _bold(one["name"]), one["kind"], one["dialect"], *counts, uses)
    return table


def _problems(one: Row, whose: str = "") -> Iterator[Text]:
    if not one["readable"]:
        yield Text(f"{whose}{one['path']} cannot be read: it was moved, or you may not read it", "red")
    for entry in one["broken"]:
        yield broken_file(entry, whose)
    left = one["broken_count"] - len(one["broken"])
    if left > 0:
        yield Text(f"{whose}{left:,} more files cannot be read", "red")


def broken_file(one: Row, whose: str = "") -> Text:
    """Where a file cannot be read, and why."""
    place = f"{one['path']}:{one['line']}:{one['column']}" if one["line"] else one["path"]
    return Text(f"{whose}{place}: {one['message']}", "red")


def _where(answer: Row) -> str:
    """The part of the workspace that was searched."""
    parts = {"current": answer["active"], "modules": f"{answer['active']} and its modules", "all": "every solution"}
    return f"{parts[answer['scope']]} of {answer['workspace']}"


def _head(answer: Row, name: str) -> Text:
    action = answer["change"]["action"]
    head = Text(f"{action}  ", _ACTIONS.get(action, "")) if action != _SHOWN else Text()
    head.append(name, "bold")
    return head.append(f"  in {answer['project']}")


def _written(answer: Row) -> Iterator[RenderableType]:
    """The location, and what was written there."""
    place = answer["place"]
    yield Text(f"{place['file']}:{place['line']}")
    yield Text(place["uri"], "dim")
    yield from _notes(answer)
    yield from _change(answer["change"])


def _change(change: Row) -> Iterator[RenderableType]:
    for line in change["diff"].splitlines():
        yield Text(line, _DIFF.get(line[:1], ""))
    for one in change["rewritten"]:
        yield Text(f"rewritten: {_reference(one)}", "green")
    for one in change["left"]:
        yield Text(f"still refers to it: {_reference(one)}", "yellow")
    if change["id"]:
        yield Text(f"undo: thresher solutions undo {change['id']}", "dim")


def _reference(one: Row) -> str:
    sure = "" if one["certain"] else " (perhaps)"
    return f"{one['kind']} {one['place']['path']}:{one['place']['line']}{sure}  {one['text']}"


def _flags(flags: Sequence[str], one: Row) -> list[Text]:
    words = [*flags, *([] if one["encapsulation"] == "public" else [f"encapsulation: {one['encapsulation']}"])]
    return [Text(f"  {', '.join(words)}", "dim")] if words else []


def _texts(one: Row) -> list[Text]:
    texts = [(name.replace("_", " "), one[name]) for name in _TEXTS if one.get(name)]
    return [Text(f"  {name}: {text}", "dim") for name, text in texts]


def _item(item: Row) -> str:
    modifiers = {"ignore_case": "ignore case", "or_null": "or null", "remove_when_null": "left out when null"}
    words = [text for name, text in modifiers.items() if item[name]]
    return f"{item['primary']} {item['operator']} {item['foreign']}" + (f"  ({', '.join(words)})" if words else "")


def _value(value: Row) -> str:
    return value["display"] if value["real"] is None else f"{value['display']} | {value['real']}"


def _source(one: Row) -> str:
    """The source of a value list's values, in one line."""
    columns: list[str] = one["columns"]
    display: list[int] = one["display"]
    returns: list[int] = one["returns"]
    separator: str = one["separator"] or " "
    shown = separator.join(columns[place] for place in display)
    stored = ", ".join(columns[place] for place in returns)
    summary = f": shows {shown}, stores {stored}" if columns else ""
    froms = {
        "custom": f"{len(one['custom_values']):,} values of its own",
        "table": f"{one['datasource']}{summary}",
        "related": f"{one['relation']}{summary}",
        "global method": f"method {one['method']}",
    }
    return f"{one['kind']}: {froms[one['kind']]}"


def _total(projects: Sequence[Row], name: str) -> int:
    return sum(project[name] for project in projects)


def _notes(answer: Row) -> list[Text]:
    return [Text(f"({note})", "yellow") for note in answer["notes"]]


def _bold(text: str) -> Text:
    return Text(text, "bold")


_LOCAL = {
    "check": CommandEntry(
        "knowledge.local_files:check",
        "Check which files would be written back byte for byte; nothing is written.",
    )
}
solutions = new_group(_LOCAL)

_OPERATORS = ("=", ">", "<", ">=", "<=", "!=", "in", "like", "not in", "not like")

_MODIFIERS = {"ignore case": "ignore_case", "or null": "or_null", "remove when null": "remove_when_null"}

_PAIR = re.compile(
    r"\s*(?P<primary>.+?)(?:\s*(?P<sign>>=|<=|!=|(?<![<>!])=|>|<)\s*|\s+(?P<word>not\s+like|not\s+in|like|in)\s+)"
    r"(?P<foreign>[^\s\[\]=<>!]+)\s*(?:\[(?P<modifiers>[^\]]*)\])?\s*"
)


def items_of(texts: Sequence[str] | None) -> list[dict[str, Any]] | None:
    """The pairs of `--item` as the verbs take them; None if there are none.

    Args:
        texts: `PRIMARY OPERATOR FOREIGN [MODIFIER, ...]`, or the pair as a JSON object.

    Raises:
        BadParameter: A text has neither form.
    """
    return [_pair(text) for text in texts] if texts else None


def _pair(text: str) -> dict[str, Any]:
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
        raise typer.BadParameter(f"'{unknown[0]}' is not a modifier. Modifiers: {', '.join(_MODIFIERS)}.")
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

_NEW_NAME = {"new_name": "NEW_NAME: The new name"}

_NAMES = {"names": "NAME...: Either all of them are deleted, or none"}

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
    add_command(solutions, name, SOLUTIONS[verb], view, **options)


_add(
    "add",
    "add_workspace",
    workspace_card,
    arguments={"path": "FOLDER: The folder of the workspace, which contains the solutions"},
    read={"path": _folder},
)

_add("list", "list_workspaces", workspace_list)

_add("show", "show_workspace", workspace_card, arguments=_WORKSPACE)

_add("remove", "remove_workspace", forgotten, arguments=_WORKSPACE)

_add("context", "get_solution_context", solution_context)

_add(
    "use",
    "set_solution_context",
    solution_context,
    arguments={"active": "SOLUTION: The solution or module for new relations and value lists"},
    flags=_CHOSEN,
)

_add("relations", "list_relations", listing, flags=_PAGE)

_add(
    "open-relation",
    "open_relation",
    relation,
    arguments={"name": "NAME: A relation; by default named after both tables"},
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
    arguments={"change_id": "CHANGE: A change, as `solutions backups` names it"},
    flags=_CHOSEN,
)
