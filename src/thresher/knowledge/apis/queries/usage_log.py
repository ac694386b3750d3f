"""SQL that writes the logs of API searches and endpoint reads.

Invariant: a batch is written completely or not at all, without waiting for the disk. A search is marked as followed by
a read whichever of the two is written first, by any process.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Tenant
from thresher.store import Database, run_retrying

MINUTES: Final = 30
"""Minutes within which a read counts as following a search."""
_LATE: Final = dt.timedelta(seconds=10)
"""How late the rows of other processes may arrive."""


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A row of `api_search_log`; for a later page, the hits to add to the row of the first page."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    mode: str
    query: str | None
    providers: Sequence[str]
    hits: Sequence[int]
    duration_ms: float
    error: str


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row of `api_read_log`."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    endpoint: int | None
    operation: str
    provider: str
    duration_ms: float
    error: str


_TYPES: Final = {
    "at": "timestamptz",
    "providers": "text[]",
    "hits": "bigint[]",
    "duration_ms": "float8",
    "endpoint": "bigint",
}
"""PostgreSQL types of the columns that are not text."""


def _given(record: type[SearchRow | ReadRow]) -> str:
    typed = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in record.__slots__)
    return f"json_to_recordset(cast(:rows as json)) as given ({typed})"


def _insert(table: str, record: type[SearchRow | ReadRow]) -> str:
    columns = ", ".join(record.__slots__)
    return f"insert into {table} (tenant_id, {columns}) select :tenant, {columns} from {_given(record)}"  # noqa: S608 - from the names of our own records


_SAME: Final = """s.owner is not distinct from {0}.owner
             and (s.client = {0}.client or s.client = '' or {0}.client = '')"""
"""The same connection of one user, or the same user if a connection is not known."""

_SEARCHES: Final = text(_insert("api_search_log", SearchRow))
_READS: Final = text(_insert("api_read_log", ReadRow))
_PAGES: Final = text(f"""
    update api_search_log set hits = api_search_log.hits || more.hits
    from (select distinct on (first.id) first.id, given.hits
          from {_given(SearchRow)}
          cross join lateral (
            select s.id from api_search_log s
            where s.tenant_id = :tenant and s.at <= given.at and s.at >= given.at - interval '{MINUTES} minutes'
              and {_SAME.format("given")} and s.query is not distinct from given.query and s.mode = given.mode
            order by s.at desc limit 1) first
          order by first.id, given.at) more
    where api_search_log.tenant_id = :tenant and api_search_log.id = more.id
""")  # noqa: S608 - our own names
_MARK: Final = text(f"""
    update api_search_log set read_rank = best.rank
    from (select s.id, min(array_position(s.hits, r.endpoint)) as rank
          from api_read_log r
          join api_search_log s on s.tenant_id = :tenant and s.at <= r.at
             and s.at >= r.at - interval '{MINUTES} minutes' and {_SAME.format("r")} and r.endpoint = any(s.hits)
          where r.tenant_id = :tenant and r.at >= :since
          group by s.id) best
    where api_search_log.tenant_id = :tenant and api_search_log.id = best.id
      and (api_search_log.read_rank is null or api_search_log.read_rank > best.rank)
""")  # noqa: S608 - our own names
_NO_WAIT: Final = text("select set_config('synchronous_commit', 'off', true)")
"""A crash of the server may lose the last rows, which are not worth waiting for the disk."""


async def write_usage(
    database: Database,
    tenant: Tenant,
    searches: Sequence[SearchRow],
    pages: Sequence[SearchRow],
    reads: Sequence[ReadRow],
) -> None:
    """Write a batch.

    Args:
        database: Where the logs are stored.
        tenant: The owner of the rows; nothing is written for a removed tenant.
        searches: First pages.
        pages: Later pages, at most one for each search.
        reads: Reads of endpoints.
    """
    moments = [row.at for row in (*searches, *pages, *reads)]
    if not moments:
        return
    since = min(moments) - _LATE

    async def write(connection: AsyncConnection) -> None:
        await connection.execute(_NO_WAIT)
        for statement, rows in ((_SEARCHES, searches), (_PAGES, pages), (_READS, reads)):
            if rows:
                await connection.execute(statement, {"tenant": tenant.id, "rows": _json(rows)})
        await connection.execute(_MARK, {"tenant": tenant.id, "since": since})

    with suppress(IntegrityError):  # the tenant was removed
        await run_retrying(database, tenant, write)


def _json(rows: Sequence[SearchRow | ReadRow]) -> str:
    return json.dumps([asdict(row) for row in rows], default=str)
