"""Makes commands out of verbs: the verb's parameters as arguments and options, and how its answer looks.

Invariant: sentences, descriptions and defaults are the declaration's. A command asks the daemon, and what its caller
leaves out is not sent, so that the declaration's default holds. A person is asked for a yes that the verb needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter as Argument
from inspect import Signature, signature
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typer

from thresher.cli.confirming import ask_confirmed
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from thresher.verbs import Parameter, Verb

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
    """Add the command that a verb is.

    Args:
        commands: The group that it belongs to.
        name: Of the command.
        verb: What it asks the daemon for.
        view: How people see the answer. Its further parameters are arguments of the call, by name.
        arguments: Parameters that stand without a name, in order, each with what help calls it: `NAME: Which one`.
        flags: Options that are not called by their parameter's name, have a short form, or another text in help: `-n`,
            `--connection -c`, `--api -a: Only this API`.
        read: Parameters whose text, or texts, are read first, from standard input for example.
        hidden: Parameters that the command does not offer.
        check: Ends the command with an exit code of its own, after the answer is shown.
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
    command.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess] - what Typer reads
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
    """The type of an argument or option; what may be a list is given as several texts."""
    types = [one for one in _types(parameter.annotation) if one is not NoneType]
    return list[str] if {list, tuple} & {get_origin(one) for one in types} else types[0]


def _types(annotation: Any) -> list[Any]:
    """The types that a value may have, without bounds and descriptions."""
    if get_origin(annotation) is Annotated:
        return _types(annotation.__origin__)
    if get_origin(annotation) in (Union, UnionType):
        return [found for one in get_args(annotation) for found in _types(one)]
    return [annotation]
