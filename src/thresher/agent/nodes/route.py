"""Says which step comes next."""

from __future__ import annotations

import logging
from typing import Literal, TypeAlias

from langchain_core.messages import AIMessage, ToolCall

from thresher.agent.offers import SEARCH
from thresher.agent.state import State
from thresher.agent.transcript import open_calls
from thresher.core import event

logger = logging.getLogger("thresher.agent")

Next: TypeAlias = Literal["retrieve", "tools", "complete", "__end__"]


def route(state: State) -> list[Next]:
    """After the model has spoken: search documents, call tools, both, or end."""
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
    """After calls were made: ask the model again, or hand the calls of the client's own tools to it."""
    return "__end__" if client_calls(state) else "complete"


def client_calls(state: State) -> list[ToolCall]:
    """The calls that the client has to make."""
    return [call for call in open_calls(state["messages"]) if call["name"] in state.get("theirs", ())]
