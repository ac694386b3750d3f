"""`thresher servers`: add, import, list, switch and refresh MCP servers, and sign in at them.

Invariant: only variables that a definition names leave the user's shell. The address of a sign-in is printed, whether
or not a browser can be opened, and Ctrl-C leaves nothing behind.
"""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
import threading
import webbrowser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import filled, given_path, path_option, variable_here
from thresher.cli.client import ask, for_each
from thresher.cli.command_table import new_group
from thresher.cli.commands import writes
from thresher.cli.output import AsJson, note, progress_bar, shortened, show
from thresher.cli.views import Row, changed, plain_table
from thresher.daemon import DaemonFailure


def server_list(answer: Sequence[Row]) -> RenderableType:
    """Every server: state, number of tools, address."""
    if not answer:
        return Text("No servers yet. Add one: thresher servers add --help")
    table = plain_table("server", "state", "tools", "reached by", "last error", unwrapped=("state",))
    for server in answer:
        state = server["state"] if server["enabled"] else "disabled"
        style = {"ready": "green", "failed": "red", "stale": "yellow"}.get(state, "")
        state += {"done": ", signed in", "needed": ", sign-in needed"}.get(str(server.get("sign_in", "")), "")
        state += ", SQL guarded" if server.get("sql") else ""
        target = Text(f"{server['transport']}: {shortened(server['target'], 60)}")
        name = Text(server["name"], style="bold")
        table.add_row(name, Text(state, style=style), _tool_count(server), target, Text(shortened(server["error"])))
    return table


def _tool_count(server: Row) -> str:
    held = [f"{server['held']} held"] if server.get("held") else []
    warned = [f"{server['warned']} with warnings"] if server.get("warned") else []
    return f"{server['tools']} ({', '.join(held + warned)})" if held or warned else str(server["tools"])


def signed_in(answer: Row) -> RenderableType:
    """The sign-in: server, rights, duration."""
    rights = f" for {answer['scope']}" if answer["scope"] else ""
    lines = [Text(f"Signed in at '{answer['name']}'{rights}.", style="green")]
    if not answer["renewable"] and answer["expires_at"] is not None:
        until = dt.datetime.fromtimestamp(answer["expires_at"], dt.UTC).astimezone()
        lines.append(
            Text(f"The server does not allow renewal: the sign-in ends at {until:%Y-%m-%d %H:%M}.", style="yellow")
        )
    failures = [Text(f"{name}: {error}", style="red") for name, error in answer["failures"].items()]
    return Group(*lines, *failures)


def signed_out(answer: Row) -> RenderableType:
    """The sign-out, and whether the server was told."""
    note = "" if answer["revoked"] else " The server was not told, or cannot end sign-ins."
    return Text(f"Signed out of '{answer['name']}'.{note}")


def refreshed(answer: Row) -> RenderableType:
    """What a refresh embedded, kept and removed; failed servers, tools that wait for approval, lapsed rewrites."""
    counts = ", ".join(f"{answer[name]} {name}" for name in ("embedded", "kept", "removed"))
    failures = [Text(f"{name}: {error}", style="red") for name, error in answer["failures"].items()]
    held = answer["held"]
    waiting = f"{len(held)} held back until you approve: {', '.join(held)}. See: thresher tools held."
    notes = [Text(waiting, style="yellow")] if held else []
    if answer["lapsed"]:
        notes.append(lapsed_rewrites(answer["lapsed"]))
    if answer.get("findings"):
        found = ", ".join(f"{rule} {count:,}" for rule, count in answer["findings"].items())
        notes.append(Text(f"Definitions: {found}. More, and whether tools are found: thresher tools health.", "yellow"))
    return Group(Text(f"Tools: {counts}."), *failures, *notes)


def lapsed_rewrites(names: Sequence[str]) -> Text:
    """The notice of rewrites that were approved for other definitions."""
    text = f"Rewrites that are not used, since the definitions have changed: {', '.join(names)}."
    return Text(f"{text} See: thresher tools rewrites list.", style="yellow")


def imported(answer: Row) -> RenderableType:
    """The servers of a file that were added, and the problems of the others."""
    added = ", ".join(answer["added"]) or "none"
    return Group(
        Text(f"Servers added: {added}."),
        *(Text(line, style="yellow") for line in answer["problems"]),
        refreshed(answer),
    )


SqlDialect = Annotated[
    str | None,
    typer.Option(help="Check the SQL of its calls: postgresql, mysql, mariadb, sqlite, duckdb, oracle or mssql."),
]

SqlArguments = Annotated[
    list[str] | None, typer.Option(help="An argument that holds SQL; `sql` and `query` by default; repeatable.")
]

SqlTools = Annotated[list[str] | None, typer.Option(help="A tool that must have such an argument; repeatable.")]

Trusted = Annotated[
    bool | None,
    typer.Option("--trusted/--no-trusted", help="Believe the server when it says that a tool only reads."),
]


def sql_of(dialect: str | None, arguments: Sequence[str] | None, tools: Sequence[str] | None) -> dict[str, Any] | None:
    """The `sql` part of a server's definition; None without a dialect."""
    if dialect is None:
        if arguments or tools:
            raise typer.BadParameter("--sql-argument and --sql-tool need --sql-dialect.")
        return None
    return {"dialect": dialect, "tools": list(tools or ())} | ({"argument": list(arguments)} if arguments else {})


servers = new_group()


Names = Annotated[list[str], typer.Argument(help="Servers, as `servers list` names them.")]

_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)")

_ALWAYS = ("HOME", "USERPROFILE", "PATH")

Tested = Annotated[
    bool, typer.Option("--test/--no-test", help="Start or connect it first, and add it only if it lists its tools.")
]

BROKEN_ENTRIES = 2
"""Exit code if entries of a file could not be used."""

UPSTREAM_FAILED = 8
"""Exit code if a server could not be listed."""


@servers.command("add")
@writes
def add(
    name: Annotated[str | None, typer.Argument(help="A name for the server; the prefix of its tools.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="After --: the arguments of the command.")] = None,
    command: Annotated[str | None, typer.Option(help="The program of a stdio server.")] = None,
    url: Annotated[str | None, typer.Option(help="The address of a streamable HTTP server.")] = None,
    env: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, or NAME for the value in your shell; repeatable.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="'Name: value'; '${VARIABLE}' or '${file:PATH}' for a secret; repeatable.")
    ] = None,
    cwd: Annotated[str | None, typer.Option(help="The working folder of the program.")] = None,
    description: Annotated[str, typer.Option(help="What the server is for.")] = "",
    auto_approve: Annotated[
        bool | None,
        typer.Option(
            "--auto-approve/--no-auto-approve", help="Accept changed definitions of its tools without approval."
        ),
    ] = None,
    trusted: Trusted = None,
    sql_dialect: SqlDialect = None,
    sql_argument: SqlArguments = None,
    sql_tool: SqlTools = None,
    config: Annotated[Path | None, path_option("Import every server of this mcpServers file.")] = None,
    test: Tested = True,
    as_json: AsJson = False,
) -> None:
    """Add a server, or import a file of servers; a server of the same name is replaced.

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
    sql = sql_of(sql_dialect, sql_argument, sql_tool)
    entry = server_entry(
        name,
        command=command,
        url=url,
        arguments=arguments,
        env=env,
        header=header,
        cwd=cwd,
        description=description,
    )
    with progress_bar(f"Adding {name}", as_json) as follow:
        switches = {"auto_approve": auto_approve, "trusted": trusted, "test": test}
        answer = ask("add_server", {"server": entry, "sql": sql, **switches}, progress=follow)
    show(answer, as_json, refreshed)
    _fail_if_any(answer)


@servers.command("list")
def list_servers(as_json: AsJson = False) -> None:
    """List the servers, their state and their number of tools."""
    show(ask("list_servers"), as_json, server_list)


@servers.command("remove")
@writes
def remove(names: Names, as_json: AsJson = False) -> None:
    """Remove servers with all their tools."""
    for_each(names, lambda name: ask("remove_server", {"name": name}))
    show({"changed": names, "removed": True}, as_json, changed)


@servers.command("enable")
@writes
def enable(names: Names, as_json: AsJson = False) -> None:
    """Use servers again."""
    _set_enabled(names, as_json, enabled=True)


@servers.command("disable")
@writes
def disable(names: Names, as_json: AsJson = False) -> None:
    """Keep servers without using them."""
    _set_enabled(names, as_json, enabled=False)


@servers.command("refresh")
@writes
def refresh(
    names: Annotated[list[str] | None, typer.Argument(help="Servers; all by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tools of servers again, and index what changed."""
    with progress_bar("Refreshing", as_json) as follow:
        answer = ask("refresh", {"servers": names or None}, progress=follow)
    show(answer, as_json, refreshed)
    _fail_if_any(answer)


def _set_enabled(names: list[str], as_json: bool, *, enabled: bool) -> None:
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


def server_entry(
    name: str,
    *,
    command: str | None,
    url: str | None,
    arguments: Sequence[str] | None,
    env: Sequence[str] | None,
    header: Sequence[str] | None,
    cwd: str | None = None,
    description: str = "",
) -> dict[str, Any]:
    """The definition of a server as its options have it: either a command or an address."""
    entry: dict[str, Any] = {"name": name, "description": description}
    if url is not None:
        _refuse("--command", {"--env": env, "--cwd": cwd, "arguments after --": arguments})
        return entry | {"transport": "http", "url": url, "headers": dict(_header(text) for text in header or [])}
    _refuse("--url", {"--header": header})
    program = [str(command), *(arguments or [])]
    path = variable_here("PATH")  # the daemon's PATH may be that of another shell
    own = {"PATH": path} if path else {}
    return entry | {
        "transport": "stdio",
        "command": program[0],
        "args": program[1:],
        "env": own | dict(_variable(text) for text in env or []),
        "cwd": _folder(cwd, program),
    }


def _refuse(needed: str, options: Mapping[str, object]) -> None:
    """Refuse options that belong to the other kind of server."""
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
        raise typer.BadParameter("--header needs 'Name: value'.")
    return name.strip(), filled("--header", value.strip())


def _folder(cwd: str | None, program: list[str]) -> str:
    """The folder of the command's relative paths; the daemon runs elsewhere."""
    if cwd is not None:
        return str(given_path(cwd).absolute())
    relative = (word for word in program if not Path(word).is_absolute() and word not in (".", "..", ""))
    return str(Path.cwd()) if any(Path(word).exists() for word in relative) else ""


@servers.command("set")
@writes
def set_servers(
    names: Annotated[list[str], typer.Argument(help="Servers, as `servers list` names them.")],
    auto_approve: Annotated[
        bool | None,
        typer.Option(
            "--auto-approve/--no-auto-approve", help="Accept changed definitions of its tools without approval."
        ),
    ] = None,
    trusted: Trusted = None,
    sql_dialect: SqlDialect = None,
    sql_argument: SqlArguments = None,
    sql_tool: SqlTools = None,
    as_json: AsJson = False,
) -> None:
    """Change whether servers are trusted, their changes approved, and the SQL of their calls checked.

    A trusted server is believed when it says that a tool only reads: such calls need no approval. With --auto-approve
    changed tools are used at once, unless they look poisoned. --sql-dialect none ends the checks.
    """
    if auto_approve is None and sql_dialect is None and trusted is None:
        raise typer.BadParameter("Give --trusted, --auto-approve, their opposites, or --sql-dialect.")
    sql = None if sql_dialect == "none" else sql_of(sql_dialect, sql_argument, sql_tool)

    def set_one(name: str) -> None:
        if sql_dialect is not None:
            ask("set_server_sql", {"name": name, "sql": sql})
        if trusted is not None:
            ask("set_server_trusted", {"name": name, "trusted": trusted})
        if auto_approve is not None:
            ask("set_server_auto_approve", {"name": name, "auto_approve": auto_approve})

    for_each(names, set_one)
    if auto_approve:
        ask("refresh", {"servers": names})
    given = {"auto_approve": auto_approve, "trusted": trusted, "sql_dialect": sql_dialect}
    show({"changed": names} | {key: value for key, value in given.items() if value is not None}, as_json, changed)


Tenant = Annotated[str | None, typer.Option(help="The tenant of the server; `local` by default.")]

User = Annotated[str | None, typer.Option(help="The user who signs in; by default the tenant as a whole.")]


@servers.command("login")
@writes
def login(
    name: Annotated[str, typer.Argument(help="The server, as `servers list` names it.")],
    scope: Annotated[list[str] | None, typer.Option(help="A permission to request; repeatable.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address to open.")] = False,
    tenant: Tenant = None,
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Sign in at a server that requires it (OAuth); its calls then use that sign-in."""
    arguments = {"name": name, "scopes": scope or [], "tenant": tenant, "user": user}
    invitation = _Invitation(name, open_it=not no_browser)
    answer = ask("login_server", arguments, progress=invitation.follow)
    show({"name": name, **answer}, as_json, signed_in)


@servers.command("logout")
@writes
def logout(
    name: Annotated[str, typer.Argument(help="The server, as `servers list` names it.")],
    tenant: Tenant = None,
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Delete the sign-in at a server, and end it there if the server allows it."""
    show(ask("logout_server", {"name": name, "tenant": tenant, "user": user}), as_json, signed_out)


class _Invitation:
    """Shows the address to open, and reads the final address that the user may paste."""

    def __init__(self, name: str, *, open_it: bool) -> None:
        self._name = name
        self._open_it = open_it

    def follow(self, event: Mapping[str, Any]) -> None:
        """Take a progress event of the daemon."""
        address = str(event.get("address", ""))
        if urlsplit(address).scheme not in ("http", "https"):
            return  # only web addresses are opened
        note(f"Open this address to sign in at '{self._name}':\n\n  {address}\n")
        if self._open_it and _has_screen() and webbrowser.open(address):
            note("Waiting for the browser ...")
        if sys.stdin.isatty() or not self._open_it:
            note("Is the browser on another machine? Paste the address of its last page here.")
            threading.Thread(target=_hand_over, daemon=True).start()


def _hand_over() -> None:
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            ask("finish_login", {"address": line.strip()}, start=False)
        except DaemonFailure as error:
            note(f"{error}")


def _has_screen() -> bool:
    """Return whether a browser would have a window; one in the terminal would take it over."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))  # noqa: TID251 - the user's desktop, not a setting
