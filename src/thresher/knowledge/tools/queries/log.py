"""The log of discoveries.

Invariant: a log row never makes an answer wait for the disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.errors import ForeignKeyViolation

from thresher.core import Caller
from thresher.store import Database


@dataclass(frozen=True, slots=True)
class Discovery:
    """A row of `discovery`."""

    trace_id: str
    source: str
    clauses: int
    searched: int
    chosen: Sequence[int]
    scores: Sequence[float]
    abstained: bool
    degraded: str
    duration_ms: float
    embedding_ms: float


# Runs for every search, so it goes to the driver itself. A log row is not worth a wait for the disk; after a crash of
# the server the last ones may be missing.
_LOG: Final = """
    with logged as (
      insert into discovery (tenant_id, owner, trace_id, source, clauses, searched, chosen, scores, abstained, degraded,
                             duration_ms, embedding_ms)
      values (%(tenant)s, %(owner)s, %(trace_id)s, %(source)s, %(clauses)s, %(searched)s, %(chosen)s::bigint[],
              %(scores)s::float8[], %(abstained)s, %(degraded)s, %(duration_ms)s, %(embedding_ms)s)
    )
    select set_config('synchronous_commit', 'off', true),
           (select version from collection where tenant_id = %(tenant)s and kind = 'catalogue')"""


async def log_discovery(database: Database, caller: Caller, record: Discovery) -> int | None:
    """Write a discovery; returns the catalogue's version, or None when the tenant is gone."""
    values: dict[str, Any] = {name: getattr(record, name) for name in Discovery.__slots__}
    values |= {"tenant": caller.tenant.id, "owner": caller.user}
    try:
        rows = await database.once(caller.tenant, lambda driver: driver.execute(_LOG, values, prepare=True))
    except ForeignKeyViolation:
        return None
    return rows[0][1] or 0
