"""The worker process from inside: a second door of the package, for what the daemon does without (procrastinate).

Invariant: it ends when its input ends, whatever it does just then, so it cannot outlive its parent.
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
from thresher.jobs.models import Task
from thresher.jobs.running import run_jobs
from thresher.jobs.start import DATABASE_LOST, Start
from thresher.store import Database

_logger = logging.getLogger("thresher.jobs")

Build = Callable[[Settings, Database, AsyncExitStack], Awaitable[Sequence[Task]]]
"""Makes the tasks; what they hold is closed with the stack."""

POOL: Final = 4
"""Connections for the rows of one job and its progress."""
PUT_BACK_SECONDS: Final = 5.0
"""How long putting back what runs may take when the parent has gone."""


def work(build: Build) -> None:
    """Be a worker: read the start line from standard input, work until it closes or nothing is left to do.

    Args:
        build: Makes the tasks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it closes our input
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not land between our lines
    line = sys.stdin.buffer.readline()
    if not line:
        return
    start = Start.unpacked(line)
    configure_logging(start.settings.log_level, text=start.settings.log_text == "on")
    try:
        asyncio.run(_work(build, start, sink))
    except StoreUnavailable as error:
        event(_logger, "worker ends", level=logging.WARNING, reason=error.message)
        sys.exit(DATABASE_LOST)


async def _work(build: Build, start: Start, sink: BinaryIO) -> None:
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
    """Wait for the end of the input; then end in order, or without it."""
    while os.read(0, 1024):  # not through the buffer, whose lock the interpreter wants at its end
        pass
    end = threading.Timer(PUT_BACK_SECONDS, os._exit, (0,))
    end.daemon = True
    end.start()
    stop()
