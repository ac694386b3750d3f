"""Fixtures of threads: the service, two users of a tenant, and a graph that counts."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from thresher.agent.threads import Threads
from thresher.core import Caller, Tenant
from thresher.store import Database


class Counted(TypedDict):
    """What the graph keeps: every word said, and how often somebody spoke."""

    said: Annotated[list[str], operator.add]
    turns: int


def counting(saver: BaseCheckpointSaver[str]) -> Any:
    """A graph of two steps: it notes that it heard, and answers with what was said last."""

    async def hear(state: Counted) -> dict[str, Any]:
        return {"turns": state.get("turns", 0) + 1}

    async def answer(state: Counted) -> dict[str, Any]:
        return {"said": [f"{state['said'][-1]}!"]}

    graph = StateGraph(Counted)
    graph.add_node("hear", hear)
    graph.add_node("answer", answer)
    graph.add_edge(START, "hear")
    graph.add_edge("hear", "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


def config(thread: object, checkpoint: object = "") -> Any:
    """Where a graph goes on."""
    place = {"thread_id": str(thread), "checkpoint_ns": ""}
    return {"configurable": place | ({"checkpoint_id": str(checkpoint)} if checkpoint else {})}


async def say(saver: BaseCheckpointSaver[str], thread: object, words: str) -> list[str]:
    """One turn; returns all that was said."""
    return (await counting(saver).ainvoke({"said": [words]}, config(thread)))["said"]


@pytest.fixture
async def threads(database: Database) -> AsyncIterator[Threads]:
    """The service under test."""
    threads = Threads(database)
    yield threads
    await threads.close()


@pytest.fixture
def ada(tenant: Tenant) -> Caller:
    """A user."""
    return Caller(tenant, "ada")


@pytest.fixture
def bob(tenant: Tenant) -> Caller:
    """Another user of the same tenant."""
    return Caller(tenant, "bob")
