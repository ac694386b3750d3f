"""Processes that are killed while they answer: the thread goes on from its last checkpoint, at once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from tests.agent_threads.conftest import config, counting, say
from tests.support import Databases
from tests.support.waiting import eventually
from thresher.agent.threads import Threads, ThreadSaver
from thresher.core import Caller, Conflict, Tenant
from thresher.store import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no signal 9")


@asynccontextmanager
async def talking(database: Database, tenant: Tenant, thread: object) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that has answered once and goes on answering; killed at the end of the block."""
    command = [sys.executable, "-m", "tests.agent_threads.talker", database.address, tenant.name, str(thread)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        await process.stdout.readline()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def begun(threads: Threads, caller: Caller, thread: object) -> bool:
    """Whether a turn could be taken."""
    try:
        async with threads.turn(caller, str(thread)):
            return True
    except Conflict:
        return False


async def kill_in_mid_write(
    databases: Databases, database: Database, tenant: Tenant, thread: object, process: asyncio.subprocess.Process
) -> None:
    """Let a statement of the process wait in the database, and kill it there."""
    async with database.transaction(tenant) as connection:
        await connection.exec_driver_sql("select from thread where id = %s for update", (thread,))
        await eventually(lambda: databases.any_waits(database.address))
        process.kill()
        await process.wait()


async def test_a_thread_goes_on_after_its_process_was_killed(
    databases: Databases, database: Database, threads: Threads, ada: Caller, tenant: Tenant
) -> None:
    """In the middle of a write: stored data is whole, and nothing waits for a clock."""
    thread, saver = uuid4(), ThreadSaver(database, ada)
    for _ in range(2):
        async with talking(database, tenant, thread) as process:
            await kill_in_mid_write(databases, database, tenant, thread, process)
        await eventually(lambda: begun(threads, ada, thread), seconds=10)
        states = [one async for one in saver.alist(config(thread))]
        left = states[0].checkpoint["channel_values"].get("said", [])
        async with threads.turn(ada, thread) as turn:
            said = await say(ThreadSaver(database, ada, turn), thread, "after")

        assert all(one.checkpoint["channel_values"].get("turns", 1) for one in states)
        assert [one.parent_config for one in states] == [*(one.config for one in states[1:]), None]
        assert said == [*left, "after", "after!"]


async def test_a_turn_that_was_cut_off_can_be_finished(
    databases: Databases, database: Database, threads: Threads, ada: Caller, tenant: Tenant
) -> None:
    """Without a new message the graph goes on with the step at which the process died."""
    thread = uuid4()
    async with talking(database, tenant, thread) as process:
        await kill_in_mid_write(databases, database, tenant, thread, process)
    await eventually(lambda: begun(threads, ada, thread), seconds=10)
    async with threads.turn(ada, thread) as turn:
        graph = counting(ThreadSaver(database, ada, turn))
        if (await graph.aget_state(config(thread))).tasks:  # else it died between two turns
            await graph.ainvoke(None, config(thread))
        state = await graph.aget_state(config(thread))

    assert state.next == ()
    assert len(state.values["said"]) % 2 == 0
