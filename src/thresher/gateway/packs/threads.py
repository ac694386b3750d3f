"""Runs other people's blocking code in threads of their own.

Invariant: the event loop never waits for a thread: when the waiting task is cancelled, the thread is told to stop and
left behind. Python can stop a thread only between two of its instructions; one that hangs in C keeps its place.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from thresher.core import Conflict

R = TypeVar("R")

PLACES = 32
"""Threads that one pack may have at once, those included that were told to stop and have not."""


class Threads:
    """The threads of one pack.

    Args:
        name: Whose they are, for people who look at the process.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._alive = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], R]) -> R:
        """Run something in a new thread that knows the context variables of this task.

        Raises:
            Conflict: Too many are running.
            BaseException: What `work` raises, `SystemExit` included; the caller has to expect it.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def end(result: Any, error: BaseException | None) -> None:
            if not ended.done():
                ended.set_result((result, error))

        def run() -> None:
            outcome: tuple[Any, BaseException | None]
            try:
                outcome = (context.run(work), None)
            except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
                outcome = (None, error)
            finally:
                self._leave()
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(end, *outcome)

        thread = threading.Thread(target=run, name=f"pack {self._name}", daemon=True)
        self._enter()
        thread.start()
        try:
            result, error = await ended
        except asyncio.CancelledError:
            _stop(thread)
            raise
        if error is not None:
            raise error
        return cast("R", result)

    def _enter(self) -> None:
        with self._lock:
            if self._alive >= PLACES:
                raise Conflict(
                    f"The pack '{self._name}' has {PLACES} calls under way.", hint="Wait until some have ended."
                )
            self._alive += 1

    def _leave(self) -> None:
        with self._lock:
            self._alive -= 1


def _stop(thread: threading.Thread) -> None:
    """Raise `SystemExit` inside a thread, at its next instruction."""
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
