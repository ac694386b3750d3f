"""The saver: whose threads it sees, what it writes, and what it makes of rows."""

from __future__ import annotations

import asyncio
import gc
import os
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

from tests.agent_threads.conftest import config, counting, say
from tests.support.isolation import fingerprint, without_tenant_conditions
from thresher.agent.threads import Threads, ThreadSaver
from thresher.core import Caller, Conflict, InvalidInput, NotFound, StoreError, Tenant
from thresher.store import Database


@dataclass(frozen=True)
class Note:
    """A class that is on no list."""

    text: str


async def put(saver: ThreadSaver, thread: object, value: Any, **metadata: Any) -> Any:
    """Write a checkpoint with one value."""
    checkpoint = empty_checkpoint()
    version = saver.get_next_version(None, None)
    checkpoint["channel_values"] = {"value": value}
    checkpoint["channel_versions"] = {"value": version}
    kept: Any = {"source": "loop", "step": 0, "parents": {}, **metadata}
    return await saver.aput(config(thread), checkpoint, kept, {"value": version})


async def value_of(saver: ThreadSaver, where: Any) -> Any:
    """The value of a checkpoint."""
    found = await saver.aget_tuple(where)
    return found.checkpoint["channel_values"]["value"] if found else None


async def listed(saver: ThreadSaver, *given: Any, **more: Any) -> list[str]:
    """The ids that a list gives, in its order."""
    return [one.checkpoint["id"] async for one in saver.alist(*given, **more)]


async def test_a_thread_goes_on_with_what_it_has(database: Database, ada: Caller) -> None:
    """A graph run again by another saver continues, messages and all."""
    thread = uuid4()
    await say(ThreadSaver(database, ada), thread, "one")

    assert await say(ThreadSaver(database, ada), thread, "two") == ["one", "one!", "two", "two!"]


async def test_only_its_owner_reads_a_thread_by_its_id(
    database: Database, ada: Caller, bob: Caller, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Neither another user, nor callers without a user, nor another tenant's user of the same name."""
    thread = uuid4()
    where = await put(ThreadSaver(database, ada), thread, "secret", run_id="run")
    strangers = [bob, Caller(tenant), Caller(other_tenant, "ada"), Caller(other_tenant)]
    for stranger in strangers:
        saver = ThreadSaver(database, stranger)
        await saver.adelete_for_runs(["run"])
        await saver.aprune([str(thread)], strategy="delete")
        await saver.adelete_thread(str(thread))
        history = await saver.aget_delta_channel_history(config=where, channels=["value"])

        assert await saver.aget_tuple(where) is None
        assert await listed(saver, config(thread)) == []
        assert await listed(saver, None) == []
        assert history == {"value": {"writes": []}}
        with pytest.raises(NotFound):
            await saver.acopy_thread(str(thread), str(uuid4()))

    assert await value_of(ThreadSaver(database, ada), where) == "secret"


async def test_only_its_owner_writes_to_a_thread_of_the_tenant(database: Database, ada: Caller, bob: Caller) -> None:
    """The error says that there is none, and nothing is changed."""
    mine, his = uuid4(), uuid4()
    where = await put(ThreadSaver(database, ada), mine, "mine")
    await put(ThreadSaver(database, bob), his, "his")
    before = await fingerprint(database, ada.tenant)
    stranger = ThreadSaver(database, bob)

    with pytest.raises(NotFound):
        await put(stranger, mine, "forged")
    with pytest.raises(NotFound):
        await stranger.aput_writes(where, [("value", "forged")], "task")
    with pytest.raises(NotFound):
        await stranger.acopy_thread(str(his), str(mine))
    assert await fingerprint(database, ada.tenant) == before


async def test_another_tenant_may_use_the_same_id(database: Database, ada: Caller, other_tenant: Tenant) -> None:
    """Each has a thread of its own under it."""
    thread = uuid4()
    first, second = ThreadSaver(database, ada), ThreadSaver(database, Caller(other_tenant, "ada"))
    await put(first, thread, 1)
    await put(second, thread, 2)
    await first.adelete_thread(str(thread))

    assert await first.aget_tuple(config(thread)) is None
    assert await value_of(second, config(thread)) == 2


async def test_the_database_keeps_tenants_apart_where_a_statement_would_not(
    database: Database, threads: Threads, ada: Caller, other_tenant: Tenant
) -> None:
    """Every path gives the same answers when its statements lose their conditions on the tenant."""
    thread, other = uuid4(), Caller(other_tenant, "ada")
    await say(ThreadSaver(database, other), thread, "theirs")
    before = await fingerprint(database, other_tenant)
    saver = ThreadSaver(database, ada)
    async with without_tenant_conditions(database) as rewritten:
        await say(saver, thread, "ours")
        await saver.acopy_thread(str(thread), str(uuid4()))
        fork = await threads.fork(ada, thread)
        async with threads.turn(ada, thread):
            pass
        await saver.aprune([str(thread)])
        said = (await saver.aget_tuple(config(thread))).checkpoint["channel_values"]["said"]  # type: ignore[union-attr]
        history = await threads.history(ada, thread)
        page = await threads.list(ada)
        await threads.delete(ada, fork.id)

    assert len(rewritten.statements) > 20
    assert said == ["ours", "ours!"]
    assert len(history.states) == 1
    assert len(page.threads) == 3
    assert await fingerprint(database, other_tenant) == before


async def test_what_is_written_is_read_as_it_was(database: Database, ada: Caller) -> None:
    """Messages, bytes, None, dates and sets are; a state may be replaced by None."""
    saver = ThreadSaver(database, ada)
    values = [
        [HumanMessage("a", id="1"), AIMessage("b")],
        b"\0\xff",
        None,
        {1, 2},
        {"deep": [{"x": uuid4()}]},
        "a\0b\ud800",
    ]
    for value in values[:-1]:
        assert await value_of(saver, await put(saver, uuid4(), value)) == value
    await put(saver, uuid4(), values[-1])


async def test_metadata_that_postgresql_cannot_hold_is_kept_without_that(database: Database, ada: Caller) -> None:
    """Zero bytes go and half a character becomes a question mark, at any depth."""
    saver = ThreadSaver(database, ada)
    where = await put(saver, uuid4(), 1, name="a\0b", deep={"k\0": ["c\0\ud800"]})
    found = await saver.aget_tuple(where)

    assert found is not None
    assert {name: found.metadata[name] for name in ("name", "deep")} == {"name": "ab", "deep": {"k": ["c?"]}}  # type: ignore[literal-required]


async def test_a_class_that_is_not_named_comes_back_as_data(database: Database, ada: Caller) -> None:
    """A saver that names it gives it back."""
    where = await put(ThreadSaver(database, ada), uuid4(), Note("x"))

    assert await value_of(ThreadSaver(database, ada), where) == {"text": "x"}
    assert await value_of(ThreadSaver(database, ada, types=[Note]), where) == Note("x")


async def test_a_row_cannot_have_anything_called(
    database: Database, ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a constructor, not a method, not pickle, not LangChain's JSON: such rows are data, or refused."""
    called: list[str] = []
    monkeypatch.setattr(os, "system", called.append)
    saver = ThreadSaver(database, ada)
    where = await put(saver, uuid4(), 1)
    calls = [ormsgpack.Ext(code, ormsgpack.packb(["os", "system", given])) for code, given in ((0, "x"), (1, ["x"]))]
    calls.append(ormsgpack.Ext(3, ormsgpack.packb(["os", "path", "x", "exists"])))

    async def forge(form: str, data: bytes) -> None:
        async with database.transaction(ada.tenant) as connection:
            await connection.exec_driver_sql("update checkpoint_blob set type = %s, data = %s", (form, data))

    for call in calls:
        await forge("msgpack", ormsgpack.packb([call]))
        assert await value_of(saver, where) in (["x"], [["x"]])
    for form in ("pickle", "json"):
        await forge(form, b'{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"]}')
        with pytest.raises(StoreError, match=form):
            await value_of(saver, where)
    assert called == []


async def test_a_value_that_is_too_large_is_refused(database: Database, ada: Caller) -> None:
    """In a checkpoint and in what a task writes; the thread stays as it was."""
    saver, thread = ThreadSaver(database, ada), uuid4()
    where = await put(saver, thread, "small")

    with pytest.raises(InvalidInput, match="'value' has 17 MB"):
        await put(saver, thread, bytes(17 << 20))
    with pytest.raises(InvalidInput, match="'value' has 17 MB"):
        await saver.aput_writes(where, [("value", bytes(17 << 20))], "task")
    assert await listed(saver, config(thread)) == [where["configurable"]["checkpoint_id"]]


async def test_lists_go_through_all_pages(database: Database, ada: Caller) -> None:
    """Newest first, over all the caller's threads, each checkpoint once, though copies share their ids."""
    saver, thread, copy = ThreadSaver(database, ada), uuid4(), uuid4()
    ids = [(await put(saver, thread, n, even=n % 2 == 0))["configurable"]["checkpoint_id"] for n in range(70)]
    await saver.acopy_thread(str(thread), str(copy))

    assert await listed(saver, config(thread)) == ids[::-1]
    assert await listed(saver, config(thread), limit=40) == ids[:29:-1]
    assert await listed(saver, config(thread), limit=0) == []
    assert await listed(saver, config(thread), filter={"even": True}, limit=33) == ids[68:2:-2]
    assert await listed(saver, config(thread), before=config(thread, ids[3])) == ids[2::-1]
    assert await listed(saver, config(thread, ids[3])) == [ids[3]]
    assert await listed(saver, None) == [one for pair in zip(ids[::-1], ids[::-1], strict=True) for one in pair]


async def test_branches_of_a_thread_keep_apart(database: Database, ada: Caller) -> None:
    """Two answers to one state have versions of their own: going back to either finds its own words."""
    saver, thread = ThreadSaver(database, ada), uuid4()
    graph = counting(saver)
    await say(saver, thread, "root")
    start = (await graph.aget_state(config(thread))).config
    left = await graph.ainvoke({"said": ["left"]}, start)
    left_config = (await graph.aget_state(config(thread))).config
    right = await graph.ainvoke({"said": ["right"]}, start)

    assert left["said"] == ["root", "root!", "left", "left!"]
    assert right["said"] == ["root", "root!", "right", "right!"]
    assert (await graph.aget_state(left_config)).values["said"] == left["said"]
    assert (await graph.aget_state(config(thread))).values["said"] == right["said"]


async def test_what_tasks_write_at_once_makes_one_thread(database: Database, ada: Caller) -> None:
    """Writes may come before their checkpoint, many together, and none is lost."""
    saver, thread, checkpoint = ThreadSaver(database, ada), uuid4(), empty_checkpoint()
    where = config(thread, checkpoint["id"])
    await asyncio.gather(*(saver.aput_writes(where, [("value", n)], f"task{n:02}", "path") for n in range(20)))
    await saver.aput(config(thread), checkpoint, {"source": "loop", "step": 0, "parents": {}}, {})
    found = await saver.aget_tuple(where)

    assert found is not None
    assert found.pending_writes == [(f"task{n:02}", "value", n) for n in range(20)]


async def test_a_saver_of_a_turn_that_has_ended_writes_nothing(
    database: Database, threads: Threads, ada: Caller
) -> None:
    """Nor to another thread, nor to one that was deleted meanwhile, which does not come back."""
    thread = (await threads.create(ada)).id
    async with threads.turn(ada, thread) as turn:
        saver = ThreadSaver(database, ada, turn)
        where = await put(saver, thread, "kept")
        with pytest.raises(Conflict):
            await put(saver, uuid4(), "elsewhere")
        with pytest.raises(Conflict):
            await saver.aput_writes(config(uuid4(), UUID(int=1)), [("value", 1)], "task")

    with pytest.raises(Conflict, match="has ended"):
        await put(saver, thread, "late")
    with pytest.raises(Conflict, match="has ended"):
        await saver.aput_writes(where, [("value", "late")], "task")
    await threads.delete(ada, thread)
    with pytest.raises(Conflict, match="has ended"):
        await put(saver, thread, "late")
    assert (await threads.list(ada)).threads == ()


async def test_a_late_write_that_nobody_waits_for_is_not_reported_as_lost(
    database: Database, threads: Threads, ada: Caller
) -> None:
    """The event loop would log a traceback of it whenever garbage is collected, long after the turn."""
    loop, reports, thread = asyncio.get_running_loop(), list[dict[str, Any]](), (await threads.create(ada)).id
    async with threads.turn(ada, thread) as turn:
        saver = ThreadSaver(database, ada, turn)
        where = await put(saver, thread, "kept")
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: reports.append(context))
    try:
        await saver.aput_writes(where, [("value", "late")], "task", "path")
        writing = saver._writing
        assert writing is not None
        await asyncio.wait([writing])
        del saver, writing
        gc.collect()
    finally:
        loop.set_exception_handler(before)

    assert reports == []


@pytest.mark.parametrize("name", ["get_tuple", "list", "put", "put_writes", "delete_thread", "prune"])
def test_a_synchronous_call_is_refused_with_the_way_out(database: Database, ada: Caller, name: str) -> None:
    """And not with an empty message."""
    with pytest.raises(NotImplementedError, match="use ainvoke"):
        getattr(ThreadSaver(database, ada), name)(config(uuid4()))


@pytest.mark.parametrize("wrong", ["", "thread-1", "' or 1=1 --", "0a" * 40], ids=["empty", "a word", "SQL", "long"])
async def test_what_is_no_id_is_refused(database: Database, ada: Caller, wrong: str) -> None:
    """Before the database sees it."""
    with pytest.raises(InvalidInput, match="not the id of a thread"):
        await ThreadSaver(database, ada).aget_tuple(config(wrong))
    with pytest.raises(InvalidInput, match="not the id of a checkpoint"):
        await ThreadSaver(database, ada).aget_tuple(config(uuid4(), wrong or "x"))
