"""The records of jobs, and what a task is.

Invariant: frozen, but for the progress that a task reports.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

from thresher.core import Caller, Tenant

State: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]

OPEN: Final[tuple[State, ...]] = ("waiting", "running")
"""The states of a job that has not ended."""
MOST_DEATHS: Final = 3
"""A job under which this many workers have ended is given up: the next one would end too."""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of long work, as people may see it.

    Attributes:
        id: Its number inside the tenant.
        owner: The user whose it is; None: the tenant's.
        task: What is done, such as `documents.index`.
        subject: Id of the row that it is done to.
        state: How it stands.
        phase: What it is doing just now, in a word or two; empty before it begins.
        done: How much of the phase is through.
        total: How much there is; 0 while that is not known.
        error: Why it failed; empty when it did not.
        hint: What can be done about that.
        attempts: How often it was begun: a job that was interrupted goes on where it was.
        deaths: How many worker processes ended under it.
        cancelled: Whether it was asked to end.
        created_at: When it was asked for.
        started_at: When it began first; None: it did not yet.
        updated_at: When it last told something.
        ended_at: When it ended; None: it has not.
        ended: Whether nothing more happens to it.
    """

    id: int
    owner: str | None
    task: str
    subject: int
    state: State
    phase: str
    done: int
    total: int
    error: str
    hint: str
    attempts: int
    deaths: int
    cancelled: bool
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    ended_at: datetime | None
    ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ended", self.state not in OPEN)


@dataclass(frozen=True, slots=True)
class Work:
    """What a task is given: which job it runs, for whom, and where it tells how far it is.

    Attributes:
        tenant: Whose rows it works on.
        owner: The user whose job it is; None: the tenant's.
        job: The job's number inside the tenant.
        subject: Id of the row that the work is done to.
        attempt: 1 the first time; more where an earlier attempt was interrupted, killed or put off.
        report: Tells (phase, done, total); cheap, may be called from any thread and as often as one likes.
        stopping: Set when the job shall end; for loops in threads, which no cancellation reaches.
    """

    tenant: Tenant
    owner: str | None
    job: int
    subject: int
    attempt: int
    report: Callable[[str, int, int], None]
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def caller(self) -> Caller:
        """For whom the work is done."""
        return Caller(self.tenant, self.owner)


class Task(Protocol):
    """A kind of work that a worker can do.

    It may be killed at any moment and is then begun again: each run does what is still to do. Tasks whose names have
    the part before the first dot in common never work on one subject at the same time.
    """

    @property
    def name(self) -> str:
        """What jobs call it, such as `documents.index`."""
        ...

    async def run(self, work: Work) -> None:
        """Do the work; when this returns, the job is done.

        A cancelled one ends soon, by CancelledError. StoreUnavailable, EncoderError, SourceUnavailable and
        UpstreamTimeout have it tried again later; any other error ends the job and is shown with its hint.
        """
        ...
