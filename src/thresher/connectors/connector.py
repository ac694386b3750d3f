"""The protocols of connectors, and of the sessions and engines below them.

Invariant: nothing here depends on an engine. A `Connector` is used on the event loop; a `DatabaseSession` belongs to
one thread at a time and may block, and only its `cancel` and `close` are called from other threads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from thresher.connectors.records import Caps, Health, Profiles, Rows, Schema, SchemaDialect, SessionTag
from thresher.sqlguard import Knowledge


@dataclass(frozen=True, slots=True)
class ConnectorOptions:
    """How a connector uses its database.

    Attributes:
        sessions: Maximum number of sessions; further requests wait for one.
        connect_seconds: Time to reach the server and sign in, and to wait for a free session.
        lock_seconds: Time that a statement waits for a lock.
        idle_seconds: A session unused for this long is closed.
        most_cost: A statement whose estimated cost is higher, in the unit of the engine's planner, is refused before
            it runs; None for no limit. Ignored by engines whose planner reports no cost.
        most_rows: The same for the rows that a plan expects to read or produce in one step.
        allow_functions: User-defined functions (`schema.name`) that statements may call.
        memory_mb: Memory limit of an embedded engine: SQLite in this process; DuckDB for its buffers, in a process that
            may use the same amount again for values, which DuckDB does not count.
        folders: Folders that a file must be below whenever it is opened, after resolving links; None for anywhere.
    """

    sessions: int = 4
    connect_seconds: float = 10.0
    lock_seconds: float = 2.0
    idle_seconds: float = 300.0
    most_cost: float | None = 1e9
    most_rows: float | None = 1e10
    allow_functions: tuple[str, ...] = ()
    memory_mb: int = 512
    folders: tuple[Path, ...] | None = None


class Connector(Protocol):
    """A read-only database. Sessions are opened on demand; `close` ends them all.

    Every method raises `DatabaseUnavailable` if the database cannot be reached, refuses the sign-in or is locked,
    `QueryFailed` if it answers with an error, and `QueryTimeout` if time ran out and the statement was cancelled
    on the server. Cancelling the caller cancels the statement there too. No error holds a credential.
    """

    @property
    def dialect(self) -> SchemaDialect:
        """The engine's dialect in the guard's terms, or `COLUMN_INFO`."""
        ...

    @property
    def location(self) -> str:
        """The address without user, password and options."""
        ...

    @property
    def user(self) -> str:
        """The user that it signs in as; empty if the engine has no users."""
        ...

    async def knowledge(self) -> Knowledge:
        """What the guard needs to know about this database; cached until the schema's stamp changes."""
        ...

    async def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """Run one statement that the guard has allowed, and read its rows up to the caps.

        Raises:
            StatementRefused: Its estimated cost exceeds what the options allow (rule `cost`).
        """
        ...

    async def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """Return the engine's plan of a statement that the guard has allowed, without running the statement."""
        ...

    async def reflect(self, limit: int = 20_000) -> Schema:
        """Read all tables that the role may see, at most `limit` of them."""
        ...

    async def stamp(self) -> str:
        """Return a text that changes with the schema and is cheap to read; empty if the engine has none."""
        ...

    async def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """Sample columns, given as (schema, table, column); those not read in time are absent."""
        ...

    async def test(self) -> Health:
        """Connect and run a statement; a failure of the database is reported in the result, not raised."""
        ...

    async def sessions(self, tag: SessionTag) -> Rows:
        """Return the server's own view of our session: its tag, settings and time-outs."""
        ...

    async def close(self) -> None:
        """Cancel running statements and close all sessions; may be called more than once."""
        ...


class DatabaseSession(Protocol):
    """One session with a database, as an engine's module provides it and `pool` uses it.

    Methods raise the driver's errors, which the pool translates, or our own.
    """

    def knowledge(self) -> Knowledge:
        """See `Connector.knowledge`."""
        ...

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Connector.run`; the transaction has been rolled back when this returns or raises."""
        ...

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `Connector.explain`."""
        ...

    def reflect(self, limit: int) -> Schema:
        """See `Connector.reflect`."""
        ...

    def stamp(self) -> str:
        """See `Connector.stamp`."""
        ...

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Connector.profiles`."""
        ...

    def health(self) -> Health:
        """Return version, user, database and what the role could change; the pool fills in `ms`."""
        ...

    def describe(self, tag: SessionTag) -> Rows:
        """See `Connector.sessions`."""
        ...

    def cancel(self) -> None:
        """Cancel the running statement on the server, if any; may be called from any thread."""
        ...

    def reset(self) -> bool:
        """Restore the initial state for the next request; False if the session must be closed instead."""
        ...

    def close(self) -> None:
        """Close the session; from any thread. While a statement runs, this ends it, and is called again afterwards."""
        ...


class DatabaseEngine(Protocol):
    """Opens sessions with one database."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions that its driver raises."""
        ...

    def open(self) -> DatabaseSession:
        """Connect; blocks."""
        ...

    def close(self) -> None:
        """Release what its sessions share; ends sessions that are still open."""
        ...
