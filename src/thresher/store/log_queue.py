"""Writes log rows to the database in batches, without delaying the answers that they are about.

Invariant: adding a row never waits and never fails. The queue is bounded: if the database does not take rows in time,
the oldest are dropped, counted and reported. A user sees and removes only their own rows, a caller without a user all
rows of the tenant. A secret that is recognised by its form is masked before a text is cut.
"""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final, Generic, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, InvalidInput, Settings, Tenant, ThresherError, event, mask_text
from thresher.store.connections import clean
from thresher.store.engine import Database, run_retrying

LONGEST_DAYS: Final = 36_500
"""Longer than any log; a longer time has no date."""
PURGED_AT_ONCE: Final = 20_000
"""Rows removed in one transaction: about 100 ms."""


def period_start(days: float) -> dt.datetime:
    """Return the start of a period that ends now.

    Raises:
        InvalidInput: Its length is out of bounds.
    """
    if not 0 < days <= LONGEST_DAYS:
        raise InvalidInput(
            f"{days:g} days is not a valid period.", hint=f"Give more than 0 and at most {LONGEST_DAYS} days."
        )
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def age_limit(days: float) -> dt.datetime:
    """Return the moment that lies an age ago.

    Raises:
        InvalidInput: The age is out of bounds.
    """
    if not 0 <= days <= LONGEST_DAYS:
        raise InvalidInput(f"{days:g} days is not a valid age of log rows.", hint=f"Give 0 to {LONGEST_DAYS} days.")
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def period(caller: Caller, since: dt.datetime) -> dict[str, object]:
    """Return the parameters of statements about a caller's rows."""
    return {"tenant": caller.tenant.id, "owner": caller.user, "since": since}


async def purge_rows(
    database: Database,
    caller: Caller,
    tables: Sequence[str],
    moment: dt.datetime,
    note: Callable[[AsyncConnection, Tenant], Awaitable[None]] | None = None,
) -> int:
    """Remove a caller's rows from log tables up to a moment, in batches; returns their number.

    Args:
        database: Where the logs are.
        caller: The tenant, or one of its users.
        tables: The logs.
        moment: Rows up to it are removed.
        note: Records in each transaction that rows were removed, if any were.
    """

    async def purge_some(connection: AsyncConnection) -> int:
        some = await _purge_some(connection, caller, tables, moment)
        if some and note is not None:
            await note(connection, caller.tenant)
        return some

    removed = 0
    while some := await run_retrying(database, caller.tenant, purge_some):
        removed += some
    return removed


async def _purge_some(connection: AsyncConnection, caller: Caller, tables: Sequence[str], moment: dt.datetime) -> int:
    values = {"tenant": caller.tenant.id, "owner": caller.user, "before": moment}
    return sum([(await connection.execute(text(_PURGE.format(table)), values)).rowcount for table in tables])


_PURGE: Final = f"""
    delete from {{0}} where ctid = any(array(
      select ctid from {{0}}
      where tenant_id = :tenant and at <= :before and (cast(:owner as text) is null or owner = :owner)
      limit {PURGED_AT_ONCE} for update skip locked))"""  # noqa: S608 - our own code names tables, all values are bound
"""By position: planned by key while the server believes the log empty, it would compare every pair of rows."""


_TEXT = 4_000
"""Most characters of a message that are kept: rows wait in memory."""


def message_of(texts: Sequence[str], settings: Settings) -> str | None:
    """Return the message text for a log row: None unless the setting allows texts, and without secrets."""
    if settings.log_text == "off":
        return None
    # Masked before the cut, since half a secret is still one; limited, since masking takes time.
    text = mask_text(clean("\n".join(texts)[: 2 * _TEXT]))
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"


logger = logging.getLogger("thresher.store")

Row = TypeVar("Row")

PAUSE_SECONDS = 0.1
"""How long a row waits for others: much less than a snapshot of the catalogue counts as fresh."""
BATCH = 500
"""Rows in one statement; a full batch does not wait."""
MOST = 10_000
"""Most rows that wait: minutes of an unresponsive database, about 10 MB."""
PATIENCE_SECONDS = 5.0
"""Seconds after which a batch counts as not written."""
_BACKOFFS = 6
"""How often the pause doubles while the database does not answer: up to 6.4 seconds."""


class LogQueue(Generic[Row]):
    """A bounded queue of log rows of many tenants, and the task that empties it.

    The task runs as long as there are rows. A batch whose outcome is unknown because the connection was lost is written
    again, so a row may be stored twice.

    Args:
        write: Writes rows of one tenant in one statement.
        most: Most rows that wait.
        patience: Time limit of one batch, in seconds.
    """

    def __init__(
        self,
        write: Callable[[Tenant, Sequence[Row]], Awaitable[None]],
        *,
        most: int = MOST,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._write = write
        self._most = most
        self._patience = patience
        self._rows: deque[tuple[Tenant, Row]] = deque()
        self._added = 0
        self._done = 0
        self._under_way = 0
        self._lost = 0
        self._unsaid = 0
        self._settling = 0
        self._failures = 0
        self._hurry = asyncio.Event()
        self._round = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def lost(self) -> int:
        """Rows that this process could not write."""
        return self._lost

    def add(self, tenant: Tenant, row: Row) -> None:
        """Add a row, to be written soon."""
        self._rows.append((tenant, row))
        self._added += 1
        if len(self._rows) > self._most:
            self._bound()
        if len(self._rows) >= BATCH and not self._failures:
            self._hurry.set()
        self._work()

    async def settle(self) -> None:
        """Wait until every row added so far is written or, if the database does not take it now, dropped."""
        wanted = self._added
        self._settling += 1
        try:
            while self._done < wanted:
                self._hurry.set()
                await self._round.wait()
        finally:
            self._settling -= 1

    def _work(self) -> None:
        if self._task is None:
            # Without the trace of the first caller: the rows of a batch have many.
            self._task = asyncio.create_task(self._empty(), context=contextvars.Context())
            self._task.add_done_callback(self._ended)

    async def _empty(self) -> None:
        while self._rows:
            if not self._settling and (len(self._rows) < BATCH or self._failures):
                pause = PAUSE_SECONDS * 2 ** min(self._failures, _BACKOFFS)
                with suppress(TimeoutError):  # earlier if a batch is full, or `settle` was called
                    async with asyncio.timeout(pause):
                        await self._hurry.wait()
            self._hurry.clear()
            batch = [self._rows.popleft() for _ in range(min(BATCH, len(self._rows)))]
            self._under_way = len(batch)
            await self._put(batch)
            self._next_round()

    async def _put(self, batch: Sequence[tuple[Tenant, Row]]) -> None:
        tenants: dict[Tenant, list[Row]] = {}
        for tenant, row in batch:
            tenants.setdefault(tenant, []).append(row)
        rest = list(tenants.items())
        try:
            while rest:
                async with asyncio.timeout(self._patience):
                    await self._write(*rest[0])
                written = len(rest.pop(0)[1])
                self._under_way -= written
                self._done += written
        except (ThresherError, TimeoutError) as error:
            self._delayed([(tenant, row) for tenant, rows in rest for row in rows], error)
        else:
            self._failures = 0
            self._say_lost()

    def _delayed(self, batch: Sequence[tuple[Tenant, Row]], error: Exception) -> None:
        if not self._failures:
            reason = error.message if isinstance(error, ThresherError) else "no answer in time"
            event(logger, "log rows wait", level=logging.WARNING, reason=reason)
        self._failures += 1
        if self._settling:
            self._lose_under_way()
        else:
            self._under_way = 0
            self._rows.extendleft(reversed(batch))
            self._bound()

    def _bound(self) -> None:
        while len(self._rows) > self._most:
            self._rows.popleft()
            self._lose(1)

    def _lose(self, count: int) -> None:
        self._lost += count
        self._unsaid += count
        self._done += count

    def _lose_under_way(self) -> None:
        self._lose(self._under_way)
        self._under_way = 0
        self._say_lost()

    def _say_lost(self) -> None:
        if self._unsaid:
            event(logger, "log rows lost", level=logging.WARNING, rows=self._unsaid)
            self._unsaid = 0

    def _next_round(self) -> None:
        self._round.set()
        self._round = asyncio.Event()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():  # the process ends
            self._lose(len(self._rows))
            self._rows.clear()
            self._lose_under_way()
        elif (error := task.exception()) is not None:
            logger.error("log rows not written", exc_info=error)
            self._lose_under_way()  # the database refused them: it would do so again
        if self._rows:
            self._work()
        self._next_round()
