"""`thresher serve`, `stdio`, `hook`, `stop`, `status`, `demo`, `migrate`: the commands that start and end things."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.dry_run import writes
from thresher.cli.files import given_path
from thresher.cli.output import AsJson, collected_plans, show
from thresher.cli.rendering import changed
from thresher.cli.rendering import status as status_table
from thresher.daemon import DaemonFailure, Importing, ask, here, run_bridge, run_hook, stop_daemon

if TYPE_CHECKING:
    from thresher.daemon.server import Ready


class Exposed(StrEnum):
    """What `tools/list` shows."""

    meta = "meta"
    own = "own"
    all = "all"


Expose = Annotated[
    Exposed | None,
    typer.Option(help="What tools/list shows: the six meta-tools, also the tools of packs (own), or every tool (all)."),
]


class HookClient(StrEnum):
    """Clients with a documented hook."""

    claude = "claude"


def register(application: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (demo, serve, stdio, hook, stop, status, writes(migrate)):
        application.command(command.__name__)(command)


def demo(
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty folder.")] = False, as_json: AsJson = False
) -> None:
    """Show the main job on real MCP servers, in a folder of its own."""
    from thresher.core import load_settings  # noqa: PLC0415 - `--help` does without
    from thresher.demo import run  # noqa: PLC0415 - as above

    raise typer.Exit(run(load_settings(), json=as_json, fresh=fresh))


def serve(
    config: Annotated[
        Path | None, typer.Option(parser=given_path, metavar="FILE", help="Add every server of an mcpServers file.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="An address; 127.0.0.1 unless told, others need a key.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="8642 unless told; 0 takes a free one.")] = None,
    expose: Expose = None,
    admin_tools: Annotated[
        bool, typer.Option("--admin-tools", help="Let MCP clients change documents and connections.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve MCP over HTTP and to local clients, in the foreground."""
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
    return f"Thresher serves MCP at {ready.url} and to `thresher stdio`. Ctrl-C ends it.\n{ready.access}"


def stdio(expose: Expose = None, as_json: AsJson = False) -> None:
    """Serve one MCP client on standard input and output, through the daemon."""
    del as_json  # MCP is JSON already
    raise typer.Exit(run_bridge(expose=expose.value if expose else ""))


def hook(
    timeout: Annotated[float, typer.Option(help="Seconds that a prompt waits at most.")] = 2.0,
    settings: Annotated[
        HookClient | None, typer.Option(help="Print what belongs into this client's settings instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read a client's prompt-submit event on standard input and print the rules that its prompt needs."""
    form = ["--json"] if as_json else []
    raise typer.Exit(run_hook([f"--timeout={timeout}", *form, *([f"--settings={settings}"] if settings else [])]))


def stop(
    force: Annotated[bool, typer.Option("--force", help="Kill a daemon that does not end by itself.")] = False,
    as_json: AsJson = False,
) -> None:
    """End the daemon, its database and the servers it started."""
    pid = stop_daemon(here(), force=force)
    show({"stopped": pid is not None, "pid": pid}, as_json, _stopped)


def _stopped(answer: dict[str, Any]) -> str:
    return f"Ended process {answer['pid']}." if answer["stopped"] else "No daemon runs."


def status(as_json: AsJson = False) -> None:
    """Say whether a daemon runs, and how it is."""
    place = here()
    try:
        answer = {"running": True} | ask("status", start=False)
    except DaemonFailure as error:
        if error.code != "not_running":
            raise
        answer = {"running": False, "data_dir": place.folder}
    show(answer, as_json, status_table)


def migrate(as_json: AsJson = False) -> None:
    """Bring an external database's schema up to date (THRESHER_MIGRATION_URL)."""
    from thresher.core import load_settings  # noqa: PLC0415 - `--help` does without
    from thresher.store import migrate_external  # noqa: PLC0415 - as above

    plans = collected_plans()
    before, after = migrate_external(load_settings(), keep=plans is None)
    if plans is not None:
        change = {"what": "schema", "name": "", "change": "changed", "before": {"revision": before}}
        changes = [change | {"after": {"revision": after}}] if before != after else []
        checked = ["every migration runs, and the application role gets its rights; all of it was rolled back"]
        plans.append({"verb": "migrate", "changes": changes, "checked": checked, "left_out": []})
    show({"changed": ["schema"], "revision": after}, as_json, changed)
