"""Groups whose commands are imported when they are run, so that each command loads its own module only.

Invariant: the help of a group imports no command of the table. Typer converts values with pydantic, whose import takes
a fifth of a command's time: values that need no conversion bypass it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command, get_group

from thresher.daemon import Importing

Command = TyperCommand | TyperGroup

_WHOLE = 1000
"""Characters of a summary that are never reached: help wraps summaries and does not cut them."""


class CommandEntry(NamedTuple):
    """A command or group in a table.

    Attributes:
        source: `module:name` in `thresher.cli`: a group made by `new_group`, or the function of a command.
        summary: One line for the help; the first line of a command's docstring.
    """

    source: str
    summary: str


def new_group(table: Mapping[str, CommandEntry] = MappingProxyType({})) -> typer.Typer:
    """A group with the commands of a table, to which others can be added."""
    return typer.Typer(cls=table_group(table), no_args_is_help=True, rich_markup_mode=None)


def table_group(table: Mapping[str, CommandEntry]) -> type[TyperGroup]:
    """The class of a group that has the commands of a table besides those that are added to it."""

    class TableGroup(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = cast("Any", _Commands(cast("Mapping[str, Command]", self.commands), table))

        def list_commands(self, ctx: Any) -> list[str]:
            """The names; nothing is imported."""
            del ctx
            return list(self.commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Command | None:
            """The command of a name, None if there is none."""
            command = cast("Command | None", super().get_command(ctx, cmd_name))
            if command is not None:
                _bypass_conversion(command, ctx)
            return command

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Read the group's own options."""
            _bypass_conversion(self, ctx)
            return super().parse_args(ctx, args)

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            """Write the list of commands from their summaries."""
            rows = [
                (name, table[name].summary if name in table else self.commands[name].get_short_help_str(_WHOLE))
                for name in self.list_commands(ctx)
            ]
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    return TableGroup


class _Commands(Mapping[str, "Command"]):
    """Commands by name: the added ones, then those of the table, each imported when it is looked up."""

    def __init__(self, registered: Mapping[str, Command], table: Mapping[str, CommandEntry]) -> None:
        self._registered = registered
        self._table = table

    def __iter__(self) -> Iterator[str]:
        yield from self._registered
        yield from self._table

    def __len__(self) -> int:
        return len(self._registered) + len(self._table)

    def __getitem__(self, name: str) -> Command:
        if name in self._registered:
            return self._registered[name]
        entry = self._table[name]
        module, _, attribute = entry.source.partition(":")
        with Importing():
            source = getattr(import_module(f"thresher.cli.{module}"), attribute)
        command = _group(source, entry.summary) if isinstance(source, typer.Typer) else _command(source)
        command.name = name
        return command


def _group(source: typer.Typer, summary: str) -> TyperGroup:
    group = get_group(source)
    group.help = summary
    return group


def _command(function: Any) -> Command:
    alone = typer.Typer(rich_markup_mode=None, add_completion=False)
    alone.command()(function)
    return cast("Command", get_command(alone))


def _bypass_conversion(command: Command, ctx: Any) -> None:
    """Let the parameters of a command bypass Typer's converters for values that need no conversion."""
    for parameter in command.get_params(ctx):
        if isinstance(parameter, TyperArgument | TyperOption) and not isinstance(parameter.get_runtime_param, _Value):
            parameter.get_runtime_param = _Value(parameter)


class _Value:
    """Takes a missing value, a text and a default as they are, and everything else by Typer's converter."""

    def __init__(self, parameter: TyperArgument | TyperOption) -> None:
        self._converter = parameter.get_runtime_param
        kind = parameter.type_descriptor
        self._is_text = kind.annotation in (str, list[str]) and kind.parameter_info.parser is None

    def __call__(self) -> Any:
        """Replaces the parameter's `get_runtime_param`."""
        return self

    def coerce(self, value: Any, param: TyperArgument | TyperOption, ctx: typer.Context) -> Any:
        """The converted value."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        if value is param.default or (self._is_text and isinstance(value, str) != several):
            return value
        return self._converter().coerce(value, param=param, ctx=ctx)
