"""`thresher servers`: the MCP servers behind the endpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli import signing
from thresher.cli.approving import SqlArguments, SqlDialect, SqlTools, Trusted, sql_of
from thresher.cli.client import ask, for_each
from thresher.cli.dry_run import writes
from thresher.cli.files import given_path
from thresher.cli.output import AsJson, progress_bar, show
from thresher.cli.references import filled, variable_here
from thresher.cli.rendering import changed, imported, refreshed, server_list
from thresher.daemon import DaemonFailure

commands = typer.Typer(help="Add and manage MCP servers.", no_args_is_help=True, rich_markup_mode=None)
signing.register(commands)

Names = Annotated[list[str], typer.Argument(help="Servers, as `servers list` names them.")]
_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)")
_ALWAYS = ("HOME", "USERPROFILE", "PATH")
Tested = Annotated[
    bool, typer.Option("--test/--no-test", help="Start or reach it first, and add it only if it lists its tools.")
]
BROKEN_ENTRIES = 2
"""Exit code where entries of a file could not be used."""
UPSTREAM_FAILED = 8
"""Exit code when at least one server could not be listed."""


@commands.command("add")
@writes
def add(
    name: Annotated[str | None, typer.Argument(help="The name; it prefixes the server's tools.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="After --: the command's arguments.")] = None,
    command: Annotated[str | None, typer.Option(help="The program of a stdio server.")] = None,
    url: Annotated[str | None, typer.Option(help="The address of a streamable HTTP server.")] = None,
    env: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, or NAME to take it from your shell; repeatable.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="'Name: value'; '${VARIABLE}' and '${file:PATH}' hide a secret.")
    ] = None,
    cwd: Annotated[str | None, typer.Option(help="The program's working folder.")] = None,
    description: Annotated[str, typer.Option(help="What the server is for.")] = "",
    auto_approve: Annotated[
        bool | None, typer.Option("--auto-approve/--no-auto-approve", help="Take changes of its tools over unasked.")
    ] = None,
    trusted: Trusted = None,
    sql_dialect: SqlDialect = None,
    sql_argument: SqlArguments = None,
    sql_tool: SqlTools = None,
    config: Annotated[
        Path | None, typer.Option(parser=given_path, metavar="FILE", help="Import every server of an mcpServers file.")
    ] = None,
    test: Tested = True,
    as_json: AsJson = False,
) -> None:
    """Add a server, or import a file; an existing name gets the new definition.

    A server that cannot be started or reached is not added, unless --no-test is given.

    Example: thresher servers add git --command uvx -- mcp-server-git
    """
    if config is not None:
        own = {"a name": name, "--command": command, "--url": url, "--env": env, "--header": header, "--cwd": cwd}
        switches = {"--auto-approve": auto_approve is not None, "--trusted": trusted is not None}
        sql = {"--sql-dialect": sql_dialect, "--sql-argument": sql_argument, "--sql-tool": sql_tool}
        _refuse("one server, without --config,", own | {"--description": description} | switches | sql)
        _import(config, as_json, test=test)
        return
    if name is None or (command is None) == (url is None):
        raise typer.BadParameter("Give a name and either --command or --url, or else --config FILE.")
    if url is None:
        _refuse("--url", {"--header": header})
    else:
        _refuse("--command", {"--env": env, "--cwd": cwd, "arguments after --": arguments})
    entry: dict[str, Any] = {"name": name, "description": description}
    sql = sql_of(sql_dialect, sql_argument, sql_tool)
    if url is not None:
        entry |= {"transport": "http", "url": url, "headers": dict(_header(text) for text in header or [])}
    else:
        program = [str(command), *(arguments or [])]
        entry |= {"transport": "stdio", "command": program[0], "args": program[1:]}
        path = variable_here("PATH")  # the daemon's own may be that of another shell, or of another day
        own = {"PATH": path} if path else {}
        entry |= {"env": own | dict(_variable(text) for text in env or []), "cwd": _folder(cwd, program)}
    with progress_bar(f"Adding {name}", as_json) as follow:
        switches = {"auto_approve": auto_approve, "trusted": trusted, "test": test}
        answer = ask("add_server", {"server": entry, "sql": sql, **switches}, progress=follow)
    show(answer, as_json, refreshed)
    _fail_if_any(answer)


@commands.command("list")
def list_servers(as_json: AsJson = False) -> None:
    """List the servers, how they are, and how many tools each has."""
    show(ask("list_servers"), as_json, server_list)


@commands.command("remove")
@writes
def remove(names: Names, as_json: AsJson = False) -> None:
    """Remove servers with all their tools."""
    for_each(names, lambda name: ask("remove_server", {"name": name}))
    show({"changed": names, "removed": True}, as_json, changed)


@commands.command("enable")
@writes
def enable(names: Names, as_json: AsJson = False) -> None:
    """Use servers again."""
    _set(names, as_json, enabled=True)


@commands.command("disable")
@writes
def disable(names: Names, as_json: AsJson = False) -> None:
    """Keep servers in the catalogue without using them."""
    _set(names, as_json, enabled=False)


@commands.command("refresh")
@writes
def refresh(
    names: Annotated[list[str] | None, typer.Argument(help="Servers; all when none is given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Ask servers again for their tools and index what changed."""
    with progress_bar("Refreshing", as_json) as follow:
        answer = ask("refresh", {"servers": names or None}, progress=follow)
    show(answer, as_json, refreshed)
    _fail_if_any(answer)


def _set(names: list[str], as_json: bool, *, enabled: bool) -> None:
    for_each(names, lambda name: ask("set_server_enabled", {"name": name, "enabled": enabled}))
    show({"changed": names, "enabled": enabled}, as_json, changed)


def _import(path: Path, as_json: bool, *, test: bool) -> None:
    try:
        document = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonFailure(
            f"{path} cannot be read: {error}.", hint="Correct the path.", code="invalid_input", exit_code=2
        ) from None
    # Only the variables that the file names leave this shell.
    wanted = {*_REFERENCE.findall(document), *_ALWAYS}
    variables = {name: value for name in wanted if (value := variable_here(name)) is not None}
    with progress_bar("Importing", as_json) as follow:
        answer = ask("import_servers", {"document": document, "variables": variables, "test": test}, progress=follow)
    show(answer, as_json, imported)
    _fail_if_any(answer)
    if answer["problems"]:
        raise typer.Exit(BROKEN_ENTRIES)


def _refuse(needed: str, options: Mapping[str, object]) -> None:
    """Refuse options that would have no effect: each belongs to the other kind of server."""
    if unfit := [name for name, value in options.items() if value]:
        raise typer.BadParameter(f"{' and '.join(unfit)} can be given with {needed} only.")


def _fail_if_any(answer: dict[str, Any]) -> None:
    if answer["failures"]:
        raise typer.Exit(UPSTREAM_FAILED)


def _variable(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if separator:
        return name, filled("--env", value)
    here = variable_here(name)
    if here is None:
        raise typer.BadParameter(f"--env {name}: the variable is not set here; write {name}=VALUE.")
    return name, here


def _header(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":")
    if not separator or not name.strip():
        raise typer.BadParameter("--header wants 'Name: value'.")
    return name.strip(), filled("--header", value.strip())


def _folder(cwd: str | None, program: list[str]) -> str:
    """The folder that relative paths of the command mean: the daemon runs elsewhere."""
    if cwd is not None:
        return str(given_path(cwd).absolute())
    relative = (word for word in program if not Path(word).is_absolute() and word not in (".", "..", ""))
    return str(Path.cwd()) if any(Path(word).exists() for word in relative) else ""
