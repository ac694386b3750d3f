"""`thresher jobs`: long work that goes on by itself, such as indexing documents."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.client import ask, follow_job
from thresher.cli.job_views import job_card, job_list
from thresher.cli.output import AsJson, show
from thresher.cli.verbs import add_command
from thresher.verbs import JOBS

commands = typer.Typer(
    help="See and end long work that goes on by itself.", no_args_is_help=True, rich_markup_mode=None
)


@commands.command("show")
def show_job(
    job: Annotated[int, typer.Argument(metavar="JOB", help="A job's number, as `jobs list` shows it.")],
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


add_command(commands, "list", JOBS["list_jobs"], job_list)
add_command(
    commands, "cancel", JOBS["cancel_job"], job_card, arguments={"job": "JOB: A job's number, as `jobs list` shows it"}
)
