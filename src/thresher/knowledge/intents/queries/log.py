"""The log of decisions, signals of calls about them, and the rules that were given.

Invariant: a batch of all three is written with one statement, in one round trip, without waiting for the disk.
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
class DecisionRow:
    """A row of `decision`; `message_hash` in hex."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    message_hash: str
    message: str | None
    intents: Sequence[str]
    scores: Sequence[float]
    matched: int
    confidence: float
    margin: float
    unsure: bool
    clarified: bool
    basis: str
    degraded: str
    cached: bool
    clauses: int
    duration_ms: float
    embedding_ms: float


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A row of `intent_signal`."""

    at: dt.datetime
    owner: str | None
    client: str
    trace_id: str
    kind: str
    decided: Sequence[str]
    pack: str
    tool: str


@dataclass(frozen=True, slots=True)
class RulesGivenRow:
    """A row of `rules_given`."""

    at: dt.datetime
    owner: str | None
    client: str
    project: str
    intent: str


_TYPES: Final = {
    "at": "timestamptz",
    "intents": "text[]",
    "scores": "float8[]",
    "decided": "text[]",
    "matched": "int",
    "clauses": "int",
    "unsure": "boolean",
    "clarified": "boolean",
    "cached": "boolean",
    "confidence": "float8",
    "margin": "float8",
    "duration_ms": "float8",
    "embedding_ms": "float8",
}
"""PostgreSQL's types of the columns that are not text."""


def _insert(table: str, record: type[DecisionRow | SignalRow | RulesGivenRow]) -> str:
    columns = ", ".join(record.__slots__)
    values = ", ".join("decode(message_hash, 'hex')" if name == "message_hash" else name for name in record.__slots__)
    typed = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in record.__slots__)
    return f"""
        insert into {table} (tenant_id, {columns})
        select %(tenant)s, {values} from json_to_recordset(%({table})s::json) as given ({typed})"""  # noqa: S608 - from the names of our own records


# As JSON, for a batch in which every row has lists of its own. Log rows are not worth a wait for the disk; after a
# crash of the server the last ones may be missing.
_WRITE: Final = f"""
    with decisions as ({_insert("decision", DecisionRow)}), signals as ({_insert("intent_signal", SignalRow)}),
         given as ({_insert("rules_given", RulesGivenRow)}
                   on conflict (tenant_id, owner, client, project, intent) do update set at = excluded.at)
    select set_config('synchronous_commit', 'off', true),
           (select version from collection where tenant_id = %(tenant)s and kind = 'intents')""".encode()  # noqa: S608 - from the names of our own records


async def write_log(
    database: Database,
    tenant: Tenant,
    decisions: Sequence[DecisionRow],
    signals: Sequence[SignalRow],
    given: Sequence[RulesGivenRow],
) -> int | None:
    """Write rows of all three; returns the version of thresholds and approvals, or None if the tenant is gone."""
    newest = {
        (row.owner, row.client, row.project, row.intent): row for row in given
    }  # a row may be written once in a statement
    values = {
        "tenant": tenant.id,
        "decision": _rows(decisions),
        "intent_signal": _rows(signals),
        "rules_given": _rows(list(newest.values())),
    }
    try:
        rows = await database.once(tenant, lambda driver: driver.execute(_WRITE, values, prepare=True))
    except ForeignKeyViolation:
        return None
    return rows[0][1] or 0


def _rows(records: Sequence[DecisionRow | SignalRow | RulesGivenRow]) -> str:
    return json.dumps([{name: getattr(record, name) for name in record.__slots__} for record in records], default=str)
