"""`thresher intents`: which rules a message needs and why, thresholds, statistics."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask
from thresher.cli.decisions import explained, intent_list, statistics, threshold_set
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show
from thresher.cli.verbs import add_command
from thresher.verbs import INTENTS

commands = typer.Typer(help="See which rules a message needs, and why.", no_args_is_help=True, rich_markup_mode=None)


@commands.command("list")
def list_intents(as_json: AsJson = False) -> None:
    """List the intents in use, and the packs that are found and not used."""
    show(ask("list_intents"), as_json, intent_list)


@commands.command("threshold")
@writes
def threshold(
    name: Annotated[str, typer.Argument(help="An intent, as `intents list` names it.")],
    value: Annotated[float | None, typer.Argument(help="The least score that matches, 0 to 1.")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Back to the fitted one.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set an intent's threshold by hand, for every message from now on."""
    if reset == (value is not None):
        raise typer.BadParameter("Give a VALUE from 0 to 1, or --reset.")
    show(ask("set_threshold", {"name": name, "value": value}), as_json, threshold_set)


@commands.command("stats")
def stats(
    days: Annotated[float, typer.Option(help="Over how many days.")] = 30.0,
    tenant: Annotated[str | None, typer.Option("--tenant", help="A tenant that keys stand for.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the commonest intents, what passes through, what was decided with low confidence, wrong tools."""
    arguments = {"days": days} | ({"tenant": tenant} if tenant is not None else {})
    show(ask("intent_stats", arguments), as_json, statistics)


add_command(
    commands,
    "explain",
    INTENTS["explain_intents"],
    explained,
    arguments={"message": "MESSAGE"},
    flags={"queries": "--query -q", "files": "--file -f"},
)
