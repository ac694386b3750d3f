"""What only commands do with jobs: wait for the end of one.

Invariant: somebody who stops following a job does not stop the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.jobs import Job


def job_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """What only commands do with jobs.

    Args:
        app: The running product.
        caller: For whom they work.
    """

    async def follow_job(arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Wait for the end of a job, and report how far it is."""

        def follow(job: Job) -> None:
            put_off = job.state == "waiting" and job.error
            stage = f"trying again later: {job.error}" if put_off else job.phase or job.state
            tell({"stage": stage, "done": job.done, "total": job.total or None})

        return plain(await app.services.jobs.follow(caller, arguments["job"], follow))

    return {"follow_job": follow_job}
