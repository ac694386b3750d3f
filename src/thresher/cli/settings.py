"""`thresher settings`: what holds in conversations with a model."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.models import floor_line, settings_table
from thresher.cli.output import AsJson, show
from thresher.cli.verbs import add_command
from thresher.verbs import SETTINGS

commands = typer.Typer(help="See and choose what holds in conversations.", no_args_is_help=True, rich_markup_mode=None)

Thread = Annotated[
    str | None, typer.Option(help="For this thread alone, as `threads list` shows its id; all of yours unless told.")
]


@commands.command("set")
@writes
def set_settings(
    choices: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE...", help="Such as model=sonnet top_k=5.")],
    thread: Thread = None,
    as_json: AsJson = False,
) -> None:
    """Choose, from the next message on."""
    changes = dict(_choice(text) for text in choices)
    show(ask("set_settings", given({"changes": changes, "thread": thread})), as_json, settings_table)


@commands.command("reset")
@writes
def reset_settings(
    fields: Annotated[list[str], typer.Argument(metavar="FIELD...", help="As `settings show` names them.")],
    thread: Thread = None,
    as_json: AsJson = False,
) -> None:
    """Take choices back: a thread then has your value, and you the default."""
    changes = dict.fromkeys(fields)
    show(ask("set_settings", given({"changes": changes, "thread": thread})), as_json, settings_table)


@commands.command("floor")
@writes
def approval_floor(
    floor: Annotated[
        str | None, typer.Argument(help="none, destructive, writes or all; shows what holds unless given.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Whose; `local` unless given.")] = None,
    as_json: AsJson = False,
) -> None:
    """The least strict `approval` of a tenant's conversations: nothing that is chosen or sent goes below it.

    Only the owner of the data folder sets it, nobody with a key.
    """
    if floor is None:
        answer = ask("approval_floor", given({"tenant": tenant}))
    else:
        answer = ask("set_approval_floor", given({"tenant": tenant, "floor": floor}))
    show(answer, as_json, floor_line)


def _choice(text: str) -> tuple[str, str]:
    field, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"'{text}' is no choice: write FIELD=VALUE.")
    return field.strip(), value.strip()


add_command(commands, "show", SETTINGS["show_settings"], settings_table)
