"""A minimal daemon that can be killed: the supervisor alone (`python -m tests.jobs.parent FOLDER`).

Reads the database's address from standard input and prints its worker's process id.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.jobs.workshop import COUNT
from thresher.core import Settings
from thresher.jobs import Supervisor
from thresher.store import Database


async def main(folder: Path) -> None:
    """Supervise until killed."""
    database = await Database.open(sys.stdin.readline().strip())
    supervisor = Supervisor(database, Settings(data_dir=folder), [COUNT], module="tests.jobs.workshop", niceness=0)
    running = asyncio.create_task(supervisor.run())
    await supervisor.busy.wait()
    print(supervisor.pids[0], flush=True)
    await running


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
