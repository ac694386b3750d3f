"""`thresher jobs`: long work that goes on by itself, such as indexing documents.

Invariant: answers are decoded JSON; texts of jobs are never markup. Interrupting the wait for a job does not stop the
job.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.client import ask, follow_job
from thresher.cli.output import AsJson, show
from thresher.cli.verbs import add_command
from thresher.verbs import JOBS

Row = Mapping[str, Any]

_STYLES = {"running": "bold", "failed": "red", "done": "green"}


def job_list(jobs: Sequence[Row]) -> RenderableType:
    """One line a job: number, task, state, how far it is, when it was asked for."""
    if not jobs:
        return Text("No jobs. `thresher index docs` begins one.")
    table = Table(
        "job", "task", "about", "state", "progress", "asked for", box=None, pad_edge=False, header_style="dim"
    )
    for job in jobs:
        about, asked = str(job["subject"]), _moment(job["created_at"])
        table.add_row(str(job["id"]), Text(job["task"]), about, _state(job), Text(_progress(job)), asked)
    return table


def job_card(job: Row) -> RenderableType:
    """All of one job."""
    lines = [Text.assemble(f"job {job['id']}: {job['task']} of {job['subject']}, ", _state(job))]
    if progress := _progress(job):
        lines.append(Text(progress))
    if job["error"]:
        lines.append(Text(job["error"], style="red"))
    if job["hint"]:
        lines.append(Text(job["hint"], style="dim"))
    moments = {"asked for": "created_at", "begun": "started_at", "last word": "updated_at", "ended": "ended_at"}
    told = [f"{name} {_moment(job[field])}" for name, field in moments.items() if job[field]]
    again = f", attempt {job['attempts']}" if job["attempts"] > 1 else ""
    lines.append(Text(", ".join(told) + again, style="dim"))
    return Group(*lines)


def _state(job: Row) -> Text:
    ending = job["cancelled"] and not job["ended"]
    return Text("ending" if ending else job["state"], style=_STYLES.get(job["state"], ""))


def _progress(job: Row) -> str:
    if not job["phase"]:
        return ""
    share = f" of {job['total']:,}" if job["total"] else ""
    return f"{job['phase']} {job['done']:,}{share}"


def _moment(text: str) -> str:
    return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"


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
