"""`thresher prompts`: what the agent's model is told, as shipped or in one's own words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.files import given_path, text_of
from thresher.cli.output import AsJson, export, show
from thresher.cli.prompt_views import prompt_card, prompt_diff, prompt_kept, prompt_list, prompt_versions

commands = typer.Typer(
    help="Read and change what the agent's model is told.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A prompt, as `prompts list` names it.")]


@commands.command("list")
def list_prompts(as_json: AsJson = False) -> None:
    """List the prompts: when each is used, and whether its words are the shipped ones."""
    show(ask("list_prompts"), as_json, prompt_list)


@commands.command("show")
def show_prompt(
    name: Name,
    version: Annotated[int | None, typer.Option(help="What is in force unless told; 0 is what is shipped.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print a prompt, as it is in force or once was; where no terminal is, its text alone, to be edited and set."""
    prompt = ask("show_prompt", given({"name": name, "version": version}))
    if as_json or sys.stdout.isatty():
        show(prompt, as_json, prompt_card)
    else:
        export(f"{prompt['text']}\n")


@commands.command("set")
@writes
def set_prompt(
    name: Name,
    file: Annotated[
        Path, typer.Argument(parser=given_path, metavar="FILE", help="With the text; - is standard input.")
    ],
    expected: Annotated[
        int | None, typer.Option(help="The version that the text was made from; fails where another is in force.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say a prompt in your own words, from the next message on."""
    arguments = {"name": name, "text": text_of(file), "expected": expected}
    show(ask("set_prompt", given(arguments)), as_json, prompt_kept)


@commands.command("reset")
@writes
def reset_prompt(name: Name, as_json: AsJson = False) -> None:
    """Have the shipped words again; yours stay as a version."""
    show(ask("reset_prompt", {"name": name}), as_json, prompt_kept)


@commands.command("versions")
def versions(name: Name, as_json: AsJson = False) -> None:
    """List what a prompt once said, newest first."""
    show(ask("list_prompt_versions", {"name": name}), as_json, prompt_versions)


@commands.command("diff")
def diff(
    name: Name,
    old: Annotated[int | None, typer.Argument(help="A version; what is shipped unless told.")] = None,
    new: Annotated[int | None, typer.Argument(help="A version; what is in force unless told.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print what differs between two versions."""
    show(ask("diff_prompt", given({"name": name, "old": old, "new": new})), as_json, prompt_diff)
