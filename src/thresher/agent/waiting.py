"""What waits for a person in a conversation, and that he decides about it once.

A decision is noted beside the question before anything is run by it. So a process that dies while an approved call runs
leaves nothing that could be approved, and run, a second time.

Invariant: a question that was decided waits no more, whatever became of the turn that was to act on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Interrupt, StateSnapshot

from thresher.agent.events import Approval
from thresher.agent.graph import Graph

_DECIDED: Final = "decided"
"""The note's task and channel: none of the graph's, which passes over it."""


async def waiting_in(graph: Graph, state: StateSnapshot) -> tuple[Approval, ...]:
    """The calls that wait for a person.

    Args:
        graph: Of the thread.
        state: Its last one.
    """
    if not state.interrupts or await _decided(graph, state):
        return ()
    return asked(state.interrupts)


def asked(interrupts: Iterable[Interrupt]) -> tuple[Approval, ...]:
    """What a step has asked a person when it was interrupted."""
    return tuple(
        Approval(one["id"], one["tool"], one["arguments"], one["why"], one.get("definition", ""))
        for told in interrupts
        for one in told.value
    )


async def note_decided(graph: Graph, state: StateSnapshot) -> None:
    """Keep that what waits is decided, before anything is done about it.

    Raises:
        StoreUnavailable: The database does not answer; then it waits on.
        Conflict: The turn was overtaken.
    """
    await _saver(graph).aput_writes(state.config, [(_DECIDED, True)], _DECIDED)


async def _decided(graph: Graph, state: StateSnapshot) -> bool:
    saved = await _saver(graph).aget_tuple(state.config)
    return saved is not None and any(channel == _DECIDED for _, channel, _ in saved.pending_writes or ())


def _saver(graph: Graph) -> BaseCheckpointSaver[Any]:
    return cast("BaseCheckpointSaver[Any]", graph.checkpointer)
