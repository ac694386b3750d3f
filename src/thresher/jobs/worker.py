"""The worker process itself: a second door of the package, for what the daemon does not import (procrastinate).

Invariant: the process ends when its input does, whatever it is doing, so that it cannot outlive its parent.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import BinaryIO, Final

from thresher.core import Settings, StoreUnavailable, configure_logging, event
from thresher.jobs.consumer import run_jobs
from thresher.jobs.handshake import DATABASE_LOST, WorkerStart
from thresher.jobs.models import Task
from thresher.store import Database

_logger = logging.getLogger("thresher.jobs")

Build = Callable[[Settings, Database, AsyncExitStack], Awaitable[Sequence[Task]]]
"""Makes the tasks; their resources are closed with the stack."""

POOL: Final = 4
"""Connections for the rows of one job and its progress."""
PUT_BACK_SECONDS: Final = 5.0
"""Time limit for putting back the current job after the parent is gone."""


def work(build: Build) -> None:
    """Run a worker: read the start message from standard input, work until the input closes or nothing is left to do.

    Args:
        build: Makes the tasks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes our input
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's output must not appear between our lines
    line = sys.stdin.buffer.readline()
    if not line:
        return
    start = WorkerStart.unpacked(line)
    configure_logging(start.settings.log_level, text=start.settings.log_text == "on")
    try:
        asyncio.run(_work(build, start, sink))
    except StoreUnavailable as error:
        event(_logger, "worker ends", level=logging.WARNING, reason=error.message)
        sys.exit(DATABASE_LOST)


async def _work(build: Build, start: WorkerStart, sink: BinaryIO) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    threading.Thread(target=_watch, args=(lambda: loop.call_soon_threadsafe(stop.set),), daemon=True).start()

    def registered(worker: int) -> None:
        sink.write(b"%d\n" % worker)
        sink.flush()

    async with AsyncExitStack() as stack:
        database = await Database.open(start.url, pool_size=POOL)
        stack.push_async_callback(database.close)
        tasks = await build(start.settings, database, stack)
        await run_jobs(
            start.url,
            database,
            tasks,
            stop=stop,
            idle_seconds=start.idle_seconds,
            registered=registered,
            lost=lambda: os._exit(DATABASE_LOST),
        )


def _watch(stop: Callable[[], object]) -> None:
    """Wait for the end of the input; then stop in order, or exit after a time limit."""
    while os.read(0, 1024):  # not through the buffer, whose lock the interpreter needs at exit
        pass
    end = threading.Timer(PUT_BACK_SECONDS, os._exit, (0,))
    end.daemon = True
    end.start()
    stop()
