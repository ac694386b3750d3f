"""`thresher jobs`, `keys`, `components` and `purge`: background work, callers' keys, drop-in components, old logs.

Invariant: texts of jobs and components are never markup. Interrupting the wait for a job does not stop the job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.client import ask, follow_job, for_each, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.output import AsJson, show
from thresher.cli.views import Row, changed, moment, plain_table
from thresher.verbs import JOBS

_STYLES = {"running": "bold", "failed": "red", "done": "green"}


def job_list(jobs: Sequence[Row]) -> RenderableType:
    """One line for each job: number, task, subject, state, progress, time of the request."""
    if not jobs:
        return Text("No jobs. `thresher index docs` starts one.")
    table = plain_table("job", "task", "about", "state", "progress", "requested")
    for job in jobs:
        about, asked = str(job["subject"]), moment(job["created_at"], seconds=True)
        table.add_row(str(job["id"]), Text(job["task"]), about, _state(job), Text(_progress(job)), asked)
    return table


def job_card(job: Row) -> RenderableType:
    """One job in full."""
    lines = [Text.assemble(f"job {job['id']}: {job['task']} of {job['subject']}, ", _state(job))]
    if progress := _progress(job):
        lines.append(Text(progress))
    if job["error"]:
        lines.append(Text(job["error"], style="red"))
    if job["hint"]:
        lines.append(Text(job["hint"], style="dim"))
    moments = {"requested": "created_at", "started": "started_at", "updated": "updated_at", "ended": "ended_at"}
    times = [f"{name} {moment(job[field], seconds=True)}" for name, field in moments.items() if job[field]]
    again = f", attempt {job['attempts']}" if job["attempts"] > 1 else ""
    lines.append(Text(", ".join(times) + again, style="dim"))
    return Group(*lines)


def _state(job: Row) -> Text:
    ending = job["cancelled"] and not job["ended"]
    return Text("ending" if ending else job["state"], style=_STYLES.get(job["state"], ""))


def _progress(job: Row) -> str:
    if not job["phase"]:
        return ""
    share = f" of {job['total']:,}" if job["total"] else ""
    return f"{job['phase']} {job['done']:,}{share}"


jobs = new_group()


@jobs.command("show")
def show_job(
    job: Annotated[int, typer.Argument(metavar="JOB", help="A job's number, as `jobs list` shows it.")],
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until it has ended; the exit code is 1 if it failed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the progress of a job, or why it failed."""
    if not wait:
        show(ask("show_job", {"job": job}), as_json, job_card)
        return
    ended = follow_job(job, "Waiting", as_json=as_json)
    show(ended, as_json, job_card)
    if ended["state"] != "done":
        raise typer.Exit(1)


add_command(jobs, "list", JOBS["list_jobs"], job_list)

add_command(
    jobs, "cancel", JOBS["cancel_job"], job_card, arguments={"job": "JOB: A job's number, as `jobs list` shows it"}
)


def key_made(answer: Row) -> RenderableType:
    """A new key, shown this once, and what it gives access to."""
    tenant, user = repr(answer["tenant"]), answer["user"]
    whom = f"the user {user!r} of the tenant" if user else "the tenant"
    own = f", and what the user {user!r} adds" if user else ""
    lines = (
        f"It speaks for {whom} {tenant}. Store it now: it cannot be shown again.",
        f"With this key: the servers, tools, documents, databases and APIs of the tenant {tenant}{own}.",
        "Without a key: you, as before, with the commands and `thresher stdio` in this data folder.",
        answer["access"],
    )
    made = (
        [Text(f"The tenant {answer['tenant']!r} is new with this key.", style="yellow")] if answer["new_tenant"] else []
    )
    return Group(Text(answer["key"], style="bold"), *(Text(line) for line in lines), *made)


def key_list(answer: Sequence[Row]) -> RenderableType:
    """The keys of a tenant: user, times, state."""
    if not answer:
        return Text("No keys yet. Create one: thresher keys add NAME")
    table = plain_table("key", "user", "begins with", "created", "last used", "state", unwrapped=("state",))
    for key in answer:
        state = "revoked" if key["revoked_at"] else "valid"
        made, used = (str(key[name] or "never")[:16].replace("T", " ") for name in ("created_at", "used_at"))
        row = (Text(key["name"], style="bold"), Text(key["user"] or "-"), key["hint"], made, used)
        table.add_row(*row, Text(state, style="green" if state == "valid" else "red"))
    return table


keys = new_group()

OfTenant = Annotated[str | None, typer.Option("--tenant", help="The tenant; `local` by default.")]


@keys.command("add")
@writes
def add_key(
    name: Annotated[str, typer.Argument(help="A name for the key: its holder, or the machine that it is for.")],
    tenant: Annotated[str | None, typer.Option(help="The tenant that it gives access to; `local` by default.")] = None,
    user: Annotated[str | None, typer.Option(help="A user of the tenant; by default the tenant as a whole.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key. It is shown once and cannot be read again."""
    show(ask("add_key", {"name": name, "tenant": tenant, "user": user}), as_json, key_made)


@keys.command("list")
def list_keys(tenant: OfTenant = None, as_json: AsJson = False) -> None:
    """List the keys, including revoked ones."""
    show(ask("list_keys", {"tenant": tenant}), as_json, key_list)


@keys.command("revoke")
@writes
def revoke_keys(
    names: Annotated[list[str], typer.Argument(help="Keys, as `keys list` names them.")],
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Revoke keys, and end the sessions that use them."""
    for_each(names, lambda name: ask("revoke_key", {"name": name, "tenant": tenant}))
    show({"changed": names, "revoked": True}, as_json, changed)


components = new_group()

BROKEN = 1
"""Exit code if a module, or the folder, could not be loaded."""


@components.command("list")
def list_components(as_json: AsJson = False) -> None:
    """List the modules of the folder, what each registers, and why one is left out."""
    show(ask("list_components"), as_json, component_list)


@components.command("refresh")
@writes
def refresh_components(as_json: AsJson = False) -> None:
    """Load the modules again."""
    answer = ask("refresh_components")
    show(answer, as_json, component_list)
    if answer["problem"] or any(file["problem"] for file in answer["files"]):
        raise typer.Exit(BROKEN)


def component_list(answer: Mapping[str, Any]) -> RenderableType:
    """The modules of the folder: what each registers, and what is wrong with it."""
    parts: list[RenderableType] = [Text(f"{answer['folder']}{', watched' if answer['watched'] else ''}", style="dim")]
    if answer["loading"]:
        parts.append(Text("The folder is being loaded.", style="yellow"))
    if answer["problem"]:
        parts.append(Text(answer["problem"], style="yellow"))
    if not (answer["files"] or answer["problem"] or answer["loading"]):
        parts.append(Text("No components yet. Put a module into tools/, prompts/, resources/ or proxies/."))
    table = plain_table("module", "registers", "problem")
    for file in answer["files"]:
        kinds = ("tools", "prompts", "resources", "servers")
        held = [f"{kind}: {', '.join(file[kind])}" for kind in kinds if file[kind]]
        table.add_row(Text(file["path"], style="bold"), Text("; ".join(held)), Text(file["problem"], style="yellow"))
    return Group(*parts, *([table] if answer["files"] else []))


@writes
def purge(
    older_than: Annotated[
        float | None, typer.Option("--older-than", help="Age in days; THRESHER_LOG_DAYS by default, 0 removes all.")
    ] = None,
    tenant: OfTenant = None,
    as_json: AsJson = False,
) -> None:
    """Remove old log rows, and embeddings that have not been used for as long."""
    show(ask("purge", without_none({"older_than": older_than, "tenant": tenant})), as_json, purged)


def purged(answer: Mapping[str, Any]) -> str:
    """What was removed, in a line."""
    return f"Removed {answer['rows']:,} log rows and {answer['embeddings']:,} unused embeddings."
