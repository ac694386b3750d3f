"""Long work: jobs are stored in PostgreSQL, run in a process of their own, and continue after a kill.

Invariant: a job's arguments are ids; the rows that it works on are read under its tenant's row-level security.

Uses: core, store.
"""

from thresher.jobs.claims import Claim, ClaimedRows, ClaimLoop
from thresher.jobs.models import MOST_DEATHS, Job, State, Task, Work, Yielded
from thresher.jobs.service import Jobs, Supervisor

__all__ = [
    "MOST_DEATHS",
    "Claim",
    "ClaimLoop",
    "ClaimedRows",
    "Job",
    "Jobs",
    "State",
    "Supervisor",
    "Task",
    "Work",
    "Yielded",
]
