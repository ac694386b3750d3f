"""Jobs for people.

Invariant: takes decoded JSON and returns something that Rich can print; texts of jobs are never markup.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

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
