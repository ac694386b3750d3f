"""What a connector can do, and what a session below it must be able to.

Invariant: nothing here knows an engine. A `Connector` is asked on the event loop; a `Session` belongs to one thread at
a time and may block, only its `cancel` is called from others.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from thresher.connectors.records import Caps, Health, Profiles, Rows, Schema, SchemaDialect, Tag
from thresher.sqlguard import Knowledge


@dataclass(frozen=True, slots=True)
class ConnectorOptions:
    """How a connector uses its database.

    Attributes:
        sessions: Most sessions at once; further questions wait for one.
        connect_seconds: Time to reach the server and sign in; also how long a question waits for a free session.
        lock_seconds: How long a statement waits for somebody else's lock.
        idle_seconds: A session that was not used for so long is closed.
        most_cost: A statement that the engine's planner holds to be dearer is refused before it runs, in the
            planner's own unit; None: no bound. Engines whose planner gives no cost ignore it.
        most_rows: The same for the rows that a plan expects to look at or to make in any one step.
        allow_functions: Functions of users (`schema.name`) that may be called.
        memory_mb: What an embedded engine may take: SQLite in this process; DuckDB for its buffers, in a process that
            may take as much again for values, which DuckDB does not count.
        folders: Below which a file has to be whenever it is opened, links followed; None: anywhere.
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
    """A database that can be asked, and not changed. Opens sessions when they are needed; `close` ends them all.

    Every method raises `DatabaseUnavailable` where the database cannot be reached, refuses the sign-in or is locked,
    `QueryFailed` where it answers with an error, `QueryTimeout` where its time was up and the statement was cancelled
    on the server. A caller that is cancelled cancels its statement there too. No error holds a credential.
    """

    @property
    def dialect(self) -> SchemaDialect:
        """The engine's, as the guard names it, or `COLUMN_INFO`."""
        ...

    @property
    def location(self) -> str:
        """The address without user, password and options."""
        ...

    @property
    def user(self) -> str:
        """Whom it signs in as; empty where the engine knows no users."""
        ...

    async def knowledge(self) -> Knowledge:
        """What the guard must know of this database; kept until the schema's stamp changes."""
        ...

    async def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """Run one statement that the guard has let through, and read its rows up to the caps.

        Raises:
            Refused: The planner expects more of it than the options allow (rule `cost`).
        """
        ...

    async def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
        """The engine's plan of a statement that the guard has let through; the statement itself does not run."""
        ...

    async def reflect(self, limit: int = 20_000) -> Schema:
        """Read all tables that the role may see, at most `limit` of them."""
        ...

    async def stamp(self) -> str:
        """A text that changes when the schema does: cheap. Empty where the engine has none."""
        ...

    async def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """Look at samples of columns, given as (schema, table, column); what is not read in time is absent."""
        ...

    async def test(self) -> Health:
        """Connect and ask; never raises for what the database does, but says it."""
        ...

    async def sessions(self, tag: Tag) -> Rows:
        """What the server says of our own session: its tag, settings and time-outs."""
        ...

    async def close(self) -> None:
        """Cancel what runs and close all sessions; may be called again."""
        ...


class Session(Protocol):
    """One session with a database: what an engine's module provides, and `pool` uses.

    Methods raise the driver's errors, which the pool translates, or errors of ours.
    """

    def knowledge(self) -> Knowledge:
        """See `Connector.knowledge`."""
        ...

    def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Connector.run`; the transaction is over, rolled back, when it returns or raises."""
        ...

    def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
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
        """Version, user, database and what the role could change; `ms` is the pool's to fill in."""
        ...

    def describe(self, tag: Tag) -> Rows:
        """See `Connector.sessions`."""
        ...

    def cancel(self) -> None:
        """Stop the statement that runs, on the server; from any thread, and harmless when nothing runs."""
        ...

    def reset(self) -> bool:
        """Make it as new for the next question; False: it cannot be, and is to be closed."""
        ...

    def close(self) -> None:
        """End it. From any thread: while a statement runs, it ends that, and is called again when it has ended."""
        ...


class Engine(Protocol):
    """Opens sessions with one database."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What its driver raises."""
        ...

    def open(self) -> Session:
        """Connect; blocks."""
        ...

    def close(self) -> None:
        """End what its sessions share; may be called while some are open, and ends those."""
        ...
