"""Counts over the log of decisions.

Invariant: each statement reads a period of one tenant, by the index on tenant and time if the period is the smaller
part; a caller with a user sees only that user's rows. Rows of the assistant count nowhere.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import ASSISTANT, Caller
from thresher.store import period

_MOST: Final = 20


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Decisions of a period, in total and by outcome; the times are null without any."""

    total: int
    passed: int
    unsure: int
    clarified: int
    degraded: int
    cached: int
    several: int
    head: int
    prototype: int
    words: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    embedding_p50_ms: float | None


@dataclass(frozen=True, slots=True)
class IntentCount:
    """How often an intent matched, and its mean score."""

    intent: str
    count: int
    mean_score: float


@dataclass(frozen=True, slots=True)
class UnsureMessage:
    """A message whose decisions were of low confidence.

    Attributes:
        message_hash: Its keyed hash, in hex: equal for equal messages of one tenant.
        message: Its text, if texts are logged.
        count: How often it came.
        confidence: The least confidence.
        intents: The best intents of the last time, matched or not.
    """

    message_hash: str
    message: str | None
    count: int
    confidence: float
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignalCount:
    """How often calls contradicted decisions.

    Attributes:
        kind: `other`: a tool of another pack was called next; `missed`: the message had passed through; `unread`: the
            session had not been given the pack's rules, and got them instead of the call.
        decided: The intents that had been decided.
        pack: The called tool's pack.
        count: How often.
    """

    kind: str
    decided: tuple[str, ...]
    pack: str
    count: int


_PERIOD: Final = (
    "tenant_id = :tenant and at >= :since and (cast(:owner as text) is null or owner = :owner)"
    f" and client not like '{ASSISTANT}%'"
)
"""The assistant's decisions for `ask` are not choices of a client: it searches everywhere for every question."""

_DECISIONS: Final = text(f"""
    select total, passed, unsure, clarified, degraded, cached, several, head, prototype, words,
           times[1] as p50_ms, times[2] as p95_ms, times[3] as p99_ms, embedding_p50_ms
    from (select count(*) as total,
                 count(*) filter (where matched = 0) as passed,
                 count(*) filter (where unsure) as unsure,
                 count(*) filter (where clarified) as clarified,
                 count(*) filter (where degraded <> '') as degraded,
                 count(*) filter (where cached) as cached,
                 count(*) filter (where matched > 1) as several,
                 count(*) filter (where basis = 'head') as head,
                 count(*) filter (where basis = 'prototype') as prototype,
                 count(*) filter (where basis = 'words') as words,
                 percentile_cont(array[0.5, 0.95, 0.99]) within group (order by duration_ms) as times,
                 percentile_cont(0.5) within group (order by embedding_ms) filter (where not cached)
                   as embedding_p50_ms
          from decision where {_PERIOD}) counted
""")  # noqa: S608 - all values are bound

_INTENTS: Final = text(f"""
    select intent, count(*), avg(score)
    from (select unnest(intents[1:matched]) as intent, unnest(scores[1:matched]) as score
          from decision where {_PERIOD} and matched > 0) one
    group by intent order by count(*) desc, intent
""")  # noqa: S608 - all values are bound

_UNSURE: Final = text(f"""
    select encode(message_hash, 'hex'), (array_agg(message order by at desc))[1], count(*), min(confidence),
           (array_agg(array_to_string(intents, ' ') order by at desc))[1]
    from decision where {_PERIOD} and (unsure or clarified)
    group by message_hash order by count(*) desc, min(confidence), message_hash limit {_MOST}
""")  # noqa: S608 - all values are bound

_SIGNALS: Final = text(f"""
    select kind, array_to_string(decided, ' '), pack, count(*)
    from intent_signal where {_PERIOD} group by kind, decided, pack
    order by count(*) desc, kind, decided, pack
""")  # noqa: S608 - all values are bound


async def decision_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> DecisionCounts:
    """Count decisions since a moment."""
    row = (await connection.execute(_DECISIONS, period(caller, since))).one()
    return DecisionCounts(**row._mapping)  # pyright: ignore[reportPrivateUsage] - the library's documented name


async def intent_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> list[IntentCount]:
    """Count how often each intent matched since a moment, the most frequent first."""
    return [IntentCount(*row) for row in await connection.execute(_INTENTS, period(caller, since))]


async def unsure_messages(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> list[UnsureMessage]:
    """Return messages of low confidence since a moment, the most frequent first."""
    rows = await connection.execute(_UNSURE, period(caller, since))
    return [UnsureMessage(row[0], row[1], row[2], row[3], tuple(row[4].split())) for row in rows]


async def signal_counts(connection: AsyncConnection, caller: Caller, since: dt.datetime) -> list[SignalCount]:
    """Count signals of calls since a moment, the most frequent first."""
    rows = await connection.execute(_SIGNALS, period(caller, since))
    return [SignalCount(row[0], tuple(row[1].split()), row[2], row[3]) for row in rows]
