"""A worker process for tests (`python -m tests.jobs.workshop`): the product's worker, with tasks that tests control.

Tasks append a line per step to a file in the data folder, and wait while a file `hold` exists there.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from thresher.core import Settings
from thresher.jobs import Task, Work
from thresher.jobs.worker import work
from thresher.store import Database

COUNT, DIE = "count.steps", "die.always"
STEPS = 6
HELD_AT = 3


def steps(folder: Path, subject: int) -> list[tuple[int, int, int]]:
    """The steps done for a subject, as (step, attempt, process)."""
    path = folder / f"steps-{subject}"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(map(int, line.split())) for line in lines]  # type: ignore[misc]


@dataclass(frozen=True)
class Count:
    """Does its steps, each once; steps of an earlier attempt are skipped."""

    folder: Path
    name: str = COUNT

    async def run(self, work: Work) -> None:
        """Do the remaining steps."""
        for step in range(len(steps(self.folder, work.subject)), STEPS):
            while step == HELD_AT and (self.folder / "hold").exists():
                await asyncio.sleep(0.01)
            with (self.folder / f"steps-{work.subject}").open("a") as file:
                file.write(f"{step} {work.attempt} {os.getpid()}\n")
            work.report("counting", step + 1, STEPS)


class Die:
    """Kills its worker, like an operating system that is out of memory."""

    name = DIE

    async def run(self, work: Work) -> None:
        """Die."""
        os.kill(os.getpid(), signal.SIGKILL)


async def open_tasks(settings: Settings, database: Database, stack: AsyncExitStack) -> Sequence[Task]:
    """The tasks."""
    return [Count(settings.data_dir), Die()]


if __name__ == "__main__":
    work(open_tasks)
