"""Makes commands of verbs, and gives every command that writes its `--dry-run`.

Invariant: summaries, descriptions and defaults are those of the verb's declaration. What the user leaves out is not
sent, so that the declaration's default applies. In a dry run every request to the daemon is a rehearsal, no file is
written, and the command prints what would change in place of its answer.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from inspect import Parameter as Argument
from inspect import Signature, signature
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.client import ask_confirmed
from thresher.cli.output import AsJson, rehearsing, shortened, show

if TYPE_CHECKING:
    from thresher.verbs import Parameter, Verb


Plan = Mapping[str, Any]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, without changing it.")]

_DETAIL = 160
"""Characters of a value that are shown; `--json` has all."""

_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


Rehearsal = Callable[[list[dict[str, Any]]], AbstractContextManager[None]]
"""A block in which files are not written; what they would hold is added to the plans."""


def writes(command: Callable[..., None], *, files: Rehearsal | None = None) -> Callable[..., None]:
    """Add the option `--dry-run` to a command.

    Args:
        command: The command; it has an option `--json`.
        files: Rehearses the files that it writes itself, without the daemon.
    """

    @functools.wraps(command)
    def run(*args: Any, dry_run: bool = False, **options: Any) -> None:
        if not dry_run:
            command(*args, **options)
            return
        as_json = bool(options.get("as_json"))
        code = 0
        with rehearsing() as plans, files(plans) if files else nullcontext():
            try:
                command(*args, **options)
            except typer.Exit as ended:
                code = ended.exit_code
        show({"dry_run": True, "plans": plans}, as_json, _planned)
        if code:
            raise typer.Exit(code)

    signature = inspect.signature(command, eval_str=True)  # Typer reads the wrapper without its command's module
    option = inspect.Parameter("dry_run", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=DryRun)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # pyright: ignore[reportAttributeAccessIssue] - read by inspect
    return run


def _planned(answer: Mapping[str, Any]) -> RenderableType:
    """The changes, then what would be left out, and what was checked."""
    plans: Sequence[Plan] = answer["plans"]
    lines = [line for plan in plans for line in _lines(plan)]
    head = "Dry run: nothing was changed." if lines else "Dry run: nothing would change."
    checked = [Text(f"checked: {check}", "dim") for plan in plans for check in plan["checked"]]
    left_out = [Text(f"left out: {reason}", "yellow") for plan in plans for reason in plan["left_out"]]
    return Group(Text(head, "bold"), *lines, *left_out, *checked)


def _lines(plan: Plan) -> list[Any]:
    lines: list[Text] = []
    for change in plan["changes"]:
        mark, style = _MARKS[change["change"]]
        lines.append(Text(f"{mark} {change['what']} {change['name']}".rstrip(), style))
        lines += [Text(f"    {text}") for text in _details(change)]
    for name, value in _result(plan).items():
        if diff := value if name == "diff" else _result({"result": value}).get("diff", ""):
            lines += [Text(line, {"+": "green", "-": "red"}.get(line[:1], "")) for line in str(diff).splitlines()]
        elif value not in (None, "", [], {}):
            lines.append(Text(f"    {name}: {_short(value)}"))
    return lines


def _result(plan: Plan) -> Mapping[str, Any]:
    result = plan.get("result")
    return cast("Mapping[str, Any]", result) if isinstance(result, Mapping) else {}


def _details(change: Mapping[str, Any]) -> list[str]:
    before, after = change["before"], change["after"]
    if change["change"] == "changed":
        return [f"{name}: {_short(before.get(name))} -> {_short(value)}" for name, value in after.items()]
    row = after if change["change"] == "added" else before
    return [f"{name}: {_short(value)}" for name, value in row.items() if value not in (None, "", [], 0, False)]


def _short(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _DETAIL)


NO_WORDS: Mapping[str, str] = {}


def add_command(
    commands: typer.Typer,
    name: str,
    verb: Verb,
    view: Callable[..., RenderableType],
    *,
    arguments: Mapping[str, str] = NO_WORDS,
    flags: Mapping[str, str] = NO_WORDS,
    read: Mapping[str, Callable[[Any], Any]] | None = None,
    hidden: frozenset[str] = frozenset(),
    check: Callable[[Any], None] = lambda _answer: None,
) -> None:
    """Add the command of a verb.

    Args:
        commands: The group of the command.
        name: The command's name.
        verb: The verb that the daemon runs.
        view: Turns the answer into what people see. Its further parameters are arguments of the call, by name.
        arguments: The positional parameters in order, each with its name and description for help: `NAME: Which one`.
        flags: Options with another name than the parameter's, a short form, or another text in the help: `-n`,
            `--connection -c`, `--api -a: Only this API`.
        read: Functions that read a parameter's text or texts, for example from standard input.
        hidden: Parameters that the command does not have.
        check: Called after the answer is printed; may end the command with an exit code.
    """
    reading = read or {}

    def command(*, as_json: bool = False, **given: Any) -> None:
        sent = {key: value for key, value in given.items() if value is not None and value != []}
        sent |= {key: function(sent[key]) for key, function in reading.items() if key in sent}
        answer = ask_confirmed(verb.name, sent, as_json=as_json)
        if verb.key and isinstance(answer[verb.key], list):
            answer = answer[verb.key]
        viewed = {key: sent[key] for key in [*signature(view).parameters][1:] if key in sent}
        show(answer, as_json, partial(view, **viewed))
        check(answer)

    offered = [one for one in verb.parameters.values() if one.name not in hidden]
    ordered = [verb.parameters[key] for key in arguments] + [one for one in offered if one.name not in arguments]
    parameters = [
        _argument(one, arguments[one.name]) if one.name in arguments else _option(one, flags.get(one.name, ""))
        for one in ordered
    ]
    parameters.append(Argument("as_json", Argument.KEYWORD_ONLY, default=False, annotation=AsJson))
    command.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess] - read by Typer
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = verb.summary
    commands.command(name)(command if verb.access == "read" else writes(command))


def _argument(parameter: Parameter, words: str) -> Argument:
    metavar, _, about = words.partition(": ")
    about = about or parameter.description
    place = typer.Argument(metavar=metavar, help=f"{about}.")
    kind = _kind(parameter)
    kind, default = (kind, Argument.empty) if parameter.required else (kind | None, None)
    return Argument(parameter.name, Argument.KEYWORD_ONLY, default=default, annotation=Annotated[kind, place])


def _option(parameter: Parameter, words: str) -> Argument:
    flags, _, about = words.partition(": ")
    long, kind = f"--{parameter.name.replace('_', '-')}", _kind(parameter)
    if kind is bool and parameter.default is not False:
        long = f"{long}/--no-{long.removeprefix('--')}"
    names = flags.split() if "--" in flags else [long, *flags.split()]
    default = "" if parameter.default in ("", None, (), False, True) else f"{parameter.default} by default"
    place = typer.Option(*names, help=f"{'; '.join(filter(None, (about or parameter.description, default)))}.")
    return Argument(parameter.name, Argument.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, place])


def _kind(parameter: Parameter) -> Any:
    """The type of an argument or option; a list is given as several texts."""
    types = [one for one in _types(parameter.annotation) if one is not NoneType]
    return list[str] if {list, tuple} & {get_origin(one) for one in types} else types[0]


def _types(annotation: Any) -> list[Any]:
    """The types that a value may have, without bounds and descriptions."""
    if get_origin(annotation) is Annotated:
        return _types(annotation.__origin__)
    if get_origin(annotation) in (Union, UnionType):
        return [found for one in get_args(annotation) for found in _types(one)]
    return [annotation]
