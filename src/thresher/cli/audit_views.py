"""The audit log for people.

Invariant: takes decoded JSON and returns something that Rich can print; statements and errors are never markup, and
hidden characters in them are shown.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.output import shortened

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
