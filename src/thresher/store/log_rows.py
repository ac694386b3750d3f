"""What the logs of all kinds share: which rows a question is about, how old they may be, and how old ones go.

Invariant: a user sees and removes his own rows alone, a caller without a user all of the tenant.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, InvalidInput
from thresher.store.engine import Database, run_retrying

LONGEST_DAYS: Final = 36_500
"""Far beyond any log; a longer time has no date."""
PURGED_AT_ONCE: Final = 20_000
"""Rows that one transaction removes: some 100 ms."""


def period_start(days: float) -> dt.datetime:
    """When a period began that ends now.

    Raises:
        InvalidInput: Its length is out of bounds.
    """
    if not 0 < days <= LONGEST_DAYS:
        raise InvalidInput(f"{days:g} days is no period.", hint=f"Give more than 0 and at most {LONGEST_DAYS} days.")
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def age_limit(days: float) -> dt.datetime:
    """The moment at which rows of an age were written.

    Raises:
        InvalidInput: The age is out of bounds.
    """
    if not 0 <= days <= LONGEST_DAYS:
        raise InvalidInput(f"{days:g} days is no age of log rows.", hint=f"Give 0 to {LONGEST_DAYS} days.")
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def period(caller: Caller, since: dt.datetime) -> dict[str, object]:
    """The values that the statements about a caller's rows bind."""
    return {"tenant": caller.tenant.id, "owner": caller.user, "since": since}


async def purge_rows(database: Database, caller: Caller, tables: Sequence[str], moment: dt.datetime) -> int:
    """Remove a caller's rows of some log tables up to a moment, many at once; returns how many there were."""
    removed = 0
    while some := await run_retrying(
        database, caller.tenant, lambda connection: _purge_some(connection, caller, tables, moment)
    ):
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
"""By place: planned by key while the server believes a log empty, it would compare each row to each."""
