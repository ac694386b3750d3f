"""The daemon's side of sessions with a DuckDB file, which a separate process reads.

Invariant: a connector has one process, started on first use and ended a minute after the last request. If it ends or
runs out of memory while several calls run in it, each failed call is retried once in a process of its own, one after
another: a caller who did not cause the failure does not notice it. At most three processes exist: the shared
one, its predecessor while its last calls run, and one for a retried call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from thresher.connectors.addresses import DatabaseAddress
from thresher.connectors.connector import ConnectorOptions, DatabaseEngine
from thresher.connectors.duckdb.calls import ARGUMENTS, RESULTS
from thresher.connectors.duckdb.process import Process, ProcessSpent, RemoteCall
from thresher.connectors.records import Caps, Health, Profiles, Rows, Schema, SessionTag
from thresher.core import DatabaseUnavailable, QueryFailed, QueryTimeout
from thresher.sqlguard import Knowledge

_IDLE: Final = 60.0
"""Seconds without a request after which the process ends; starting it takes a third of a second."""


def open_duckdb(address: DatabaseAddress, options: ConnectorOptions) -> DatabaseEngine:
    """Create the engine for an address."""
    return DuckdbEngine(Path(address.file or ""), options)


class DuckdbEngine:
    """Opens sessions with a DuckDB file, and keeps the process that reads it.

    Args:
        file: The file.
        options: How the connector uses it.
    """

    errors: tuple[type[Exception], ...] = ()

    def __init__(self, file: Path, options: ConnectorOptions) -> None:
        self._file = file
        self._options = options
        self._idle_seconds = min(_IDLE, options.idle_seconds)
        self._lock = threading.Lock()  # guards the four below
        self._process: Process | None = None
        self._retired: Process | None = None
        self._idle: threading.Timer | None = None
        self._closed = False
        self._queue = threading.Lock()
        self._apart: Process | None = None

    @property
    def pid(self) -> int | None:
        """Id of the process that reads the file; None if none runs."""
        process = self._process
        return process.pid if process is not None and process.is_open else None

    def open(self) -> RemoteSession:
        """Return a session; this starts the process, but each request opens the file."""
        self.process()
        return RemoteSession(self)

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._closed = True
            processes = (self._process, self._retired, self._apart)
            if self._idle is not None:
                self._idle.cancel()
        for process in processes:
            if process is not None:
                process.end()

    def process(self) -> Process:
        """Return the process that sessions share; start it if none runs."""
        with self._lock:
            if self._process is None or not self._process.is_open:
                if self._retired is not None:  # its statements are retried in processes of their own
                    self._retired.end()
                self._retired = self._process
                self._process = self._started()
                self._plan_end(self._process, self._idle_seconds)
            self._process.touch()
            return self._process

    @contextmanager
    def process_apart(self) -> Generator[Process]:
        """A process for a single call; there is one at a time."""
        with self._queue:
            with self._lock:
                self._apart = process = self._started()
            try:
                yield process
            finally:
                process.end()

    def _started(self) -> Process:
        if self._closed:
            raise DatabaseUnavailable("The connection was closed.", hint="Ask again.")
        return Process(self._file, self._options)

    def _plan_end(self, process: Process, seconds: float) -> None:
        if self._idle is not None:  # the timer of the former process
            self._idle.cancel()
        self._idle = threading.Timer(seconds, self._end_idle, (process,))
        self._idle.daemon = True
        self._idle.start()

    def _end_idle(self, process: Process) -> None:
        with self._lock:
            left = process.used + self._idle_seconds - time.monotonic()
            if process.is_idle and left <= 0:
                process.end()
            elif process is self._process and process.is_open:
                self._plan_end(process, max(left, 1.0))


class RemoteSession:
    """See `Session`. Each request opens and closes the file, so that others can write to it in between.

    Args:
        engine: Provides the processes.
    """

    def __init__(self, engine: DuckdbEngine) -> None:
        self._engine = engine
        self._call: RemoteCall | None = None
        self._cancelled = self._closed = False

    def knowledge(self) -> Knowledge:
        """See `Session.knowledge`."""
        return self._ask("knowledge")

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session.run`."""
        return self._ask("run", sql, tag, caps, list(bind))

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `Session.explain`."""
        return self._ask("explain", sql, tag, seconds)

    def reflect(self, limit: int) -> Schema:
        """See `Session.reflect`."""
        return self._ask("reflect", limit)

    def stamp(self) -> str:
        """See `Session.stamp`."""
        return self._ask("stamp")

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Session.profiles`."""
        named = {(schema_name, table) for schema_name, table, _ in wanted}
        tables = tuple(table for table in schema.tables if (table.schema, table.name) in named)
        return self._ask("profiles", replace(schema, tables=tables), list(wanted), seconds)

    def health(self) -> Health:
        """See `Session.health`."""
        return self._ask("health")

    def describe(self, tag: SessionTag) -> Rows:
        """See `Session.describe`."""
        return self._ask("describe", tag)

    def cancel(self) -> None:
        """See `Session.cancel`."""
        self._cancelled = True
        call = self._call
        if call is not None:
            call.cancel()

    def reset(self) -> bool:
        """See `Session.reset`; always False: a new session costs nothing and is not bound to a process."""
        return False

    def close(self) -> None:
        """End the session; a running statement, which was cancelled before, ends with its process."""
        self._closed = True
        call = self._call
        if call is not None:
            call.process.end()

    def _ask(self, method: str, *arguments: Any) -> Any:
        body = ARGUMENTS[method].dump_json(arguments)
        self._cancelled = False
        try:
            return self._answer(self._engine.process(), method, body)
        except ProcessSpent as spent:
            if not spent.shared:
                raise spent.error from None
        with self._engine.process_apart() as process:
            try:
                return self._answer(process, method, body)
            except ProcessSpent as spent:
                raise spent.error from None

    def _answer(self, process: Process, method: str, body: bytes) -> Any:
        if self._closed:
            raise DatabaseUnavailable("The session was closed.", hint="Ask again.")
        self._call = call = process.begin(method, body)
        if self._cancelled:  # cancelled before the call began
            call.cancel()
        try:
            return RESULTS[method].validate_json(call.result())
        except ProcessSpent:
            process.retire()
            if self._closed:
                raise QueryTimeout("The statement took too long and was cancelled.", hint="Ask for less.") from None
            raise
        except ValidationError:
            process.end()
            raise QueryFailed(
                "The process that reads the DuckDB file gave an invalid answer.", hint="Ask again."
            ) from None
        finally:
            self._call = None
