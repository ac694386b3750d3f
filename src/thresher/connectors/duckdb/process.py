"""The daemon's handle of a process that reads one DuckDB file.

Invariant: every call ends, with the answer or because the process has ended.
"""

from __future__ import annotations

import itertools
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, cast

from thresher.confinement import command, environment
from thresher.connectors.connector import ConnectorOptions
from thresher.connectors.duckdb.calls import FAILURE, LONGEST, MODULE, START
from thresher.core import DatabaseUnavailable, InvalidInput, NotAllowed, QueryFailed, QueryTimeout, ThresherError

_ERRORS: Final[Mapping[str, type[ThresherError]]] = {
    kind.code: kind for kind in (DatabaseUnavailable, InvalidInput, NotAllowed, QueryFailed, QueryTimeout)
}


class ProcessSpent(Exception):
    """A call failed because its process ended or ran out of memory.

    Args:
        error: The error for the caller.
        shared: Whether another call ran at the same time and may be the cause.
    """

    def __init__(self, error: ThresherError, *, shared: bool) -> None:
        super().__init__(error)
        self.error = error
        self.shared = shared


@dataclass(eq=False, slots=True)
class RemoteCall:
    """A call that was sent to a process.

    Attributes:
        process: The process that answers it.
        number: Its number in that process.
        shared: Whether another call has run at the same time.
        answered: The kind of the answer, and its JSON; None if the process ended.
    """

    process: Process
    number: int
    shared: bool
    answered: Future[tuple[bytes, bytes] | None] = field(default_factory=Future[tuple[bytes, bytes] | None])

    def result(self) -> bytes:
        """Wait for the result, as JSON.

        Raises:
            ProcessSpent: The process ended, or must be replaced.
            ThresherError: The call failed.
        """
        answer = self.answered.result()
        if answer is None:
            raise ProcessSpent(self.process.ending(), shared=self.shared)
        kind, body = answer
        if kind == b"done":
            return body
        failure = FAILURE.validate_json(body)
        error = _ERRORS.get(failure.code, QueryFailed)(failure.message, hint=failure.hint)
        if failure.spent:
            raise ProcessSpent(error, shared=self.shared)
        raise error

    def cancel(self) -> None:
        """Interrupt the statement."""
        with suppress(OSError, ValueError):  # it has ended
            self.process.send(self.number, "cancel", b"[]")


class Process:
    """Starts a process for one file; calls may run concurrently, and the owner must call `end`.

    Args:
        file: The file that it reads.
        options: How the connector uses it.

    Attributes:
        pid: Id of the process.
        used: Time of last use, by the monotonic clock.

    Raises:
        DatabaseUnavailable: It cannot be started.
    """

    def __init__(self, file: Path, options: ConnectorOptions) -> None:
        start = START.dump_json((file, options))
        try:
            self._process = subprocess.Popen(
                command(MODULE), env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, process_group=0,
            )  # fmt: skip
        except OSError:
            raise DatabaseUnavailable(
                "The process that reads DuckDB files cannot be started.", hint="Try again when the machine has memory."
            ) from None
        self.pid = self._process.pid
        self.used = time.monotonic()
        self._numbers = itertools.count(1)
        self._calls: dict[int, RemoteCall] = {}
        self._lock = threading.Lock()  # guards `_calls` and the two below
        self._closing = self._ended = False
        self._writing = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="duckdb-answers", daemon=True)
        self._reader.start()
        with suppress(OSError):  # it has ended, which the first call reports
            self._write(start)

    @property
    def is_open(self) -> bool:
        """Whether it accepts calls."""
        return not self._closing and not self._ended

    @property
    def is_idle(self) -> bool:
        """Whether no call runs."""
        return not self._calls

    def touch(self) -> None:
        """Mark the process as in use, because a call is about to be sent."""
        self.used = time.monotonic()

    def begin(self, method: str, arguments: bytes) -> RemoteCall:
        """Send a call, with its arguments as JSON."""
        with self._lock:
            call = RemoteCall(self, next(self._numbers), shared=bool(self._calls))
            if not self.is_open:  # another call has ended it meanwhile
                call.shared = True
                call.answered.set_result(None)
                return call
            for other in self._calls.values():
                other.shared = True
            self._calls[call.number] = call
        with suppress(OSError, ValueError):  # it ends, and the reader ends the call
            self.send(call.number, method, arguments)
        return call

    def send(self, number: int, method: str, arguments: bytes) -> None:
        """Write a line of a call."""
        self._write(b"%d %s %s" % (number, method.encode(), arguments))

    def retire(self) -> None:
        """Accept no further calls, and end when the last one is answered."""
        with self._lock:
            self._closing = True
            last = not self._calls
        if last:
            self.end()

    def end(self) -> None:
        """Kill the process and its running calls; may be called more than once, from any thread."""
        self._closing = True
        self._process.kill()

    def ending(self) -> ThresherError:
        """The error of a call that ended with the process."""
        code = self._process.returncode or 0
        name = f"code {code}"
        with suppress(ValueError):
            name = signal.Signals(-code).name
        return QueryFailed(
            f"The process that read the DuckDB file ended while the statement ran ({name}).",
            hint="It may need more memory than there is: filter, aggregate or limit it, and read long values in parts "
            "(substr).",
        )

    def _write(self, line: bytes) -> None:
        requests = cast("BinaryIO", self._process.stdin)
        with self._writing:
            requests.write(line + b"\n")
            requests.flush()

    def _read(self) -> None:
        """Deliver answers until there are no more; an invalid line also ends the process."""
        answers = cast("BinaryIO", self._process.stdout)
        with suppress(OSError, ValueError, KeyError):
            while (line := answers.readline(LONGEST + 100)).endswith(b"\n"):
                number, kind, body = line.split(b" ", 2)
                self._answer(int(number), (kind, body))
        self._process.kill()
        self._process.wait()
        with self._lock:
            self._ended = True
            left, self._calls = list(self._calls.values()), {}
        for call in left:
            call.answered.set_result(None)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was still to be written has no reader
                cast("BinaryIO", stream).close()

    def _answer(self, number: int, answer: tuple[bytes, bytes]) -> None:
        with self._lock:
            call = self._calls.pop(number)
            last = self._closing and not self._calls
            self.used = time.monotonic()
        call.answered.set_result(answer)
        if last:
            self._process.kill()
