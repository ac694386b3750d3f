"""The logs of discoveries and calls.

Invariant: a batch of both goes in with one statement, in one round trip, and waits for no disk.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psycopg.errors import ForeignKeyViolation

from thresher.core import Tenant
from thresher.store import Database


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
    "clauses": "int",
    "searched": "int",
    "chosen": "bigint[]",
    "scores": "float8[]",
    "abstained": "boolean",
    "duration_ms": "float8",
    "embedding_ms": "float8",
    "tool_id": "bigint",
    "rank": "int",
}
"""PostgreSQL's types of the columns that are not text."""


def _insert(table: str, record: type[Discovery | Invocation]) -> str:
    columns = ", ".join(record.__slots__)
    typed = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in record.__slots__)
    return f"""
        insert into {table} (tenant_id, {columns})
        select %(tenant)s, {columns} from json_to_recordset(%({table})s::json) as given ({typed})"""  # noqa: S608 - from the names of our own records


# Both logs as JSON, for a batch in which every row has lists of its own. Log rows are not worth a wait for the disk;
# after a crash of the server the last ones may be missing.
_WRITE: Final = f"""
    with discoveries as ({_insert("discovery", Discovery)}), invocations as ({_insert("invocation", Invocation)})
    select set_config('synchronous_commit', 'off', true),
           (select version from collection where tenant_id = %(tenant)s and kind = 'catalogue')""".encode()  # noqa: S608 - from the names of our own records


async def write_logs(
    database: Database, tenant: Tenant, discoveries: Sequence[Discovery], invocations: Sequence[Invocation]
) -> int | None:
    """Write rows of both logs; returns the catalogue's version, or None when the tenant is gone."""
    values = {"tenant": tenant.id, "discovery": _rows(discoveries), "invocation": _rows(invocations)}
    try:
        rows = await database.once(tenant, lambda driver: driver.execute(_WRITE, values, prepare=True))
    except ForeignKeyViolation:
        return None
    return rows[0][1] or 0


def _rows(records: Sequence[Discovery | Invocation]) -> str:
    return json.dumps([{name: getattr(record, name) for name in record.__slots__} for record in records], default=str)
