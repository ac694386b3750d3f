"""Answers questions to one DuckDB file: requests at standard input, answers at standard output (`calls`).

Invariant: the file is closed before an answer is written, or a moment later where several questions come at once. Ends
when standard input does, whatever still runs.
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
from typing import Final

from thresher.confinement import limit
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.duckdb.calls import ARGUMENTS, FAILURE, LONGEST, RESULTS, START, Failure
from thresher.connectors.duckdb.session import SPENDING, DuckdbSession
from thresher.connectors.failures import failed
from thresher.core import QueryFailed

_MEBIBYTE: Final = 1 << 20
_APART: Final = 256 * _MEBIBYTE
"""Address space that is reserved rather than used: stacks of threads, arenas of the allocator."""
_UNCOUNTED: Final = 2
"""Times `memory_mb`: DuckDB counts its buffers up to that, and as much is left for strings, which it does not count."""
_AGAIN: Final = 0.05
"""Seconds between interrupts: one that falls between two steps of a statement is lost."""
_MOMENT: Final = 0.01
"""Seconds that the file stays open for the next of several questions: DuckDB needs 15 ms to open it again."""


class _Call:
    """One call, in a session and a thread of its own.

    Attributes:
        shared: Whether another call runs or ran beside it.
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

    def answer(self) -> bytes:
        """Answer the call, whatever happens."""
        try:
            result = self._result()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other side describes it
            return b"failed " + FAILURE.dump_json(self._failure(error))
        finally:
            self._ended.set()
        return b"done " + result

    def cancel(self) -> None:
        """Interrupt the statement until it ends."""
        while not self._ended.wait(_AGAIN):
            if self._session is not None:
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


class _Calls:
    """The calls that run, and the pipe that takes their answers."""

    def __init__(self, file: Path, options: ConnectorOptions) -> None:
        self._stamps: dict[tuple[int, int, int], str] = {}
        self._open = lambda: DuckdbSession(file, options, self._stamps)
        self._running: dict[int, _Call] = {}
        self._lock = threading.Lock()

    def take(self, line: bytes) -> None:
        """Begin what a line asks for."""
        number, method, arguments = line.split(b" ", 2)
        if method == b"cancel":
            call = self._running.get(int(number))
            if call is not None:
                _begin(call.cancel)
            return
        with self._lock:
            call = _Call(self._open, method.decode(), arguments, shared=bool(self._running))
            for other in self._running.values():
                other.shared = True
            self._running[int(number)] = call
        _begin(lambda: self._serve(int(number), call))

    def _serve(self, number: int, call: _Call) -> None:
        answer = call.answer()
        if not call.shared:
            call.close()
        with self._lock:
            del self._running[number]
            sys.stdout.buffer.write(b"%d %s\n" % (number, answer))
            sys.stdout.buffer.flush()
        if call.shared:
            time.sleep(_MOMENT)  # noqa: TID251 - the thread has nothing else to do
        call.close()


def _begin(work: Callable[[], None]) -> None:
    def guarded() -> None:
        try:
            work()
        except BaseException:  # noqa: BLE001 - without memory even for the answer: the process ends, and is replaced
            os._exit(1)

    threading.Thread(target=guarded, daemon=True).start()


def main() -> None:
    """Serve until standard input ends."""
    logging.disable(logging.CRITICAL)
    file, options = START.validate_json(sys.stdin.buffer.readline())
    used = _addresses()
    limit(addresses=used and used + _APART + _UNCOUNTED * options.memory_mb * _MEBIBYTE)
    with suppress(OSError):  # where memory is short all the same, the kernel ends this process, and not the daemon
        Path("/proc/self/oom_score_adj").write_text("1000")
    calls = _Calls(file, options)
    for line in sys.stdin.buffer:
        calls.take(line)


def _addresses() -> int | None:
    """Bytes of address space that the interpreter and the libraries take; None where the system does not say."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return None


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)  # threads of statements would be waited for
