"""What the logs say of a period: how fast tools are found, how often that failed, and whether the choice was right.

Invariant: counts are of one tenant; a share is None where there was nothing to count.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from thresher.core import Caller
from thresher.knowledge.tools.catalogue import Catalogue, NamedTool
from thresher.knowledge.tools.queries.statistics import (
    CallCounts,
    DiscoveryCounts,
    call_counts,
    chosen_counts,
    discovery_counts,
)
from thresher.store import Database, period_start

_MOST_CHOSEN = 20


@dataclass(frozen=True, slots=True)
class Counted:
    """A tool and how often."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a period.

    Attributes:
        since: Its beginning; it ends now.
        discoveries: Answers of `find_tools`.
        shadow: Those whose choice was only recorded.
        latency_p50_ms: Half of them took at most this long; null without any, as all shares and times below.
        latency_p95_ms: 95 in 100 of them.
        latency_p99_ms: 99 in 100 of them.
        embedding_p50_ms: Time in the encoder, of those that used it.
        embedded_share: Those that searched by meaning too.
        fallback_rate: Those that could not search, and gave the first tools.
        abstained_share: Those that found nothing likely enough.
        degraded_share: Those that worked with less than both arms, fallbacks among them.
        sources: How many were answered by which arm.
        calls: Calls of upstream tools.
        error_rate: Those that neither succeeded nor were cancelled.
        asked_calls: Those of clients that had asked for tools before.
        chosen_share: Of these, those whose tool was among the last chosen.
        shadow_chosen_share: The same of calls where the choice was only recorded.
        mean_rank: The place of the called tool among the chosen, from 1, on average.
        tools: Enabled tools now.
        never_chosen: Those of them that no discovery chose, by name.
        most_chosen: The tools chosen most often.
        called_unchosen: Tools that were called and that no discovery chose, most calls first.
        lost_rows: Log rows that the running process had to give up, since the database did not take them.
    """

    since: dt.datetime
    discoveries: int
    shadow: int
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    embedding_p50_ms: float | None
    embedded_share: float | None
    fallback_rate: float | None
    abstained_share: float | None
    degraded_share: float | None
    sources: Mapping[str, int]
    calls: int
    error_rate: float | None
    asked_calls: int
    chosen_share: float | None
    shadow_chosen_share: float | None
    mean_rank: float | None
    tools: int
    never_chosen: Sequence[str]
    most_chosen: Sequence[Counted]
    called_unchosen: Sequence[Counted]
    lost_rows: int


async def measure(database: Database, caller: Caller, catalogue: Catalogue, days: float, lost_rows: int) -> Statistics:
    """Count a period that ends now.

    Args:
        database: Where the logs are.
        caller: Whose rows: the tenant's, or those of one user in it.
        catalogue: The tools of today.
        days: Its length.
        lost_rows: What the running process could not log.

    Raises:
        InvalidInput: The length is out of bounds.
    """
    start = period_start(days)
    async with database.transaction(caller.tenant) as connection:
        found = await discovery_counts(connection, caller, start)
        chosen = await chosen_counts(connection, caller, start)
        calls = await call_counts(connection, caller, start)
    return statistics(start, catalogue, found, chosen, calls, lost_rows)


def statistics(
    since: dt.datetime,
    catalogue: Catalogue,
    found: DiscoveryCounts,
    chosen: Mapping[int, int],
    calls: Sequence[CallCounts],
    lost_rows: int,
) -> Statistics:
    """Put the counts together."""
    offered = _offered(catalogue, chosen)
    called, asked = sum(tool.calls for tool in calls), sum(tool.asked for tool in calls)
    met = sum(tool.chosen for tool in calls)
    return Statistics(
        since=since,
        discoveries=found.total,
        shadow=found.shadow,
        latency_p50_ms=found.p50_ms,
        latency_p95_ms=found.p95_ms,
        latency_p99_ms=found.p99_ms,
        embedding_p50_ms=found.embedding_p50_ms,
        embedded_share=_share(found.embedded, found.total),
        fallback_rate=_share(found.fallback, found.total),
        abstained_share=_share(found.abstained, found.total),
        degraded_share=_share(found.degraded, found.total),
        sources={name: getattr(found, name) for name in _SOURCES},
        calls=called,
        error_rate=_share(sum(tool.errors for tool in calls), called),
        asked_calls=asked,
        chosen_share=_share(met, asked),
        shadow_chosen_share=_share(sum(tool.shadow_chosen for tool in calls), sum(tool.shadow_asked for tool in calls)),
        mean_rank=_share(sum(tool.ranks for tool in calls), met),
        tools=len(catalogue.by_id),
        never_chosen=sorted(tool.name for tool in catalogue.by_id.values() if _definition(tool) not in offered),
        most_chosen=_most_chosen(catalogue, chosen),
        called_unchosen=_called_unchosen(catalogue, calls, offered),
        lost_rows=lost_rows,
    )


_SOURCES = ("semantic", "lexical", "hybrid", "core", "fallback", "none")


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


def _definition(tool: NamedTool) -> tuple[str, bytes]:
    """What exact duplicates on several servers share: an answer shows one of them and names the others."""
    return tool.row.name, tool.row.digest


def _offered(catalogue: Catalogue, chosen: Iterable[int]) -> set[tuple[str, bytes]]:
    ids = set(chosen)
    return {_definition(tool) for tool in catalogue.tools if tool.row.id in ids}


def _most_chosen(catalogue: Catalogue, chosen: Mapping[int, int]) -> list[Counted]:
    named = [(tool.name, chosen[tool.row.id]) for tool in catalogue.tools if tool.row.id in chosen]
    return list(starmap(Counted, sorted(named, key=lambda entry: (-entry[1], entry[0]))[:_MOST_CHOSEN]))


def _called_unchosen(
    catalogue: Catalogue, calls: Iterable[CallCounts], offered: set[tuple[str, bytes]]
) -> list[Counted]:
    known = {tool.row.id: tool for tool in catalogue.tools}
    missed = [
        Counted(known[call.tool_id].name, call.calls)
        for call in calls
        if call.tool_id in known and _definition(known[call.tool_id]) not in offered
    ]
    return sorted(missed, key=lambda entry: (-entry.count, entry.name))
