"""`thresher index`: bring the index up to date with servers; documents join it from their own module."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson
from thresher.cli.servers import refresh

commands = typer.Typer(help="Bring the index up to date.", no_args_is_help=True, rich_markup_mode=None)


@commands.command("tools")
@writes
def index_tools(
    server: Annotated[list[str] | None, typer.Option("--server", "-s", help="Only this server; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """List every server's tools and embed what is new or changed."""
    refresh(server, as_json)
