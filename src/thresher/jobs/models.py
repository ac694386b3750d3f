"""The records of jobs, and the protocol of a task.

Invariant: frozen, except for the event that stops a task.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias

from thresher.core import Caller, Tenant

State: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]

OPEN: Final[tuple[State, ...]] = ("waiting", "running")
"""The states of a job that has not ended."""
MOST_DEATHS: Final = 3
"""A job under which this many workers died is given up: the next worker would die too."""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of long work, as callers see it.

    Attributes:
        id: Its number inside the tenant.
        owner: The user who owns it; None if it belongs to the tenant.
        task: The task, such as `documents.index`.
        subject: Id of the row that the task works on.
        state: Its state.
        phase: The current phase, in a word or two; empty before it begins.
        done: Completed part of the phase.
        total: Size of the phase; 0 while unknown.
        error: Why it failed; empty if it did not.
        hint: What to do about the error.
        attempts: Number of attempts; an interrupted job continues where it was.
        deaths: Number of worker processes that died under it.
        cancelled: Whether its end was requested.
        created_at: When it was deferred.
        started_at: When it first began; None if it has not.
        updated_at: When it last reported something.
        ended_at: When it ended; None if it has not.
        ended: Whether it has ended.
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


class Yielded(Exception):
    """A task ends early, so that a job begins that has not begun; its own job waits and is attempted again."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a task receives: the job, its owner, and a function that reports progress.

    Attributes:
        tenant: The tenant of the rows.
        owner: The user who owns the job; None if it belongs to the tenant.
        job: The job's number inside the tenant.
        subject: Id of the row that the task works on.
        attempt: 1 at first; more if an earlier attempt was interrupted, killed or postponed.
        report: Reports (phase, done, total); cheap, callable from any thread, as often as needed.
        others_wait: Return whether a job of the same task, of any tenant, has not begun yet; the task may raise
            `Yielded` then. Raises StoreUnavailable.
        stopping: Set when the job must end; for loops in threads, which cannot be cancelled.
    """

    tenant: Tenant
    owner: str | None
    job: int
    subject: int
    attempt: int
    report: Callable[[str, int, int], None]
    others_wait: Callable[[], Awaitable[bool]]
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def caller(self) -> Caller:
        """The caller for whom the work is done."""
        return Caller(self.tenant, self.owner)


class Task(Protocol):
    """A kind of work that a worker can do.

    A task may be killed at any moment and is then begun again: each run does what is still to be done. Tasks whose
    names are equal up to the first dot never work on one subject at the same time.
    """

    @property
    def name(self) -> str:
        """The name that jobs use, such as `documents.index`."""
        ...

    async def run(self, work: Work) -> None:
        """Do the work; when this returns, the job is done.

        A cancelled task ends soon, by CancelledError. After StoreUnavailable, EncoderError, SourceUnavailable or
        UpstreamTimeout it is attempted again later; any other error ends the job and is shown with its hint.
        """
        ...
