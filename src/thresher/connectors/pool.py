"""A connector over blocking sessions: threads of its own, sessions when they are needed, and a way to stop them.

Invariant: at most `options.sessions` sessions exist; one is used by one thread at a time; a session that was cancelled
or failed is never used again; what the driver raises does not leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from thresher.connectors.addresses import Address
from thresher.connectors.connector import ConnectorOptions, Engine, Session
from thresher.connectors.failures import UNREADABLE, failed
from thresher.connectors.records import Caps, Health, Profiles, Rows, Schema, SchemaDialect, Tag
from thresher.core import DatabaseUnavailable, QueryTimeout, ThresherError, event
from thresher.sqlguard import Knowledge

_logger = logging.getLogger("thresher.connectors")
T = TypeVar("T")
Work: TypeAlias = Callable[[Session], T]

_GRACE: Final = 0.5
"""Seconds that the server's own time-out is ahead of ours, where it has one."""
_STOPPING: Final = 5.0
"""Seconds for a cancelled statement to end; then its session is closed under it."""
_KNOWN_SECONDS: Final = 30.0
"""How long the catalog's functions are believed to be the same, without asking."""
_QUICK: Final = 15.0
_REFLECTION: Final = 120.0


@dataclass(slots=True)
class _Idle:
    session: Session
    since: float


@dataclass(frozen=True, slots=True)
class _Known:
    asked: float
    stamp: str
    knowledge: Knowledge


class PooledConnector:
    """See `Connector`."""

    def __init__(self, address: Address, engine: Engine, options: ConnectorOptions) -> None:
        self._address = address
        self._engine = engine
        self._options = options
        self._idle: list[_Idle] = []
        self._busy: set[Session] = set()
        self._room = asyncio.Semaphore(options.sessions)
        self._threads = ThreadPoolExecutor(options.sessions, thread_name_prefix=f"db-{address.dialect}")
        # Apart from the others, who may all be waiting for what is to be stopped.
        self._stoppers = ThreadPoolExecutor(2, thread_name_prefix=f"db-{address.dialect}-stop")
        self._tidying: set[asyncio.Future[Any]] = set()
        self._knowledge: _Known | None = None
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
        self._knowledge = _Known(time.monotonic(), stamp, knowledge)
        return knowledge

    async def run(self, sql: str, tag: Tag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `Connector`."""
        return await self._ask(_timed(lambda session: session.run(sql, tag, caps, bind)), caps.seconds, sql)

    async def explain(self, sql: str, tag: Tag, seconds: float) -> Rows:
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

    async def sessions(self, tag: Tag) -> Rows:
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
        """Do a work in a session; once more in a new one where an old one turns out to be dead."""
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
                hint="Try again when the statements that run have ended.",
            ) from None

    def _require_open(self) -> None:
        if self._closed:
            raise DatabaseUnavailable("The connection was closed.", hint="Ask again.")

    async def _lease(self) -> tuple[Session, bool]:
        """A session, and whether it is new."""
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

    def _open(self) -> Session:
        try:
            return self._engine.open()
        except self._engine.errors as error:
            raise failed(self._address.dialect, error) from None

    def _close_late(self, opening: asyncio.Future[Session]) -> None:
        if not opening.cancelled() and opening.exception() is None:
            self._submit_close(opening.result())

    async def _use(self, session: Session, work: Work[T], seconds: float, sql: str) -> T:
        """Run the work in a thread; when the time is up or the caller goes, it is stopped on the server."""
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
            self._require_open()  # what was cut off by `close` did not take too long
        return running.result()

    def _work(self, session: Session, work: Work[T], sql: str) -> T:
        try:
            return work(session)
        except (*self._engine.errors, *UNREADABLE) as error:
            raise failed(self._address.dialect, error, sql) from None

    async def _stop(self, session: Session, running: asyncio.Future[Any]) -> None:
        """Cancel on the server; a statement that goes on loses its session, and its place when its thread ends."""
        loop = asyncio.get_running_loop()
        self._mind(loop.run_in_executor(self._stoppers, _quietly, session.cancel))
        _, late = await asyncio.wait((running,), timeout=_STOPPING)
        if late:
            event(_logger, "statement did not stop", level=logging.WARNING, dialect=self._address.dialect)
            self._mind(loop.run_in_executor(self._stoppers, _quietly, session.close))
            running.add_done_callback(lambda _: self._give_back(session, usable=False))
        else:
            self._give_back(session, usable=False)

    def _give_back(self, session: Session, *, usable: bool) -> None:
        """Make it ready in the background, so that nobody waits for that; then its place is free."""
        try:
            tidied = self._threads.submit(_tidy, session, usable=usable and not self._closed)
        except RuntimeError:  # closed meanwhile
            self._busy.discard(session)
            self._room.release()
            return
        waiting = asyncio.wrap_future(tidied)
        self._mind(waiting)
        waiting.add_done_callback(lambda done: self._settle(session, done))

    def _settle(self, session: Session, done: asyncio.Future[bool]) -> None:
        self._busy.discard(session)
        ready = not done.cancelled() and done.exception() is None and done.result()
        if ready and self._closed:
            self._submit_close(session)
        elif ready:
            self._idle.append(_Idle(session, time.monotonic()))
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

    def _submit_close(self, session: Session) -> None:
        try:
            closing: Future[None] = self._stoppers.submit(_quietly, session.close)
        except RuntimeError:  # the threads have ended
            _quietly(session.close)
        else:
            self._mind(asyncio.wrap_future(closing))

    def _mind(self, future: asyncio.Future[Any]) -> None:
        """Keep it until it is done, so that `close` can wait for it and no failure is reported as forgotten."""
        self._tidying.add(future)
        future.add_done_callback(self._forget)

    def _forget(self, future: asyncio.Future[Any]) -> None:
        self._tidying.discard(future)
        if not future.cancelled():
            future.exception()


def _tidy(session: Session, *, usable: bool) -> bool:
    """Whether the session is ready for the next question; closed where it is not."""
    try:
        if usable and session.reset():
            return True
    except Exception as error:  # noqa: BLE001 - whatever the driver says, the session is done with
        event(_logger, "session could not be reset", level=logging.DEBUG, error=type(error).__name__)
    _quietly(session.close)
    return False


def _quietly(act: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        act()


def _timed(work: Work[Rows]) -> Work[Rows]:
    """Fill in how long it took, where the session has not."""

    def timed(session: Session) -> Rows:
        started = time.perf_counter()
        rows = work(session)
        return rows if rows.ms else replace(rows, ms=_since(started))

    return timed


def _since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
