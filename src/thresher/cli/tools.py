"""`thresher tools`: find, list, show, refresh, switch on and off, mark as core."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.client import ask, for_each
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show
from thresher.cli.rendering import changed, definitions, found, refreshed, tool_list
from thresher.cli.servers import UPSTREAM_FAILED

commands = typer.Typer(help="Find and manage tools.", no_args_is_help=True, rich_markup_mode=None)

Names = Annotated[list[str], typer.Argument(help="Tools, as `tools list` names them.")]


@commands.command("find")
def find(
    message: Annotated[str | None, typer.Argument(help="The user's message.")] = None,
    query: Annotated[list[str] | None, typer.Option("--query", "-q", help="A short action phrase; repeatable.")] = None,
    history: Annotated[list[str] | None, typer.Option(help="An earlier turn, oldest first; repeatable.")] = None,
    server: Annotated[list[str] | None, typer.Option("--server", "-s", help="Only this server; repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many tools, 1 to 10.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Least probability, 0 to 1.")] = None,
    no_core: Annotated[bool, typer.Option("--no-core", help="Leave core tools out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pick the tools that a message needs."""
    arguments: dict[str, Any] = {"include_core_tools": not no_core}
    given = {"message": message, "queries": query, "history": history, "servers": server}
    given |= {"limit": limit, "threshold": threshold}
    show(
        ask("find_tools", arguments | {name: value for name, value in given.items() if value is not None}),
        as_json,
        found,
    )


@commands.command("list")
def list_tools(
    server: Annotated[str | None, typer.Option("--server", "-s", help="Only this server.")] = None,
    as_json: AsJson = False,
) -> None:
    """List every tool of the catalogue; with --json descriptions and schemas, too."""
    show(ask("list_tools", {"server": server, "whole": as_json}), as_json, tool_list)


@commands.command("show")
def show_tools(names: Names, as_json: AsJson = False) -> None:
    """Show tools in full: description, parameters, annotations."""
    show(ask("describe_tools", {"names": names}), as_json, definitions)


@commands.command("enable")
@writes
def enable(names: Names, as_json: AsJson = False) -> None:
    """Let tools be found and called."""
    _set(names, {"enabled": True}, as_json)


@commands.command("disable")
@writes
def disable(names: Names, as_json: AsJson = False) -> None:
    """Hide tools from every search and refuse calls to them."""
    _set(names, {"enabled": False}, as_json)


@commands.command("core")
@writes
def core(
    names: Names,
    off: Annotated[bool, typer.Option("--off", help="Take the mark away.")] = False,
    as_json: AsJson = False,
) -> None:
    """Always include tools, whatever the message."""
    _set(names, {"core": not off}, as_json)


@commands.command("refresh")
@writes
def refresh(
    name: Annotated[str, typer.Argument(help="A tool, as `tools list` names it.")], as_json: AsJson = False
) -> None:
    """Ask a tool's server again for this one tool and index it if it changed."""
    answer = ask("refresh", {"tool": name})
    show(answer, as_json, refreshed)
    if answer["failures"]:
        raise typer.Exit(UPSTREAM_FAILED)


def _set(names: list[str], change: dict[str, Any], as_json: bool) -> None:
    for_each(names, lambda name: ask("set_tool", {"name": name} | change))
    show({"changed": names} | change, as_json, changed)
