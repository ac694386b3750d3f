"""Sessions with a DuckDB file, which a process of its own reads.

Invariant: a connector has one process, started when it is first asked and ended a minute after the last question.
Where it ends or runs out of memory while several calls run in it, each that fails is tried once more in a process that
it has to itself, one after another: who did not cause it does not notice. At most three processes exist: the shared
one, the one before it while its last calls run, and one for a call apart.
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

from thresher.connectors.addresses import Address
from thresher.connectors.connector import ConnectorOptions, Engine
from thresher.connectors.duckdb.calls import ARGUMENTS, RESULTS
from thresher.connectors.duckdb.process import Call, Process, Spent
from thresher.connectors.records import Caps, Health, Profiles, Rows, Schema, Tag
from thresher.core import DatabaseUnavailable, QueryFailed, QueryTimeout
from thresher.sqlguard import Knowledge

_IDLE: Final = 60.0
"""Seconds without a question after which the process ends; starting it takes a third of a second."""


def open_duckdb(address: Address, options: ConnectorOptions) -> Engine:
    """An engine that reads the address's file."""
    return DuckdbEngine(Path(address.file or ""), options)


class DuckdbEngine:
    """Opens sessions with a DuckDB file, and keeps the process that reads it.

    Args:
        file: Which.
        options: How it is used.
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
        """The process that reads the file, while there is one."""
        process = self._process
        return process.pid if process is not None and process.is_open else None

    def open(self) -> RemoteSession:
        """A session; the process is started, and the file opened when it is asked."""
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
                if self._retired is not None:  # its statements are tried again apart
                    self._retired.end()
                self._retired = self._process
                self._process = self._started()
                self._plan_end(self._process, self._idle_seconds)
            self._process.touch()
            return self._process

    @contextmanager
    def process_apart(self) -> Generator[Process]:
        """A process for one call alone; there is one at a time."""
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
        if self._idle is not None:  # of the process before
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
    """See `Session`. Each question opens the file and closes it, so that others can write it in between.

    Args:
        engine: Whose processes are asked.
    """

    def __init__(self, engine: DuckdbEngine) -> None:
        self._engine = engine
        self._call: Call | None = None
        self._cancelled = self._closed = False

    def knowledge(self) -> Knowledge:
        """See `Session.knowledge`."""
        return self._ask("knowledge")

    def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Session.run`."""
        return self._ask("run", sql, tag, caps, list(bind))

    def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
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

    def describe(self, tag: Tag) -> Rows:
        """See `Session.describe`."""
        return self._ask("describe", tag)

    def cancel(self) -> None:
        """See `Session.cancel`."""
        self._cancelled = True
        call = self._call
        if call is not None:
            call.cancel()

    def reset(self) -> bool:
        """A session keeps nothing between questions; but a new one costs nothing, and is bound to no process."""
        return False

    def close(self) -> None:
        """End the session; a statement that runs was cancelled before, and now ends with its process."""
        self._closed = True
        call = self._call
        if call is not None:
            call.process.end()

    def _ask(self, method: str, *arguments: Any) -> Any:
        body = ARGUMENTS[method].dump_json(arguments)
        self._cancelled = False
        try:
            return self._answer(self._engine.process(), method, body)
        except Spent as spent:
            if not spent.shared:
                raise spent.error from None
        with self._engine.process_apart() as process:
            try:
                return self._answer(process, method, body)
            except Spent as spent:
                raise spent.error from None

    def _answer(self, process: Process, method: str, body: bytes) -> Any:
        if self._closed:
            raise DatabaseUnavailable("The session was closed.", hint="Ask again.")
        self._call = call = process.begin(method, body)
        if self._cancelled:  # before there was a call to cancel
            call.cancel()
        try:
            return RESULTS[method].validate_json(call.result())
        except Spent:
            process.retire()
            if self._closed:
                raise QueryTimeout("The statement took too long and was cancelled.", hint="Ask for less.") from None
            raise
        except ValidationError:
            process.end()
            raise QueryFailed(
                "The process that reads the DuckDB file gave no valid answer.", hint="Ask again."
            ) from None
        finally:
            self._call = None
