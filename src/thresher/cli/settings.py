"""`thresher settings`: what holds in conversations with a model."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.model_views import settings_table
from thresher.cli.output import AsJson, show

commands = typer.Typer(help="See and choose what holds in conversations.", no_args_is_help=True, rich_markup_mode=None)

Thread = Annotated[
    str | None, typer.Option(help="For this thread alone, as `threads list` shows its id; all of yours unless told.")
]


@commands.command("show")
def show_settings(thread: Thread = None, as_json: AsJson = False) -> None:
    """Print every setting, and whether it is the default, your choice or the thread's."""
    show(ask("show_settings", given({"thread": thread})), as_json, settings_table)


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


def _choice(text: str) -> tuple[str, str]:
    field, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"'{text}' is no choice: write FIELD=VALUE.")
    return field.strip(), value.strip()
