"""The graph of a turn: its first step, and which step follows which.

START -> initialise -> complete -> route -> retrieve (documents) and/or tools -> complete ... -> END
"""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from thresher.agent.needs import detect
from thresher.agent.nodes import complete, retrieve, tools
from thresher.agent.offers import SEARCH
from thresher.agent.state import Searches, State, Update
from thresher.agent.subtasks import TURNS
from thresher.agent.transcript import former_words, open_calls, question
from thresher.agent.turn_context import TurnContext
from thresher.core import event

logger = logging.getLogger("thresher.agent")


async def initialise(state: State, runtime: Runtime[TurnContext]) -> Update:
    """Begin a turn."""
    context, messages = runtime.context, state["messages"]
    fresh: Update = {"retried": "", "rules": "", "theirs": [function.name for function in context.call.functions]}
    if isinstance(messages[-1], HumanMessage):  # after a client's tool it is the same turn, which has its passages
        fresh["searches"] = Searches()
    if context.model is None:
        return fresh
    needs = await detect(context, question(messages), former_words(messages, TURNS), state.get("offered", []))
    context.account.intents = needs.intents
    event(logger, "intents detected", intents=needs.intents, offered=len(needs.offered))
    return fresh | {
        "intents": list(needs.intents),
        "offered": list(needs.offered),
        "around": needs.around,
        "all_tools": needs.all_tools,
        "rules": needs.rules,
    }


Next: TypeAlias = Literal["retrieve", "tools", "complete", "__end__"]


def route(state: State) -> list[Next]:
    """Choose the steps after the model's answer: search documents, call tools, both, or end."""
    last = state["messages"][-1]
    theirs = state.get("theirs", ())
    calls = [call["name"] for call in last.tool_calls] if isinstance(last, AIMessage) else []
    ours = [name for name in calls if name not in theirs]
    steps: list[Next] = []
    if SEARCH in ours:
        steps.append("retrieve")
    if any(name != SEARCH for name in ours):
        steps.append("tools")
    event(logger, "routed", to=steps or ["end"], calls=len(calls))
    return steps or ["__end__"]


def onward(state: State) -> Next:
    """Choose the step after calls: ask the model again, or end so that the client makes the calls of its own tools."""
    return "__end__" if client_calls(state) else "complete"


def client_calls(state: State) -> list[ToolCall]:
    """Return the calls that the client has to make."""
    return [call for call in open_calls(state["messages"]) if call["name"] in state.get("theirs", ())]


Graph: TypeAlias = CompiledStateGraph[State, TurnContext, State, State]


def build() -> Graph:
    """Build the graph of a turn, without a saver; built once, since that takes as long as a short turn."""
    builder = StateGraph(State, context_schema=TurnContext)
    for name, step in (("initialise", initialise), ("complete", complete), ("retrieve", retrieve), ("tools", tools)):
        builder.add_node(name, step)  # pyright: ignore[reportUnknownMemberType] - the library's own signature
    builder.add_edge(START, "initialise")
    builder.add_edge("initialise", "complete")
    builder.add_conditional_edges("complete", route, ["retrieve", "tools", END])
    builder.add_conditional_edges("retrieve", onward, ["complete", END])
    builder.add_conditional_edges("tools", onward, ["complete", END])
    return builder.compile()  # pyright: ignore[reportUnknownMemberType] - as above
