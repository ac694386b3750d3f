"""`thresher tools held`, `approve` and `reject`: a person's decision about changed and suspicious tools.

Invariant: what is approved was on the screen, or was named by its digest; a blanket approval never covers a tool that
the scanner calls dangerous. Text from servers is never markup, and hidden characters in it are written out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.client import ask, for_each
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, confirm, show
from thresher.cli.rendering import changed
from thresher.daemon import DaemonFailure

Row = Mapping[str, Any]

_REASONS = {
    "changed": "its definition is not the approved one",
    "poisoned": "it looks poisoned",
    "rejected": "it was rejected",
}

_DECIDE = "Decide: thresher tools approve NAME@DIGEST, or reject NAME@DIGEST."
_DECIDED = "Nothing asks for a decision. To use a rejected definition after all: thresher tools approve NAME@DIGEST."


def held_list(answer: Sequence[Row]) -> RenderableType:
    """Every tool that waits: reason, findings, and the difference line by line."""
    if not answer:
        return Text("No tool waits for approval.")
    parts: list[RenderableType] = []
    for tool in answer:
        head = Text(f"{tool['name']}@{tool['digest']}", style="bold")
        head.append(f"  {_REASONS.get(tool['reason'], tool['reason'])}, since {tool['since'][:16]}", style="yellow")
        parts.append(head)
        for finding in tool["findings"]:
            style = "red" if finding["severity"] == "danger" else "yellow"
            parts.append(Text(f"  {finding['severity']}: {finding['why']} ({finding['where']})", style=style))
            parts.append(Text(f"    {finding['excerpt']}", style="dim"))
        parts += [_compared(line) for line in tool["difference"]]
        parts.append(Text(""))
    undecided = any(tool["reason"] != "rejected" for tool in answer)
    parts.append(Text(_DECIDE if undecided else _DECIDED, style="dim"))
    return Group(*parts)


def _compared(line: str) -> Text:
    style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
    return Text(f"  {line}", style=style)


def decided(answer: Row) -> RenderableType:
    """What was decided, and what was left out of a blanket approval."""
    word = {"approve": "Approved", "reject": "Rejected"}[answer["decision"]]
    lines = [Text(f"{word}: {', '.join(answer['tools'])}." if answer["tools"] else "Nothing was waiting.")]
    if answer["left"]:
        names = ", ".join(answer["left"])
        lines.append(Text(f"Left, since they look poisoned: {names}. Name them to approve them.", style="yellow"))
    return Group(*lines)


def consent_list(answer: Sequence[Row]) -> RenderableType:
    """The tools that a person has agreed to, and whether that still holds."""
    if not answer:
        return Text("No consent is remembered. A chat asks before it calls a tool of a server that is not trusted.")
    table = Table("tool", "definition", "since", "", box=None, pad_edge=False, header_style="dim")
    for one in answer:
        lapsed = "" if one["holds"] else "lapsed: its definition has changed"
        table.add_row(Text(one["tool"]), one["definition"], one["since"][:16].replace("T", " "), Text(lapsed, "yellow"))
    return table


def forgotten(answer: Row) -> RenderableType:
    """What will be asked about again."""
    return Text(f"You will be asked again before a call of {', '.join(answer['forgotten'])}.")


Held = dict[str, Any]
Names = Annotated[
    list[str] | None, typer.Argument(help="Tools, as `tools held` names them: NAME, or NAME@DIGEST as it was shown.")
]
Server = Annotated[str | None, typer.Option("--server", "-s", help="All that wait of this server.")]
Everything = Annotated[bool, typer.Option("--all", help="All that wait.")]
SqlDialect = Annotated[
    str | None, typer.Option(help="Guard its SQL: postgresql, mysql, mariadb, sqlite, duckdb, oracle or mssql.")
]
SqlArguments = Annotated[
    list[str] | None, typer.Option(help="An argument that holds SQL; `sql` and `query` unless told; repeatable.")
]
SqlTools = Annotated[
    list[str] | None, typer.Option(help="A tool that cannot be called without such an argument; repeatable.")
]
Trusted = Annotated[
    bool | None,
    typer.Option("--trusted/--no-trusted", help="Believe it when it says that a tool only reads."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(tools: typer.Typer, servers: typer.Typer) -> None:
    """Add the commands to `thresher tools` and `thresher servers`."""
    tools.command("held")(held)
    tools.command("approve")(writes(approve))
    tools.command("reject")(writes(reject))
    tools.command("consents")(consents)
    tools.command("forget")(writes(forget))
    servers.command("set")(writes(set_servers))


def held(server: Server = None, as_json: AsJson = False) -> None:
    """Show the tools that wait for approval: what changed, and what looks wrong."""
    show(ask("held_tools", {"server": server}), as_json, held_list)


def approve(
    names: Names = None,
    server: Server = None,
    everything: Everything = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let tools be used with the definition that was shown.

    --server and --all leave out what looks poisoned and what was rejected: name such a tool to approve it.
    """
    chosen = _chosen(names, server, everything, lambda tool: tool["reason"] == "changed")
    _decide("approve", names, chosen, yes=yes, as_json=as_json)


def reject(
    names: Names = None,
    server: Server = None,
    everything: Everything = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Keep tools out of use, and ask no more about the definition that was shown."""
    chosen = _chosen(names, server, everything, lambda tool: tool["reason"] != "rejected")
    _decide("reject", names, chosen, yes=yes, as_json=as_json)


def consents(as_json: AsJson = False) -> None:
    """List the tools whose calls wait for you no more, since you said so in a chat."""
    show(ask("list_consents"), as_json, consent_list)


def forget(
    names: Annotated[list[str], typer.Argument(help="Tools, as `tools consents` names them.")], as_json: AsJson = False
) -> None:
    """Be asked again before such a tool is called."""
    for_each(names, lambda name: ask("forget_consent", {"tool": name}))
    show({"forgotten": names}, as_json, forgotten)


def set_servers(
    names: Annotated[list[str], typer.Argument(help="Servers, as `servers list` names them.")],
    auto_approve: Annotated[
        bool | None,
        typer.Option("--auto-approve/--no-auto-approve", help="Take changes of its tools over without asking."),
    ] = None,
    trusted: Trusted = None,
    sql_dialect: SqlDialect = None,
    sql_argument: SqlArguments = None,
    sql_tool: SqlTools = None,
    as_json: AsJson = False,
) -> None:
    """Trust servers or their changes, and guard the SQL that their tools are given; or no longer.

    A trusted server is believed when it says that a tool only reads: calls of such tools wait for nobody. With
    --auto-approve its changed tools are used at once, unless they look poisoned. --sql-dialect none ends guarding.
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


def sql_of(dialect: str | None, arguments: Sequence[str] | None, tools: Sequence[str] | None) -> dict[str, Any] | None:
    """The `sql` part of a definition, from options; None where no dialect was given."""
    if dialect is None:
        if arguments or tools:
            raise typer.BadParameter("--sql-argument and --sql-tool want --sql-dialect too.")
        return None
    return {"dialect": dialect, "tools": list(tools or ())} | ({"argument": list(arguments)} if arguments else {})


def _chosen(
    names: Sequence[str] | None, server: str | None, everything: bool, blanket: Callable[[Held], bool]
) -> list[Held]:
    """The waiting tools that are meant, each with the digest that counts for it."""
    if bool(names) + (server is not None) + everything != 1:
        raise typer.BadParameter("Give names, or --server NAME, or --all.")
    waiting: list[Held] = ask("held_tools", {"server": server})
    if not names:
        return [tool for tool in waiting if blanket(tool)]
    by_name = {tool["name"]: tool for tool in waiting}
    chosen: list[Held] = []
    for text in names:
        name, _, digest = text.partition("@")
        if name not in by_name:
            hint = "`thresher tools held` shows those that do."
            raise DaemonFailure(f"No tool '{name}' waits for approval.", hint=hint, code="not_found", exit_code=3)
        chosen.append(by_name[name] | ({"digest": digest, "named": True} if digest else {}))
    return chosen


def _decide(verb: str, names: Sequence[str] | None, chosen: list[Held], *, yes: bool, as_json: bool) -> None:
    unseen = [tool for tool in chosen if not tool.get("named")]
    if unseen and not yes:
        _confirm(verb, unseen, as_json=as_json)
    definitions = {tool["name"]: tool["digest"] for tool in chosen}
    done: list[str] = ask(f"{verb}_tools", {"definitions": definitions}) if definitions else []
    left = [] if names else [tool["name"] for tool in ask("held_tools", {}) if tool["reason"] == "poisoned"]
    show({"decision": verb, "tools": done, "left": left if verb == "approve" else []}, as_json, decided)


def _confirm(verb: str, tools: list[Held], *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter(
            f"Nobody can be asked here: give --yes, or NAME@DIGEST as `tools held` shows ({verb})."
        )
    show(tools, as_json, held_list)
    confirm(f"{verb.capitalize()} {len(tools)} as shown?")
