"""`thresher jobs`: long work that goes on by itself, such as indexing documents."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask, follow_job
from thresher.cli.dry_run import writes
from thresher.cli.job_views import job_card, job_list
from thresher.cli.output import AsJson, show

commands = typer.Typer(
    help="See and end long work that goes on by itself.", no_args_is_help=True, rich_markup_mode=None
)

Number = Annotated[int, typer.Argument(metavar="JOB", help="A job's number, as `jobs list` shows it.")]


@commands.command("list")
def list_jobs(
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    show(ask("list_jobs", {"limit": limit}), as_json, job_list)


@commands.command("show")
def show_job(
    job: Number,
    wait: Annotated[bool, typer.Option("--wait", help="Until it has ended; 1 if it did not end well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far a job is, or why it failed."""
    if not wait:
        show(ask("show_job", {"job": job}), as_json, job_card)
        return
    ended = follow_job(job, "Waiting", as_json=as_json)
    show(ended, as_json, job_card)
    if ended["state"] != "done":
        raise typer.Exit(1)


@commands.command("cancel")
@writes
def cancel(job: Number, as_json: AsJson = False) -> None:
    """End a job; what it has done so far stays, and asking for it again goes on from there."""
    show(ask("cancel_job", {"job": job}), as_json, job_card)
