"""The SQL of the logs of discoveries, calls and uses: writing, counts over a period, and removal.

Invariant: one statement writes a batch of all, in one round trip, and waits for no disk. Each count reads a period of
one tenant, by the index on tenant and time if the period is the smaller part; a caller that is one user sees and
removes only that user's rows.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.errors import ForeignKeyViolation
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import ASSISTANT, Caller, Tenant
from thresher.knowledge.tools.models import Use
from thresher.store import Database, period


@dataclass(frozen=True, slots=True)
class Discovery:
    """A row of `discovery`."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    selection: str
    source: str
    clauses: int
    searched: int
    chosen: Sequence[int]
    scores: Sequence[float]
    abstained: bool
    degraded: str
    duration_ms: float
    embedding_ms: float
    message: str | None
    tokens_sent: int
    tokens_all: int


@dataclass(frozen=True, slots=True)
class Invocation:
    """A row of `invocation`."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    selection: str
    tool_id: int | None
    name: str
    state: str
    duration_ms: float
    rank: int | None


_TYPES: Final = {
    "at": "timestamptz",
    "searched_at": "timestamptz",
    "clauses": "int",
    "searched": "int",
    "tokens_sent": "int",
    "tokens_all": "int",
    "chosen": "bigint[]",
    "scores": "float8[]",
    "abstained": "boolean",
    "duration_ms": "float8",
    "embedding_ms": "float8",
    "tool_id": "bigint",
    "rank": "int",
    "vector": "bytea",
    "weight": "float8",
    "passed": "bigint[]",
    "failed": "bigint[]",
    "offered": "bigint[]",
    "standings": "float8[]",
}
"""PostgreSQL's types of the columns that are not text."""


def _insert(table: str, record: type[Discovery | Invocation | Use]) -> str:
    columns = ", ".join(record.__slots__)
    typed = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in record.__slots__)
    return f"""
        insert into {table} (tenant_id, {columns})
        select %(tenant)s, {columns} from json_to_recordset(%({table})s::json) as given ({typed})"""  # noqa: S608 - from the names of our own records


# All logs as JSON, since every row of a batch has lists of its own. Log rows are not worth waiting for the disk;
# after a crash of the server the last ones may be missing.
_WRITE: Final = f"""
    with discoveries as ({_insert("discovery", Discovery)}), invocations as ({_insert("invocation", Invocation)}),
         uses as ({_insert("tool_use", Use)}),
         changed as (insert into tool_learning (tenant_id, version)
                     select %(tenant)s, 1 where json_array_length(%(tool_use)s::json) > 0
                     on conflict (tenant_id) do update set version = tool_learning.version + 1
                     returning version, removals)
    select set_config('synchronous_commit', 'off', true),
           (select version from collection where tenant_id = %(tenant)s and kind = 'catalogue'),
           coalesce((select version from changed),
                    (select version from tool_learning where tenant_id = %(tenant)s)),
           coalesce((select removals from changed),
                    (select removals from tool_learning where tenant_id = %(tenant)s))""".encode()  # noqa: S608 - from the names of our own records


@dataclass(frozen=True, slots=True)
class WrittenVersions:
    """The versions of a tenant's catalogue and of its uses, and how often some were removed, as rows were written."""

    catalogue: int
    uses: int
    removals: int


async def write_logs(
    database: Database,
    tenant: Tenant,
    discoveries: Sequence[Discovery],
    invocations: Sequence[Invocation],
    uses: Sequence[Use] = (),
) -> WrittenVersions | None:
    """Write rows of all logs; returns the current versions, or None if the tenant is gone."""
    values = {
        "tenant": tenant.id,
        "discovery": _rows(discoveries),
        "invocation": _rows(invocations),
        "tool_use": _rows(uses),
    }
    try:
        rows = await database.once(tenant, lambda driver: driver.execute(_WRITE, values, prepare=True))
    except ForeignKeyViolation:
        return None
    return WrittenVersions(rows[0][1] or 0, rows[0][2] or 0, rows[0][3] or 0)


def _rows(records: Sequence[Discovery | Invocation | Use]) -> str:
    return json.dumps(
        [{name: getattr(record, name) for name in record.__slots__} for record in records], default=_written
    )


def _written(value: object) -> str:
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class DiscoveryCounts:
    """Discoveries of a period, in total and by outcome; the times are null if there are none."""

    total: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    embedding_p50_ms: float | None
    embedded: int
    semantic: int
    lexical: int
    written: int
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
        tool_id: The tool's row; None for names without one.
        name: A name that it was called by.
        calls: All of them.
        errors: Those that neither succeeded nor were cancelled.
        asked: Those of clients that had searched for tools before.
        chosen: Those of them whose tool was among the chosen.
        ranks: The sum of its ranks then.
        shadow_asked: Like `asked`, for calls whose choice was only recorded.
        shadow_chosen: Like `chosen`, for calls whose choice was only recorded.
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
"""Without the assistant's rows: for `ask` it searches everywhere on every question, which is no choice of a client."""

_DISCOVERIES: Final = text(f"""
    select total, times[1] as p50_ms, times[2] as p95_ms, times[3] as p99_ms, embedding_p50_ms, embedded,
           semantic, lexical, written, hybrid, core, fallback, none, abstained, degraded, shadow
    from (select count(*) as total,
                 percentile_cont(array[0.5, 0.95, 0.99]) within group (order by duration_ms) as times,
                 percentile_cont(0.5) within group (order by embedding_ms) filter (where embedding_ms > 0)
                   as embedding_p50_ms,
                 count(*) filter (where embedding_ms > 0) as embedded,
                 count(*) filter (where source = 'semantic') as semantic,
                 count(*) filter (where source = 'lexical') as lexical,
                 count(*) filter (where source = 'written') as written,
                 count(*) filter (where source = 'hybrid') as hybrid,
                 count(*) filter (where source = 'core') as core,
                 count(*) filter (where source = 'fallback') as fallback,
                 count(*) filter (where source = 'none') as none,
                 count(*) filter (where abstained) as abstained,
                 count(*) filter (where degraded <> '') as degraded,
                 count(*) filter (where selection = 'shadow') as shadow
          from discovery where {_PERIOD}) counted
""")  # noqa: S608 - all values are bound

# Lists are unnested in the inner query: as a joined function that takes twice as long.
_CHOSEN: Final = text(f"""
    select tool_id, count(*) from (select unnest(chosen) as tool_id from discovery where {_PERIOD}) one group by tool_id
""")  # noqa: S608 - all values are bound

_CALLS: Final = text(f"""
    select tool_id, min(name) as name, count(*) as calls,
           count(*) filter (where state not in ('ok', 'cancelled', 'rules first', 'signature first')) as errors,
           count(rank) as asked,
           count(*) filter (where rank > 0) as chosen,
           coalesce(sum(rank), 0) as ranks,
           count(rank) filter (where selection = 'shadow') as shadow_asked,
           count(*) filter (where rank > 0 and selection = 'shadow') as shadow_chosen
    from invocation where {_PERIOD} group by tool_id
""")  # noqa: S608 - all values are bound


async def discovery_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> DiscoveryCounts:
    """Count discoveries since a moment."""
    row = (await connection.execute(_DISCOVERIES, period(caller, since))).one()
    return DiscoveryCounts(**row._mapping)  # pyright: ignore[reportPrivateUsage] - the library's documented name


async def chosen_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> dict[int, int]:
    """Count how often each tool was chosen since a moment, by its id."""
    found = await connection.execute(_CHOSEN, period(caller, since))
    return {int(row[0]): int(row[1]) for row in found}


async def call_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> list[CallCounts]:
    """Count calls since a moment, by tool."""
    return [CallCounts(*row) for row in await connection.execute(_CALLS, period(caller, since))]


async def purge_some_of_all(connection: AsyncConnection, before: dt.datetime) -> int:
    """Remove some log rows of all tenants that are older than a moment; returns how many."""
    return int((await connection.execute(text("select purge_logs(:before)"), {"before": before})).scalar_one())


async def prune_embeddings(connection: AsyncConnection, before: dt.datetime) -> int:
    """Remove cached vectors that no index used at any sweep since a moment; returns how many."""
    return int((await connection.execute(text("select prune_embeddings(:before)"), {"before": before})).scalar_one())
