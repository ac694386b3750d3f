"""`thresher prompts`: what the agent's model is told, as shipped or in one's own words.

Invariant: a prompt's text is never markup; characters that a terminal would hide or obey are written out.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.files import given_path, text_of
from thresher.cli.output import AsJson, export, show
from thresher.cli.verbs import add_command
from thresher.verbs import PROMPTS

Row = Mapping[str, Any]

_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def prompt_list(prompts: Sequence[Row]) -> RenderableType:
    """One line a prompt."""
    table = Table("prompt", "words", "variables", "used", box=None, pad_edge=False, header_style="dim")
    for one in prompts:
        words = Text("shipped" if one["shipped"] else f"your own, version {one['version']}", _style(one))
        table.add_row(Text(one["name"], "bold"), words, " ".join(one["variables"]), Text(one["description"]))
    return table


def prompt_card(one: Row) -> RenderableType:
    """A prompt: what it is for, whose words these are, the words."""
    head = Text(one["name"], "bold")
    head.append(f"  {_words(one)}", _style(one))
    return Group(head, Text(one["description"], "dim"), Text(one["text"]))


def prompt_kept(one: Row) -> RenderableType:
    """What is in force after a change."""
    return Text(f"{one['name']}: {_words(one)} is in force.")


def prompt_versions(versions: Sequence[Row]) -> RenderableType:
    """One line a version, newest first."""
    table = Table("version", "words", "by", "since", "begins", box=None, pad_edge=False, header_style="dim")
    for one in versions:
        first = Text(one["text"].partition("\n")[0], overflow="ellipsis", no_wrap=True)
        words = Text("shipped" if one["shipped"] else "your own", _style(one))
        table.add_row(str(one["version"]), words, one["author"], _moment(one["created_at"]), first)
    return table


def prompt_diff(answer: Row) -> RenderableType:
    """A unified diff."""
    lines = answer["diff"].rstrip("\n").split("\n")
    shown = [Text(line, _DIFF.get(line[:1], "")) for line in lines]
    return Group(*shown) if answer["diff"] else Text("Nothing differs.", "dim")


def _words(one: Row) -> str:
    if one["version"] == 0:
        return "version 0 (shipped)"
    return f"version {one['version']} ({'shipped words again' if one['shipped'] else 'your own words'})"


def _style(one: Row) -> str:
    return "" if one["shipped"] else "green"


def _moment(text: str | None) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}" if text else ""


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
