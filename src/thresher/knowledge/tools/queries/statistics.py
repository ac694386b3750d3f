"""Counts over the logs of discoveries and calls, and the removal of their old rows.

Invariant: each statement reads a period of one tenant, by the index on tenant and time where the period is the smaller
part; a caller that stands for one user sees and removes that user's rows alone. Rows of
the assistant count nowhere.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import ASSISTANT, Caller
from thresher.store import period


@dataclass(frozen=True, slots=True)
class DiscoveryCounts:
    """Discoveries of a period, in total and by what became of them; the times are null when there are none."""

    total: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    embedding_p50_ms: float | None
    embedded: int
    semantic: int
    lexical: int
    hybrid: int
    core: int
    fallback: int
    none: int
    abstained: int
    degraded: int
    shadow: int


@dataclass(frozen=True, slots=True)
class CallCounts:
    """Calls of one tool in a period.

    Attributes:
        tool_id: The tool's row; None for names that had none.
        name: A name that it was called by.
        calls: All of them.
        errors: Those that neither succeeded nor were cancelled.
        asked: Those of clients that had asked for tools before.
        chosen: Those of them whose tool was among the chosen.
        ranks: The sum of its places then.
        shadow_asked: As `asked`, where the choice was only recorded.
        shadow_chosen: As `chosen`, where the choice was only recorded.
    """

    tool_id: int | None
    name: str
    calls: int
    errors: int
    asked: int
    chosen: int
    ranks: int
    shadow_asked: int
    shadow_chosen: int


_PERIOD: Final = (
    "tenant_id = :tenant and at >= :since and (cast(:owner as text) is null or owner = :owner)"
    f" and client not like '{ASSISTANT}%'"
)
"""What the assistant does for `ask` is no choice of a client: it searches everywhere for every question."""

_DISCOVERIES: Final = text(f"""
    select total, times[1] as p50_ms, times[2] as p95_ms, times[3] as p99_ms, embedding_p50_ms, embedded,
           semantic, lexical, hybrid, core, fallback, none, abstained, degraded, shadow
    from (select count(*) as total,
                 percentile_cont(array[0.5, 0.95, 0.99]) within group (order by duration_ms) as times,
                 percentile_cont(0.5) within group (order by embedding_ms) filter (where embedding_ms > 0)
                   as embedding_p50_ms,
                 count(*) filter (where embedding_ms > 0) as embedded,
                 count(*) filter (where source = 'semantic') as semantic,
                 count(*) filter (where source = 'lexical') as lexical,
                 count(*) filter (where source = 'hybrid') as hybrid,
                 count(*) filter (where source = 'core') as core,
                 count(*) filter (where source = 'fallback') as fallback,
                 count(*) filter (where source = 'none') as none,
                 count(*) filter (where abstained) as abstained,
                 count(*) filter (where degraded <> '') as degraded,
                 count(*) filter (where selection = 'shadow') as shadow
          from discovery where {_PERIOD}) counted
""")  # noqa: S608 - all values are bound

# Lists are taken apart in the inner query: as a joined function that takes twice as long.
_CHOSEN: Final = text(f"""
    select tool_id, count(*) from (select unnest(chosen) as tool_id from discovery where {_PERIOD}) one group by tool_id
""")  # noqa: S608 - all values are bound

_CALLS: Final = text(f"""
    select tool_id, min(name) as name, count(*) as calls,
           count(*) filter (where state not in ('ok', 'cancelled', 'rules first')) as errors,
           count(rank) as asked,
           count(*) filter (where rank > 0) as chosen,
           coalesce(sum(rank), 0) as ranks,
           count(rank) filter (where selection = 'shadow') as shadow_asked,
           count(*) filter (where rank > 0 and selection = 'shadow') as shadow_chosen
    from invocation where {_PERIOD} group by tool_id
""")  # noqa: S608 - all values are bound


async def discovery_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> DiscoveryCounts:
    """Discoveries since a moment."""
    row = (await connection.execute(_DISCOVERIES, period(caller, since))).one()
    return DiscoveryCounts(**row._mapping)  # pyright: ignore[reportPrivateUsage] - the library's documented name


async def chosen_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> dict[int, int]:
    """How often each tool was chosen since a moment, by its id."""
    found = await connection.execute(_CHOSEN, period(caller, since))
    return {int(row[0]): int(row[1]) for row in found}


async def call_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> list[CallCounts]:
    """Calls since a moment, by tool."""
    return [CallCounts(*row) for row in await connection.execute(_CALLS, period(caller, since))]


async def purge_some_of_all(connection: AsyncConnection, before: dt.datetime) -> int:
    """The same for every tenant."""
    return int((await connection.execute(text("select purge_logs(:before)"), {"before": before})).scalar_one())


async def prune_embeddings(connection: AsyncConnection, before: dt.datetime) -> int:
    """Remove cached vectors that no index used at any sweep since a moment; returns how many."""
    return int((await connection.execute(text("select prune_embeddings(:before)"), {"before": before})).scalar_one())
