"""Connections, schemas and rows of databases, for people.

Invariant: takes decoded JSON and returns something that Rich can print; names and cells are never markup, and what a
terminal would hide or obey is written out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.hints import for_command_line

Row = Mapping[str, Any]

_STYLES = {"ready": "green", "failed": "red", "stale": "yellow", "new": "bold"}
_EVIDENCE = 3
"""Reasons of a potential relation; `--json` has all."""


def connection_list(connections: Sequence[Row]) -> RenderableType:
    """One line a connection, and what is amiss with one below it."""
    if not connections:
        return Text("No connections yet. Add one: thresher db add NAME --url URL", "bold")
    table = _table("connection", "engine", "state", "tables", "place", "description")
    for one in connections:
        engine = f"{one['dialect']} {one['version']}".strip()
        state = Text(one["state"], _STYLES.get(one["state"], ""))
        place, about = Text(one["location"], "dim"), Text(one["description"])
        table.add_row(Text(one["name"], "bold"), Text(engine), state, f"{one['tables']:,}", place, about)
    return Group(table, *(note for one in connections for note in _warnings(one)))


def added(answer: Row) -> RenderableType:
    """The connection, and what the test of it found."""
    one = answer["connection"]
    head = Text(one["name"], "bold")
    head.append(f"  {one['location']}", "dim")
    return Group(head, health(answer["test"]) if answer["test"] else Text("Not tested.", "yellow"))


def health(answer: Row) -> RenderableType:
    """Whether a connection works, and what its role could change."""
    if not answer["ok"]:
        return Text(f"It does not work: {answer['problem']}", "red")
    who = f" as {answer['user']}" if answer["user"] else ""
    where = f" in {answer['database']}" if answer["database"] else ""
    parts = [Text(f"It works: {answer['version']}{who}{where}, {answer['ms']:,.0f} ms", "green")]
    return Group(*parts, *_writable(answer["writable"]))


def session(answer: Row) -> RenderableType:
    """One line a setting."""
    table = _table("setting", "value")
    for name, value in answer["session"].items():
        table.add_row(Text(name), Text(_cell(value)))
    return table


def removed(answer: Row) -> RenderableType:
    """What is gone."""
    return Text(f"Removed {answer['removed']}.")


def refreshed(one: Row) -> RenderableType:
    """How a schema stands."""
    text = f"{one['name']}: {one['tables']:,} tables, {one['state']}"
    return Group(Text(text, _STYLES.get(one["state"], "")), *_warnings(one))


def schema_text(answer: Row) -> RenderableType:
    """What a model would read, then what it cost."""
    told = f"({answer['token_count']:,} tokens; {len(answer['shown']):,} of {answer['tables']:,} tables)"
    parts = [Text(answer["content"]), Text(told, "dim"), *_notes(answer)]
    return Group(*parts, *_more(answer))


def table_list(answer: Row) -> RenderableType:
    """One line a table."""
    if not answer["tables"]:
        return Text("No table fits. thresher db find WORDS looks for what tables hold.")
    table = _table("table", "kind", "columns", "rows about", "comment")
    for one in answer["tables"]:
        _add_table(table, one)
    told = f"({len(answer['tables']):,} of {answer['total']:,} tables)"
    return Group(table, Text(told, "dim"), *_notes(answer), *_more(answer))


def found_tables(answer: Row) -> RenderableType:
    """Tables that fit some words, best first."""
    if not answer["tables"]:
        return Text("No table fits.")
    table = _table("connection", "table", "score", "columns", "why")
    for one in answer["tables"]:
        names = ", ".join(one["columns"])
        name = _name(one["table"]["schema"], one["table"]["name"])
        score, why = f"{one['score']:.2f}", Text(one["why"], "dim")
        table.add_row(Text(one["connection"]), Text(name, "bold"), score, Text(names), why)
    degraded = [Text(f"({answer['degraded']})", "yellow")] if answer["degraded"] else []
    return Group(table, *degraded)


def columns(answer: Row) -> RenderableType:
    """One line a column, then the keys."""
    table = _table("column", "type", "null", "default", "key", "comment")
    for one in answer["columns"]:
        key = "primary" if one["name"] in answer["primary_key"] else ""
        kind = Text(one["type"]), "yes" if one["nullable"] else "no"
        rest = Text(one["default"] or ""), key, Text(one["comment"])
        table.add_row(Text(one["name"], "bold"), *kind, *rest)
    keys = [Text(_key(answer["table"], one)) for one in answer["foreign_keys"]]
    comment = [Text(answer["comment"], "dim")] if answer["comment"] else []
    return Group(table, *keys, *comment)


def rows(answer: Row) -> RenderableType:
    """A table, then how much of the answer it is."""
    table = _table(*(column["name"] for column in answer["columns"]))
    for row in answer["rows"]:
        table.add_row(*(Text(_cell(value)) for value in row))
    first = f" from row {answer['first_row'] + 1:,} on" if answer["first_row"] else ""
    told = f"({answer['row_count']:,} rows{first}; {answer['ms']:,.0f} ms; audit {answer['audit_id']})"
    why = [Text(f"({answer['reason']})", "yellow")] if answer["truncated"] else []
    shown = [table] if answer["columns"] else []
    return Group(*shown, Text(told, "dim"), *why, *_notes(answer), *_more(answer))


def relations(answer: Row) -> RenderableType:
    """Declared keys, then potential ones with their reasons."""
    declared = [Text(_key(table, key)) for table, key in answer["foreign_keys"]]
    potential = [part for one in answer["potential"] for part in _potential(one)]
    basis = "names, types and values" if answer["sampled"] else "names and types alone"
    heads = Text(f"{len(declared):,} declared keys", "bold"), Text(f"{len(answer['potential']):,} potential", "bold")
    return Group(heads[0], *declared, heads[1], *potential, Text(f"(by {basis})", "dim"), *_notes(answer))


def _potential(one: Row) -> list[Text]:
    child = f"{_name(one['schema'], one['table'])} ({', '.join(one['columns'])})"
    parent = f"{_name(one['target_schema'], one['target_table'])} ({', '.join(one['target_columns'])})"
    why = "; ".join(reason["text"] for reason in one["evidence"][:_EVIDENCE])
    return [Text(f"{one['score']:.2f}  {child} -> {parent}"), Text(f"      {why}", "dim")]


def _add_table(table: Table, one: Row) -> None:
    count = f"{one['rows']:,}" if one["rows"] is not None else ""
    name, comment = _name(one["schema"], one["name"]), Text(one["comment"], "dim")
    table.add_row(Text(name, "bold"), one["kind"], str(one["columns"]), count, comment)


def _key(table: str, key: Row) -> str:
    target = f"{_name(key['schema'], key['table'])} ({', '.join(key['target_columns'])})"
    return f"{table} ({', '.join(key['columns'])}) -> {target}"


def _warnings(one: Row) -> list[Text]:
    problem = [Text(f"{one['name']}: {one['problem']}", "red")] if one["problem"] else []
    return [*problem, *_writable(one["writable"], f"{one['name']}: ")]


def _writable(writable: Sequence[str], whose: str = "") -> list[Text]:
    if not writable:
        return []
    text = f"{whose}this role could change the database ({', '.join(writable)}). Use one that may only SELECT."
    return [Text(text, "yellow")]


def _notes(answer: Row) -> list[Text]:
    return [Text(f"({for_command_line(note)})", "yellow") for note in answer.get("notes", ())]


def _more(answer: Row) -> list[Text]:
    return [Text(f"more: --cursor {answer['cursor']}", "dim")] if answer.get("cursor") else []


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    return table


def _name(schema: str, table: str) -> str:
    return f"{schema}.{table}" if schema else table


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
