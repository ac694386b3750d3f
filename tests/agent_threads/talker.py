"""Answers messages of a thread without end, in a process of its own, so that it can be killed.

Run as `python -m tests.agent_threads.talker ADDRESS TENANT THREAD`; it prints a line after each turn.
"""

from __future__ import annotations

import asyncio
import os
import sys

from tests.agent_threads.conftest import say
from thresher.agent.threads import Threads, ThreadSaver
from thresher.core import Caller
from thresher.store import Database


async def main(address: str, tenant: str, thread: str) -> None:
    """Take turn after turn, each with a large message, so that much of the time something is being written."""
    database = await Database.open(address)
    caller, threads, number = Caller(await database.tenant(tenant), "ada"), Threads(database), 0
    while True:
        async with threads.turn(caller, thread) as turn:
            said = await say(ThreadSaver(database, caller, turn), thread, f"{number} " + "x" * 50_000)
        os.write(1, f"{len(said)}\n".encode())
        number += 1


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
