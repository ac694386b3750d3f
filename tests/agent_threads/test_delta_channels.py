"""Channels that keep what was written and now and then the whole: LangGraph's delta channels, over our saver."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from tests.agent_threads.conftest import config
from thresher.agent.threads import Threads, ThreadSaver
from thresher.agent.threads import saver as saver_module
from thresher.core import Caller
from thresher.store import Database


def joined(value: list[str], writes: list[list[str]]) -> list[str]:
    """The reducer: what was written is added in its order."""
    return [*value, *(word for words in writes for word in words)]


def graph(saver: BaseCheckpointSaver[str], *, every: int) -> Any:
    """A graph whose words are a delta channel that is stored whole so often; two of its steps run side by side."""
    words = Annotated[list[str], DeltaChannel(joined, list, snapshot_frequency=every)]
    told = TypedDict("told", {"said": words})  # noqa: UP013 - an annotation would be read where `words` is not known

    async def left(state: dict[str, Any]) -> dict[str, Any]:
        return {"said": [f"left {len(state['said'])}"]}

    async def right(state: dict[str, Any]) -> dict[str, Any]:
        return {"said": [f"right {len(state['said'])}"]}

    builder = StateGraph(told)
    for name, step in (("left", left), ("right", right)):
        builder.add_node(name, step)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    return builder.compile(checkpointer=saver)


async def told(saver: BaseCheckpointSaver[str], thread: object, turns: int, *, every: int) -> list[str]:
    """Some turns; returns what is there after them."""
    running = graph(saver, every=every)
    for turn in range(turns):
        await running.ainvoke({"said": [f"turn {turn}"]}, config(thread))
    return await state(saver, thread, every=every)


async def state(saver: BaseCheckpointSaver[str], thread: object, *, every: int) -> list[str]:
    """What is there, made again from what is kept."""
    return (await graph(saver, every=every).aget_state(config(thread))).values["said"]


@pytest.mark.parametrize("every", [1, 3, 1000], ids=["always stored", "now and then", "never stored"])
async def test_values_are_made_again_as_langgraph_does(
    database: Database, ada: Caller, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal to its own saver in memory, turn by turn, also where the ancestors come in several pieces."""
    monkeypatch.setattr(saver_module, "_REACH", 3)
    thread = uuid4()

    ours = await told(ThreadSaver(database, ada), thread, 8, every=every)

    assert ours == await told(InMemorySaver(), thread, 8, every=every)
    assert len(ours) == 24


@pytest.mark.parametrize("every", [3, 1000])
async def test_pruning_keeps_what_values_are_made_of(database: Database, ada: Caller, every: int) -> None:
    """The thread reads the same afterwards, and goes on."""
    thread, saver = uuid4(), ThreadSaver(database, ada)
    before = await told(saver, thread, 8, every=every)
    points = len([one async for one in saver.alist(config(thread))])
    await saver.aprune([str(thread)])
    left = len([one async for one in saver.alist(config(thread))])

    assert await state(saver, thread, every=every) == before
    assert left == points if every == 1000 else 1 < left < points
    assert (await told(saver, thread, 1, every=every))[:-3] == before


async def test_deleting_a_run_keeps_what_later_values_are_made_of(database: Database, ada: Caller) -> None:
    """The last turn stays readable when all before it are to go."""
    thread, saver = uuid4(), ThreadSaver(database, ada)
    running, runs = graph(saver, every=1000), [str(uuid4()) for _ in range(4)]
    for number, run in enumerate(runs):
        await running.ainvoke({"said": [str(number)]}, {**config(thread), "metadata": {"run_id": run}})
    before = await state(saver, thread, every=1000)
    await saver.adelete_for_runs(runs[:3])

    assert await state(saver, thread, every=1000) == before


async def test_a_fork_takes_along_what_values_are_made_of(database: Database, threads: Threads, ada: Caller) -> None:
    """At the last state, and at an earlier one."""
    thread, saver = uuid4(), ThreadSaver(database, ada)
    first = await told(saver, thread, 3, every=1000)
    point = (await threads.get(ada, thread)).last_checkpoint
    whole = await told(saver, thread, 2, every=1000)
    fork, earlier = await threads.fork(ada, thread), await threads.fork(ada, thread, at=str(point))
    await threads.delete(ada, thread)

    assert await state(saver, fork.id, every=1000) == whole
    assert await state(saver, earlier.id, every=1000) == first
    assert (await told(saver, earlier.id, 1, every=1000))[: len(first)] == first


async def test_no_channel_asked_for_is_no_history(database: Database, ada: Caller) -> None:
    """And a thread that is not there has an empty one."""
    saver = ThreadSaver(database, ada)

    assert await saver.aget_delta_channel_history(config=config(uuid4()), channels=[]) == {}
    assert await saver.aget_delta_channel_history(config=config(uuid4()), channels=["x"]) == {"x": {"writes": []}}
