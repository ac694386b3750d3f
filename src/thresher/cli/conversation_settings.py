"""`thresher models`, `settings` and `prompts`: which model answers, with which settings and which prompts.

Invariant: answers of models and texts of prompts are never markup; characters that a terminal would hide or obey are
written out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import STANDARD_INPUT, filled, given_path, text_of
from thresher.cli.client import ask, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.output import AsJson, export, note, show
from thresher.cli.views import Row, moment, plain_table, removed
from thresher.verbs import PROMPTS, SETTINGS


def model_list(models: Sequence[Row]) -> RenderableType:
    """One line for each model."""
    if not models:
        return Text("No models yet. Register one: thresher models add NAME --url URL --model MODEL")
    table = plain_table("name", "model", "service", "key", "whose", "")
    for one in models:
        whose = "THRESHER_LLM_URL" if one["configured"] else one["owner"] or "the tenant's"
        state = "disabled" if not one["enabled"] else "the default" if one["chosen"] else ""
        name = Text(one["name"], "bold" if one["enabled"] else "dim")
        table.add_row(name, Text(one["model"]), Text(one["url"]), "yes" if one["keyed"] else "", whose, Text(state))
    return table


def model_kept(kept: Row) -> RenderableType:
    """A registered model, and the result of its test."""
    return Group(
        model_list([kept["model"]]), checked(kept["check"]) if kept["check"] else Text("Not tested.", "yellow")
    )


def checked(tried: Row) -> RenderableType:
    """The result of testing a model."""
    if not tried["ok"]:
        return Text(f"{tried['name']} does not answer: {tried['problem']}", "red")
    model = f" ({tried['model']})" if tried["model"] else ""
    return Text(f"{tried['name']}{model} answered in {tried['ms']} ms: {tried['says']}")


def settings_table(view: Row) -> RenderableType:
    """One line for each setting."""
    table = plain_table("setting", "value", "from")
    for name, value in view["settings"].items():
        source = view["sources"][name]
        style = "dim" if source == "default" else "bold"
        table.add_row(Text(name, style), Text(_value(value)), _FROM[source])
    return table


_FROM = {
    "default": "default",
    "owner": "your choice",
    "thread": "the thread's",
    "floor": "the floor, set by the owner of this installation",
}


def floor_line(answer: Row) -> RenderableType:
    """The floor of a tenant."""
    return Text(f"Conversations of tenant {answer['tenant']}: approval is at least '{answer['floor']}'.")


def _value(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)


models = new_group()

ModelName = Annotated[str, typer.Argument(metavar="NAME", help="A model, as `models list` names it.")]

UNREACHABLE = 11
"""Exit code if a model was tested and does not answer."""


@models.command("add")
@writes
def add_model(
    name: Annotated[str, typer.Argument(help="A name for the model.")],
    url: Annotated[str, typer.Option(help="The address of the service, such as http://127.0.0.1:11434/v1.")],
    model: Annotated[str, typer.Option(help="The name that the service has for it, such as qwen3:8b.")],
    key: Annotated[
        str | None, typer.Option(help="The key of the service: '${NAME}' for a variable, or - for standard input.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a model of the same name.")] = False,
    test: Annotated[
        bool, typer.Option("--test/--no-test", help="Test it first, and register it only if it answers.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Test and register a model of a service with the OpenAI API. Its key is stored encrypted."""
    arguments = {"name": name, "url": url, "model": model, "key": _key(key)}
    more = {"replace": replace or None, "test": test}
    show(ask("add_model", without_none(arguments | more)), as_json, model_kept)


@models.command("enable")
@writes
def enable_model(name: ModelName, as_json: AsJson = False) -> None:
    """Let conversations use a model again."""
    show([ask("switch_model", {"name": name, "enabled": True})], as_json, model_list)


@models.command("disable")
@writes
def disable_model(name: ModelName, as_json: AsJson = False) -> None:
    """Exclude a model from conversations."""
    show([ask("switch_model", {"name": name, "enabled": False})], as_json, model_list)


def _key(text: str | None) -> str | None:
    if text == STANDARD_INPUT:
        return sys.stdin.readline().strip()
    if text and "${" not in text:
        note(
            "thresher: this key is visible in the list of processes and in the shell's history.\n"
            "  Use --key - and standard input, or '${NAME}' for a variable."
        )
    return filled("--key", text) if text else None


def _fail_unless_it_answers(tried: dict[str, Any]) -> None:
    if not tried["ok"]:
        raise typer.Exit(UNREACHABLE)


_MODEL = {"name": "NAME: A model, as `models list` names it"}

add_command(models, "list", SETTINGS["list_models"], model_list)

add_command(models, "check", SETTINGS["check_model"], checked, arguments=_MODEL, check=_fail_unless_it_answers)

add_command(models, "remove", SETTINGS["remove_model"], removed, arguments=_MODEL)

settings = new_group()

Thread = Annotated[
    str | None, typer.Option(help="Only for this thread, by its id in `threads list`; for all of yours by default.")
]


@settings.command("set")
@writes
def set_settings(
    choices: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE...", help="For example model=sonnet top_k=5.")],
    thread: Thread = None,
    as_json: AsJson = False,
) -> None:
    """Change settings, from the next message on."""
    changes = dict(_choice(text) for text in choices)
    show(ask("set_settings", without_none({"changes": changes, "thread": thread})), as_json, settings_table)


@settings.command("reset")
@writes
def reset_settings(
    fields: Annotated[list[str], typer.Argument(metavar="FIELD...", help="Settings, as `settings show` names them.")],
    thread: Thread = None,
    as_json: AsJson = False,
) -> None:
    """Reset settings: those of a thread to yours, yours to the defaults."""
    changes = dict.fromkeys(fields)
    show(ask("set_settings", without_none({"changes": changes, "thread": thread})), as_json, settings_table)


@settings.command("floor")
@writes
def approval_floor(
    floor: Annotated[
        str | None, typer.Argument(help="none, destructive, writes or all; without it, the current floor is shown.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant; `local` by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show or set the least strict `approval` that a tenant's conversations may have.

    Only the owner of the data folder can set it, not the holder of a key.
    """
    if floor is None:
        answer = ask("approval_floor", without_none({"tenant": tenant}))
    else:
        answer = ask("set_approval_floor", without_none({"tenant": tenant, "floor": floor}))
    show(answer, as_json, floor_line)


def _choice(text: str) -> tuple[str, str]:
    field, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"'{text}' is not a setting: write FIELD=VALUE.")
    return field.strip(), value.strip()


add_command(settings, "show", SETTINGS["show_settings"], settings_table)

_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def prompt_list(prompts: Sequence[Row]) -> RenderableType:
    """One line for each prompt."""
    table = plain_table("prompt", "words", "variables", "used")
    for one in prompts:
        words = Text("shipped" if one["shipped"] else f"your own, version {one['version']}", _style(one))
        table.add_row(Text(one["name"], "bold"), words, " ".join(one["variables"]), Text(one["description"]))
    return table


def prompt_card(one: Row) -> RenderableType:
    """A prompt: its purpose, its origin and its text."""
    head = Text(one["name"], "bold")
    head.append(f"  {_words(one)}", _style(one))
    return Group(head, Text(one["description"], "dim"), Text(one["text"]))


def prompt_kept(one: Row) -> RenderableType:
    """The version in force after a change."""
    return Text(f"{one['name']}: {_words(one)} is in force.")


def prompt_versions(versions: Sequence[Row]) -> RenderableType:
    """One line for each version, newest first."""
    table = plain_table("version", "words", "by", "since", "begins")
    for one in versions:
        first = Text(one["text"].partition("\n")[0], overflow="ellipsis", no_wrap=True)
        words = Text("shipped" if one["shipped"] else "your own", _style(one))
        table.add_row(str(one["version"]), words, one["author"], moment(one["created_at"]), first)
    return table


def prompt_diff(answer: Row) -> RenderableType:
    """A unified diff."""
    lines = answer["diff"].rstrip("\n").split("\n")
    shown = [Text(line, _DIFF.get(line[:1], "")) for line in lines]
    return Group(*shown) if answer["diff"] else Text("Nothing differs.", "dim")


def _words(one: Row) -> str:
    if one["version"] == 0:
        return "version 0 (shipped)"
    return f"version {one['version']} ({'the shipped text again' if one['shipped'] else 'your own text'})"


def _style(one: Row) -> str:
    return "" if one["shipped"] else "green"


prompts = new_group()


@prompts.command("show")
def show_prompt(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A prompt, as `prompts list` names it.")],
    version: Annotated[
        int | None, typer.Option(help="A version; 0 is the shipped one, by default the one in force.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a prompt, in force or of an earlier version; in a pipe its text only, to edit and set."""
    prompt = ask("show_prompt", without_none({"name": name, "version": version}))
    if as_json or sys.stdout.isatty():
        show(prompt, as_json, prompt_card)
    else:
        export(f"{prompt['text']}\n")


def _text(file: str) -> str:
    return text_of(Path(file) if file == "-" else given_path(file))


_PROMPT = {"name": "NAME: A prompt, as `prompts list` names it"}

add_command(prompts, "list", PROMPTS["list_prompts"], prompt_list)

add_command(
    prompts,
    "set",
    PROMPTS["set_prompt"],
    prompt_kept,
    arguments=_PROMPT | {"text": "FILE: With the text; - is standard input"},
    read={"text": _text},
)

add_command(prompts, "reset", PROMPTS["reset_prompt"], prompt_kept, arguments=_PROMPT)

add_command(prompts, "versions", PROMPTS["list_prompt_versions"], prompt_versions, arguments=_PROMPT)

add_command(prompts, "diff", PROMPTS["diff_prompt"], prompt_diff, arguments=_PROMPT | {"old": "[OLD]", "new": "[NEW]"})
