"""`thresher models`: the chat models that answer in conversations.

Invariant: answers of models are never markup.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.addresses import STANDARD_INPUT
from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, note, show
from thresher.cli.references import filled
from thresher.cli.verbs import add_command
from thresher.verbs import SETTINGS

Row = Mapping[str, Any]


def model_list(models: Sequence[Row]) -> RenderableType:
    """One line a model."""
    if not models:
        return Text("There is no model. Register one: thresher models add NAME --url URL --model MODEL")
    table = Table("name", "model", "service", "key", "whose", "", box=None, pad_edge=False, header_style="dim")
    for one in models:
        whose = "THRESHER_LLM_URL" if one["configured"] else one["owner"] or "the tenant's"
        state = "disabled" if not one["enabled"] else "answers where none is named" if one["chosen"] else ""
        name = Text(one["name"], "bold" if one["enabled"] else "dim")
        table.add_row(name, Text(one["model"]), Text(one["url"]), "yes" if one["keyed"] else "", whose, Text(state))
    return table


def model_kept(kept: Row) -> RenderableType:
    """A registered model, and what came of asking it."""
    return Group(model_list([kept["model"]]), checked(kept["check"]) if kept["check"] else Text("Not asked.", "yellow"))


def checked(tried: Row) -> RenderableType:
    """What came of asking a model."""
    if not tried["ok"]:
        return Text(f"{tried['name']} does not answer: {tried['problem']}", "red")
    model = f" ({tried['model']})" if tried["model"] else ""
    return Text(f"{tried['name']}{model} answered in {tried['ms']} ms: {tried['says']}")


def removed(answer: Row) -> RenderableType:
    """What is gone."""
    return Text(f"Removed {answer['removed']}.")


def settings_table(view: Row) -> RenderableType:
    """One line a setting."""
    table = Table("setting", "value", "from", box=None, pad_edge=False, header_style="dim")
    for name, value in view["settings"].items():
        source = view["sources"][name]
        style = "dim" if source == "default" else "bold"
        table.add_row(Text(name, style), Text(_value(value)), _FROM[source])
    return table


_FROM = {
    "default": "default",
    "owner": "your choice",
    "thread": "the thread's",
    "floor": "the floor that the owner of this installation has set",
}


def floor_line(answer: Row) -> RenderableType:
    """The floor of a tenant."""
    return Text(f"Conversations of tenant {answer['tenant']}: approval is at least '{answer['floor']}'.")


def _value(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


commands = typer.Typer(
    help="Register chat models for conversations, check and switch them.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A model, as `models list` names it.")]

UNREACHABLE = 11
"""Exit code where a model was checked and does not answer."""


@commands.command("add")
@writes
def add_model(
    name: Annotated[str, typer.Argument(help="What the model is called from now on.")],
    url: Annotated[str, typer.Option(help="The service's address, such as http://127.0.0.1:11434/v1.")],
    model: Annotated[str, typer.Option(help="The service's name for it, such as qwen3:8b.")],
    key: Annotated[
        str | None, typer.Option(help="The service's key, as '${NAME}' of a variable; - reads it from standard input.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Give an existing name this model.")] = False,
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Ask it something first, and keep it only if it answers.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Register a model of a service that speaks the OpenAI wire format, and ask it something; the key is encrypted."""
    arguments = {"name": name, "url": url, "model": model, "key": _key(key)}
    more = {"replace": replace or None, "test": test}
    show(ask("add_model", given(arguments | more)), as_json, model_kept)


@commands.command("enable")
@writes
def enable_model(name: Name, as_json: AsJson = False) -> None:
    """Let conversations use a model again."""
    show([ask("switch_model", {"name": name, "enabled": True})], as_json, model_list)


@commands.command("disable")
@writes
def disable_model(name: Name, as_json: AsJson = False) -> None:
    """Keep conversations from using a model."""
    show([ask("switch_model", {"name": name, "enabled": False})], as_json, model_list)


def _key(text: str | None) -> str | None:
    if text == STANDARD_INPUT:
        return sys.stdin.readline().strip()
    if text and "${" not in text:
        note(
            "thresher: this key can be seen in the list of processes and in the shell's history.\n"
            "  Write --key - and give it on standard input, or '${NAME}' for a variable."
        )
    return filled("--key", text) if text else None


def _fail_unless_it_answers(tried: dict[str, Any]) -> None:
    if not tried["ok"]:
        raise typer.Exit(UNREACHABLE)


_NAME = {"name": "NAME: A model, as `models list` names it"}

add_command(commands, "list", SETTINGS["list_models"], model_list)
add_command(commands, "check", SETTINGS["check_model"], checked, arguments=_NAME, check=_fail_unless_it_answers)
add_command(commands, "remove", SETTINGS["remove_model"], removed, arguments=_NAME)
