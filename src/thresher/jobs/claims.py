"""Claims on rows that are due from time to time, such as sources that may have changed.

A row says when it is due (`check_at`) and which daemon took it up last (`claimed_by`). A daemon takes up the rows of
all tenants that are due, works on each, and says when it is due again.

Invariant: of several daemons on one database, one works on a row at a time. A claim that is not renewed lapses; only
the daemon that took it up renews it or gives it back.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sqlalchemy import ColumnElement, Table, func, true, update

from thresher.core import Tenant, ThresherError, event
from thresher.jobs.queries import NO_TENANT
from thresher.store import Database

_logger = logging.getLogger("thresher.jobs")

LOOK_SECONDS: Final = 5.0
"""How often rows that are due are taken up."""
CLAIM_SECONDS: Final = 150.0
"""How long no other daemon takes up a row: longer than any work on one between two renewals."""
_MOST: Final = 16
"""Rows of a tenant that are taken up at once."""


@dataclass(frozen=True, slots=True)
class ClaimedRows:
    """The rows that are claimed.

    Attributes:
        table: Their table, with `tenant_id`, `id`, `check_at` and `claimed_by`.
        take_up: The database function that takes up those that are due: seconds, most rows of a tenant, and claimant ->
            tenant and source.
        what: What a row is, for logs.
        claimable: Which rows can still be claimed.
    """

    table: Table
    take_up: str
    what: str
    claimable: ColumnElement[bool] = field(default_factory=true)


@dataclass(slots=True)
class Claim:
    """A row that this daemon has taken up.

    Attributes:
        tenant: Of the row.
        row: Its id.
        after: Seconds until it is due again, from the end of the work.
        renew: Keeps the row for `CLAIM_SECONDS` from now; False if it cannot be claimed any more, or another daemon has
            taken it up.
    """

    tenant: Tenant
    row: int
    after: float
    renew: Callable[[], Awaitable[bool]]


class ClaimLoop:
    """Works on rows whenever they are due, for as long as it runs; one for each daemon.

    Args:
        database: The database of the rows.
        rows: The rows.
        work: Works on one. If that takes longer than `CLAIM_SECONDS` without a renewal, another daemon may take it up.
        after: What `Claim.after` is when the work begins, in seconds.
    """

    def __init__(
        self, database: Database, rows: ClaimedRows, work: Callable[[Claim], Awaitable[None]], after: float
    ) -> None:
        self._database = database
        self._rows = rows
        self._work = work
        self._after = after
        self._claimant = secrets.token_hex(8)
        self._tasks: dict[tuple[int, int], asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Work until cancelled; rows that are worked on at that moment are due at once."""
        try:
            while True:
                await self._look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        try:
            taken = await take_up(self._database, self._rows, self._claimant)
        except ThresherError as error:
            event(_logger, f"{self._rows.what}s not taken up", level=logging.WARNING, reason=error.message)
            return
        for key in taken:
            if key not in self._tasks:
                self._tasks[key] = task = asyncio.create_task(self._work_on(Tenant(key[0], ""), key[1]))
                task.add_done_callback(lambda _, key=key: self._tasks.pop(key, None))

    async def _work_on(self, tenant: Tenant, row: int) -> None:
        keep = partial(keep_row, self._database, self._rows, tenant, row, self._claimant)
        claim = Claim(tenant, row, self._after, keep)
        try:
            await self._work(claim)
        except asyncio.CancelledError:
            claim.after = 0.0
            raise
        except ThresherError as error:
            about = {"tenant": tenant.id, "row": row, "reason": error.message}
            event(_logger, f"{self._rows.what} not checked", level=logging.WARNING, **about)
        finally:
            with suppress(ThresherError):
                await asyncio.shield(keep(claim.after))


async def take_up(
    database: Database, rows: ClaimedRows, claimant: str, seconds: float = CLAIM_SECONDS
) -> list[tuple[int, int]]:
    """Take up the rows that are due, of all tenants, as (tenant, id): no other daemon does for some seconds."""
    async with database.transaction(NO_TENANT) as connection:
        values = (seconds, _MOST, claimant)
        found = await connection.exec_driver_sql(f"select * from {rows.take_up}(%s, %s, %s)", values)  # noqa: S608 - the name of a function of ours
        return [(row.tenant, row.source) for row in found]


async def keep_row(
    database: Database, rows: ClaimedRows, tenant: Tenant, row: int, claimant: str, seconds: float = CLAIM_SECONDS
) -> bool:
    """Let no daemon take up a row before this many seconds from now; False if it is not the claimant's any more."""
    table, after = rows.table, func.now() + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    mine = (table.c.tenant_id == tenant.id) & (table.c.id == row) & (table.c.claimed_by == claimant)
    kept = update(table).where(mine, rows.claimable).values(check_at=after).returning(table.c.id)
    async with database.transaction(tenant) as connection:
        return (await connection.execute(kept)).first() is not None
