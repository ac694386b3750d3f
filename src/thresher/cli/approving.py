"""`thresher tools held`, `approve` and `reject`: a person's decision about changed and suspicious tools.

Invariant: what is approved was on the screen, or was named by its digest; a blanket approval never covers a tool that
the scanner calls dangerous.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from thresher.cli.held import decided, held_list
from thresher.cli.output import AsJson, show
from thresher.cli.rendering import changed
from thresher.daemon import DaemonFailure, ask

Held = dict[str, Any]
Names = Annotated[
    list[str] | None, typer.Argument(help="Tools, as `tools held` names them: NAME, or NAME@DIGEST as it was shown.")
]
Server = Annotated[str | None, typer.Option("--server", "-s", help="All that wait of this server.")]
Everything = Annotated[bool, typer.Option("--all", help="All that wait.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(tools: typer.Typer, servers: typer.Typer) -> None:
    """Add the commands to `thresher tools` and `thresher servers`."""
    tools.command("held")(held)
    tools.command("approve")(approve)
    tools.command("reject")(reject)
    servers.command("set")(set_servers)


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


def set_servers(
    names: Annotated[list[str], typer.Argument(help="Servers, as `servers list` names them.")],
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve/--no-auto-approve", help="Take changes of its tools over without asking.")
    ],
    as_json: AsJson = False,
) -> None:
    """Trust servers, or no longer: changed tools of a trusted server are used at once, unless they look poisoned."""
    for name in names:
        ask("set_server_auto_approve", {"name": name, "auto_approve": auto_approve})
    if auto_approve:
        ask("refresh", {"servers": names})
    show({"changed": names, "auto_approve": auto_approve}, as_json, changed)


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
    typer.confirm(f"{verb.capitalize()} {len(tools)} as shown?", abort=True)
