"""The only way to the database: transactions bound to a tenant, over a pool of connections.

Invariant: every statement of the application runs inside `transaction(tenant)`, on a connection whose session was reset
first, with the tenant set for that transaction only. A role that could bypass row-level security gets no connection.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Hashable, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast

import psycopg
from pgvector.psycopg.vector import register_vector_info
from psycopg import AsyncConnection as DriverConnection
from psycopg.types import TypeInfo
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from thresher.core import StoreUnavailable, Tenant, checked_label, event
from thresher.store.connections import connect, is_repeatable, translated
from thresher.store.schema import check_database

_logger = logging.getLogger("thresher.store")
T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]
Cursor: TypeAlias = psycopg.AsyncCursor[Row]
Send: TypeAlias = Callable[[DriverConnection[Any]], Awaitable[Cursor]]
"""Executes a statement on the driver's connection, without fetching."""


def prepared(statement: str, **values: object) -> Send:
    """Return a statement with its parameters, for `Database.once` or `together`; the server keeps its plan."""
    return lambda driver: driver.execute(statement.encode(), values, prepare=True)


# One round trip: everything an earlier user left in the session is reset (settings, temporary tables, locks, cursors);
# then the transaction begins and gets its tenant.
_BEGIN = (
    b"reset all; discard temp; select pg_advisory_unlock_all(); unlisten *; close all; "
    b"begin; select set_config('app.tenant', '%d', true)"
)
# The same for a transaction of one statement: these and the statement are sent together, and what the session holds
# besides settings cannot reach it.
_RESET = "reset all"
_SET_TENANT = "select set_config('app.tenant', %s, true)"
_ATTEMPTS = 6
_FIRST_PAUSE = 0.05


class Database:
    """A pool of connections in the application role; one per process.

    Attributes:
        address: libpq address of the database, for processes of ours that need connections of their own. It holds a
            password: it must appear neither in a log nor on a command line.
    """

    def __init__(self, engine: AsyncEngine, pool_size: int, address: str, pool_timeout: float = 30.0) -> None:
        self._engine = engine
        self._pool_size = pool_size
        self._pool_timeout = pool_timeout
        # The pool wakes its longest waiter but serves a request that arrives at that moment first: of a thousand single
        # statements at once some would time out. Here they queue.
        self._turns = asyncio.Semaphore(pool_size)
        self.address = address

    @classmethod
    async def open(cls, url: str, *, pool_size: int = 5, pool_timeout: float = 30.0) -> Self:
        """Connect and check that this database may be used.

        Args:
            url: libpq address of the database for the application role.
            pool_size: Most connections at once.
            pool_timeout: Seconds to wait for a free one.

        Raises:
            StoreUnavailable: It cannot be reached.
            ConfigurationError: It refuses the role; the server or pgvector is missing or too old.
            UnsafeRole: The role could bypass row-level security.
            SchemaMismatch: The schema is older or newer than this code.
        """
        engine = _engine(url, pool_size, pool_timeout)
        database = cls(engine, pool_size, url, pool_timeout)
        try:
            await database.check()
        except BaseException:
            await engine.dispose()
            raise
        return database

    async def check(self) -> None:
        """Repeat the checks of `open`; raises the same errors."""
        with translated():
            async with self._engine.connect() as connection:
                await connection.run_sync(check_database)

    @asynccontextmanager
    async def transaction(self, tenant: Tenant) -> AsyncGenerator[AsyncConnection]:
        """A transaction that sees and writes the rows of one tenant: committed at the end, rolled back on an exception.

        A connection that died while it was idle in the pool is replaced before the block begins.

        Raises:
            StoreUnavailable: The connection was lost, or none is free. Nothing was written, unless it was lost during
                the commit itself; `run_retrying` finds out.
            StoreError: The server's disk is full; nothing was written.
        """
        with translated():
            connection, raw = await self._begin(tenant.id)
            try:
                yield connection
                # By the driver, since SQLAlchemy sends nothing if only the driver was used.
                await raw.commit()
            except BaseException:
                # Shielded, so that a cancelled caller still returns the connection.
                await asyncio.shield(_give_back(connection, raw))
                raise
            await connection.close()

    async def _begin(self, tenant: int) -> tuple[AsyncConnection, DriverConnection[Any]]:
        attempts = self._pool_size + 1  # every pooled connection may be stale, a new one is not
        while True:
            connection = await self._engine.connect()
            raw = await driver(connection)
            try:
                await raw.execute(_BEGIN % tenant)
            except BaseException as error:
                stale = isinstance(error, psycopg.OperationalError) and raw.closed
                await asyncio.shield(_give_back(connection, raw))
                attempts -= 1
                if not stale or attempts == 0:
                    raise
            else:
                return connection, raw

    async def once(self, tenant: Tenant, send: Send) -> list[Row]:
        """Run a transaction of one statement in one round trip, a third faster than `transaction`; for hot paths.

        Args:
            tenant: The tenant whose rows it sees and writes.
            send: Executes the statement on the driver's connection, without fetching. It is called again if a pooled
                connection turns out to be dead, so a write may happen twice: use it for reads and log rows.

        Returns:
            All rows of the statement.

        Raises:
            StoreUnavailable: The connection was lost, or none is free.
        """
        return (await self.together(tenant, send))[0]

    async def together(self, tenant: Tenant, *sends: Send) -> list[list[Row]]:
        """Run several transactions of one statement each, in order and in one round trip; otherwise like `once`.

        If one fails, the later ones are not run; the earlier ones are committed.

        Returns:
            The rows of each statement.
        """
        with translated():
            try:
                async with asyncio.timeout(self._pool_timeout):
                    await self._turns.acquire()
            except TimeoutError:
                raise PoolTimeout from None
            try:
                for _ in range(self._pool_size):
                    try:
                        return await self._once(tenant, sends)
                    except psycopg.OperationalError as error:
                        if error.sqlstate is not None and not error.sqlstate.startswith("57P"):
                            raise
                return await self._once(tenant, sends)
            finally:
                self._turns.release()

    async def _once(self, tenant: Tenant, sends: Sequence[Send]) -> list[list[Row]]:
        connection = await self._engine.connect()
        try:
            raw = await driver(connection)
            cursors: list[Cursor] = []
            async with raw.pipeline():
                await raw.execute(_RESET, prepare=True)
                for send in sends:
                    if len(sends) > 1:  # the pipeline of one statement is its transaction
                        await raw.execute("begin", prepare=True)
                    await raw.execute(_SET_TENANT, (str(tenant.id),), prepare=True)
                    cursors.append(await send(raw))
                    if len(sends) > 1:
                        await raw.execute("commit", prepare=True)
            rows = [await cursor.fetchall() for cursor in cursors]
        except BaseException:
            # An aborted pipeline leaves answers on the wire: no other statement may read them.
            await asyncio.shield(connection.invalidate())
            await asyncio.shield(connection.close())
            raise
        await connection.close()
        return rows

    @asynccontextmanager
    async def rehearsal(self) -> AsyncGenerator[Rehearsal]:
        """A database on which changes can be tried out: nothing written to it outlives the block.

        Raises:
            StoreUnavailable: The connection was lost, or none is free.
        """
        with translated():
            connection, raw = await self._begin(0)
            try:
                yield Rehearsal(self._engine, self.address, connection, raw)
            finally:
                await asyncio.shield(_give_back(connection, raw))

    async def tenant(self, name: str) -> Tenant:
        """Return a tenant by name; a new one is created.

        Raises:
            InvalidInput: The name is empty, too long, or not printable.
        """
        checked_label(name, "A tenant's name")
        async with self.transaction(Tenant(0, "")) as connection:
            found = await connection.exec_driver_sql("select ensure_tenant(%s)", (name,))
            return Tenant(found.scalar_one(), name)

    async def tenants(self) -> dict[str, Tenant]:
        """Return the existing tenants by name, oldest first."""
        async with self.transaction(Tenant(0, "")) as connection:
            found = await connection.exec_driver_sql("select id, name from known_tenants()")
            return {row.name: Tenant(row.id, row.name) for row in found}

    async def drop_tenant(self, tenant: Tenant) -> None:
        """Remove a tenant and all its rows; does nothing if it is already gone."""
        async with self.transaction(tenant) as connection:
            await connection.exec_driver_sql("select drop_tenant()")

    async def close(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


class Rehearsal(Database):
    """The database inside one open transaction; see `Database.rehearsal`.

    Each transaction is a savepoint. Tasks take turns; the task whose turn it is may begin another one inside.
    """

    def __init__(
        self, engine: AsyncEngine, address: str, connection: AsyncConnection, raw: DriverConnection[Any]
    ) -> None:
        super().__init__(engine, 1, address)
        self._connection = connection
        self._raw = raw
        self._turn = asyncio.Lock()
        self._owner: asyncio.Task[Any] | None = None
        self._tenants: list[int] = []

    @asynccontextmanager
    async def transaction(self, tenant: Tenant) -> AsyncGenerator[AsyncConnection]:
        """A savepoint that sees and writes the rows of one tenant: kept at the end, rolled back on an exception."""
        async with self._my_turn():
            name = f"rehearsal_{len(self._tenants)}"
            with translated():
                await self._raw.execute(f"savepoint {name}".encode())
                await self._act_for(tenant.id)
                self._tenants.append(tenant.id)
                try:
                    yield self._connection
                    await self._raw.execute(f"release savepoint {name}".encode())
                except BaseException:
                    await asyncio.shield(self._raw.execute(f"rollback to savepoint {name}".encode()))
                    raise
                finally:
                    self._tenants.pop()
                if self._tenants:
                    await self._act_for(self._tenants[-1])

    async def together(self, tenant: Tenant, *sends: Send) -> list[list[Row]]:
        """Run each statement in a savepoint."""
        rows: list[list[Row]] = []
        for send in sends:
            async with self.transaction(tenant):
                rows.append(await (await send(self._raw)).fetchall())
        return rows

    async def _act_for(self, tenant: int) -> None:
        await self._raw.execute(_SET_TENANT, (str(tenant),))

    @asynccontextmanager
    async def _my_turn(self) -> AsyncGenerator[None]:
        task = asyncio.current_task()
        if self._owner is task:
            yield
            return
        async with self._turn:
            self._owner = task
            try:
                yield
            finally:
                self._owner = None


def _engine(url: str, pool_size: int, pool_timeout: float) -> AsyncEngine:
    async def creator() -> DriverConnection[Any]:
        # The driver must not begin transactions of its own: `_BEGIN` does. SQLAlchemy's commit and rollback still
        # reach the server, since the driver sends them whenever a transaction is open.
        return await connect(url, _learn_vectors)

    return create_async_engine(
        "postgresql+psycopg://",
        async_creator=creator,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout,
        hide_parameters=True,  # errors show statements, and parameters may hold secrets
    )


async def _learn_vectors(connection: DriverConnection[Any]) -> None:
    if (vector := await TypeInfo.fetch(connection, "vector")) is not None:
        register_vector_info(connection, vector)


async def _give_back(connection: AsyncConnection, raw: DriverConnection[Any]) -> None:
    if raw.closed:
        await connection.invalidate()
    await connection.close()


async def driver(connection: AsyncConnection) -> DriverConnection[Any]:
    """Return the driver's connection below a transaction's, for hot queries.

    Its statements belong to the same transaction. `await (await driver(c)).execute(sql, params, binary=True)` avoids
    SQLAlchemy's layers and reads numbers and vectors in binary form.
    """
    raw = await connection.get_raw_connection()
    return cast("DriverConnection[Any]", raw.driver_connection)


async def run_retrying(database: Database, tenant: Tenant, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    """Run a whole transaction, again after a lost connection or if PostgreSQL asks for it.

    After a connection is lost during the commit, the server is asked for the outcome, so that the work is done exactly
    once.

    Args:
        database: The database.
        tenant: The tenant of the transaction.
        work: The work; it may run several times, each time in a new transaction, and must not keep what it has read.

    Raises:
        StoreUnavailable: The database does not answer for some seconds.
    """
    pause = _FIRST_PAUSE
    last = _TransactionAttempt[T]()
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            if await last.committed(database, tenant):
                return last.results[0]
            last = _TransactionAttempt[T]()
            return await last.run(database, tenant, work)
        except (StoreUnavailable, DBAPIError) as error:
            if attempt == _ATTEMPTS or not (isinstance(error, StoreUnavailable) or is_repeatable(error)):
                raise
            event(_logger, "transaction runs again", level=logging.WARNING, attempt=attempt)
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - spreads retries, hides nothing
        pause *= 3
    raise AssertionError("the last attempt returns or raises")


@dataclass(slots=True)
class _TransactionAttempt(Generic[T]):
    """One run of a transaction whose outcome can be queried later."""

    transaction_id: str | None = None
    results: list[T] = field(default_factory=list[T])

    async def run(self, database: Database, tenant: Tenant, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with database.transaction(tenant) as connection:
            result = await work(connection)
            found = await connection.exec_driver_sql("select pg_current_xact_id_if_assigned()::text")
            self.transaction_id = found.scalar_one()
            self.results.append(result)
        return result

    async def committed(self, database: Database, tenant: Tenant) -> bool:
        """Return whether the server committed it; asks until that is decided."""
        if self.transaction_id is None:
            return False
        while True:
            async with database.transaction(tenant) as connection:
                found = await connection.exec_driver_sql(
                    "select case when %(id)s::xid8 < pg_snapshot_xmax(pg_current_snapshot()) "
                    "then pg_xact_status(%(id)s::xid8) end",
                    {"id": self.transaction_id},
                )
                status = found.scalar_one()
            if status != "in progress":
                return status == "committed"
            await asyncio.sleep(_FIRST_PAUSE)


_reads: ContextVar[dict[Hashable, asyncio.Task[Any]] | None] = ContextVar("reads", default=None)


@contextmanager
def shared_reads() -> Generator[None]:
    """Share reads among everything that is awaited inside, in tasks that begin there too.

    Several searches of one answer ask which documents, APIs and databases their caller sees. The same read is made
    once, and all of them get what it found: so they also agree with each other. Nothing is kept beyond the block.
    """
    token = _reads.set({})
    try:
        yield
    finally:
        _reads.reset(token)


async def shared(key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
    """Return what a read finds; inside `shared_reads` what it found there before.

    Args:
        key: Equal for reads that find the same.
        read: Reads it.
    """
    if (kept := _reads.get()) is None:
        return await read()
    if key not in kept:
        kept[key] = asyncio.create_task(_awaited(read))
    return await asyncio.shield(kept[key])  # a caller that gives up does not end the read of the others


async def _awaited(read: Callable[[], Awaitable[T]]) -> T:
    return await read()
