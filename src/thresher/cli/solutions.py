"""`thresher solutions`: workspaces of low-code tools, where new things go, and changes that can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from thresher.cli import solution_relations, solution_value_lists
from thresher.cli.client import ask
from thresher.cli.confirming import given
from thresher.cli.dry_run import writes
from thresher.cli.files import given_path
from thresher.cli.output import AsJson, show
from thresher.cli.solution_views import (
    backup_list,
    removed,
    round_trip,
    solution_context,
    undone,
    workspace_card,
    workspace_list,
)

commands = typer.Typer(
    help="Relations and value lists of Servoy workspaces.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A workspace, as `solutions list` names it.")]
Workspace = Annotated[
    str | None, typer.Option("--workspace", "-w", help="A workspace; that of the context unless told.")
]

DIFFERENT = 1
"""Exit code where a file would not be written as it is, or cannot be read."""


@commands.command("add")
@writes
def add(
    folder: Annotated[
        Path, typer.Argument(parser=given_path, metavar="FOLDER", help="Of the workspace: the solutions lie in it.")
    ],
    name: Annotated[str | None, typer.Option(help="What to call it; its folder's name unless given.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Give an existing name this folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a workspace known: its relations, its value lists, its column information."""
    arguments = {"path": str(folder.absolute()), "name": name, "replace": replace or None}
    show(ask("add_workspace", given(arguments)), as_json, workspace_card)


@commands.command("list")
def list_workspaces(as_json: AsJson = False) -> None:
    """List the workspaces: what is in them, and which of their files cannot be read."""
    show(ask("list_workspaces"), as_json, workspace_list)


@commands.command("show")
def show_workspace(name: Name, as_json: AsJson = False) -> None:
    """Print a workspace's solutions and modules, and the servers whose columns it knows."""
    show(ask("show_workspace", {"name": name}), as_json, workspace_card)


@commands.command("remove")
@writes
def remove(name: Name, as_json: AsJson = False) -> None:
    """Forget a workspace; its files are left alone."""
    show(ask("remove_workspace", {"name": name}), as_json, removed)


@commands.command("context")
def context(as_json: AsJson = False) -> None:
    """Print the active solution or module, where new things go, and how it was found."""
    show(ask("get_solution_context"), as_json, solution_context)


@commands.command("use")
@writes
def use(
    solution: Annotated[str, typer.Argument(help="The solution or module where new things go from now on.")],
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> None:
    """Choose the active solution or module."""
    arguments = given({"active": solution, "workspace": workspace})
    show(ask("set_solution_context", arguments), as_json, solution_context)


solution_relations.register(commands)
solution_value_lists.register(commands)


@commands.command("backups")
def backups(workspace: Workspace = None, as_json: AsJson = False) -> None:
    """List the changes that can be taken back, newest first."""
    show(ask("list_solution_changes", given({"workspace": workspace})), as_json, backup_list)


@commands.command("undo")
@writes
def undo(
    change: Annotated[str, typer.Argument(metavar="CHANGE", help="As `solutions backups` and each change name it.")],
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> None:
    """Take a change back, unless its files were changed since; that is itself a change."""
    show(ask("undo_solution_change", given({"change_id": change, "workspace": workspace})), as_json, undone)


@commands.command("check")
def check(
    folder: Annotated[
        Path,
        typer.Option(
            "--round-trip", parser=given_path, metavar="DIR", help="Read and rewrite every solution file below it."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say which files would not be written back byte for byte; nothing is written, and no daemon is asked."""
    from thresher.knowledge.solutions import check_round_trip  # noqa: PLC0415 - `--help` does without what it imports

    found = check_round_trip(folder)
    broken = [
        {"path": one.path, "message": one.message, "line": one.line, "column": one.column} for one in found.broken
    ]
    figures: dict[str, Any] = {"files": found.files, "differ": len(found.differ), "differing": list(found.differ)}
    show({**figures, "broken": broken}, as_json, round_trip)
    if found.differ or found.broken:
        raise typer.Exit(DIFFERENT)
