"""SQL that counts over the logs of API searches and reads.

Invariant: each statement reads one tenant's period once, by the index on tenant and time. A caller with a user counts
that user's rows only. Failed searches count as errors and as nothing else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import ASSISTANT, Caller
from thresher.knowledge.apis.queries.usage_log import MINUTES
from thresher.store import period

_TOP: Final = 20
"""Maximum entries of each list."""
_OLDEST: Final = 20_000
"""Maximum number of missed searches to look at, the newest first."""
_NEAR: Final = 3
"""Last position at which an endpoint counts as found."""


@dataclass(frozen=True, slots=True)
class SearchCell:
    """The searches of one day (UTC) with the same providers and outcome.

    Attributes:
        day: ISO date.
        providers: Names.
        error: Error code; empty if they were answered.
        count: Number of searches.
        followed: Number of them that a read followed.
    """

    day: str
    providers: tuple[str, ...]
    error: str
    count: int
    followed: int


@dataclass(frozen=True, slots=True)
class ReadCell:
    """The reads of one day (UTC) at one provider with the same outcome."""

    day: str
    provider: str
    error: str
    count: int


@dataclass(frozen=True, slots=True)
class QueryTotals:
    """A query and its counts: in the period, in the preceding one, and without a hit in the period."""

    query: str
    count: int
    before: int
    empty: int


@dataclass(frozen=True, slots=True)
class MissedRow:
    """A query that found an endpoint too low, or not at all.

    Attributes:
        endpoint: Number of the endpoint that was read next.
        query: As it is counted.
        count: How often.
        rank: The best place of the endpoint among the hits, from 1; 0 where it was not among them.
        words: What the endpoint says of itself, and the later queries that showed it before it was read.
        last: Whether it found nothing, and nothing else was searched before the endpoint was read.
    """

    endpoint: int
    query: str
    count: int
    rank: int
    words: str
    last: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the logs contain.

    Attributes:
        rows: Whether the period has rows.
        answered: Whether a search was answered.
        worded: Whether an answered search has its text logged.
        worded_before: The same for the preceding period.
    """

    rows: bool
    answered: bool
    worded: bool
    worded_before: bool


_MINE: Final = "tenant_id = :tenant and (cast(:owner as text) is null or owner = :owner)"
_SEARCHES: Final = f"api_search_log where {_MINE} and (:provider = '' or :provider = any(providers))"
_READS: Final = f"api_read_log where {_MINE} and at >= :since and (:provider = '' or provider = :provider)"
_WORDED: Final = "error = '' and mode = 'search' and query <> ''"
_DAY: Final = "date_bin('1 day', at, timestamptz '2000-01-01 00:00:00+00')"

# For one transaction: keep hashes of a million rows in memory, and skip compiling plans that run for less time. The
# planner expects few rows under row-level security, and would sort all of them by a collation.
_ROOM: Final = text("""
    select set_config('work_mem', '64MB', true), set_config('jit', 'off', true), set_config('enable_sort', 'off', true)
""")

# One scan for everything that is counted by day, provider and error, of which there are few.
_SEARCH_CELLS: Final = text(f"""
    select to_char(day at time zone 'UTC', 'YYYY-MM-DD'), providers, error, count, followed
    from (select {_DAY} as day, providers, error, count(*) as count, count(read_rank) as followed
          from {_SEARCHES} and at >= :since group by 1, 2, 3) cells
    order by 1
""")  # noqa: S608 - our own names, all values are bound
_READ_CELLS: Final = text(f"""
    select to_char(day at time zone 'UTC', 'YYYY-MM-DD'), provider, error, count
    from (select {_DAY} as day, provider, error, count(*) as count from {_READS} group by 1, 2, 3) cells
    order by 1
""")  # noqa: S608 - as above

# Grouped by tenths of a millisecond, of which there are few; sorting every search takes twice as long.
_TIMES: Final = text(f"""
    select min(tenth) filter (where place >= 0.5 * total) / 10.0, min(tenth) filter (where place >= 0.95 * total) / 10.0
    from (select tenth, sum(count) over (order by tenth) as place, sum(count) over () as total
          from (select cast(duration_ms * 10 as bigint) as tenth, count(*) as count
                from {_SEARCHES} and at >= :since and error = '' group by 1) tenths) placed
""")  # noqa: S608 - as above

_QUERIES: Final = f"""
    select query, count(*) filter (where at >= :since) as count, count(*) filter (where at < :since) as before,
           count(*) filter (where at >= :since and cardinality(hits) = 0) as empty
    from {_SEARCHES} and at >= :before and {_WORDED} group by query"""  # noqa: S608 - as above
_BEST: Final = text(f"""
    with asked as materialized ({_QUERIES})
    (select 'top', query, count, before, empty from asked where count > 0
     order by count desc, query collate "C" limit {_TOP})
    union all
    (select 'rising', query, count, before, empty from asked where count > before and :grown
     order by count - before desc, query collate "C" limit {_TOP})
    union all
    (select 'empty', query, count, before, empty from asked where empty > 0
     order by empty desc, query collate "C" limit {_TOP})
""")  # noqa: S608 - as above
# The newest rows first, so that each lookup ends at its first row.
_NEWEST: Final = "order by at desc limit 1"
_BASIS: Final = text(f"""
    select coalesce((select true from {_SEARCHES} and at >= :since {_NEWEST}),
                    (select true from {_READS} {_NEWEST}), false) as rows,
           coalesce((select true from {_SEARCHES} and at >= :since and error = '' {_NEWEST}), false) as answered,
           coalesce((select true from {_SEARCHES} and at >= :since and {_WORDED} {_NEWEST}), false) as worded,
           coalesce((select true from {_SEARCHES} and at >= :before and at < :since and {_WORDED} {_NEWEST}), false)
             as worded_before
""")  # noqa: S608 - as above

_ENDPOINTS: Final = text(f"""
    select endpoint, operation, provider, count(*) from {_READS} and error = '' and endpoint is not null
    group by 1, 2, 3 order by 4 desc, 2, 3 limit {_TOP}
""")  # noqa: S608 - as above

_FOLLOWS: Final = (
    "{0}.owner is not distinct from s.owner and ({0}.client = s.client or {0}.client = '' or s.client = '')"
)
# The next read after a search, unless the endpoint is newer than the search; with the query that showed it, if one did.
_MISSED: Final = text(f"""
    select r.endpoint, s.query, count(*) as count, coalesce(min(array_position(s.hits, r.endpoint)), 0) as rank,
           concat_ws(' ', max(o.words), string_agg(distinct shown.query, ' ')) as words,
           bool_or(s.hits = '{{}}' and shown.query is null and r.at < coalesce(later.at, 'infinity')) as last
    from (select * from api_search_log
          where {_MINE} and at >= :since and {_WORDED}
            and (read_rank is null or read_rank > {_NEAR}) and client not like '{ASSISTANT}%'
          order by at desc limit {_OLDEST}) s
    cross join lateral (
      select endpoint, at from api_read_log r
      where r.tenant_id = :tenant and r.at >= s.at and r.at <= s.at + interval '{MINUTES} minutes'
        and {_FOLLOWS.format("r")} and r.endpoint is not null and r.error = ''
        and (s.providers = '{{}}' or r.provider = any(s.providers))
      order by (r.endpoint = s.hits[s.read_rank]) desc nulls last, r.at limit 1) r
    left join lateral (
      select b.query from api_search_log b
      where b.tenant_id = :tenant and b.at > s.at and b.at <= r.at and {_FOLLOWS.format("b")}
        and b.error = '' and b.mode = 'search' and r.endpoint = any(b.hits)
      order by b.at desc limit 1) shown on true
    left join lateral (
      select b.at from api_search_log b
      where b.tenant_id = :tenant and b.at > s.at and {_FOLLOWS.format("b")} order by b.at limit 1) later on true
    left join lateral (
      select min(created_at) as since, max(concat_ws(' ', path, operation_id, summary, description,
             array_to_string(tags, ' '), array_to_string(parameters, ' '), body)) as words
      from api_operation
      where tenant_id = :tenant and endpoint = 'op_' || lpad(to_hex(r.endpoint), 12, '0') and current) o on true
    where coalesce(o.since <= s.at, true)
      and (cast(:wanted as bigint[]) is null or r.endpoint = any(cast(:wanted as bigint[])))
    group by 1, 2 order by 3 desc, 2
""")  # noqa: S608 - as above


@dataclass(frozen=True, slots=True)
class Window:
    """What to count.

    Attributes:
        caller: The owner of the rows.
        provider: Name of the only provider; empty for all.
        before: Start of the preceding period.
        since: Start of the period.
    """

    caller: Caller
    provider: str
    before: dt.datetime
    since: dt.datetime

    @property
    def values(self) -> dict[str, object]:
        """The values that the statements bind."""
        return {**period(self.caller, self.since), "provider": self.provider, "before": self.before}


async def make_room(connection: AsyncConnection) -> None:
    """Give the statements of this transaction enough memory."""
    await connection.execute(_ROOM)


async def search_cells(connection: AsyncConnection, window: Window) -> list[SearchCell]:
    """Count searches by day, providers and outcome, the earliest day first."""
    rows = await _rows(connection, _SEARCH_CELLS, window)
    return [SearchCell(day, tuple(names), error, count, followed) for day, names, error, count, followed in rows]


async def read_cells(connection: AsyncConnection, window: Window) -> list[ReadCell]:
    """Count reads by day, provider and outcome, the earliest day first."""
    return [ReadCell(*row) for row in await _rows(connection, _READ_CELLS, window)]


async def times(connection: AsyncConnection, window: Window) -> tuple[float | None, float | None]:
    """Return the median and 95th percentile of search times in milliseconds, to a tenth; None without searches."""
    ((half, most),) = await _rows(connection, _TIMES, window)
    return (None if half is None else float(half)), (None if most is None else float(most))


async def basis(connection: AsyncConnection, window: Window) -> Coverage:
    """Return what the logs contain."""
    return Coverage(*(bool(value) for value in (await _rows(connection, _BASIS, window))[0]))


async def queries(connection: AsyncConnection, window: Window, *, grown: bool) -> Mapping[str, list[QueryTotals]]:
    """Return the most frequent queries (`top`), those without hits (`empty`), and those that grew (`rising`).

    Args:
        connection: The transaction.
        window: What to count.
        grown: Whether there is a preceding period to compare with.
    """
    found: dict[str, list[QueryTotals]] = {"top": [], "rising": [], "empty": []}
    values = window.values | {"grown": grown, "before": window.before if grown else window.since}
    for kind, *asked in await connection.execute(_BEST, values):
        found[kind].append(QueryTotals(*asked))
    return found


async def endpoints(connection: AsyncConnection, window: Window) -> list[tuple[int, str, str, int]]:
    """Return the most read endpoints: number, operation, provider, count."""
    return [(row[0], row[1], row[2], row[3]) for row in await _rows(connection, _ENDPOINTS, window)]


async def missed(
    connection: AsyncConnection, caller: Caller, since: dt.datetime, wanted: Sequence[int] | None
) -> list[MissedRow]:
    """Return queries with an endpoint read after them but not among their first results, most frequent first.

    Queries that have nothing to do with the endpoint are among them if it was not among the hits: only words can tell.
    """
    values = {**period(caller, since), "wanted": None if wanted is None else list(wanted)}
    return [MissedRow(*row) for row in await connection.execute(_MISSED, values)]


async def _rows(connection: AsyncConnection, statement: TextClause, window: Window) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.execute(statement, window.values)]
