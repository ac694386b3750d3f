"""Turns: one at a time, whatever becomes of who answers."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from sqlalchemy import text

from tests.agent_threads.conftest import config, say
from tests.support import Databases
from thresher.agent.threads import Threads, ThreadSaver
from thresher.core import Caller, Conflict
from thresher.store import Database


async def test_a_second_turn_is_refused_while_one_is_answered(
    database: Database, threads: Threads, ada: Caller
) -> None:
    """In this process and in another; also the thread is not deleted meanwhile. Afterwards all is free."""
    other, thread = Threads(database), uuid4()
    async with threads.turn(ada, thread) as turn:
        for service in (threads, other):
            with pytest.raises(Conflict, match="is being answered"):
                async with service.turn(ada, thread):
                    pass
            with pytest.raises(Conflict, match="is being answered"):
                await service.delete(ada, thread)
        with pytest.raises(Conflict):
            await ThreadSaver(database, ada).adelete_thread(str(thread))
        said = await say(ThreadSaver(database, ada, turn), thread, "one")

    assert (said, turn.began) == (["one", "one!"], True)
    async with other.turn(ada, str(thread)) as after:
        assert after.began is False
    await threads.delete(ada, thread)
    await other.close()


async def test_of_many_who_begin_at_once_one_has_the_turn(database: Database, ada: Caller) -> None:
    """Over several processes, again and again."""
    services = [Threads(database) for _ in range(4)]
    for _ in range(5):
        thread, done = uuid4(), asyncio.Event()

        async def attempt(service: Threads) -> bool:
            try:
                async with service.turn(ada, thread):  # noqa: B023 - awaited within the round
                    await done.wait()  # noqa: B023 - as above
            except Conflict:
                return False
            return True

        attempts = [asyncio.create_task(attempt(service)) for service in services for _ in range(5)]
        while sum(task.done() for task in attempts) < len(attempts) - 1:
            await asyncio.wait(attempts, timeout=20, return_when=asyncio.FIRST_COMPLETED)
        done.set()

        assert sum(await asyncio.gather(*attempts)) == 1
    for service in services:
        await service.close()


async def test_turns_of_different_threads_do_not_wait_for_each_other(threads: Threads, ada: Caller) -> None:
    """Many more than the database has connections."""
    ids, all_in = [uuid4() for _ in range(200)], asyncio.Event()
    inside: list[object] = []

    async def hold(thread: object) -> None:
        async with threads.turn(ada, str(thread)) as turn:
            inside.append(turn.thread)
            if len(inside) == len(ids):
                all_in.set()
            await asyncio.wait_for(all_in.wait(), 60)

    await asyncio.gather(*(hold(thread) for thread in ids))

    assert sorted(map(str, inside)) == sorted(map(str, ids))


@pytest.mark.parametrize("how", [RuntimeError, asyncio.CancelledError])
async def test_a_turn_that_breaks_off_is_over(threads: Threads, ada: Caller, how: type[BaseException]) -> None:
    """By an error, or because the client went."""
    thread = uuid4()
    with pytest.raises(how):
        async with threads.turn(ada, thread):
            raise how

    async with threads.turn(ada, thread):
        pass


async def test_a_process_that_lost_its_connection_may_be_overtaken_and_then_writes_nothing(
    databases: Databases, database: Database, threads: Threads, ada: Caller
) -> None:
    """The one that came after it has the thread to itself; the first one's next turn is a good one again."""
    thread, other = uuid4(), Threads(database)
    async with threads.turn(ada, thread) as turn:
        await databases.admin(
            "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 2"
            f" and objid::bigint = {await threads._life.number()}"
        )
        async with other.turn(ada, thread) as later:
            with pytest.raises(Conflict, match="has ended"):
                await say(ThreadSaver(database, ada, turn), thread, "late")
            said = await say(ThreadSaver(database, ada, later), thread, "new")
            with pytest.raises(Conflict, match="is being answered"):
                async with threads.turn(ada, thread):
                    pass

    assert said == ["new", "new!"]
    async with threads.turn(ada, thread) as turn:
        assert await say(ThreadSaver(database, ada, turn), thread, "again") == ["new", "new!", "again", "again!"]
        with pytest.raises(Conflict):
            async with other.turn(ada, thread):
                pass
    await other.close()


async def test_a_turn_that_could_not_be_ended_does_not_hold_the_thread_for_ever(
    databases: Databases, ada: Caller, threads: Threads, database: Database
) -> None:
    """The database went away just then: the process gives its number up, and others take over."""
    own = await Database.open(database.address, pool_size=1)
    service, thread = Threads(own), uuid4()
    turn = service.turn(ada, thread)
    await turn.__aenter__()
    async with own.transaction(ada.tenant):  # no connection is left for the end
        own._engine.pool._timeout = 0.05  # type: ignore[attr-defined]
        await turn.__aexit__(None, None, None)

    async with threads.turn(ada, thread):
        pass
    await service.close()
    await own.close()


async def test_a_turn_reads_a_checkpoint_once(database: Database, threads: Threads, ada: Caller) -> None:
    """Nobody else writes to its thread: as the newest one, and by its id in any order of what names it."""
    thread = uuid4()
    async with threads.turn(ada, thread) as turn:
        await say(ThreadSaver(database, ada, turn), thread, "one")
        saver = ThreadSaver(database, ada, turn)
        newest = await saver.aget_tuple(config(thread))
        async with database.transaction(ada.tenant) as connection:
            await connection.execute(text("delete from checkpoint where thread_id = :thread"), {"thread": thread})

        assert newest is not None
        assert await saver.aget_tuple(newest.config) == newest
        assert await saver.aget_tuple(config(thread)) == newest
        assert await ThreadSaver(database, ada, turn).aget_tuple(config(thread)) is None
