"""`thresher tools replay`, `learned`, `learning` and `unlearn`: what the ranking learns from the use of tools.

Invariant: text from servers and messages is never markup.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.client import ask, without_none
from thresher.cli.commands import writes
from thresher.cli.output import AsJson, shortened, show
from thresher.cli.views import Row, figure_table, moment, percent, plain_table

Tenant = Annotated[str | None, typer.Option("--tenant", help="The tenant; `local` by default.")]

_SHOWN: Final = 20
"""Tools in a table; `--json` has all."""
_MODES: Final = {
    "off": "nothing is recorded",
    "shadow": "uses are recorded and rank nothing",
    "on": "tools that were used after like messages rank higher",
}


def learned_report(answer: Row) -> RenderableType:
    """The mode, then what uses say about each tool."""
    mode = Text(f"{answer['mode']}: {_MODES[answer['mode']]}", style="bold")
    if answer["decided_by"]:
        mode.append(f" (decided by {answer['decided_by']}, {moment(answer['decided_at'])})", style="dim")
    if not answer["tools"]:
        return Group(mode, Text("No uses yet: a use is a successful call after a search."))
    table = plain_table("tool", "uses", "by", "passed over", "failed", "last", "messages", unwrapped=("uses", "last"))
    for tool in answer["tools"][:_SHOWN]:
        counts = (str(tool["uses"]), str(tool["voters"]), str(tool["passed"]), str(tool["failed"]))
        messages = " | ".join(shortened(message, 60) for message in tool["messages"])
        table.add_row(Text(tool["name"], style="bold"), *counts, moment(tool["last"]), Text(messages, style="dim"))
    return Group(mode, table, *_more(len(answer["tools"])))


def replay_report(answer: Row) -> RenderableType:
    """What would have changed, whether that helps, and the tools that would have moved."""
    if not answer["uses"]:
        return Text("Nothing to replay yet: a use is a successful call of a tool that a search had offered.")
    gain = f"{answer['gain']:+.3f} (95 %: {answer['low']:+.3f} to {answer['high']:+.3f})"
    figures = figure_table(
        [
            ("mode", answer["mode"]),
            ("uses", f"{answer['uses']:,} of {answer['voters']:,} users and keys"),
            ("another place", f"{answer['changed']:,}, further ahead {answer['better']:,}"),
            ("called tool was first", f"{percent(answer['first_before'])} -> {percent(answer['first_after'])}"),
            ("among the first five", f"{percent(answer['five_before'])} -> {percent(answer['five_after'])}"),
            ("gain in 1 / place", gain),
        ]
    )
    parts: list[RenderableType] = [figures]
    if answer["moved"]:
        table = plain_table("tool", "uses", "mean place", unwrapped=("uses", "mean place"))
        for tool in answer["moved"][:_SHOWN]:
            places = f"{tool['before']:.1f} -> {tool['after']:.1f}"
            table.add_row(Text(tool["name"], style="bold"), str(tool["uses"]), places)
        parts += [table, *_more(len(answer["moved"]))]
    if answer["helps"] and answer["mode"] == "shadow":
        parts.append(Text("It helps. Switch it on: thresher tools learning on", style="dim"))
    return Group(*parts)


def unlearned(answer: Row) -> RenderableType:
    """How many uses were erased."""
    count = answer["removed"]
    return Text("Erased 1 use." if count == 1 else f"Erased {count:,} uses.")


def _more(count: int) -> list[Text]:
    return [Text(f"and {count - _SHOWN:,} more tools (--json has all)", style="dim")] if count > _SHOWN else []


def replay(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Compute from the log what learning from use would have changed."""
    show(ask("replay_learning", without_none({"tenant": tenant})), as_json, replay_report)


def learned(tenant: Tenant = None, as_json: AsJson = False) -> None:
    """Show what was learned from the use of tools, and whether it counts."""
    show(ask("learned_tools", without_none({"tenant": tenant})), as_json, learned_report)


@writes
def learning(
    mode: Annotated[Literal["off", "shadow", "on"], typer.Argument(help="Whether uses are recorded, and count.")],
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Decide whether tools that were used after like messages rank higher."""
    show(ask("set_learning", without_none({"mode": mode, "tenant": tenant})), as_json, learned_report)


@writes
def unlearn(
    names: Annotated[list[str] | None, typer.Argument(help="Tools, as `tools learned` names them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="What was learned about all tools.")] = False,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Erase what was learned from the use of some tools, or of all."""
    if bool(names) == everything:
        raise typer.BadParameter("Give names, or --all.")
    show(ask("unlearn_tools", without_none({"names": names or None, "tenant": tenant})), as_json, unlearned)
