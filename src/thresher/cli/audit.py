"""`thresher audit`: what was asked of databases and what came of it, and whether that log is whole.

Invariant: answers are decoded JSON; statements and errors are never markup, and hidden characters in them are shown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.client import ask
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, shortened, show

Row = Mapping[str, Any]

_SQL = 200
"""Characters of a statement in the table; `--json` has all."""
_STYLES = {"refused": "red", "error": "yellow", "timeout": "yellow", "no outcome": "yellow", "ok": "green"}


def activity(page: Row) -> RenderableType:
    """One line a statement."""
    if not page["entries"]:
        return Text("No statements.")
    table = Table("id", "at", "who", "where", "outcome", "statement", box=None, pad_edge=False, header_style="dim")
    for entry in page["entries"]:
        attempt = entry["attempt"]
        who = attempt["actor"] or attempt["client"] or "-"
        sql = _line(attempt["sql"])
        shown = Text(shortened(sql, _SQL))
        table.add_row(
            str(entry["id"]), _moment(entry["at"]), Text(who), Text(attempt["connection"]), _end(entry), shown
        )
    if not page["next"]:
        return table
    return Group(table, Text(f"More: --cursor {page['next']}", style="dim"))


def verification(found: Row) -> RenderableType:
    """Whether the log is whole, its head, and what is to be known."""
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
    return f"Removed {answer['removed']:,} links of the audit log; a link says so."


def restarted(answer: Row) -> str:
    """Where the log goes on, in a line."""
    return f"The audit log goes on with link {answer['link']}."


def _end(entry: Row) -> Text:
    attempt, ended = entry["attempt"], entry["ended"]
    if not attempt["allowed"]:
        return Text.assemble(Text("refused", style=_STYLES["refused"]), f" {attempt['rule']}")
    if ended is None:
        return Text("no outcome", style=_STYLES["no outcome"])
    what = Text(ended["outcome"], style=_STYLES.get(ended["outcome"], ""))
    return Text.assemble(what, f" {ended['rows']:,} rows, {ended['ms']:,.0f} ms")


def _line(text: str) -> str:
    """A statement on one line."""
    return " ".join(text.split())


def _moment(text: str) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"


commands = typer.Typer(
    help="See what was asked of databases, and whether that log is whole.", no_args_is_help=True, rich_markup_mode=None
)

Tenant = Annotated[str | None, typer.Option("--tenant", help="A tenant that keys stand for; local unless told.")]


@commands.command("log")
def log(
    days: Annotated[float | None, typer.Option(help="Of so many days; all unless told.")] = None,
    connection: Annotated[str | None, typer.Option("--connection", "-c", help="Of one connection or server.")] = None,
    actor: Annotated[str | None, typer.Option(help="Of one user.")] = None,
    allowed: Annotated[bool | None, typer.Option("--allowed/--refused", help="What was allowed, or refused.")] = None,
    text: Annotated[str | None, typer.Option(help="Statements with this part.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many, 1 to 500.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Of the page before.")] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show statements, newest first: who, where, the verdict, and what came of them."""
    filters = _given(days=days, connection=connection, actor=actor, allowed=allowed, text=text, tenant=tenant)
    show(ask("sql_activity_log", filters | _given(limit=limit, cursor=cursor)), as_json, activity)


@commands.command("verify")
def verify(
    expect: Annotated[
        str | None, typer.Option(metavar="HEAD", help="A head that an earlier check printed: it must still be there.")
    ] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Say whether anything in the log was changed, left out, added or cut; 1 if so."""
    found = ask("verify_audit", _given(expect=expect, tenant=tenant))
    show(found, as_json, verification)
    if not found["sound"]:
        raise typer.Exit(1)


@commands.command("prune")
@writes
def prune(
    older_than: Annotated[float, typer.Option("--older-than", help="Age in days; 0 removes all.")],
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Remove old lines. A line that stays says which, so that the rest can still be checked."""
    show(ask("prune_audit", _given(older_than=older_than, tenant=tenant)), as_json, pruned)


@commands.command("restart")
@writes
def restart(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Go on after a check has found the log changed, and what happened is known.

    A line says so; what is wrong before it is still shown, and no longer keeps statements from running.
    """
    show(ask("restart_audit", _given(tenant=tenant)), as_json, restarted)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
