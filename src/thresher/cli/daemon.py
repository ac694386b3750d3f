"""`thresher serve`, `stdio`, `hook`, `stop` and `status`: starting, stopping and showing the daemon."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast
from urllib.parse import urljoin

import typer
from rich.console import RenderableType
from rich.text import Text

from thresher.cli.arguments import path_option
from thresher.cli.output import AsJson, show
from thresher.cli.views import Row, plain_table
from thresher.daemon import DaemonFailure, Importing, ask, here, run_bridge, run_hook, stop_daemon

if TYPE_CHECKING:
    from thresher.daemon.server import Ready


def status_table(answer: Row) -> RenderableType:
    """The state of the daemon."""
    if not answer["running"]:
        return Text(f"No daemon is running for {answer['data_dir']}.")
    table = plain_table("daemon", "")
    for name, value in answer.items():
        if name not in ("running", "servers"):
            table.add_row(name, Text(_plain(value)))
    return table


def _plain(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name} {item}" for name, item in cast("dict[str, Any]", value).items())


Expose = Annotated[
    Literal["meta", "own", "all"] | None,
    typer.Option(
        help="The tools in tools/list: the seven meta-tools (meta), those of packs too (own), or every tool (all)."
    ),
]


def serve(
    config: Annotated[Path | None, path_option("Add every server of this mcpServers file.")] = None,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on; 127.0.0.1 by default, others need a key.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port; 8642 by default, 0 for a free one.")
    ] = None,
    expose: Expose = None,
    admin_tools: Annotated[
        bool, typer.Option("--admin-tools", help="Let MCP clients change documents and connections.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run the daemon in the foreground: MCP over HTTP and for local clients."""
    with Importing():
        from thresher.daemon.server import serve_foreground  # noqa: PLC0415 - seconds that `--help` does without

    def announce(ready: Ready) -> None:
        sys.stdout.write(_ready_line(ready, as_json) + "\n")
        sys.stdout.flush()

    given = {"host": host, "port": port, "admin_tools": admin_tools or None, "expose": expose}
    raise typer.Exit(serve_foreground(announce, given, config=config))


def _ready_line(ready: Ready, as_json: bool) -> str:
    if as_json:
        return json.dumps({"pid": ready.pid, "url": ready.url, "socket": ready.socket, "access": ready.access})
    served = f"Thresher serves MCP at {ready.url} and to `thresher stdio`. Ctrl-C stops it."
    return f"{served}\nIts console is at {urljoin(ready.url, '/')}\n{ready.access}"


def stdio(expose: Expose = None, as_json: AsJson = False) -> None:
    """Connect one MCP client, on standard input and output, to the daemon."""
    del as_json  # MCP is JSON already
    raise typer.Exit(run_bridge(expose=expose or ""))


def hook(
    timeout: Annotated[float, typer.Option(help="The most seconds that a prompt waits.")] = 2.0,
    settings: Annotated[
        Literal["claude"] | None, typer.Option(help="Print the entry for this client's settings instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read a client's prompt-submit event on standard input and print the rules for its prompt."""
    form = ["--json"] if as_json else []
    raise typer.Exit(run_hook([f"--timeout={timeout}", *form, *([f"--settings={settings}"] if settings else [])]))


def stop(
    force: Annotated[bool, typer.Option("--force", help="Kill a daemon that does not stop.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the daemon, its database and the servers that it started."""
    pid = stop_daemon(here(), force=force)
    show({"stopped": pid is not None, "pid": pid}, as_json, _stopped)


def _stopped(answer: dict[str, Any]) -> str:
    return f"Stopped process {answer['pid']}." if answer["stopped"] else "No daemon is running."


def status(as_json: AsJson = False) -> None:
    """Show whether a daemon is running, and its state."""
    place = here()
    try:
        answer = {"running": True} | ask("status", start=False)
    except DaemonFailure as error:
        if error.code != "not_running":
            raise
        answer = {"running": False, "data_dir": place.folder}
    show(answer, as_json, status_table)
