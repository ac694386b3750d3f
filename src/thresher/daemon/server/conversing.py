"""Verbs of conversations: threads, and what is said in them.

Invariant: a client that closes its connection cancels its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from thresher.agent import Thread
from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb


def conversing_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
    """
    verbs = _Conversing(app, caller)
    named = (verbs.list_threads, verbs.show_thread, verbs.rename_thread, verbs.fork_thread, verbs.delete_thread)
    return {verb.__name__: verb for verb in named}


class _Conversing:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._threads = app.threads
        self._caller = caller

    async def list_threads(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._threads.list(self._caller, **arguments))

    async def show_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = await self._threads.get(self._caller, str(arguments["thread"]))
        limit = int(arguments.get("states") or 0)
        points = (await self._threads.history(self._caller, thread.id, limit=limit)).points if limit else ()
        return _row(thread) | {"states": plain(points)}

    async def rename_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return _row(await self._threads.rename(self._caller, **arguments))

    async def fork_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return _row(await self._threads.fork(self._caller, **arguments))

    async def delete_thread(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        thread = str(arguments["thread"])
        await self._threads.delete(self._caller, thread)
        return {"deleted": thread}


def _row(thread: Thread) -> dict[str, Any]:
    return cast("dict[str, Any]", plain(thread))
