"""Verbs of jobs: which there are, how far one is, ending one.

Invariant: somebody who stops following a job does not stop the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.jobs import Job


def job_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
    """
    verbs = _Jobs(app, caller)
    named = (verbs.list_jobs, verbs.show_job, verbs.follow_job, verbs.cancel_job)
    return {verb.__name__: verb for verb in named}


def job_row(job: Job) -> dict[str, Any]:
    """A job as data."""
    return cast("dict[str, Any]", plain(job)) | {"ended": job.ended}


class _Jobs:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._jobs = app.services.jobs
        self._caller = caller

    async def list_jobs(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return [job_row(job) for job in await self._jobs.list(self._caller, **arguments)]

    async def show_job(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return job_row(await self._jobs.find(self._caller, arguments["job"]))

    async def follow_job(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Wait for the end of a job, telling how far it is."""

        def follow(job: Job) -> None:
            put_off = job.state == "waiting" and job.error
            stage = f"trying again later: {job.error}" if put_off else job.phase or job.state
            tell({"stage": stage, "done": job.done, "total": job.total or None})

        return job_row(await self._jobs.follow(self._caller, arguments["job"], follow))

    async def cancel_job(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return job_row(await self._jobs.cancel(self._caller, arguments["job"]))
