"""`/v1/jobs`: long work that goes on by itself, such as indexing documents."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field

from thresher.api.asking import BEARER, PROBLEMS, Asking
from thresher.jobs import Job, Jobs, State

_Number = Annotated[int, Path(description="The job's number.")]


class JobResponse(BaseModel):
    """A job."""

    id: int
    owner: str | None = Field(description="The user whose it is; null: the tenant's.")
    task: str = Field(description="What is done, such as `documents.index`.")
    subject: int = Field(description="Id of what it is done to.")
    state: State
    phase: str = Field(description="What it is doing just now; empty before it begins.")
    done: int = Field(description="How much of the phase is through.")
    total: int = Field(description="How much there is; 0 while that is not known.")
    error: str = Field(description="Why it failed; empty when it did not.")
    hint: str = Field(description="What can be done about that.")
    attempts: int = Field(description="How often it was begun; what was interrupted goes on where it was.")
    deaths: int = Field(description="How many worker processes ended under it.")
    cancelled: bool = Field(description="Whether it was asked to end.")
    created_at: dt.datetime
    started_at: dt.datetime | None
    updated_at: dt.datetime
    ended_at: dt.datetime | None


class JobsResponse(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobResponse]


def jobs_router(jobs: Jobs) -> APIRouter:
    """The routes.

    Args:
        jobs: Answers them.
    """
    router = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=PROBLEMS, dependencies=[Depends(BEARER)])

    @router.get("")
    async def list_jobs(  # pyright: ignore[reportUnusedFunction] - a route
        caller: Asking, limit: Annotated[int, Query(ge=1, le=1000, description="Jobs at most.")] = 50
    ) -> JobsResponse:
        """The jobs that you may see, the newest first."""
        return JobsResponse(jobs=[_response(job) for job in await jobs.list(caller, limit=limit)])

    @router.get("/{job}")
    async def show_job(job: _Number, caller: Asking) -> JobResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """How far a job is, or how it ended."""
        return _response(await jobs.find(caller, job))

    @router.post("/{job}/cancel")
    async def cancel_job(job: _Number, caller: Asking) -> JobResponse:  # pyright: ignore[reportUnusedFunction] - a route
        """End a job: one that waits at once, one that runs soon."""
        return _response(await jobs.cancel(caller, job))

    return router


def _response(job: Job) -> JobResponse:
    return JobResponse.model_validate(job, from_attributes=True)
