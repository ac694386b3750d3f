"""Workspaces, their relations and value lists, and what was changed in them, for people.

Invariant: takes decoded JSON and returns something that Rich can print; names and files are never markup, and what a
terminal would hide or obey is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_ACTIONS = {"created": "green", "updated": "yellow", "renamed": "yellow", "deleted": "red"}
_SHOWN = "unchanged"
"""What an answer says of an object that was only looked at."""
_DIFF = {"+": "green", "-": "red", "@": "cyan"}
_FLAGS = {
    "allow_creation": "allow creation",
    "delete_related": "delete related",
    "duplicate_related": "duplicate related",
}
_SAID = ("initial_sort", "sort", "fallback", "comment", "deprecated")
"""Texts of a record that are shown where they are set."""
_FILES = 2
"""Files of a change in a list of changes."""
_FOR_MODELS = "set_solution_context"
"""A note that names a tool says what a command says here in its own words."""
_VALUES = 12
"""Lines of a custom value list; `--json` has all."""


def workspace_list(workspaces: Sequence[Row]) -> RenderableType:
    """One line a workspace, and what is amiss with one below it."""
    if not workspaces:
        return Text("No workspace yet. Add one: thresher solutions add FOLDER", "bold")
    table = _table("workspace", "format", "solutions", "modules", "relations", "value lists", "servers", "folder")
    for one in workspaces:
        projects: Sequence[Row] = one["projects"]
        modules = sum(project["module"] for project in projects)
        counts = [len(projects) - modules, modules, *(_total(projects, name) for name in ("relations", "value_lists"))]
        place = Text(one["path"], "dim")
        servers = Text(", ".join(one["servers"]))
        table.add_row(_bold(one["name"]), one["format"], *(f"{count:,}" for count in counts), servers, place)
    return Group(table, *(note for one in workspaces for note in _amiss(one, whose=f"{one['name']}: ")))


def workspace_card(one: Row) -> RenderableType:
    """A workspace with its solutions and modules."""
    head = Text(one["name"], "bold")
    head.append(f"  {one['path']}", "dim")
    servers = Text(f"columns known of: {', '.join(one['servers']) or 'no server'}")
    return Group(head, _projects(one["projects"]), servers, *_amiss(one))


def removed(answer: Row) -> RenderableType:
    """What is forgotten."""
    return Text(f"Forgot {answer['removed']}; its files are as they were.")


def solution_context(answer: Row) -> RenderableType:
    """Where new things go, and what is near."""
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
    """One line an object."""
    what = {"relation": "relations", "value list": "value lists"}[answer["kind"]]
    broken = [_broken(one) for one in answer["broken"]]
    if not answer["objects"]:
        wider = "" if answer["scope"] == "all" else "; --scope all looks into every solution"
        return Group(Text(f"No {what} in {_where(answer)}{wider}."), *broken)
    table = _table("name", "in", "what it is")
    for one in answer["objects"]:
        table.add_row(_bold(one["name"]), Text(one["project"], "dim"), Text(one["summary"]))
    told = f"({len(answer['objects']):,} of {answer['total']:,} {what}; {_where(answer)})"
    more = [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer["cursor"] else []
    return Group(table, Text(told, "dim"), *broken, *more)


def relation(answer: Row) -> RenderableType:
    """A relation as it now is, how its columns were found, and what was written."""
    one = answer["relation"]
    sides = f"{one['primary_datasource']} -> {one['foreign_datasource']}  ({one['join_type']})"
    items = [Text(f"  {_item(item)}") for item in one["items"]] or [Text("  no columns: every record", "dim")]
    why = [Text(f"why these columns: {answer['reason']}")] if answer["reason"] else []
    evidence = [Text(f"  {reason}", "dim") for reason in answer["evidence"]]
    flags = [text for name, text in _FLAGS.items() if one[name]]
    flags += [] if one["allow_parent_delete"] else ["no delete of a parent with related records"]
    parts = [Text(sides), *items, *_flags(flags, one), *_said(one), *why, *evidence]
    return Group(_head(answer, one["name"]), *parts, *_written(answer))


def value_list(answer: Row) -> RenderableType:
    """A value list as it now is, and what was written."""
    one = answer["value_list"]
    one = one | {
        held: f"{answer[f'{held}_name']} ({one[held]})" for held in ("method", "fallback") if answer[f"{held}_name"]
    }
    values = [Text(f"  {_value(value)}") for value in one["custom_values"][:_VALUES]]
    more = len(one["custom_values"]) - _VALUES
    values += [Text(f"  and {more:,} more", "dim")] if more > 0 else []
    flags = ["an empty value"] if one["add_empty"] == "always" else []
    flags += ["the table's filter"] if one["use_table_filter"] else []
    parts = [Text(_source(one)), *values, *_flags(flags, one), *_said(one)]
    return Group(_head(answer, one["name"]), *parts, *_written(answer))


def deleted(answer: Row) -> RenderableType:
    """What is gone, and what names it still."""
    head = Text(f"deleted  {', '.join(answer['names'])}", "red")
    return Group(head, *_change(answer["change"]))


def undone(change: Row) -> RenderableType:
    """What was taken back."""
    return Group(Text(change["action"], "green"), *_change(change))


def backup_list(backups: Sequence[Row]) -> RenderableType:
    """One line a change, newest first as it comes."""
    if not backups:
        return Text("Nothing was changed yet.")
    table = _table("change", "when", "workspace", "what", "files", "")
    for one in backups:
        more = len(one["files"]) - _FILES
        files = ", ".join(one["files"][:_FILES]) + (f" and {more:,} more" if more > 0 else "")
        when = str(one["when"])[:19].replace("T", " ")
        state = Text("taken back" if one["undone"] else "", "dim")
        names = Text(one["workspace"]), Text(one["action"]), Text(files, "dim")
        table.add_row(_bold(one["id"]), when, *names, state)
    return table


def round_trip(answer: Row) -> RenderableType:
    """How many files would be written as they are, and which would not."""
    differ, broken = answer["differ"], answer["broken"]
    good = answer["files"] - differ - len(broken)
    head = Text(
        f"{good:,} of {answer['files']:,} files come back byte for byte", "yellow" if differ or broken else "green"
    )
    names = [Text(f"differs: {name}", "red") for name in answer["differing"]]
    return Group(head, *names, *(_broken(one) for one in broken))


_NONE_YET = "No workspace yet. Add one: thresher solutions add FOLDER"


def _projects(projects: Sequence[Row], active: str | None = None) -> Table:
    table = _table("", "solution", "kind", "files", "relations", "value lists", "forms", "uses")
    for one in projects:
        uses = Text(", ".join(name for name in one["modules"] if name not in one["missing"]), "dim")
        missing = f"missing: {', '.join(one['missing'])}" if one["missing"] else ""
        uses.append("; " if uses and missing else "").append(missing, "yellow")
        counts = (f"{one[name]:,}" for name in ("relations", "value_lists", "forms"))
        mark = "*" if one["name"] == active else ""
        table.add_row(mark, _bold(one["name"]), one["kind"], one["dialect"], *counts, uses)
    return table


def _amiss(one: Row, whose: str = "") -> Iterator[Text]:
    if not one["readable"]:
        yield Text(f"{whose}{one['path']} cannot be read: it moved, or is not yours to read", "red")
    for entry in one["broken"]:
        yield _broken(entry, whose)
    left = one["broken_count"] - len(one["broken"])
    if left > 0:
        yield Text(f"{whose}{left:,} more files cannot be read", "red")


def _broken(one: Row, whose: str = "") -> Text:
    place = f"{one['path']}:{one['line']}:{one['column']}" if one["line"] else one["path"]
    return Text(f"{whose}{place}: {one['message']}", "red")


def _where(answer: Row) -> str:
    """In which part of which workspace was looked."""
    parts = {"current": answer["active"], "modules": f"{answer['active']} and its modules", "all": "every solution"}
    return f"{parts[answer['scope']]} of {answer['workspace']}"


def _head(answer: Row, name: str) -> Text:
    action = answer["change"]["action"]
    head = Text(f"{action}  ", _ACTIONS.get(action, "")) if action != _SHOWN else Text()
    head.append(name, "bold")
    return head.append(f"  in {answer['project']}")


def _written(answer: Row) -> Iterator[RenderableType]:
    """Where it stands, and what was written there."""
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
        yield Text(f"still names it: {_reference(one)}", "yellow")
    if change["id"]:
        yield Text(f"take it back: thresher solutions undo {change['id']}", "dim")


def _reference(one: Row) -> str:
    sure = "" if one["certain"] else " (perhaps)"
    return f"{one['kind']} {one['place']['path']}:{one['place']['line']}{sure}  {one['text']}"


def _flags(flags: Sequence[str], one: Row) -> list[Text]:
    said = [*flags, *([] if one["encapsulation"] == "public" else [f"encapsulation: {one['encapsulation']}"])]
    return [Text(f"  {', '.join(said)}", "dim")] if said else []


def _said(one: Row) -> list[Text]:
    texts = [(name.replace("_", " "), one[name]) for name in _SAID if one.get(name)]
    return [Text(f"  {name}: {text}", "dim") for name, text in texts]


def _item(item: Row) -> str:
    modifiers = {"ignore_case": "ignore case", "or_null": "or null", "remove_when_null": "left out when null"}
    said = [text for name, text in modifiers.items() if item[name]]
    return f"{item['primary']} {item['operator']} {item['foreign']}" + (f"  ({', '.join(said)})" if said else "")


def _value(value: Row) -> str:
    return value["display"] if value["real"] is None else f"{value['display']} | {value['real']}"


def _source(one: Row) -> str:
    """What a value list's values come from, in one line."""
    columns: list[str] = one["columns"]
    display: list[int] = one["display"]
    returns: list[int] = one["returns"]
    separator: str = one["separator"] or " "
    shown = separator.join(columns[place] for place in display)
    stored = ", ".join(columns[place] for place in returns)
    told = f": shows {shown}, stores {stored}" if columns else ""
    froms = {
        "custom": f"{len(one['custom_values']):,} values of its own",
        "table": f"{one['datasource']}{told}",
        "related": f"{one['relation']}{told}",
        "global method": f"method {one['method']}",
    }
    return f"{one['kind']}: {froms[one['kind']]}"


def _total(projects: Sequence[Row], name: str) -> int:
    return sum(project[name] for project in projects)


def _notes(answer: Row) -> list[Text]:
    return [Text(f"({note})", "yellow") for note in answer["notes"]]


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    return table


def _bold(text: str) -> Text:
    return Text(text, "bold")
