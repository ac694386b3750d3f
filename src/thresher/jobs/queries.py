"""The SQL of jobs.

Invariant: rows of `job` are reached only under their tenant; the queue is read and changed only through its functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Tenant
from thresher.jobs.models import Job, State
from thresher.store import clean

LOCK_CLASS: Final = 1_953_526_887
"""Class of the advisory locks of living workers; a number that no other program uses."""

NO_TENANT: Final = Tenant(0, "")
"""For statements about the queue, which belongs to no tenant."""

_COLUMNS: Final = """id, owner, task, subject, state, phase, done, total, error, hint, attempts, deaths, cancelled,
    created_at, started_at, updated_at, ended_at"""
_OPEN: Final = "state in ('waiting', 'running')"
_SEEN: Final = "tenant_id = :tenant and (cast(:user as text) is null or owner is null or owner = :user)"

# A row that is waiting already is locked, so that no worker begins it before this transaction ends.
_DEFER = text(f"""
    insert into job (tenant_id, owner, task, subject) values (:tenant, :owner, :task, :subject)
    on conflict (tenant_id, task, subject) where state = 'waiting' and attempts = 0 do update set updated_at = now()
    returning {_COLUMNS}, queue_id""")  # noqa: S608 - columns are ours
_QUEUE = text("""
    update job set queue_id = jobs.defer(task, subject, id) where tenant_id = :tenant and id = :job""")
_FIND = text(f"select {_COLUMNS} from job where {_SEEN} and id = :job")  # noqa: S608 - columns are ours
_LIST = text(f"""
    select {_COLUMNS} from job
    where {_SEEN} and (cast(:task as text) is null or task = :task)
      and (cast(:subject as bigint) is null or subject = :subject)
    order by id desc limit :limit""")  # noqa: S608 - columns are ours
_CANCEL = text(f"""
    update job
    set cancelled = true, updated_at = now(), state = case state when 'waiting' then 'cancelled' else state end,
        ended_at = case state when 'waiting' then now() end
    where tenant_id = :tenant and (cast(:job as bigint) is null or id = :job) and {_OPEN}
      and (cast(:task as text) is null or task = :task) and (cast(:subject as bigint) is null or subject = :subject)
    returning {_COLUMNS}, queue_id""")  # noqa: S608 - columns are ours
_UNQUEUE = text("select jobs.cancel(:queue)")
_BEGIN = text(f"""
    update job
    set state = 'running', attempts = attempts + 1, error = '', hint = '', started_at = coalesce(started_at, now()),
        updated_at = now()
    where tenant_id = :tenant and id = :job and {_OPEN} and not cancelled
    returning {_COLUMNS}""")  # noqa: S608 - columns are ours
# Every attempt has its number, so that writes of an abandoned attempt do not affect a later one.
_THIS_ATTEMPT: Final = "tenant_id = :tenant and id = :job and attempts = :attempt and state = 'running'"
_REPORT = text(f"""
    update job set phase = :phase, done = :done, total = :total, updated_at = now() where {_THIS_ATTEMPT}""")  # noqa: S608 - a condition of ours
_END = text(f"""
    update job set state = :state, error = :error, hint = :hint, updated_at = now(), ended_at = now()
    where {_THIS_ATTEMPT}""")  # noqa: S608 - a condition of ours
_PUT_BACK = text(f"""
    update job set state = 'waiting', failures = failures + :failures, error = :error, hint = :hint, updated_at = now()
    where {_THIS_ATTEMPT} and not cancelled
    returning failures""")  # noqa: S608 - a condition of ours
_SETTLE = text("""
    update job set state = :state, error = :error, hint = :hint, updated_at = now(), ended_at = now()
    where tenant_id = :tenant and id = :job and state in ('waiting', 'running') and (cancelled or :state = 'failed')""")
_DIED = text("""
    update job set deaths = deaths + 1, updated_at = now()
    where tenant_id = :tenant and id = :job and state = 'running'
    returning deaths""")
_OF_WORKER = text("select place, tenant, job from jobs.held_by(:worker)")
_FINISH = text("select jobs.finish(:queue)")
_TAKE_UP = text("select jobs.take_up(:class)")
_READY = text("select jobs.ready(:tasks)")
_WAITING = text("select jobs.waiting(:tasks, :worker)")
_UNBEGUN = text("select jobs.unbegun(:tasks)")
_NAME = text("select name from known_tenants() where id = :tenant")


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One attempt at a job.

    Attributes:
        tenant: The tenant of the job.
        job: Number of the job.
        number: 1 for the first attempt.
    """

    tenant: Tenant
    job: int
    number: int

    @property
    def key(self) -> dict[str, Any]:
        """The parameters of its statements."""
        return {"tenant": self.tenant.id, "job": self.job, "attempt": self.number}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job has ended, or why it waits again.

    Attributes:
        state: Its new state.
        error: What went wrong; empty if nothing did.
        hint: What to do about the error.
    """

    state: State
    error: str = ""
    hint: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of its statements; texts without characters that the database cannot store."""
        return {"state": self.state, "error": clean(self.error), "hint": clean(self.hint)}


async def defer(connection: AsyncConnection, tenant: Tenant, owner: str | None, task: str, subject: int) -> Job:
    """Insert a job and queue it; an equal job that is still waiting is returned instead."""
    values = {"tenant": tenant.id, "owner": owner, "task": task, "subject": subject}
    row = (await connection.execute(_DEFER, values)).mappings().one()
    if row["queue_id"] is None:
        await connection.execute(_QUEUE, {"tenant": tenant.id, "job": row["id"]})
    return _job(row)


async def find(connection: AsyncConnection, caller: Caller, job: int) -> Job | None:
    """One of the caller's jobs."""
    row = (await connection.execute(_FIND, _caller_values(caller) | {"job": job})).mappings().one_or_none()
    return None if row is None else _job(row)


async def list_jobs(
    connection: AsyncConnection, caller: Caller, task: str | None, subject: int | None, limit: int
) -> tuple[Job, ...]:
    """The caller's newest jobs."""
    values = _caller_values(caller) | {"task": task, "subject": subject, "limit": limit}
    return tuple(_job(row) for row in (await connection.execute(_LIST, values)).mappings())


async def cancel(
    connection: AsyncConnection,
    tenant: Tenant,
    *,
    job: int | None = None,
    task: str | None = None,
    subject: int | None = None,
) -> tuple[Job, ...]:
    """Request the end of open jobs; those that are waiting end at once."""
    values = {"tenant": tenant.id, "job": job, "task": task, "subject": subject}
    rows = (await connection.execute(_CANCEL, values)).mappings().all()
    for row in rows:
        await connection.execute(_UNQUEUE, {"queue": row["queue_id"]})
    return tuple(_job(row) for row in rows)


async def begin(connection: AsyncConnection, tenant: Tenant, job: int) -> Job | None:
    """Begin a job; None if it has ended, was cancelled, or is gone."""
    row = (await connection.execute(_BEGIN, {"tenant": tenant.id, "job": job})).mappings().one_or_none()
    return None if row is None else _job(row)


async def report(connection: AsyncConnection, attempt: JobAttempt, phase: str, done: int, total: int) -> None:
    """Write the progress of an attempt."""
    await connection.execute(_REPORT, attempt.key | {"phase": phase, "done": done, "total": total})


async def end(connection: AsyncConnection, attempt: JobAttempt, ending: Ending) -> None:
    """Write how an attempt ended its job."""
    await connection.execute(_END, attempt.key | ending.values)


async def put_back(connection: AsyncConnection, attempt: JobAttempt, *, failed: bool, reason: Ending) -> int | None:
    """Have the job of an attempt wait again; return its number of failures, None if it was cancelled."""
    values = attempt.key | reason.values | {"failures": int(failed)}
    return (await connection.execute(_PUT_BACK, values)).scalar_one_or_none()


async def settle(connection: AsyncConnection, tenant: Tenant, job: int, ending: Ending) -> None:
    """End a job without an attempt: one that was cancelled, or one that fails."""
    await connection.execute(_SETTLE, {"tenant": tenant.id, "job": job} | ending.values)


async def count_death(connection: AsyncConnection, tenant: Tenant, job: int) -> int | None:
    """Count a worker that died under a job; return the number of deaths, None if the job was not running."""
    return (await connection.execute(_DIED, {"tenant": tenant.id, "job": job})).scalar_one_or_none()


async def of_worker(connection: AsyncConnection, worker: int) -> list[tuple[int, int, int]]:
    """The jobs that a worker holds, as (number in the queue, tenant, job)."""
    return [(row.place, row.tenant, row.job) for row in await connection.execute(_OF_WORKER, {"worker": worker})]


async def finish(connection: AsyncConnection, queue: int) -> None:
    """Remove a job from the queue that no worker will end."""
    await connection.execute(_FINISH, {"queue": queue})


async def take_up(connection: AsyncConnection) -> int:
    """Have the jobs of dead workers wait again; return their number."""
    return (await connection.execute(_TAKE_UP, {"class": LOCK_CLASS})).scalar_one()


async def ready(connection: AsyncConnection, tasks: list[str]) -> int:
    """Number of jobs of some tasks that could begin now."""
    return (await connection.execute(_READY, {"tasks": tasks})).scalar_one()


async def waiting(connection: AsyncConnection, tasks: list[str], worker: int) -> bool:
    """Whether the worker holds a job of some tasks, or one has not begun, even if it is not due yet."""
    return (await connection.execute(_WAITING, {"tasks": tasks, "worker": worker})).scalar_one()


async def unbegun(connection: AsyncConnection, tasks: list[str]) -> bool:
    """Whether a job of some tasks waits for its first attempt."""
    return (await connection.execute(_UNBEGUN, {"tasks": tasks})).scalar_one()


async def tenant_name(connection: AsyncConnection, tenant: int) -> str:
    """The name of a tenant; empty if it is gone."""
    return (await connection.execute(_NAME, {"tenant": tenant})).scalar_one_or_none() or ""


def _caller_values(caller: Caller) -> dict[str, Any]:
    return {"tenant": caller.tenant.id, "user": caller.user}


def _job(row: Mapping[Any, Any]) -> Job:
    return Job(**{name: value for name, value in row.items() if name != "queue_id"})
