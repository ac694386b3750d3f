"""Opens connectors by address, and runs their blocking sessions in threads.

Opening connects to nothing, and an engine's driver is imported when its first connector is opened, so that the start of
the process pays for none.

Invariant: at most `options.sessions` sessions exist; a session is used by one thread at a time; a session that was
cancelled or failed is never used again; driver errors do not leave this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Final, TypeAlias, TypeVar, cast

from thresher.connectors.addresses import DatabaseAddress, read_address, require_file
from thresher.connectors.column_info import ColumnInfoConnector
from thresher.connectors.connector import Connector, ConnectorOptions, DatabaseEngine, DatabaseSession
from thresher.connectors.failures import UNREADABLE, failed
from thresher.connectors.records import COLUMN_INFO, Caps, Health, Profiles, Rows, Schema, SchemaDialect, SessionTag
from thresher.core import ConfigurationError, DatabaseUnavailable, QueryTimeout, ThresherError, event
from thresher.sqlguard import Knowledge

_ENGINES: Final[Mapping[SchemaDialect, tuple[str, str]]] = {
    "postgresql": ("postgresql", "open_postgresql"),
    "mysql": ("mysql", "open_mysql"),
    "mariadb": ("mysql", "open_mysql"),
    "oracle": ("oracle", "open_oracle"),
    "mssql": ("mssql", "open_mssql"),
    "sqlite": ("sqlite.engine", "open_sqlite"),
    "duckdb": ("duckdb.engine", "open_duckdb"),
}
"""Module of this package and its function that creates the engine."""


def open_connector(url: str, *, options: ConnectorOptions | None = None) -> Connector:
    """Create a connector for an address; it connects on first use.

    Args:
        url: A SQLAlchemy URL: `postgresql://user:password@host/database`, `sqlite:////data/shop.db`; or a
            folder with column information, `servoy:////workspace/resources/datasources/SERVER`.
        options: How it uses the database; None for the defaults.

    Raises:
        InvalidInput: The address is malformed, names an unknown engine, or sets an option that is not allowed.
        ConfigurationError: The engine's driver is not installed.
        NotFound: The file or the folder does not exist.
    """
    address = read_address(url)
    if address.file is not None:
        require_file(address)
    if address.dialect == COLUMN_INFO:
        return ColumnInfoConnector(address)
    chosen = options or ConnectorOptions()
    module, name = _ENGINES[address.dialect]
    try:
        made = getattr(import_module(f"thresher.connectors.{module}"), name)
    except ImportError as error:
        raise ConfigurationError(
            f"The driver for {address.dialect} is not installed: {error.name} is missing.",
            hint="Install thresher with the extra that brings it: pip install 'thresher[sqlserver]'.",
        ) from None
    engine = cast("Callable[[DatabaseAddress, ConnectorOptions], DatabaseEngine]", made)(address, chosen)
    return PooledConnector(address, engine, chosen)


_logger = logging.getLogger("thresher.connectors")
T = TypeVar("T")
Work: TypeAlias = Callable[[DatabaseSession], T]

_GRACE: Final = 0.5
"""Seconds by which the server's own time-out, if it has one, comes before ours."""
_STOPPING: Final = 5.0
"""Seconds for a cancelled statement to end; after that its session is closed."""
_KNOWN_SECONDS: Final = 30.0
"""How long the catalog's functions are assumed unchanged without a check."""
_QUICK: Final = 15.0
_REFLECTION: Final = 120.0


@dataclass(slots=True)
class _IdleSession:
    session: DatabaseSession
    since: float


@dataclass(frozen=True, slots=True)
class _CachedKnowledge:
    asked: float
    stamp: str
    knowledge: Knowledge


class PooledConnector:
    """See `Connector`."""

    def __init__(self, address: DatabaseAddress, engine: DatabaseEngine, options: ConnectorOptions) -> None:
        self._address = address
        self._engine = engine
        self._options = options
        self._idle: list[_IdleSession] = []
        self._busy: set[DatabaseSession] = set()
        self._room = asyncio.Semaphore(options.sessions)
        self._threads = ThreadPoolExecutor(options.sessions, thread_name_prefix=f"db-{address.dialect}")
        # Separate threads: all the others may be busy with what is to be stopped.
        self._stoppers = ThreadPoolExecutor(2, thread_name_prefix=f"db-{address.dialect}-stop")
        self._tidying: set[asyncio.Future[Any]] = set()
        self._knowledge: _CachedKnowledge | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def dialect(self) -> SchemaDialect:
        """See `Connector`."""
        return self._address.dialect

    @property
    def location(self) -> str:
        """See `Connector`."""
        return self._address.location

    @property
    def user(self) -> str:
        """See `Connector`."""
        return self._address.user

    async def knowledge(self) -> Knowledge:
        """See `Connector`."""
        known = self._knowledge
        if known is not None and time.monotonic() - known.asked < _KNOWN_SECONDS:
            return known.knowledge
        stamp = await self.stamp()
        same = known is not None and stamp != "" and known.stamp == stamp
        knowledge = known.knowledge if known and same else await self._ask(lambda session: session.knowledge(), _QUICK)
        self._knowledge = _CachedKnowledge(time.monotonic(), stamp, knowledge)
        return knowledge

    async def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Connector`."""
        return await self._ask(_timed(lambda session: session.run(sql, tag, caps, bind)), caps.seconds, sql)

    async def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `Connector`."""
        return await self._ask(_timed(lambda session: session.explain(sql, tag, seconds)), seconds, sql)

    async def reflect(self, limit: int = 20_000) -> Schema:
        """See `Connector`."""
        return await self._ask(lambda session: session.reflect(limit), _REFLECTION)

    async def stamp(self) -> str:
        """See `Connector`."""
        return await self._ask(lambda session: session.stamp(), _QUICK)

    async def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `Connector`."""
        return await self._ask(lambda session: session.profiles(schema, wanted, seconds), seconds + _QUICK)

    async def test(self) -> Health:
        """See `Connector`."""
        started = time.perf_counter()
        try:
            health = await self._ask(lambda session: session.health(), self._options.connect_seconds)
        except ThresherError as error:
            return Health(ok=False, ms=_since(started), problem=str(error))
        return replace(health, ms=_since(started))

    async def sessions(self, tag: SessionTag) -> Rows:
        """See `Connector`."""
        return await self._ask(_timed(lambda session: session.describe(tag)), _QUICK)

    async def close(self) -> None:
        """See `Connector`."""
        if self._closed:
            return
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for session in tuple(self._busy):
            self._stoppers.submit(_quietly, session.cancel)
        self._drop_idle()
        while self._tidying:
            _, late = await asyncio.wait(tuple(self._tidying), timeout=_STOPPING)
            if late:
                for session in tuple(self._busy):
                    self._stoppers.submit(_quietly, session.close)
                break
        self._stoppers.submit(_quietly, self._engine.close)
        self._threads.shutdown(wait=False)
        self._stoppers.shutdown(wait=False)

    async def _ask(self, work: Work[T], seconds: float, sql: str = "") -> T:
        """Run work in a session; if a reused session turns out to be dead, once more in a new one."""
        await self._enter()
        handed_on = False
        try:
            session, fresh = await self._lease()
            handed_on = True
            try:
                return await self._use(session, work, seconds, sql)
            except DatabaseUnavailable:
                if fresh:
                    raise
        finally:
            if not handed_on:
                self._room.release()
        self._drop_idle()  # they are as old, or older
        return await self._ask(work, seconds, sql)

    async def _enter(self) -> None:
        self._require_open()
        try:
            async with asyncio.timeout(self._options.connect_seconds):
                await self._room.acquire()
        except TimeoutError:
            raise DatabaseUnavailable(
                f"All {self._options.sessions} sessions with the database are busy.",
                hint="Try again when running statements have ended.",
            ) from None

    def _require_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("The connection was closed.", hint="Ask again.")

    async def _lease(self) -> tuple[DatabaseSession, bool]:
        """Return a session and whether it is new."""
        self._require_open()
        if self._idle:
            return self._idle.pop().session, False
        opening = asyncio.get_running_loop().run_in_executor(self._threads, self._open)
        self._mind(opening)
        try:
            await asyncio.wait((opening,), timeout=self._options.connect_seconds + _STOPPING)
        except asyncio.CancelledError:
            opening.add_done_callback(self._close_late)
            raise
        if not opening.done():
            opening.add_done_callback(self._close_late)
            hint = "Check its file." if self._address.file is not None else "Check host and port."
            raise DatabaseUnavailable("The database does not answer.", hint=hint)
        return opening.result(), True

    def _open(self) -> DatabaseSession:
        try:
            return self._engine.open()
        except self._engine.errors as error:
            raise failed(self._address.dialect, error) from None

    def _close_late(self, opening: asyncio.Future[DatabaseSession]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            self._submit_close(opening.result())

    async def _use(self, session: DatabaseSession, work: Work[T], seconds: float, sql: str) -> T:
        """Run work in a thread; on time-out or cancellation of the caller it is stopped on the server."""
        if self._closed:
            self._give_back(session, usable=False)
            self._require_open()
        self._busy.add(session)
        running = asyncio.get_running_loop().run_in_executor(self._threads, self._work, session, work, sql)
        self._mind(running)
        try:
            await asyncio.wait((running,), timeout=seconds + _GRACE)
        except asyncio.CancelledError:
            stopping = asyncio.ensure_future(self._stop(session, running))
            self._mind(stopping)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(stopping)
            raise
        if not running.done():
            await self._stop(session, running)
            raise QueryTimeout(
                f"The statement took longer than {seconds:g} seconds and was cancelled.",
                hint="Ask for less: filter, aggregate or limit it; sql_explain shows what costs.",
            )
        wrong = running.exception()
        self._give_back(session, usable=wrong is None)
        if wrong is not None:
            self._require_open()  # `close` ended it, not a time-out
        return running.result()

    def _work(self, session: DatabaseSession, work: Work[T], sql: str) -> T:
        try:
            return work(session)
        except (*self._engine.errors, *UNREADABLE) as error:
            raise failed(self._address.dialect, error, sql) from None

    async def _stop(self, session: DatabaseSession, running: asyncio.Future[Any]) -> None:
        """Cancel on the server; if the statement goes on, its session is closed and its slot freed with its thread."""
        loop = asyncio.get_running_loop()
        self._mind(loop.run_in_executor(self._stoppers, _quietly, session.cancel))
        _, late = await asyncio.wait((running,), timeout=_STOPPING)
        if late:
            event(_logger, "statement did not stop", level=logging.WARNING, dialect=self._address.dialect)
            self._mind(loop.run_in_executor(self._stoppers, _quietly, session.close))
            running.add_done_callback(lambda _: self._give_back(session, usable=False))
        else:
            self._give_back(session, usable=False)

    def _give_back(self, session: DatabaseSession, *, usable: bool) -> None:
        """Reset the session in the background, so that no caller waits for it; then its slot is free."""
        try:
            tidied = self._threads.submit(_tidy, session, usable=usable and not self._closed)
        except RuntimeError:  # closed meanwhile
            self._busy.discard(session)
            self._room.release()
            return
        waiting = asyncio.wrap_future(tidied)
        self._mind(waiting)
        waiting.add_done_callback(lambda done: self._settle(session, done))

    def _settle(self, session: DatabaseSession, done: asyncio.Future[bool]) -> None:
        self._busy.discard(session)
        ready = not done.cancelled() and done.exception() is None and done.result()
        if ready and self._closed:
            self._submit_close(session)
        elif ready:
            self._idle.append(_IdleSession(session, time.monotonic()))
            self._plan_sweep()
        self._room.release()

    def _plan_sweep(self) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(self._options.idle_seconds, self._close_old)

    def _close_old(self) -> None:
        self._sweep = None
        oldest = time.monotonic() - self._options.idle_seconds
        old = [one for one in self._idle if one.since <= oldest]
        self._idle = [one for one in self._idle if one.since > oldest]
        for one in old:
            self._submit_close(one.session)
        if self._idle:
            self._plan_sweep()

    def _drop_idle(self) -> None:
        idle, self._idle = self._idle, []
        for one in idle:
            self._submit_close(one.session)

    def _submit_close(self, session: DatabaseSession) -> None:
        try:
            closing: Future[None] = self._stoppers.submit(_quietly, session.close)
        except RuntimeError:  # the threads have ended
            _quietly(session.close)
        else:
            self._mind(asyncio.wrap_future(closing))

    def _mind(self, future: asyncio.Future[Any]) -> None:
        """Keep a future until it is done: `close` can wait for it, and asyncio reports no unretrieved exception."""
        self._tidying.add(future)
        future.add_done_callback(self._forget)

    def _forget(self, future: asyncio.Future[Any]) -> None:
        self._tidying.discard(future)
        if not future.cancelled():
            future.exception()


def _tidy(session: DatabaseSession, *, usable: bool) -> bool:
    """Reset a session; returns whether it is ready for the next request, and closes it if not."""
    try:
        if usable and session.reset():
            return True
    except Exception as error:  # noqa: BLE001 - whatever the driver raises, the session is closed
        event(_logger, "session could not be reset", level=logging.DEBUG, error=type(error).__name__)
    _quietly(session.close)
    return False


def _quietly(act: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        act()


def _timed(work: Work[Rows]) -> Work[Rows]:
    """Fill in the elapsed time if the session has not."""

    def timed(session: DatabaseSession) -> Rows:
        started = time.perf_counter()
        rows = work(session)
        return rows if rows.ms else replace(rows, ms=_since(started))

    return timed


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
