"""The worker process: does long work for the daemon that started it (`python -m thresher.worker`).

Invariant: whatever it works with it opens itself; it shares nothing with its parent but the database.

Uses: core, jobs, store.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from thresher.core import Settings
from thresher.jobs import Task
from thresher.jobs.worker import work
from thresher.store import Database


async def open_tasks(_settings: Settings, _database: Database, _stack: AsyncExitStack) -> Sequence[Task]:
    """Everything that a worker can do.

    Args:
        _settings: Those of the daemon.
        _database: Where the rows are.
        _stack: Closes what the tasks hold.
    """
    return ()


if __name__ == "__main__":
    work(open_tasks)
