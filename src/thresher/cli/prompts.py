"""`thresher prompts`: what the agent's model is told, as shipped or in one's own words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.files import given_path, text_of
from thresher.cli.output import AsJson, export, show
from thresher.cli.prompt_views import prompt_card, prompt_diff, prompt_kept, prompt_list, prompt_versions
from thresher.cli.verbs import add_command
from thresher.verbs import PROMPTS

commands = typer.Typer(
    help="Read and change what the agent's model is told.", no_args_is_help=True, rich_markup_mode=None
)


@commands.command("show")
def show_prompt(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A prompt, as `prompts list` names it.")],
    version: Annotated[int | None, typer.Option(help="The one in force by default; 0 is the shipped one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a prompt, as it is in force or once was; where no terminal is, its text alone, to be edited and set."""
    prompt = ask("show_prompt", given({"name": name, "version": version}))
    if as_json or sys.stdout.isatty():
        show(prompt, as_json, prompt_card)
    else:
        export(f"{prompt['text']}\n")


def _text(file: str) -> str:
    return text_of(Path(file) if file == "-" else given_path(file))


_NAME = {"name": "NAME: A prompt, as `prompts list` names it"}

add_command(commands, "list", PROMPTS["list_prompts"], prompt_list)
add_command(
    commands,
    "set",
    PROMPTS["set_prompt"],
    prompt_kept,
    arguments=_NAME | {"text": "FILE: With the text; - is standard input"},
    read={"text": _text},
)
add_command(commands, "reset", PROMPTS["reset_prompt"], prompt_kept, arguments=_NAME)
add_command(commands, "versions", PROMPTS["list_prompt_versions"], prompt_versions, arguments=_NAME)
add_command(commands, "diff", PROMPTS["diff_prompt"], prompt_diff, arguments=_NAME | {"old": "[OLD]", "new": "[NEW]"})
