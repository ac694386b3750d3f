"""The first step: mends what an interrupted turn has left, and finds what the message needs."""

from __future__ import annotations

import logging

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from thresher.agent.desk import Desk
from thresher.agent.detecting import detect
from thresher.agent.inner import TURNS
from thresher.agent.state import Searches, State, Update
from thresher.agent.transcript import former_words, question
from thresher.core import event

logger = logging.getLogger("thresher.agent")


async def initialise(state: State, runtime: Runtime[Desk]) -> Update:
    """Begin a turn."""
    desk, messages = runtime.context, state["messages"]
    fresh: Update = {"retried": "", "rules": "", "theirs": [function.name for function in desk.call.functions]}
    if isinstance(messages[-1], HumanMessage):  # after a client's tool it is the same turn, which has its passages
        fresh["searches"] = Searches()
    if desk.model is None:
        return fresh
    needs = await detect(desk, question(messages), former_words(messages, TURNS), state.get("offered", []))
    desk.account.intents = needs.intents
    event(logger, "intents detected", intents=needs.intents, offered=len(needs.offered))
    return fresh | {
        "intents": list(needs.intents),
        "offered": list(needs.offered),
        "around": needs.around,
        "rules": needs.rules,
    }
