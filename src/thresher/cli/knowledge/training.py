"""`thresher train`: fits the search for tools to a tenant's own messages, shows what that gained, and removes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import path_option
from thresher.cli.client import ask, without_none
from thresher.cli.commands import writes
from thresher.cli.output import AsJson, progress_bar, show
from thresher.cli.views import Row, figure_table, moment, percent


def training_report(answer: Row) -> RenderableType:
    """Whether an adapter is in use, and what it gained."""
    head = Text("in use" if answer["in_use"] else f"not in use: {answer['reason']}", style="bold")
    if not answer["model"]:
        return head
    made = [
        ("model", answer["model"]),
        ("trained on", f"the {answer['source']}, by {answer['made_by']}, {moment(answer['made_at'])}"),
    ]
    return Group(head, figure_table(made + _figures(answer["figures"])))


def training_result(answer: Row) -> RenderableType:
    """What was gained on messages that were left out, and whether the adapter is kept."""
    parts: list[RenderableType] = [figure_table(_figures(answer["figures"]))]
    if left := answer["left_out"]:
        parts.append(Text(f"{left:,} examples name no tool that is there.", style="yellow"))
    if answer["kept"]:
        parts.append(Text("Kept: searches use it. To remove it: thresher train --remove", style="bold"))
    else:
        parts.append(Text(f"Not kept; searches are as before. {answer['reason']}", style="bold"))
    return Group(*parts)


def _figures(figures: Row) -> list[tuple[str, str]]:
    gain = f"{figures['gain']:+.3f} (95 %: {figures['low']:+.3f} to {figures['high']:+.3f})"
    voters = f"{figures['voters']:,}, better for {figures['better']:,}, worse for {figures['worse']:,}"
    return [
        ("samples", f"{figures['samples']:,} for {figures['tools']:,} tools"),
        ("different messages", f"{figures['messages']:,}, each ranked by what the others teach"),
        ("users and keys", voters),
        ("needed tool first", f"{percent(figures['first_before'])} -> {percent(figures['first_after'])}"),
        ("among the first five", f"{percent(figures['five_before'])} -> {percent(figures['five_after'])}"),
        ("gain in 1 / place", gain),
    ]


def removal_report(answer: Row) -> RenderableType:
    """Whether there was anything to remove."""
    return Text("Removed: searches are as before it." if answer["removed"] else "Nothing was trained.")


def _train(arguments: Mapping[str, Any], as_json: bool) -> None:
    with progress_bar("Training", as_json) as follow:
        answer = ask("train_tools", arguments, progress=follow)
    show(answer, as_json, training_result)


@writes
def train(
    from_log: Annotated[bool, typer.Option("--from-log", help="Fit it to the uses of tools in the log.")] = False,
    file: Annotated[
        Path | None, path_option('Fit it to JSON lines {"query", "relevant": ["server/name", ...]}.', "--from")
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Show what is in use, and what it gained.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    tenant: Annotated[str | None, typer.Option("--tenant", help="The tenant; `local` by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit the search for tools to your own messages, if that finds more of them.

    What is fitted stays in your database, and is kept only if it gains on messages that were left out.
    """
    if from_log + (file is not None) + status + remove != 1:
        raise typer.BadParameter("Give one of --from-log, --from FILE, --status and --remove.")
    given = without_none({"tenant": tenant})
    if status:
        show(ask("show_training", given), as_json, training_report)
    elif remove:
        show(ask("remove_training", given), as_json, removal_report)
    else:
        _train(given | without_none({"file": str(file.absolute()) if file else None}), as_json)
