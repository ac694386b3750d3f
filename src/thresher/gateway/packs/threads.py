"""Runs other people's blocking code in separate threads.

Invariant: the event loop never waits for a thread: when the waiting task is cancelled, the thread is told to stop and
not awaited. Python can only stop a thread between two of its instructions; one that hangs in C keeps running. No thread
is stopped where it may just have taken a lock that the whole process shares, such as that of imports: the lock would
never be released.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from thresher.core import Conflict

R = TypeVar("R")

_LOCKED = frozenset({"<frozen importlib._bootstrap>", __file__})
"""Files in which no thread is stopped: imports take locks, and this module counts the threads."""
_LOCKING = frozenset(
    {
        *("acquire", "release", "__enter__", "__exit__", "_acquireLock", "_releaseLock"),
        *("_acquire_restore", "_release_save", "_get_candidate_names", "_gettempdir"),
    }
)
"""Functions, of the standard library and of others, that take or release a lock."""
GRACE_SECONDS = 2.0
"""How long a thread may take to end by itself, as one that loads a pack does, before it is told to stop."""
PAUSE_SECONDS = 0.005
"""The interval between two attempts to stop a thread that must not be stopped where it is."""
AGAIN_SECONDS = 1.0
"""The time to stop for a thread that was told to."""
PLACES = 32
"""The most threads of one pack at the same time, including those that were told to stop and have not."""


class Threads:
    """The threads of one pack.

    Args:
        name: The pack's name, which is in the threads' names.
        grace: Seconds in which a thread may end by itself before it is told to stop.
    """

    def __init__(self, name: str, *, grace: float = GRACE_SECONDS) -> None:
        self._name = name
        self._grace = grace
        self._alive = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], R]) -> R:
        """Run a function in a new thread with the context variables of this task.

        Raises:
            Conflict: Too many are running.
            BaseException: What `work` raises, including `SystemExit`.
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
            except BaseException as error:  # noqa: BLE001 - it is raised again in the waiting task
                outcome = (None, error)
            finally:
                self._leave()
            with suppress(RuntimeError):  # the loop is closed: no task waits
                loop.call_soon_threadsafe(end, *outcome)

        thread = threading.Thread(target=run, name=f"pack {self._name}", daemon=True)
        self._enter()
        thread.start()
        try:
            result, error = await ended
        except asyncio.CancelledError:
            _stop(thread, self._grace)
            raise
        if error is not None:
            raise error
        return cast("R", result)

    def _enter(self) -> None:
        with self._lock:
            if self._alive >= PLACES:
                raise Conflict(
                    f"The pack '{self._name}' has {PLACES} running calls.", hint="Wait until some have ended."
                )
            self._alive += 1

    def _leave(self) -> None:
        with self._lock:
            self._alive -= 1


def _stop(thread: threading.Thread, grace: float) -> None:
    """Stop a thread, without waiting for it."""
    threading.Thread(target=_end, args=(thread, grace), name=f"stop {thread.name}", daemon=True).start()


def _end(thread: threading.Thread, grace: float) -> None:
    """Raise `SystemExit` inside a running thread, where it is safe, until it ends."""
    thread.join(grace)
    while thread.is_alive():
        thread.join(AGAIN_SECONDS if _interrupt(thread) else PAUSE_SECONDS)


def _interrupt(thread: threading.Thread) -> bool:
    """Stop a thread at its next instruction unless it may hold a shared lock; return whether it was told to."""
    frame = sys._current_frames().get(cast("int", thread.ident))  # pyright: ignore[reportPrivateUsage] - documented
    if frame is None or frame.f_code.co_filename in _LOCKED or frame.f_code.co_name in _LOCKING:
        return False
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(cast("int", thread.ident)), ctypes.py_object(SystemExit))
    return True
