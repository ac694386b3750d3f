"""Conversations with the agent: what is kept of them, for whom, how long, and who may write now.

`Threads` is light; `ThreadSaver` needs LangGraph, which takes half a second to import, so it is imported when it is
asked for.

Invariant: a thread is its owner's alone, and while one turn of it is answered no other one begins.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.agent.threads.records import Point, Points, Thread, ThreadPage, Turn, thread_id
from thresher.agent.threads.service import Threads

if TYPE_CHECKING:
    from thresher.agent.threads.saver import ThreadSaver

__all__ = ["Point", "Points", "Thread", "ThreadPage", "ThreadSaver", "Threads", "Turn", "thread_id"]


def __getattr__(name: str) -> object:
    """Import the one name that is heavy."""
    if name != "ThreadSaver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = import_module(f"{__name__}.saver").ThreadSaver
    globals()[name] = value
    return value
