"""Stops threads of a pack while they import and log, in a process of its own, since a lock that stays taken hangs it.

Run as `python -m tests.gateway.stopper FOLDER ROUNDS`; it prints a line when all threads have ended and others can
import and log as before.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from thresher.gateway.packs.threads import Threads

NAMES = [f"small_{number}" for number in range(40)]


def importing() -> None:
    """Import the same modules again and again."""
    while True:
        for name in NAMES:
            importlib.import_module(name)
            sys.modules.pop(name, None)


def logging_on() -> None:
    """Log without end."""
    while True:
        logging.getLogger("small").warning("still here")


async def stop_some(work: Callable[[], None], rounds: int) -> None:
    """Begin the work and stop it at some moment, time after time."""
    for number in range(rounds):
        waiting = asyncio.create_task(Threads("small", grace=0).run(work))
        await asyncio.sleep(0.001 + 0.0007 * (number % 13))
        waiting.cancel()
        await asyncio.wait([waiting])
        while any(thread.name == "pack small" for thread in threading.enumerate()):
            await asyncio.sleep(0.001)


async def main(folder: str, rounds: int) -> None:
    """Stop many, wait until all have ended, then do what they did."""
    for name in NAMES:
        (Path(folder) / f"{name}.py").write_text("import json\nvalue = json.dumps({})\n")
    sys.path.insert(0, folder)
    logging.basicConfig(filename=os.devnull)
    for work in (importing, logging_on):
        await stop_some(work, rounds)
    importlib.import_module(NAMES[0])
    logging.getLogger("small").warning("the end")
    os.write(1, b"all is well\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
