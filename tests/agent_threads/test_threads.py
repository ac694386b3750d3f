"""The service: making, listing, naming, forking and removing threads."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from tests.agent_threads.conftest import Counted, config, counting, say
from tests.support.isolation import fingerprint
from thresher.agent.threads import Threads, ThreadSaver
from thresher.core import Caller, Conflict, InvalidInput, NotFound, Tenant
from thresher.store import Database


async def aged(database: Database, caller: Caller, days: int) -> None:
    """Make all threads of a tenant so old."""
    async with database.transaction(caller.tenant) as connection:
        await connection.exec_driver_sql("update thread set updated_at = now() - make_interval(days => %s)", (days,))


async def rows(database: Database, tenant: Tenant, table: str) -> int:
    """How many there are."""
    async with database.transaction(tenant) as connection:
        return int((await connection.exec_driver_sql(f"select count(*) from {table}")).scalar_one())


async def test_a_thread_has_a_title_and_settings(threads: Threads, ada: Caller) -> None:
    """Both can be given at the beginning or later; a title is one line."""
    thread = await threads.create(ada, " My\n first\0 ", {"model": "small"})
    with pytest.raises(InvalidInput, match="title is empty"):
        await threads.rename(ada, thread.id, " ")
    renamed = await threads.rename(ada, str(thread.id), "Second")
    configured = await threads.configure(ada, thread.id, {"top_k": 3})

    assert (thread.title, thread.settings, thread.last_checkpoint) == ("My first", {"model": "small"}, None)
    assert (renamed.title, renamed.settings) == ("Second", {"model": "small"})
    assert (configured.title, configured.settings) == ("Second", {"top_k": 3})
    assert await threads.get(ada, thread.id) == configured
    assert thread.created_at <= dt.datetime.now(dt.UTC)


@pytest.mark.parametrize(
    ("title", "settings"),
    [("x" * 201, {}), ("", {"x": "y" * 17_000}), ("", {"x": float("nan")}), ("", {"x": object()})],
    ids=["long title", "large settings", "no number", "no JSON"],
)
async def test_what_is_too_long_or_no_json_is_refused(
    threads: Threads, ada: Caller, title: str, settings: dict[str, Any]
) -> None:
    """And no thread is made."""
    with pytest.raises(InvalidInput):
        await threads.create(ada, title, settings)
    assert (await threads.list(ada)).threads == ()


async def test_a_stranger_learns_nothing_of_a_thread(
    database: Database, threads: Threads, ada: Caller, bob: Caller, other_tenant: Tenant
) -> None:
    """Whatever he asks for, the answer is that of a thread that never was; nothing is changed."""
    thread = (await threads.create(ada, "mine")).id
    await say(ThreadSaver(database, ada), thread, "x")
    before = await fingerprint(database, ada.tenant)
    for stranger in (bob, Caller(ada.tenant), Caller(other_tenant, "ada")):
        asked: list[Any] = [
            threads.get(stranger, thread),
            threads.rename(stranger, thread, "his"),
            threads.configure(stranger, thread, {}),
            threads.fork(stranger, thread),
            threads.delete(stranger, thread),
            threads.history(stranger, thread),
        ]
        for one in asked:
            with pytest.raises(NotFound, match=f"There is no thread {thread}"):
                await one
        assert (await threads.list(stranger)).threads == ()
    with pytest.raises(NotFound):
        async with threads.turn(bob, thread):
            pass

    assert await fingerprint(database, ada.tenant) == before


async def test_lists_are_newest_first_in_pages(database: Database, threads: Threads, ada: Caller, bob: Caller) -> None:
    """Each thread of the caller's once; going on with one moves it to the top."""
    made = [(await threads.create(ada, str(number))).id for number in range(7)]
    await threads.create(bob, "his")
    await say(ThreadSaver(database, ada), made[2], "x")
    pages, cursor = [], ""
    while not pages or cursor:
        page = await threads.list(ada, limit=3, cursor=cursor)
        cursor = page.cursor
        pages.append([thread.title for thread in page.threads])

    assert pages == [["2", "6", "5"], ["4", "3", "1"], ["0"]]


async def test_threads_are_found_by_words_of_their_titles(threads: Threads, ada: Caller) -> None:
    """In whatever case, page by page; signs of patterns are words like others, and a cursor is of one search."""
    for title in ("Zebras and horses", "horses", "100 % of ZEBRAS", "x"):
        await threads.create(ada, title)

    first = await threads.list(ada, query=" zebras ", limit=1)
    rest = await threads.list(ada, query="zebras", limit=1, cursor=first.cursor)
    percent = await threads.list(ada, query="%")

    assert [page.threads[0].title for page in (first, rest)] == ["100 % of ZEBRAS", "Zebras and horses"]
    assert rest.cursor == ""
    assert [one.title for one in percent.threads] == ["100 % of ZEBRAS"]
    with pytest.raises(InvalidInput):
        await threads.list(ada, query="horses", cursor=first.cursor)


@pytest.mark.parametrize("wrong", ["x", "!!", "WzEsMl0", "1.2.123456", f"{10**40}.1.123456"])
async def test_a_wrong_cursor_or_limit_is_refused(threads: Threads, ada: Caller, wrong: str) -> None:
    """Of lists and of histories."""
    thread = (await threads.create(ada)).id

    with pytest.raises(InvalidInput):
        await threads.list(ada, cursor=wrong)
    with pytest.raises(InvalidInput):
        await threads.history(ada, thread, cursor=wrong)
    with pytest.raises(InvalidInput):
        await threads.list(ada, limit=0)
    with pytest.raises(InvalidInput):
        await threads.history(ada, thread, limit=201)


async def test_the_history_names_each_state(database: Database, threads: Threads, ada: Caller) -> None:
    """Newest first, in pages, each with the one before it."""
    thread = uuid4()
    saver = ThreadSaver(database, ada)
    await say(saver, thread, "one")
    await say(saver, thread, "two")
    first = await threads.history(ada, thread, limit=5)
    rest = await threads.history(ada, thread, limit=5, cursor=first.cursor)
    points = first.states + rest.states

    assert [point.source for point in points] == ["loop", "loop", "loop", "input"] * 2
    assert [point.parent for point in points] == [point.id for point in points[1:]] + [None]
    assert [point.step for point in points] == list(range(6, -2, -1))
    assert points[0].id == (await threads.get(ada, thread)).last_checkpoint
    assert points[0].at > points[-1].at
    assert rest.cursor == ""


async def test_a_fork_goes_on_by_itself(database: Database, threads: Threads, ada: Caller) -> None:
    """With title and settings of the former, which stays as it is."""
    thread = await threads.create(ada, "plan", {"top_k": 3})
    saver = ThreadSaver(database, ada)
    await say(saver, thread.id, "one")
    fork = await threads.fork(ada, thread.id)
    forked = await say(saver, fork.id, "two")
    await threads.delete(ada, thread.id)

    assert forked == ["one", "one!", "two", "two!"]
    assert (fork.title, fork.settings, fork.forked_from) == ("plan", {"top_k": 3}, thread.id)
    assert fork.forked_at == fork.last_checkpoint
    assert await say(saver, fork.id, "three") == [*forked, "three", "three!"]


async def test_a_fork_at_an_earlier_state_knows_nothing_later(
    database: Database, threads: Threads, ada: Caller
) -> None:
    """Neither of later turns, nor of what was asked next."""
    thread, saver = uuid4(), ThreadSaver(database, ada)
    for words in ("one", "two", "three"):
        await say(saver, thread, words)
    point = (await threads.history(ada, thread)).states[4]
    fork = await threads.fork(ada, thread, at=str(point.id), title="earlier")
    state = await counting(saver).aget_state(config(fork.id))

    assert (state.values["said"], state.next, fork.title) == (["one", "one!", "two", "two!"], (), "earlier")
    assert len((await threads.history(ada, fork.id)).states) == 8
    assert await say(saver, fork.id, "four") == ["one", "one!", "two", "two!", "four", "four!"]
    assert len(await say(saver, thread, "five")) == 8


async def test_a_fork_of_a_thread_without_turns_has_none(threads: Threads, ada: Caller) -> None:
    """It is a new thread with the same title."""
    fork = await threads.fork(ada, (await threads.create(ada, "empty")).id)

    assert (fork.title, fork.last_checkpoint, fork.forked_at) == ("empty", None, None)


async def test_a_fork_at_a_state_that_is_not_there_is_refused(threads: Threads, ada: Caller) -> None:
    """And makes nothing."""
    thread = (await threads.create(ada)).id

    with pytest.raises(NotFound, match="no checkpoint"):
        await threads.fork(ada, thread, at=uuid4())
    with pytest.raises(InvalidInput, match="not the id of a checkpoint"):
        await threads.fork(ada, thread, at="last")
    assert len((await threads.list(ada)).threads) == 1


async def test_what_waits_for_somebody_waits_in_a_fork_too(database: Database, threads: Threads, ada: Caller) -> None:
    """An approval that is pending can be given in both, each for itself; subgraphs included."""

    async def ask(state: Counted) -> dict[str, Any]:
        return {"said": [interrupt("May I?")]}

    inner = StateGraph(Counted)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    inner.add_edge("ask", END)
    outer = StateGraph(Counted)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    outer.add_edge("inner", END)
    graph = outer.compile(checkpointer=ThreadSaver(database, ada))
    thread = uuid4()
    await graph.ainvoke({"said": ["go"]}, config(thread))
    fork = (await threads.fork(ada, thread)).id
    given = [await graph.ainvoke(Command(resume=word), config(one)) for one, word in ((fork, "yes"), (thread, "no"))]

    assert [one["said"][-1] for one in given] == ["yes", "no"]


async def test_deleting_leaves_nothing(database: Database, threads: Threads, ada: Caller) -> None:
    """Of this thread; the others stay."""
    saver = ThreadSaver(database, ada)
    kept, gone = uuid4(), uuid4()
    for thread in (kept, gone):
        await say(saver, thread, "x")
    await threads.delete(ada, gone)

    with pytest.raises(NotFound):
        await threads.delete(ada, gone)
    for table in ("checkpoint", "checkpoint_blob", "checkpoint_write"):
        async with database.transaction(ada.tenant) as connection:
            found = await connection.exec_driver_sql(f"select distinct thread_id from {table}")
            assert found.scalars().all() == [kept], table


async def test_pruning_keeps_the_last_state_and_no_value_that_nothing_names(
    database: Database, threads: Threads, ada: Caller
) -> None:
    """The thread goes on as before."""
    thread, saver = uuid4(), ThreadSaver(database, ada)
    for words in ("one", "two"):
        await say(saver, thread, words)
    before = await rows(database, ada.tenant, "checkpoint_blob")
    await saver.aprune([str(thread)])

    assert await rows(database, ada.tenant, "checkpoint") == 1
    assert await rows(database, ada.tenant, "checkpoint_blob") < before / 2
    assert (await say(saver, thread, "three"))[:4] == ["one", "one!", "two", "two!"]
    await saver.aprune([str(thread)], strategy="delete")
    assert await rows(database, ada.tenant, "checkpoint_blob") == 0
    assert (await threads.get(ada, thread)).last_checkpoint is None
    with pytest.raises(InvalidInput, match="no strategy"):
        await saver.aprune([str(thread)], strategy="oldest")


async def test_old_threads_of_all_tenants_go(
    database: Database, threads: Threads, ada: Caller, other_tenant: Tenant
) -> None:
    """With all that is kept of them; those that went on stay."""
    other = Caller(other_tenant, "eve")
    old = [(caller, await threads.create(caller)) for caller in (ada, ada, other)]
    for caller, thread in old:
        await say(ThreadSaver(database, caller), thread.id, "x")
    for caller in (ada, other):
        await aged(database, caller, 91)
    await say(ThreadSaver(database, ada), old[0][1].id, "y")

    assert await threads.purge(90) == 2
    assert await threads.purge(90) == 0
    assert [thread.id for thread in (await threads.list(ada)).threads] == [old[0][1].id]
    assert await rows(database, other_tenant, "checkpoint_blob") == 0


async def test_a_copy_goes_into_an_empty_thread_alone(database: Database, threads: Threads, ada: Caller) -> None:
    """One that was made before keeps its title; one that has a past is refused, whole."""
    saver, source = ThreadSaver(database, ada), uuid4()
    await say(saver, source, "one")
    target = (await threads.create(ada, "target")).id
    await saver.acopy_thread(str(source), str(target))
    before = await fingerprint(database, ada.tenant)

    with pytest.raises(Conflict, match="has checkpoints"):
        await saver.acopy_thread(str(source), str(target))
    assert await fingerprint(database, ada.tenant) == before
    assert (await threads.get(ada, target)).title == "target"
    assert await say(saver, target, "two") == ["one", "one!", "two", "two!"]


async def test_a_hundred_conversations_at_once_keep_apart(database: Database, ada: Caller) -> None:
    """Each hears its own words alone, in order, over a pool of few connections."""
    saver, ids = ThreadSaver(database, ada), [uuid4() for _ in range(100)]
    graph = counting(saver)

    async def talk(number: int) -> list[str]:
        await graph.ainvoke({"said": [f"{number}.0"]}, config(ids[number]))
        return (await graph.ainvoke({"said": [f"{number}.1"]}, config(ids[number])))["said"]

    answers = await asyncio.gather(*(talk(number) for number in range(len(ids))))

    assert answers == [[f"{n}.0", f"{n}.0!", f"{n}.1", f"{n}.1!"] for n in range(len(ids))]
    assert await rows(database, ada.tenant, "checkpoint") == 8 * len(ids)


async def test_a_thousand_threads_at_once_keep_apart(database: Database, ada: Caller) -> None:
    """What is put and written in each is found in it, and nothing else; none waits until its time is over."""
    saver = ThreadSaver(database, ada)

    async def keep(number: int) -> tuple[object, object]:
        checkpoint, where = empty_checkpoint(), config(uuid4())
        checkpoint["channel_values"], checkpoint["channel_versions"] = {"said": number}, {"said": "1"}
        stored = await saver.aput(where, checkpoint, {"source": "loop", "step": 0, "parents": {}}, {"said": "1"})
        await saver.aput_writes(stored, [("said", number + 1)], "task")
        found = await saver.aget_tuple(where)
        assert found is not None
        return found.checkpoint["channel_values"], found.pending_writes

    kept = await asyncio.gather(*(keep(number) for number in range(1_000)))

    assert kept == [({"said": n}, [("task", "said", n + 1)]) for n in range(1_000)]
