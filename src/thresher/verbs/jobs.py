"""The verbs of jobs: long work that goes on by itself, such as indexing documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind, Request

if TYPE_CHECKING:
    from thresher.jobs import Job

JOBS = Kind("jobs", "thresher.jobs")


@JOBS.verb("read", key="jobs")
async def list_jobs(
    request: Request, limit: Annotated[int, Ge(1), Le(1_000), Doc("Most jobs")] = 50
) -> tuple[Job, ...]:
    """The jobs that you may see, the newest first."""
    return await request.services.jobs.list(request.caller, limit=limit)


@JOBS.verb("read")
async def show_job(request: Request, job: Annotated[int, Doc("Its number")]) -> Job:
    """How far a job is, or how it ended.

    Raises:
        NotFound: There is no job of this number that the caller may see.
    """
    return await request.services.jobs.find(request.caller, job)


@JOBS.verb("write")
async def cancel_job(request: Request, job: Annotated[int, Doc("Its number")]) -> Job:
    """End a job: one that waits at once, one that runs soon; what it has done so far stays.

    Raises:
        NotFound: There is no job of this number that the caller may see.
        NotAllowed: It is not the caller's.
        Conflict: It has ended.
    """
    return await request.services.jobs.cancel(request.caller, job)
