"""Serves one DuckDB file: requests on standard input, answers on standard output (`calls`).

Invariant: the file is closed before an answer is written, or a moment later if several requests overlap. The process
ends with standard input, whatever still runs.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from thresher.confinement import limit
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.duckdb.calls import ARGUMENTS, FAILURE, LONGEST, RESULTS, START, Failure
from thresher.connectors.duckdb.session import SPENDING, DuckdbSession
from thresher.connectors.failures import failed
from thresher.core import QueryFailed

_MEBIBYTE: Final = 1 << 20
_RESERVED: Final = 256 * _MEBIBYTE
"""Address space that is reserved but not used: thread stacks, allocator arenas."""
_UNCOUNTED: Final = 2
"""Multiple of `memory_mb`: DuckDB limits its buffers to that, and strings, which it does not count, get the same."""
_INTERRUPT_SECONDS: Final = 0.05
"""Seconds between interrupts: one that arrives between two steps of a statement is lost."""
_LINGER_SECONDS: Final = 0.01
"""How long the file stays open for overlapping requests: DuckDB needs 15 ms to open it again."""


class _RunningCall:
    """One call, with its own session and thread.

    Attributes:
        shared: Whether another call has run at the same time.
    """

    def __init__(
        self, open_session: Callable[[], DuckdbSession], method: str, arguments: bytes, *, shared: bool
    ) -> None:
        self.shared = shared
        self._open = open_session
        self._method = method
        self._arguments = arguments
        self._session: DuckdbSession | None = None
        self._ended = threading.Event()
        self._interrupting = threading.Lock()

    def answer(self) -> bytes:
        """Run the call and return its answer, even if it fails."""
        try:
            result = self._result()
        except Exception as error:  # noqa: BLE001 - the other side describes any error
            return b"failed " + FAILURE.dump_json(self._failure(error))
        finally:
            with self._interrupting:
                self._ended.set()
        return b"done " + result

    def cancel(self) -> None:
        """Interrupt the statement until it ends."""
        while not self._ended.wait(_INTERRUPT_SECONDS):
            with self._interrupting:  # the session must not be closed meanwhile
                if self._session is not None and not self._ended.is_set():
                    self._session.cancel()

    def close(self) -> None:
        """Close the file."""
        if self._session is not None:
            self._session.close()

    def _result(self) -> bytes:
        arguments = ARGUMENTS[self._method].validate_json(self._arguments)
        self._session = self._open()
        result = getattr(self._session, self._method)(*arguments)
        line = RESULTS[self._method].dump_json(result)
        if len(line) > LONGEST:
            raise QueryFailed("The answer is too large.", hint="Ask for less.")
        return line

    def _failure(self, error: Exception) -> Failure:
        sql = ARGUMENTS[self._method].validate_json(self._arguments)[0] if self._method in ("run", "explain") else ""
        problem = failed("duckdb", error, sql)
        return Failure(problem.code, problem.message, problem.hint, spent=isinstance(error, SPENDING))


class _CallServer:
    """The running calls, and the pipe for their answers."""

    def __init__(self, file: Path, options: ConnectorOptions, answers: BinaryIO) -> None:
        self._stamps: dict[tuple[int, int, int], str] = {}
        self._open = lambda: DuckdbSession(file, options, self._stamps)
        self._answers = answers
        self._running: dict[int, _RunningCall] = {}
        self._lock = threading.Lock()

    def take(self, line: bytes) -> None:
        """Start what a request line asks for."""
        number, method, arguments = line.split(b" ", 2)
        if method == b"cancel":
            call = self._running.get(int(number))
            if call is not None:
                _begin(call.cancel)
            return
        with self._lock:
            call = _RunningCall(self._open, method.decode(), arguments, shared=bool(self._running))
            for other in self._running.values():
                other.shared = True
            self._running[int(number)] = call
        _begin(lambda: self._serve(int(number), call))

    def _serve(self, number: int, call: _RunningCall) -> None:
        answer = call.answer()
        if not call.shared:
            call.close()
        with self._lock:
            del self._running[number]
            self._answers.write(b"%d %s\n" % (number, answer))
            self._answers.flush()
        if call.shared:
            time.sleep(_LINGER_SECONDS)  # noqa: TID251 - the thread has nothing else to do
        call.close()


def _begin(work: Callable[[], None]) -> None:
    threading.Thread(target=_ending, args=(work,), daemon=True).start()


def _ending(work: Callable[[], None]) -> None:
    """Run work; if even that fails, for example for lack of memory, end the process and with it all calls."""
    try:
        work()
    except BaseException:  # noqa: BLE001 - an unanswered call would wait permanently
        os._exit(1)


def main() -> None:
    """Serve until standard input ends."""
    logging.disable(logging.CRITICAL)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of libraries must not mix with answers
    file, options = START.validate_json(sys.stdin.buffer.readline())
    used = _addresses()
    limit(addresses=used and used + _RESERVED + _UNCOUNTED * options.memory_mb * _MEBIBYTE)
    with suppress(OSError):  # if memory still runs out, the kernel ends this process and not the daemon
        Path("/proc/self/oom_score_adj").write_text("1000")
    calls = _CallServer(file, options, answers)
    for line in sys.stdin.buffer:
        calls.take(line)


def _addresses() -> int | None:
    """Bytes of address space in use by the interpreter and the libraries; None if the system does not report it."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None


if __name__ == "__main__":
    _ending(main)
    os._exit(0)  # threads of statements would be waited for
