"""The worker process as seen by its parent: started on demand, replaced if it dies, ended when idle.

Invariant: at most one worker process at a time, and none after `stop`; it runs with lower priority.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, cast

from thresher.core import EncoderError, event
from thresher.embedding.frames import (
    FAILED,
    START,
    TEXTS,
    pack_start,
    pack_texts,
    read_frame,
    unpack_error,
    unpack_vectors,
    write_frame,
)
from thresher.embedding.protocol import Matrix
from thresher.embedding.registry import ModelFiles

logger = logging.getLogger("thresher.embedding")

NICENESS = 10
"""Least niceness of the worker: if this process is niced itself, the worker gets the same value, since at 19 a busy
machine starves it."""
TRIES = 2
"""How often a batch is tried if its worker dies; a batch that kills two would kill the third."""
STALL_SECONDS = 600.0
"""A batch (at most 64 texts, 65,536 characters: a few seconds of work) that takes longer means a stuck worker."""


class _WorkerDied(Exception):
    """The process ended or stopped answering during a batch."""


class Worker:
    """A process that embeds batches. Blocking; one batch at a time, `stop` from any thread.

    Args:
        files: Finds the model's files.
        threads: Number of texts embedded in parallel.
        idle_seconds: How long the process stays after its last batch.
        stall_seconds: Time limit for one batch.
    """

    def __init__(
        self,
        files: Callable[[], ModelFiles],
        *,
        threads: int,
        idle_seconds: float = 60.0,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        self._files = files
        self._threads = threads
        self._idle_seconds = idle_seconds
        self._stall_seconds = stall_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: threading.Timer | None = None
        self._lock = threading.Lock()  # guards these three fields and the next; never held while a batch runs
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """Process id of the running process, if any."""
        process = self._process
        return process.pid if process is not None else None

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed one batch, shape (len(texts), dimension).

        Raises:
            EncoderError: The model cannot be loaded, the worker died on the batch twice, or the worker is stopped.
        """
        self._hold()
        try:
            return self._embed_retrying(texts)
        finally:
            self._release()

    def stop(self) -> None:
        """End the process permanently; a pending batch ends with EncoderError."""
        with self._lock:
            self._stopped = True
            self._cancel_timer()
        self._discard()

    def prepare(self) -> None:
        """Start the process unless it is running; a failure is left to the first batch."""
        with contextlib.suppress(EncoderError, _WorkerDied, OSError):
            self._hold()
            try:
                self._running()
            finally:
                self._release()

    def _embed_retrying(self, texts: Sequence[str]) -> Matrix:
        for attempt in range(1, TRIES + 1):
            try:
                return self._exchange(self._running(), texts)
            except _WorkerDied as error:
                self._discard()
                self._check_open()  # raises if `stop` ended the process
                event(logger, "worker_died", level=logging.WARNING, attempt=attempt, texts=len(texts), why=str(error))
        raise EncoderError(
            f"The indexing process ended {TRIES} times while it embedded the same {len(texts)} texts.",
            hint="Look for an out-of-memory kill in the system log; THRESHER_ENCODER_THREADS=1 needs less memory.",
        )

    def _exchange(self, process: subprocess.Popen[bytes], texts: Sequence[str]) -> Matrix:
        kind, payload = self._ask(process, TEXTS, pack_texts(texts))
        if kind == FAILED:
            raise unpack_error(payload)
        return unpack_vectors(payload, len(texts))

    def _ask(self, process: subprocess.Popen[bytes], kind: bytes, payload: bytes) -> tuple[bytes, bytes]:
        watchdog = threading.Timer(self._stall_seconds, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            write_frame(cast("BinaryIO", process.stdin), kind, payload)
            frame = read_frame(cast("BinaryIO", process.stdout))
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed by `stop`
            raise _WorkerDied(str(error)) from error
        finally:
            watchdog.cancel()
        if frame is None:
            raise _WorkerDied("no answer")
        return frame

    def _running(self) -> subprocess.Popen[bytes]:
        files = self._files()
        with self._lock:
            self._check_open()
            if self._process is not None:
                return self._process
            process = self._process = _spawn()
        kind, payload = self._ask(process, START, pack_start(files, self._threads))
        if kind == FAILED:
            self._discard()
            raise unpack_error(payload)
        event(logger, "worker_started", pid=process.pid)
        return process

    def _hold(self) -> None:
        with self._lock:
            self._check_open()
            self._cancel_timer()

    def _release(self) -> None:
        with self._lock:
            if self._stopped or self._process is None:
                return
            self._idle = threading.Timer(self._idle_seconds, self._end_idle)
            self._idle.daemon = True
            self._idle.start()

    def _end_idle(self) -> None:
        with self._lock:
            if self._idle is not threading.current_thread():  # a batch has begun meanwhile
                return
            process, self._process, self._idle = self._process, None, None
        _end(process)

    def _cancel_timer(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _discard(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        _end(process)

    def _check_open(self) -> None:
        if self._stopped:
            raise EncoderError("The encoder is closed.")


def _spawn() -> subprocess.Popen[bytes]:
    """Start the process with lower priority.

    -P prevents a file in the working directory from being imported as one of our modules. The process gets a group of
    its own, so that Ctrl-C in a terminal reaches the parent alone, but stays in the parent's session: Linux desktops
    share processors between sessions first, and a niceness counts only inside one.
    """
    lower = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "thresher.embedding"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
        creationflags=lower,
    )
    if sys.platform != "win32":
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, process.pid, max(own, NICENESS))
    return process


def _end(process: subprocess.Popen[bytes] | None) -> None:
    if process is None:
        return
    process.kill()
    process.wait()  # before the pipes: a thread that reads them sees their end and releases them
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # unwritten data has no reader
            cast("BinaryIO", stream).close()
