"""The service of threads: what a person does with conversations, and who may write to one now.

Invariant: a caller learns nothing about another caller's thread, not even whether it exists; an overtaken turn writes
nothing.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg

from thresher.agent.exchange import TurnProgress
from thresher.agent.threads import queries
from thresher.agent.threads.copying import fork_thread
from thresher.agent.threads.queries import LOCK_CLASS
from thresher.agent.threads.records import (
    Points,
    Thread,
    ThreadPage,
    Turn,
    checked_settings,
    checked_title,
    checkpoint_id,
    thread_id,
    unknown,
)
from thresher.core import (
    Caller,
    Conflict,
    CursorCodec,
    InvalidInput,
    StoreError,
    StoreUnavailable,
    ThresherError,
    check_limit,
    event,
)
from thresher.store import Database, clean, connect_watched

_TRY: Final = "select pg_try_advisory_lock(%s::int, %s::int)"


class ProcessLock:
    """A separate connection, opened at the first turn, that holds the advisory lock of this process's number.

    Args:
        address: libpq address of the database.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: psycopg.AsyncConnection | None = None
        self._number = 0
        self._opening = asyncio.Lock()

    async def number(self) -> int:
        """Return the number under which this process is known to be alive.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        async with self._opening:
            if self._connection is None:
                await self._begin()
            return self._number

    async def _begin(self) -> None:
        connection = await connect_watched(self._address)
        try:
            self._number = await _own_number(connection)
        except BaseException as error:
            await asyncio.shield(connection.close())
            if isinstance(error, psycopg.OperationalError):
                raise StoreUnavailable(f"The database was lost: {error}", hint="Retry.") from error
            raise
        self._connection = connection

    async def drop(self, number: int) -> None:
        """Use another number from now on: this one was lost, or stands for turns that could not be ended."""
        async with self._opening:
            if number == self._number:
                await self._close()

    async def close(self) -> None:
        """Release the lock."""
        async with self._opening:
            await self._close()

    async def _close(self) -> None:
        connection, self._connection, self._number = self._connection, None, 0
        if connection is not None:
            with suppress(psycopg.Error):
                await connection.close()


async def _own_number(connection: psycopg.AsyncConnection) -> int:
    while True:
        number = random.randint(1, 2**31 - 1)  # noqa: S311 - the lock makes it unique, hides nothing
        row = await (await connection.execute(_TRY, (LOCK_CLASS, number))).fetchone()
        if row is not None and row[0]:
            return number


_logger = logging.getLogger("thresher.agent")
MOST_LISTED: Final = 200
WATCH_SECONDS: Final = 1.0
"""How often a turn looks whether it was stopped."""
_FIRST: Final = ("infinity", UUID(int=2**128 - 1))
_LIST_CURSOR: Final[CursorCodec[dt.datetime, UUID]] = CursorCodec("threads", dt.datetime, UUID)
_STATES_CURSOR: Final[CursorCodec[UUID]] = CursorCodec("states of a thread", UUID)


class Threads:
    """The conversations of all callers. One per process.

    Args:
        database: The database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._life = ProcessLock(database.address)

    async def create(self, caller: Caller, title: str = "", settings: Mapping[str, Any] | None = None) -> Thread:
        """Create a thread.

        Args:
            caller: The owner.
            title: One line; may be given later.
            settings: Its differences from the caller's settings.

        Raises:
            InvalidInput: The title or the settings are too long.
        """
        given = checked_title(title), checked_settings(settings or {})
        return await queries.create_thread(self._database, caller, uuid4(), *given)

    async def get(self, caller: Caller, thread: str | UUID) -> Thread:
        """Return one of the caller's threads.

        Raises:
            InvalidInput: The id is not valid.
            NotFound: The caller has no such thread.
        """
        asked = thread_id(thread)
        return _found(asked, await queries.find_thread(self._database, caller, asked))

    async def list(self, caller: Caller, *, cursor: str = "", limit: int = 50, query: str = "") -> ThreadPage:
        """Return the caller's threads, last continued first.

        Args:
            caller: The owner.
            cursor: Of an earlier page: those after it.
            limit: Most threads, 1 to 200.
            query: Only threads whose title has these words, in whatever case.

        Raises:
            InvalidInput: The limit is out of bounds.
            InvalidCursor: The cursor is not of this list.
        """
        _check_limit(limit)
        after, words = _FIRST, [text] if (text := " ".join(clean(query).split())) else []
        if cursor:
            moment, last = _LIST_CURSOR.decode(cursor, words)
            after = (moment.isoformat(), last)
        found = await queries.list_threads(self._database, caller, after, limit + 1, *words)
        page = tuple(found[:limit])
        more = _LIST_CURSOR.encode(page[-1].updated_at, page[-1].id, question=words) if len(found) > limit else ""
        return ThreadPage(page, more)

    async def rename(self, caller: Caller, thread: str | UUID, title: str) -> Thread:
        """Change a thread's title.

        Raises:
            InvalidInput: The id is malformed, or the title is empty or too long.
            NotFound: The caller has no such thread.
        """
        asked = thread_id(thread)
        if not (given := checked_title(title)):
            raise InvalidInput("The title is empty.", hint="Give it a word at least.")
        return _found(asked, await queries.rename_thread(self._database, caller, asked, given))

    async def configure(self, caller: Caller, thread: str | UUID, settings: Mapping[str, Any]) -> Thread:
        """Replace all settings of a thread.

        Raises:
            InvalidInput: The id is not valid, or the settings are too large or not valid JSON.
            NotFound: The caller has no such thread.
        """
        asked = thread_id(thread)
        text = checked_settings(settings)
        return _found(asked, await queries.configure_thread(self._database, caller, asked, text))

    async def fork(
        self, caller: Caller, thread: str | UUID, *, at: str | UUID = "", title: str | None = None
    ) -> Thread:
        """Create a thread that begins with the state of another one.

        Args:
            caller: The owner of both.
            thread: The thread to fork, which is not changed.
            at: One of its checkpoints; by default the last one.
            title: Of the new one; by default the same.

        Raises:
            InvalidInput: An id is not valid, or the title is too long.
            NotFound: The caller has no such thread, or it has no such checkpoint.
        """
        source, point = thread_id(thread), checkpoint_id(at) if at else None
        new = uuid4()
        await fork_thread(self._database, caller, source, new, point, None if title is None else checked_title(title))
        return await self.get(caller, new)

    async def delete(self, caller: Caller, thread: str | UUID) -> None:
        """Remove a thread and everything kept of it.

        Raises:
            InvalidInput: The id is not valid.
            NotFound: The caller has no such thread.
            Conflict: A turn of it is in progress.
        """
        asked = thread_id(thread)
        gone, there = await queries.delete_thread(self._database, caller, asked)
        if not there:
            raise unknown(asked)
        if not gone:
            raise _busy(asked)

    async def history(self, caller: Caller, thread: str | UUID, *, cursor: str = "", limit: int = 50) -> Points:
        """Return the states of a thread, newest first; it can be forked at each.

        Raises:
            InvalidInput: The id is not valid, or the limit is out of bounds.
            InvalidCursor: The cursor is not of this thread.
            NotFound: The caller has no such thread.
        """
        _check_limit(limit)
        asked = (await self.get(caller, thread)).id
        (before,) = _STATES_CURSOR.decode(cursor, [str(asked)]) if cursor else (_FIRST[1],)
        found = await queries.points_of(self._database, caller, asked, before, limit + 1)
        page = tuple(found[:limit])
        return Points(page, _STATES_CURSOR.encode(page[-1].id, question=[str(asked)]) if len(found) > limit else "")

    @asynccontextmanager
    async def turn(self, caller: Caller, thread: str | UUID) -> AsyncGenerator[Turn]:
        """Hold a thread exclusively while a message is answered; it is created if it does not exist.

        A process that is killed loses its turns at that moment. One that only lost its connection to the database may
        be overtaken, and then its savers refuse to write.

        Raises:
            InvalidInput: The id is not valid.
            NotFound: The thread is another caller's.
            Conflict: Another turn of it is in progress.
            StoreUnavailable: The database does not answer.
        """
        asked, own = thread_id(thread), uuid4()
        try:
            taken = await self._taken(caller, asked, own)
            async with self._ending(caller, taken):
                yield taken
        finally:
            await asyncio.shield(self._leave(caller, asked, own))

    async def stop(self, caller: Caller, thread: str | UUID) -> None:
        """End the turn of a thread, in whichever process it runs; does nothing if there is none.

        The thread is free at once, and keeps what was reached. The turn writes nothing more, and notices within a
        second that it has ended.

        Raises:
            InvalidInput: The id is not valid.
            NotFound: The caller has no such thread.
        """
        asked = thread_id(thread)
        if not await queries.stop_turn(self._database, caller, asked):
            raise unknown(asked)

    async def progress(self, caller: Caller, thread: str | UUID) -> TurnProgress:
        """Return how far the last turn of a thread is; cheap enough to be asked several times a second.

        Raises:
            InvalidInput: The id is not valid.
            NotFound: The caller has no such thread.
        """
        asked = thread_id(thread)
        if (found := await queries.turn_progress(self._database, caller, asked)) is None:
            raise unknown(asked)
        return found

    @asynccontextmanager
    async def _ending(self, caller: Caller, turn: Turn) -> AsyncGenerator[None]:
        """Cancel the work of a turn when its thread is taken from it.

        Raises:
            Conflict: It was.
        """
        task, was_taken = asyncio.current_task(), False
        assert task is not None  # noqa: S101 - a coroutine runs in one

        async def watch() -> None:
            nonlocal was_taken
            while not was_taken:
                await asyncio.sleep(WATCH_SECONDS)
                with suppress(StoreError):  # a turn goes on while the database is away, as far as it can
                    was_taken = not await queries.holds_turn(self._database, caller, turn.thread, turn.id)
            task.cancel()

        watching = asyncio.create_task(watch())
        try:
            yield
        except asyncio.CancelledError:
            if was_taken and task.uncancel() == 0:
                raise Conflict("The turn was stopped.", hint="The thread keeps what was reached.") from None
            raise
        finally:
            watching.cancel()

    async def _taken(self, caller: Caller, thread: UUID, turn: UUID) -> Turn:
        for _ in range(3):
            holder = await self._life.number()
            answer = await queries.take_turn(self._database, caller, thread, holder, turn)
            if answer.taken:
                return Turn(thread, turn, answer.mine is None, answer.title or "", answer.drafts)
            if answer.mine is False:
                raise unknown(thread)
            if answer.lives:
                break
            await self._life.drop(holder)  # its connection broke since the last turn
        raise _busy(thread)

    async def _leave(self, caller: Caller, thread: UUID, turn: UUID) -> None:
        """End a turn, even if it is not known whether it began."""
        try:
            await queries.leave_turn(self._database, caller.tenant, thread, turn)
        except StoreError as error:
            # The row would permanently claim that this process answers, unless that number is given up. Other turns
            # under it continue: they may be overtaken, which their savers notice.
            await self._life.close()
            event(_logger, "turn not ended", level=logging.WARNING, thread=str(thread), reason=str(error))

    async def purge(self, days: float) -> int:
        """Remove the threads of all tenants without a turn for so many days; returns their number."""
        before = dt.datetime.now(dt.UTC) - dt.timedelta(days=days)
        removed = 0
        while some := await queries.purge_threads(self._database, before):
            removed += some
        return removed

    async def close(self) -> None:
        """Release the lock; a later turn acquires it again."""
        await self._life.close()


def _found(asked: UUID, thread: Thread | None) -> Thread:
    if thread is None:
        raise unknown(asked)
    return thread


def _busy(thread: UUID) -> ThresherError:
    return Conflict(
        f"A message of thread {thread} is being answered.", hint="Wait for the answer or cancel it, and send again."
    )


def _check_limit(limit: int) -> None:
    check_limit(limit, MOST_LISTED)
