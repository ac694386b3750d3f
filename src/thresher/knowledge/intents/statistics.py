"""What the log of decisions says of a period: what people ask for, and where the router may be wrong.

Invariant: counts are of one tenant; a share is None where there was nothing to count.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thresher.core import Caller
from thresher.knowledge.intents.queries.statistics import (
    DecisionCounts,
    IntentCount,
    SignalCount,
    UnsureMessage,
    decision_counts,
    intent_counts,
    signal_counts,
    unsure_messages,
)
from thresher.store import Database, age_limit, period_start, purge_rows


@dataclass(frozen=True, slots=True)
class IntentStatistics:
    """The figures of a period.

    Attributes:
        since: Its beginning; it ends now.
        decisions: Messages that were routed.
        pass_through_rate: Those that no intent fitted; null without any, as all shares and times below.
        unsure_share: Those decided with low confidence.
        clarified_share: Those for which a question was suggested.
        degraded_share: Those decided with less than the whole router.
        cached_share: Those that had been decided before.
        several_share: Those that needed the rules of more than one intent.
        bases: How many rested on `head`, `prototype` or `words`.
        latency_p50_ms: Half of them took at most this long.
        latency_p95_ms: 95 in 100 of them.
        latency_p99_ms: 99 in 100 of them.
        embedding_p50_ms: Time in the encoder, of those that were not cached.
        intents: How often each intent matched, the commonest first.
        unused: Intents in use that nothing matched, by name.
        unsure: Messages of low confidence, the commonest first.
        wrong_tool_rate: Decisions after which a tool of another pack was called next.
        signals: What calls said of decisions, the commonest first.
        lost_rows: Log rows that the running process had to give up, since the database did not take them.
    """

    since: dt.datetime
    decisions: int
    pass_through_rate: float | None
    unsure_share: float | None
    clarified_share: float | None
    degraded_share: float | None
    cached_share: float | None
    several_share: float | None
    bases: Mapping[str, int]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    embedding_p50_ms: float | None
    intents: Sequence[IntentCount]
    unused: Sequence[str]
    unsure: Sequence[UnsureMessage]
    wrong_tool_rate: float | None
    signals: Sequence[SignalCount]
    lost_rows: int


async def measure(
    database: Database, caller: Caller, active: Sequence[str], days: float, lost_rows: int
) -> IntentStatistics:
    """Count a period that ends now.

    Args:
        database: Where the log is.
        caller: Whose rows: the tenant's, or those of one user in it.
        active: The intents of today.
        days: Its length.
        lost_rows: What the running process could not log.

    Raises:
        InvalidInput: The length is out of bounds.
    """
    start = period_start(days)
    async with database.transaction(caller.tenant) as connection:
        counts = await decision_counts(connection, caller, start)
        intents = await intent_counts(connection, caller, start)
        unsure = await unsure_messages(connection, caller, start)
        signals = await signal_counts(connection, caller, start)
    return statistics(start, active, counts, intents, unsure, signals, lost_rows)


def statistics(
    since: dt.datetime,
    active: Sequence[str],
    counts: DecisionCounts,
    intents: Sequence[IntentCount],
    unsure: Sequence[UnsureMessage],
    signals: Sequence[SignalCount],
    lost_rows: int,
) -> IntentStatistics:
    """Put the counts together."""
    matched = {count.intent for count in intents}
    wrong = sum(signal.count for signal in signals if signal.kind != "unread")
    return IntentStatistics(
        since=since,
        decisions=counts.total,
        pass_through_rate=_share(counts.passed, counts.total),
        unsure_share=_share(counts.unsure, counts.total),
        clarified_share=_share(counts.clarified, counts.total),
        degraded_share=_share(counts.degraded, counts.total),
        cached_share=_share(counts.cached, counts.total),
        several_share=_share(counts.several, counts.total),
        bases={"head": counts.head, "prototype": counts.prototype, "words": counts.words},
        latency_p50_ms=counts.p50_ms,
        latency_p95_ms=counts.p95_ms,
        latency_p99_ms=counts.p99_ms,
        embedding_p50_ms=counts.embedding_p50_ms,
        intents=intents,
        unused=sorted(name for name in active if name not in matched),
        unsure=unsure,
        wrong_tool_rate=_share(wrong, counts.total),
        signals=signals,
        lost_rows=lost_rows,
    )


async def purge(database: Database, caller: Caller, days: float) -> int:
    """Remove the caller's rows that are at least so many days old; returns how many.

    Raises:
        InvalidInput: The age is negative, or out of this world.
    """
    return await purge_rows(database, caller, ("decision", "intent_signal"), age_limit(days))


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
