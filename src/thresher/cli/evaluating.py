"""`thresher eval`: how well the search does on your own tools and messages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.output import AsJson, progress_bar, show
from thresher.cli.rendering import figures
from thresher.daemon import ask

commands = typer.Typer(help="Measure the search on your own data.", no_args_is_help=True, rich_markup_mode=None)


@commands.callback()
def _group() -> None:  # pyright: ignore[reportUnusedFunction] - keeps `eval` a group while it has one command
    pass


@commands.command("tools")
def evaluate_tools(
    pool: Annotated[Path, typer.Option(help='JSON list of {"server", "name", "description", "inputSchema"}.')],
    queries: Annotated[Path, typer.Option(help='JSON lines {"query", "queries"?, "relevant": ["server/name", ...]}.')],
    as_json: AsJson = False,
) -> None:
    """Index a pool in a throw-away tenant, ask every query, print the figures.

    Your own catalogue is left alone; docs/reference/evaluation.md defines each figure.
    """
    paths = {"pool": str(pool.absolute()), "queries": str(queries.absolute())}
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask("evaluate_tools", paths, progress=follow)
    show(answer, as_json, figures)
