"""Says which step comes next."""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from thresher.agent.desk import Desk
from thresher.agent.offers import SEARCH
from thresher.agent.state import State
from thresher.agent.transcript import open_calls
from thresher.core import event

logger = logging.getLogger("thresher.agent")

Next: TypeAlias = Literal["retrieve", "tools", "complete", "__end__"]


def route(state: State, runtime: Runtime[Desk]) -> list[Next]:
    """After the model has spoken: search documents, call tools, both, or end."""
    last = state["messages"][-1]
    theirs = client_names(runtime.context)
    calls = [call["name"] for call in last.tool_calls] if isinstance(last, AIMessage) else []
    ours = [name for name in calls if name not in theirs]
    steps: list[Next] = []
    if SEARCH in ours:
        steps.append("retrieve")
    if any(name != SEARCH for name in ours):
        steps.append("tools")
    event(logger, "routed", to=steps or ["end"], calls=len(calls))
    return steps or ["__end__"]


def onward(state: State, runtime: Runtime[Desk]) -> Next:
    """After calls were made: ask the model again, or hand the calls of the client's own tools to it."""
    return "__end__" if client_calls(state["messages"], runtime.context) else "complete"


def client_names(desk: Desk) -> frozenset[str]:
    """Names of the tools that the client brought."""
    return frozenset(function.name for function in desk.call.functions)


def client_calls(messages: list[AnyMessage], desk: Desk) -> list[str]:
    """Ids of calls that the client has to make."""
    theirs = client_names(desk)
    return [call["id"] or "" for call in open_calls(messages) if call["name"] in theirs]
