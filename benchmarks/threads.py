"""Threads of the agent: what a put and a read cost, alone and of a thousand threads at once, and what a turn costs."""

from __future__ import annotations

import asyncio
import operator
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from benchmarks import machine
from thresher.agent.threads import Threads, ThreadSaver
from thresher.core import Caller, Settings
from thresher.store import Database, EmbeddedServer, migrate

ALONE = 500
THREADS = 1_000
TURNS = 2
MESSAGES = 20
WORDS = "What the invoice of last month said about the second delivery, in some words more than usual. " * 3
METADATA: Any = {"source": "loop", "step": 0, "parents": {}}


class State(TypedDict):
    """What the graph of the comparison keeps."""

    said: Annotated[list[str], operator.add]


async def run() -> None:
    """Measure on an embedded server that writes to disk as it does for people."""
    with tempfile.TemporaryDirectory(prefix="thr-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o711)
        server = await EmbeddedServer.start(Settings(data_dir=folder / "data", allow_root=True))
        try:
            migrate(server.owner_url)
            database = await Database.open(server.application_url)
            caller = Caller(await database.tenant(f"threads-{secrets.token_hex(4)}"), "ada")
            figures = await measure(database, caller)
            await database.close()
        finally:
            await server.stop()
    print(machine.save("threads", figures).read_text(encoding="utf-8"))


async def measure(database: Database, caller: Caller) -> dict[str, Any]:
    """One call at a time, then a thousand threads, each with turns of a graph of two steps."""
    saver, threads = ThreadSaver(database, caller), Threads(database)
    await _alone(saver, 50)
    times = await _alone(saver, ALONE)
    turns = [await timed(lambda: _turn(threads, caller)) for _ in range(ALONE)]
    many = await _many(saver)
    memory = await _many(InMemorySaver())
    await threads.close()
    return {
        "langgraph": version("langgraph"),
        "messages": MESSAGES,
        **{name: _percentiles(found) for name, found in times.items()},
        "turn_ms": _percentiles(turns),
        "threads": THREADS,
        "turns_each": TURNS,
        "at_once_seconds": round(many, 2),
        "turns_a_second": round(THREADS * TURNS / many, 1),
        "in_memory_turns_a_second": round(THREADS * TURNS / memory, 1),
    }


async def _alone(saver: ThreadSaver, count: int) -> dict[str, list[float]]:
    """Puts, writes and reads of a thread with a history, one after another."""
    times: dict[str, list[float]] = {"put_ms": [], "put_writes_ms": [], "get_ms": []}
    messages = [kind(WORDS, id=str(number)) for number in range(MESSAGES // 2) for kind in (HumanMessage, AIMessage)]
    for _ in range(count):
        checkpoint, first, where = empty_checkpoint(), saver.get_next_version(None, None), _config(uuid4())
        checkpoint["channel_values"] = {"messages": messages}
        checkpoint["channel_versions"] = {"messages": first}
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "put_ms": lambda c=checkpoint, w=where, v=first: saver.aput(w, c, METADATA, {"messages": v}),
            "put_writes_ms": lambda c=checkpoint, w=where: saver.aput_writes(
                {"configurable": {**w["configurable"], "checkpoint_id": c["id"]}}, [("messages", messages[-1])], "task"
            ),
            "get_ms": lambda w=where: saver.aget_tuple(w),
        }
        for name, call in calls.items():
            times[name].append(await timed(call))
    return times


async def _turn(threads: Threads, caller: Caller) -> None:
    async with threads.turn(caller, uuid4()):
        pass


async def _many(saver: BaseCheckpointSaver[str]) -> float:
    """Seconds that a thousand threads take that talk at once; a word in the wrong one is an error."""
    graph, ids = _graph(saver), [uuid4() for _ in range(THREADS)]

    async def talk(number: int) -> None:
        said: list[str] = []
        for turn in range(TURNS):
            said += [f"{number}.{turn}", f"{number}.{turn}!"]
            answer = await graph.ainvoke({"said": [f"{number}.{turn}"]}, _config(ids[number]))
            assert answer["said"] == said, (number, answer)

    started = time.perf_counter()
    await asyncio.gather(*(talk(number) for number in range(THREADS)))
    return time.perf_counter() - started


def _graph(saver: BaseCheckpointSaver[str]) -> Any:
    async def hear(_: State) -> dict[str, Any]:
        return {}

    async def answer(state: State) -> dict[str, Any]:
        return {"said": [f"{state['said'][-1]}!"]}

    graph = StateGraph(State)
    graph.add_node("hear", hear)
    graph.add_node("answer", answer)
    graph.add_edge(START, "hear")
    graph.add_edge("hear", "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


def _config(thread: UUID) -> Any:
    return {"configurable": {"thread_id": str(thread), "checkpoint_ns": ""}}


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds that something takes."""
    started = time.perf_counter()
    await work()
    return (time.perf_counter() - started) * 1000


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {f"p{part}": round(ordered[int(len(ordered) * part / 100)], 2) for part in (50, 95, 99)}
