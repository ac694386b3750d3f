"""`thresher components`: what became of the modules in the owner's folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from thresher.cli.client import ask
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show

if TYPE_CHECKING:
    from rich.console import RenderableType

commands = typer.Typer(
    help="Show and reload drop-in components: Python modules of your own.", no_args_is_help=True, rich_markup_mode=None
)
BROKEN = 1
"""Exit code when a module, or the folder, could not be used."""


@commands.command("list")
def list_components(as_json: AsJson = False) -> None:
    """List the modules of the folder, what each registers, and why one is left out."""
    show(ask("list_components"), as_json, _listed)


@commands.command("refresh")
@writes
def refresh(as_json: AsJson = False) -> None:
    """Run the modules anew, as they are now."""
    answer = ask("refresh_components")
    show(answer, as_json, _listed)
    if answer["problem"] or any(file["problem"] for file in answer["files"]):
        raise typer.Exit(BROKEN)


def _listed(answer: Mapping[str, Any]) -> RenderableType:
    from rich.console import Group  # noqa: PLC0415 - `--help` does without
    from rich.table import Table  # noqa: PLC0415 - `--help` does without
    from rich.text import Text  # noqa: PLC0415 - `--help` does without

    parts: list[RenderableType] = [Text(f"{answer['folder']}{', watched' if answer['watched'] else ''}", style="dim")]
    if answer["loading"]:
        parts.append(Text("It is being loaded.", style="yellow"))
    if answer["problem"]:
        parts.append(Text(answer["problem"], style="yellow"))
    if not (answer["files"] or answer["problem"] or answer["loading"]):
        parts.append(Text("No components yet. Put a module into tools/, prompts/, resources/ or proxies/."))
    table = Table("module", "registers", "problem", box=None, pad_edge=False, header_style="dim")
    for file in answer["files"]:
        kinds = ("tools", "prompts", "resources", "servers")
        held = [f"{kind}: {', '.join(file[kind])}" for kind in kinds if file[kind]]
        table.add_row(Text(file["path"], style="bold"), Text("; ".join(held)), Text(file["problem"], style="yellow"))
    return Group(*parts, *([table] if answer["files"] else []))
