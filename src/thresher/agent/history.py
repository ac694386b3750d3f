"""Reads stored conversations: the messages for people, and the calls that wait for them.

Invariant: only its owner reads a thread; passages are shown as they were when they were placed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.types import StateSnapshot

from thresher.agent.artifacts import cut_off, kept_passages
from thresher.agent.conversations import ChatServices
from thresher.agent.exchange import Approval, Kind, ThreadEntry
from thresher.agent.graph import Graph
from thresher.agent.messages import written_arguments
from thresher.agent.state import CLASSES, PlacedPassage
from thresher.agent.threads import ThreadSaver
from thresher.agent.transcript import marked
from thresher.agent.turn import GRAPH, waiting_in
from thresher.core import Caller
from thresher.llm import FunctionCall

_KINDS: Final[Mapping[type, Kind]] = {HumanMessage: "user", AIMessage: "assistant", ToolMessage: "tool"}


async def history(services: ChatServices, caller: Caller, thread: UUID) -> tuple[ThreadEntry, ...]:
    """Return a conversation as people read it; see `Conversations.history`."""
    _, state = await _state(services, caller, thread)
    messages: Sequence[AnyMessage] = state.values.get("messages", [])
    named = [artifact for one in messages if (artifact := _artifact(one))]
    kept = await kept_passages(services.database, caller, thread, named) if named else {}
    cut = await cut_off(services.database, caller, thread, [*messages])
    whole = [*messages, cut] if cut is not None else messages
    return tuple(_entry(one, kept.get(_artifact(one), [])) for one in whole if type(one) in _KINDS)


async def instruction(services: ChatServices, caller: Caller, thread: UUID) -> str:
    """Return the instruction of a thread; empty without one."""
    _, state = await _state(services, caller, thread)
    return str(state.values.get("instruction") or "")


async def pending(services: ChatServices, caller: Caller, thread: UUID) -> tuple[Approval, ...]:
    """Return the calls of a thread that wait for a person."""
    return await waiting_in(*await _state(services, caller, thread))


async def _state(services: ChatServices, caller: Caller, thread: UUID) -> tuple[Graph, StateSnapshot]:
    await services.threads.get(caller, thread)
    graph = GRAPH.copy({"checkpointer": ThreadSaver(services.database, caller, None, CLASSES)})
    return graph, await graph.aget_state({"configurable": {"thread_id": str(thread)}})


def _artifact(message: AnyMessage) -> str:
    """Return the artifact of a search's passages; empty for every other message."""
    marks = marked(message)
    return str(marks.get("artifact") or "") if marks.get("internal") else ""


def _ended(message: ToolMessage, marks: Mapping[str, Any]) -> str:
    return "declined" if marks.get("declined") else "failed" if message.status == "error" else "done"


def _entry(message: AnyMessage, passages: Sequence[PlacedPassage]) -> ThreadEntry:
    marks = marked(message)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return ThreadEntry(
        id=str(message.id or ""),
        kind=_KINDS[type(message)],
        text=str(message.text),
        at=dt.datetime.fromisoformat(marks["at"]) if marks.get("at") else None,
        tool=str(message.name or "") if isinstance(message, ToolMessage) else "",
        call=message.tool_call_id if isinstance(message, ToolMessage) else "",
        state=_ended(message, marks) if isinstance(message, ToolMessage) else "",
        calls=tuple(FunctionCall(str(one["id"]), one["name"], written_arguments(one["args"])) for one in calls),
        internal=bool(marks.get("internal")),
        passages=tuple(asdict(one) for one in passages),
        cut=bool(marks.get("cut")),
        report=cast("Mapping[str, Any]", marks.get("report") or {}),
    )
