"""`thresher db` and `thresher audit`: connections, schemas, statements that only read, and the log of statements.

Invariant: names, cells, statements and errors are never markup, and what a terminal would hide or obey is escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.arguments import STANDARD_INPUT, read_address
from thresher.cli.client import ask, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.output import AsJson, for_command_line, shortened, show
from thresher.cli.views import Row, moment, next_page, plain_table, removed
from thresher.verbs import DATABASES

_STYLES = {"ready": "green", "failed": "red", "stale": "yellow", "new": "bold"}

_EVIDENCE = 3
"""Reasons of a potential relation that are shown; `--json` has all."""


def connection_list(connections: Sequence[Row]) -> RenderableType:
    """One line for each connection, then their problems."""
    if not connections:
        return Text("No connections yet. Add one: thresher db add NAME --url URL", "bold")
    table = plain_table("connection", "engine", "state", "tables", "location", "description")
    for one in connections:
        engine = f"{one['dialect']} {one['version']}".strip()
        state = Text(one["state"], _STYLES.get(one["state"], ""))
        place, about = Text(one["location"], "dim"), Text(one["description"])
        table.add_row(Text(one["name"], "bold"), Text(engine), state, f"{one['tables']:,}", place, about)
    return Group(table, *(note for one in connections for note in _warnings(one)))


def added(answer: Row) -> RenderableType:
    """The connection, and the result of its test."""
    one = answer["connection"]
    head = Text(one["name"], "bold")
    head.append(f"  {one['location']}", "dim")
    return Group(head, health(answer["test"]) if answer["test"] else Text("Not tested.", "yellow"))


def health(answer: Row) -> RenderableType:
    """The result of a test: whether the connection works, and what its role could change."""
    if not answer["ok"]:
        return Text(f"It does not work: {answer['problem']}", "red")
    who = f" as {answer['user']}" if answer["user"] else ""
    where = f" in {answer['database']}" if answer["database"] else ""
    parts = [Text(f"It works: {answer['version']}{who}{where}, {answer['ms']:,.0f} ms", "green")]
    return Group(*parts, *_writable(answer["writable"]))


def session(answer: Row) -> RenderableType:
    """One line for each setting."""
    table = plain_table("setting", "value")
    for name, value in answer["session"].items():
        table.add_row(Text(name), Text(_cell(value)))
    return table


def refreshed(one: Row) -> RenderableType:
    """The state of a schema."""
    text = f"{one['name']}: {one['tables']:,} tables, {one['state']}"
    return Group(Text(text, _STYLES.get(one["state"], "")), *_warnings(one))


def schema_text(answer: Row) -> RenderableType:
    """The text that a model would read, then its tokens."""
    summary = f"({answer['token_count']:,} tokens; {len(answer['shown']):,} of {answer['tables']:,} tables)"
    parts = [Text(answer["content"]), Text(summary, "dim"), *_notes(answer)]
    return Group(*parts, *next_page(answer))


def table_list(answer: Row) -> RenderableType:
    """One line for each table."""
    if not answer["tables"]:
        return Text("No table fits. To search by content: thresher db find WORDS.")
    table = plain_table("table", "kind", "columns", "rows about", "comment")
    for one in answer["tables"]:
        _add_table(table, one)
    summary = f"({len(answer['tables']):,} of {answer['total']:,} tables)"
    return Group(table, Text(summary, "dim"), *_notes(answer), *next_page(answer))


def found_tables(answer: Row) -> RenderableType:
    """Tables that fit the words, best first."""
    if not answer["tables"]:
        return Text("No table fits.")
    table = plain_table("connection", "table", "score", "columns", "why")
    for one in answer["tables"]:
        names = ", ".join(one["columns"])
        name = _name(one["table"]["schema"], one["table"]["name"])
        score, why = f"{one['score']:.2f}", Text(one["why"], "dim")
        table.add_row(Text(one["connection"]), Text(name, "bold"), score, Text(names), why)
    degraded = [Text(f"({answer['degraded']})", "yellow")] if answer["degraded"] else []
    return Group(table, *degraded)


def columns(answer: Row) -> RenderableType:
    """One line for each column, then the foreign keys."""
    table = plain_table("column", "type", "null", "default", "key", "comment")
    for one in answer["columns"]:
        key = "primary" if one["name"] in answer["primary_key"] else ""
        kind = Text(one["type"]), "yes" if one["nullable"] else "no"
        rest = Text(one["default"] or ""), key, Text(one["comment"])
        table.add_row(Text(one["name"], "bold"), *kind, *rest)
    keys = [Text(_key(answer["table"], one)) for one in answer["foreign_keys"]]
    comment = [Text(answer["comment"], "dim")] if answer["comment"] else []
    return Group(table, *keys, *comment)


def rows(answer: Row) -> RenderableType:
    """The rows, then their number and the time."""
    table = plain_table(*(column["name"] for column in answer["columns"]))
    for row in answer["rows"]:
        table.add_row(*(Text(_cell(value)) for value in row))
    first = f" from row {answer['first_row'] + 1:,} on" if answer["first_row"] else ""
    summary = f"({answer['row_count']:,} rows{first}; {answer['ms']:,.0f} ms; audit {answer['audit_id']})"
    why = [Text(f"({answer['reason']})", "yellow")] if answer["truncated"] else []
    shown = [table] if answer["columns"] else []
    return Group(*shown, Text(summary, "dim"), *why, *_notes(answer), *next_page(answer))


def relations(answer: Row) -> RenderableType:
    """Declared keys, then potential ones with their reasons."""
    declared = [Text(_key(table, key)) for table, key in answer["foreign_keys"]]
    potential = [part for one in answer["potential"] for part in _potential(one)]
    basis = "names, types and values" if answer["sampled"] else "names and types only"
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
    text = f"{whose}this role could change the database ({', '.join(writable)}). Use a role that may only SELECT."
    return [Text(text, "yellow")]


def _notes(answer: Row) -> list[Text]:
    return [Text(f"({for_command_line(note)})", "yellow") for note in answer.get("notes", ())]


def _name(schema: str, table: str) -> str:
    return f"{schema}.{table}" if schema else table


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_STATEMENT_WIDTH = 200
"""Characters of a statement that are shown; `--json` has all."""

_OUTCOMES = {"refused": "red", "error": "yellow", "timeout": "yellow", "no outcome": "yellow", "ok": "green"}


def activity(page: Row) -> RenderableType:
    """One line for each statement."""
    if not page["entries"]:
        return Text("No statements.")
    table = plain_table("id", "at", "who", "where", "outcome", "statement")
    for entry in page["entries"]:
        attempt = entry["attempt"]
        who = attempt["actor"] or attempt["client"] or "-"
        sql = _line(attempt["sql"])
        shown = Text(shortened(sql, _STATEMENT_WIDTH))
        table.add_row(
            str(entry["id"]),
            moment(entry["at"], seconds=True),
            Text(who),
            Text(attempt["connection"]),
            _end(entry),
            shown,
        )
    if not page["next"]:
        return table
    return Group(table, Text(f"More: --cursor {page['next']}", style="dim"))


def verification(found: Row) -> RenderableType:
    """Whether the log is complete, its head, and problems."""
    verdict = Text("sound", style="green") if found["sound"] else Text("TAMPERED WITH", style="bold red")
    counts = f": {found['links']:,} links, {found['entries']:,} decisions"
    lines: list[RenderableType] = [Text.assemble("The audit log is ", verdict, counts), Text(f"head {found['head']}")]
    for problem in found["problems"]:
        style = "red" if problem["fatal"] else "dim"
        place = f"{problem['id']}: " if problem["id"] else ""
        lines.append(Text(f"{problem['kind']}: {place}{problem['text']}", style=style))
    return Group(*lines)


def pruned(answer: Row) -> str:
    """What was removed, in a line."""
    return f"Removed {answer['removed']:,} links of the audit log; a new link records it."


def restarted(answer: Row) -> str:
    """Where the log continues, in a line."""
    return f"The audit log continues with link {answer['link']}."


def _end(entry: Row) -> Text:
    attempt, ended = entry["attempt"], entry["ended"]
    if not attempt["allowed"]:
        return Text.assemble(Text("refused", style=_OUTCOMES["refused"]), f" {attempt['rule']}")
    if ended is None:
        return Text("no outcome", style=_OUTCOMES["no outcome"])
    what = Text(ended["outcome"], style=_OUTCOMES.get(ended["outcome"], ""))
    return Text.assemble(what, f" {ended['rows']:,} rows, {ended['ms']:,.0f} ms")


def _line(text: str) -> str:
    """A statement on one line."""
    return " ".join(text.split())


db = new_group()
audit = new_group()

UNREACHABLE = 13
"""Exit code if a connection was tested and does not work."""


@db.command("add")
@writes
def add(
    name: Annotated[str, typer.Argument(help="A name for the connection.")],
    url: Annotated[
        str | None,
        typer.Option(help="For example 'postgresql://me:${PASSWORD}@host/shop'; - reads it from standard input."),
    ] = None,
    description: Annotated[str | None, typer.Option(help="What the database holds, in a few words.")] = None,
    samples: Annotated[
        bool, typer.Option("--samples/--no-samples", help="Read sample values, to find relations.")
    ] = True,
    allow_function: Annotated[
        list[str] | None, typer.Option(help="A function that statements may call: schema.name; repeatable.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a connection of the same name.")] = False,
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Connect first, and keep the connection only if it works.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Test and store a connection, and say what its role could change.

    Without --url you are asked for the address, which is not shown. It is stored encrypted.
    """
    arguments = {"name": name, "url": read_address(url), "samples": samples, "description": description}
    more = {"allow_functions": allow_function, "replace": replace or None, "test": test}
    show(ask("add_connection", without_none(arguments | more)), as_json, added)


def _sql(text: str) -> str:
    return sys.stdin.read() if text == STANDARD_INPUT else text


def _fail_unless_it_works(tested: dict[str, Any]) -> None:
    if not tested["ok"]:
        raise typer.Exit(UNREACHABLE)


_NAME = {"connection": "NAME: A connection, as `db list` names it"}

_TABLE = _NAME | {"table": "TABLE"}

_STATEMENT = _NAME | {"sql": "SQL: One statement that only reads; - is standard input"}

add_command(db, "list", DATABASES["sql_connection_list"], connection_list)

add_command(db, "test", DATABASES["sql_connection_test"], health, arguments=_NAME, check=_fail_unless_it_works)

add_command(db, "session", DATABASES["sql_session_info"], session, arguments=_NAME)

add_command(db, "remove", DATABASES["remove_connection"], removed, arguments=_NAME)

add_command(db, "refresh", DATABASES["refresh_schema"], refreshed, arguments=_NAME)

add_command(
    db,
    "schema",
    DATABASES["query_database_schema"],
    schema_text,
    arguments=_TABLE,
    flags={"question": "-q", "budget": "-b"},
)

add_command(db, "tables", DATABASES["sql_list_tables"], table_list, arguments=_NAME, flags={"search": "-s"})

add_command(
    db,
    "find",
    DATABASES["search_schema"],
    found_tables,
    arguments={"query": "QUERY"},
    flags={"connection": "--connection -c"},
)

add_command(db, "columns", DATABASES["get_table_columns"], columns, arguments=_TABLE)

add_command(
    db,
    "query",
    DATABASES["sql_query"],
    rows,
    arguments=_STATEMENT,
    flags={"max_rows": "-n"},
    read={"sql": _sql},
)

add_command(db, "explain", DATABASES["sql_explain"], rows, arguments=_STATEMENT, read={"sql": _sql})

add_command(db, "relations", DATABASES["find_relations"], relations, arguments=_NAME)

Tenant = Annotated[str | None, typer.Option("--tenant", help="The tenant; `local` by default.")]


@audit.command("log")
def log(
    days: Annotated[float | None, typer.Option(help="The number of days to look back; all by default.")] = None,
    connection: Annotated[
        str | None, typer.Option("--connection", "-c", help="Only statements of this connection or server.")
    ] = None,
    actor: Annotated[str | None, typer.Option(help="Only statements of this user.")] = None,
    allowed: Annotated[
        bool | None, typer.Option("--allowed/--refused", help="Only allowed, or only refused statements.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Only statements that contain this text.")] = None,
    limit: Annotated[int, typer.Option(help="The most statements to list, 1 to 500.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the last page, to get the next one.")] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show statements, newest first: user, connection, verdict and outcome."""
    filters = without_none(
        {"days": days, "connection": connection, "actor": actor, "allowed": allowed, "text": text, "tenant": tenant}
    )
    show(ask("sql_activity_log", filters | without_none({"limit": limit, "cursor": cursor})), as_json, activity)


@audit.command("verify")
def verify(
    expect: Annotated[
        str | None,
        typer.Option(metavar="HEAD", help="A head that an earlier check printed; the log must still contain it."),
    ] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Verify that nothing in the log was changed, added or removed; the exit code is 1 otherwise."""
    found = ask("verify_audit", without_none({"expect": expect, "tenant": tenant}))
    show(found, as_json, verification)
    if not found["sound"]:
        raise typer.Exit(1)


@audit.command("prune")
@writes
def prune(
    older_than: Annotated[float, typer.Option("--older-than", help="Age in days; 0 removes all.")],
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Remove old entries. A new entry records which, so that the rest can still be verified."""
    show(ask("prune_audit", without_none({"older_than": older_than, "tenant": tenant})), as_json, pruned)


@audit.command("restart")
@writes
def restart(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Continue a log that was found changed, once the cause is known.

    A new entry records it. Earlier problems are still shown, and no longer prevent statements from running.
    """
    show(ask("restart_audit", without_none({"tenant": tenant})), as_json, restarted)
