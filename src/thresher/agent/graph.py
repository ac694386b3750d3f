"""The graph of a turn: which step follows which, and nothing else.

START -> initialise -> complete -> route -> retrieve (documents) and/or tools -> complete ... -> END
"""

from __future__ import annotations

from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from thresher.agent.desk import Desk
from thresher.agent.nodes import complete, initialise, onward, retrieve, route, tools
from thresher.agent.state import State

Graph: TypeAlias = CompiledStateGraph[State, Desk, State, State]


def build() -> Graph:
    """The graph of a turn, keeping nothing; made once, which takes as long as a short turn."""
    builder = StateGraph(State, context_schema=Desk)
    for name, step in (("initialise", initialise), ("complete", complete), ("retrieve", retrieve), ("tools", tools)):
        builder.add_node(name, step)  # pyright: ignore[reportUnknownMemberType] - the library's own signature
    builder.add_edge(START, "initialise")
    builder.add_edge("initialise", "complete")
    builder.add_conditional_edges("complete", route, ["retrieve", "tools", END])
    builder.add_conditional_edges("retrieve", onward, ["complete", END])
    builder.add_conditional_edges("tools", onward, ["complete", END])
    return builder.compile()  # pyright: ignore[reportUnknownMemberType] - as above


def keeping(graph: Graph, saver: BaseCheckpointSaver[Any]) -> Graph:
    """The graph, its states kept by a saver."""
    return graph.copy({"checkpointer": saver})
