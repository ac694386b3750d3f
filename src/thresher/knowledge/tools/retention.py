"""Removes what has been kept for long enough: rows of both logs, and embeddings that nothing uses.

Invariant: no transaction is long, whatever has gathered; a run that is cut off is finished by the next, and two at once
(replicas sweep independently) only share the work.

An embedding is old enough when no index row of any tenant used it at any sweep for as long as logs are kept. Each sweep
looks, and notes since when a vector has been found unused, so that neither searching nor indexing pays for a date of
last use. A tool that left and comes back within that time is embedded from the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from thresher.core import Caller, Tenant
from thresher.knowledge.tools.queries.statistics import prune_embeddings, purge_some_of_all
from thresher.store import Database, age_limit, purge_rows, run_retrying

_NOBODY: Final = Tenant(0, "")
"""Sees no tenant's rows; the sweep's functions go through all tenants themselves."""


@dataclass(frozen=True, slots=True)
class Purged:
    """How much was removed.

    Attributes:
        rows: Log rows, discoveries and calls together.
        embeddings: Vectors of the cache.
    """

    rows: int
    embeddings: int


async def purge(database: Database, caller: Caller, days: float) -> int:
    """Remove the caller's log rows that are at least so many days old; returns how many.

    Raises:
        InvalidInput: The age is negative, or out of this world.
    """
    return await purge_rows(database, caller, ("discovery", "invocation"), age_limit(days))


async def purge_logs(database: Database, days: float) -> Purged:
    """The daily sweep: old log rows of all tenants, and embeddings unused for as long."""
    moment, removed = age_limit(days), 0
    while some := await run_retrying(database, _NOBODY, lambda run: purge_some_of_all(run, moment)):
        removed += some
    return Purged(removed, await prune(database, days))


async def prune(database: Database, days: float) -> int:
    """Note which embeddings are unused, and remove those that have been for so many days; returns how many."""
    moment = age_limit(days)
    return await run_retrying(database, _NOBODY, lambda run: prune_embeddings(run, moment))
