"""Stored conversations with the agent: their content, owner and lifetime, and the right to write to one.

`Threads` is light; `ThreadSaver` needs LangGraph, which takes half a second to import, so it is imported on first use.

Invariant: a thread is visible only to its owner, and only one turn of it runs at a time.
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
    """Import `ThreadSaver`, the heavy name."""
    if name != "ThreadSaver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = import_module(f"{__name__}.saver").ThreadSaver
    globals()[name] = value
    return value
