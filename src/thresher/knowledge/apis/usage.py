"""Counts over the logs of searches and reads, and the queries that missed an operation.

Invariant: nothing is estimated; a metric without data is empty and named in `no_data`.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, InvalidInput, did_you_mean, nearest
from thresher.knowledge.apis.models import EndpointCount, QueryCount, TimeRange, UsageReport
from thresher.knowledge.apis.queries import usage as counts
from thresher.knowledge.apis.usage_log import id_of, number_of
from thresher.openapi import Description, Finding, RuleHit, finding_of
from thresher.search import terms
from thresher.store import Database, age_limit, period_start, purge_rows

Metric: TypeAlias = Literal[
    "searches",
    "reads",
    "top_queries",
    "rising_queries",
    "zero_result_queries",
    "read_rate",
    "endpoints",
    "latency",
    "errors",
    "per_provider",
    "per_day",
]
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
_RANGES: Final[Mapping[str, int]] = {"1d": 1, "7d": 7, "30d": 30, "90d": 90}
_TABLES: Final = ("api_search_log", "api_read_log")
_QUERIES: Final = frozenset({"top_queries", "rising_queries", "zero_result_queries"})
_COMMON: Final = frozenset(
    terms(
        "get list show find search read fetch add create make set update change edit remove delete new all api endpoint"
    )
)
"""Terms that queries share though they are about different things."""
_TOTALS: Final = frozenset({"searches", "reads", "read_rate", "errors", "per_provider", "per_day"})


@dataclass(frozen=True, slots=True)
class MissedQuery:
    """A query that did not show an endpoint among its first results.

    Attributes:
        query: The query, folded.
        count: How often the endpoint was read after it.
        rank: Best position of the endpoint in the results, from 1; 0 if it was not among them.
    """

    query: str
    count: int
    rank: int


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """What was counted; fields that were not requested are empty."""

    basis: counts.Coverage
    searches: Sequence[counts.SearchCell] = ()
    reads: Sequence[counts.ReadCell] = ()
    times: tuple[float | None, float | None] = (None, None)
    queries: Mapping[str, Sequence[counts.QueryTotals]] = field(default_factory=dict[str, Sequence[counts.QueryTotals]])
    endpoints: Sequence[tuple[int, str, str, int]] = ()


async def measure_usage(
    database: Database,
    caller: Caller,
    provider: str = "",
    time_range: TimeRange = "7d",
    metrics: Sequence[str] = (),
) -> UsageReport:
    """Count a period that ends now.

    Args:
        database: Where the logs are stored.
        caller: One user's rows; for a caller without a user, all rows of the tenant.
        provider: Name of the only provider to count; empty for all.
        time_range: `1d`, `7d`, `30d` or `90d`, to the second.
        metrics: The only metrics of `METRICS` to count; empty for all.

    Raises:
        InvalidInput: The range or a metric is not valid.
    """
    length, wanted = _length(time_range), _wanted(metrics)
    since = period_start(length)
    window = counts.Window(caller, provider, since - dt.timedelta(days=length), since)
    async with database.transaction(caller.tenant) as connection:
        counted = await _count(connection, window, wanted)
    return report(provider, time_range, since, wanted, counted)


async def _count(connection: AsyncConnection, window: counts.Window, wanted: frozenset[str]) -> UsageCounts:
    await counts.make_room(connection)
    counted = UsageCounts(await counts.basis(connection, window))
    if wanted & _TOTALS:
        searches = await counts.search_cells(connection, window)
        counted = replace(counted, searches=searches, reads=await counts.read_cells(connection, window))
    if "latency" in wanted:
        counted = replace(counted, times=await counts.times(connection, window))
    if wanted & _QUERIES:
        queries = await counts.queries(connection, window, grown=counted.basis.worded_before)
        counted = replace(counted, queries=queries)
    if "endpoints" in wanted:
        counted = replace(counted, endpoints=await counts.endpoints(connection, window))
    return counted


def report(
    provider: str, time_range: TimeRange, since: dt.datetime, wanted: frozenset[str], counted: UsageCounts
) -> UsageReport:
    """Return the report of some counts; metrics that were not requested stay empty."""
    whole = _totals(UsageReport(provider=provider, time_range=time_range, since=since), counted)
    queries = {
        name: tuple(QueryCount(one.query, one.count, one.before) for one in some)
        for name, some in counted.queries.items()
    }
    whole = replace(
        whole,
        top_queries=queries.get("top", ()),
        rising_queries=queries.get("rising", ()),
        zero_result_queries=tuple(QueryCount(one.query, one.empty) for one in counted.queries.get("empty", ())),
        endpoints=tuple(EndpointCount(id_of(one[0]), *one[1:]) for one in counted.endpoints),
        latency_p50_ms=counted.times[0],
        latency_p95_ms=counted.times[1],
    )
    unwanted = {name: _NOTHING[name] for name in METRICS if name not in wanted and name in _NOTHING}
    return replace(whole, **unwanted, no_data=_missing(whole, wanted, counted.basis))


def _totals(whole: UsageReport, counted: UsageCounts) -> UsageReport:
    """Derive totals, and shares by day, provider and error."""
    answered = [cell for cell in counted.searches if not cell.error]
    read = [cell for cell in counted.reads if not cell.error]
    searches = sum(cell.count for cell in answered)
    failed = [cell for cell in (*counted.searches, *counted.reads) if cell.error]
    errors: Counter[str] = Counter()
    for cell in failed:
        errors[cell.error] += cell.count
    return replace(
        whole,
        searches=searches,
        reads=sum(cell.count for cell in read),
        read_rate=_rate(sum(cell.followed for cell in answered), searches),
        errors=dict(errors.most_common()),
        per_provider=_per_provider(whole.provider, answered, read),
        per_day=_per_day(answered, read, failed),
    )


def _per_provider(
    only: str, answered: Iterable[counts.SearchCell], read: Iterable[counts.ReadCell]
) -> Mapping[str, Mapping[str, float | int | None]]:
    searches: Counter[str] = Counter()
    followed: Counter[str] = Counter()
    reads: Counter[str] = Counter()
    for cell in answered:
        for name in cell.providers:
            searches[name] += cell.count
            followed[name] += cell.followed
    for cell in read:
        reads[cell.provider] += cell.count
    return {
        name: {"searches": searches[name], "reads": reads[name], "read_rate": _rate(followed[name], searches[name])}
        for name in sorted({*searches, *reads} - {""})
        if only in {"", name}
    }


def _per_day(
    answered: Iterable[counts.SearchCell],
    read: Iterable[counts.ReadCell],
    failed: Iterable[counts.SearchCell | counts.ReadCell],
) -> Mapping[str, Mapping[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(lambda: {"searches": 0, "reads": 0, "errors": 0})
    for name, cells in (("searches", answered), ("reads", read), ("errors", failed)):
        for cell in cells:
            found[cell.day][name] += cell.count
    return dict(sorted(found.items()))


_NOTHING: Final[Mapping[str, Any]] = {
    "searches": 0,
    "reads": 0,
    "top_queries": (),
    "rising_queries": (),
    "zero_result_queries": (),
    "read_rate": None,
    "errors": {},
    "per_provider": {},
    "per_day": {},
}
"""Values of metrics that were counted along with others but not requested."""


def _missing(whole: UsageReport, wanted: frozenset[str], basis: counts.Coverage) -> tuple[str, ...]:
    """Return the metrics without data; a count of zero is a value if there was something to count."""
    there: Mapping[Metric, bool] = {
        "searches": basis.rows,
        "reads": basis.rows,
        "errors": basis.rows,
        "top_queries": basis.worded,
        "zero_result_queries": basis.worded,
        "rising_queries": basis.worded and basis.worded_before,
        "read_rate": basis.answered,
        "latency": basis.answered,
        "endpoints": bool(whole.endpoints),
        "per_provider": bool(whole.per_provider),
        "per_day": basis.rows,
    }
    return tuple(name for name in METRICS if name in wanted and not there[name])


async def missed_queries(
    database: Database, caller: Caller, endpoints: Sequence[str] = (), *, days: float = 30, limit: int = 5
) -> Mapping[str, tuple[MissedQuery, ...]]:
    """Return queries that did not show an endpoint among their first three results, although it was read next.

    One whose hits held the endpoint further down counts. One that did not show it counts where it shares a word with
    the endpoint, or with the later query that showed it; or where it found nothing and was the last search before the
    read. Without that, a read says nothing of what was searched before.

    Args:
        database: Where the logs are stored.
        caller: The owner of the rows, as for `measure_usage`.
        endpoints: Ids of the only endpoints to include; empty for all.
        days: Length of the period.
        limit: Maximum queries of one endpoint, the most frequent ones.

    Returns:
        Endpoint id to its queries, the most frequent first, from the newest 20,000 searches that missed.
    """
    wanted = [number for endpoint in endpoints if (number := number_of(endpoint)) is not None]
    since = period_start(days)
    async with database.transaction(caller.tenant) as connection:
        rows = await counts.missed(connection, caller, since, wanted if endpoints else None)
    found: dict[str, list[MissedQuery]] = {}
    for row in rows:
        if not (row.rank or row.last or _share_words(row.query, row.words)):
            continue
        found.setdefault(id_of(row.endpoint), []).append(MissedQuery(row.query, row.count, row.rank))
    return {endpoint: tuple(queries[:limit]) for endpoint, queries in found.items()}


def _share_words(query: str, words: str) -> bool:
    """Whether a query has a word of some others, but for such as any request has."""
    return bool((set(terms(query)) & set(terms(words))) - _COMMON)


async def purge_usage(database: Database, caller: Caller, days: float) -> int:
    """Delete the caller's rows of both logs that are at least this many days old; return their number.

    Raises:
        InvalidInput: The age is negative or too large.
    """
    return await purge_rows(database, caller, _TABLES, age_limit(days))


def _length(time_range: str) -> int:
    if time_range not in _RANGES:
        raise InvalidInput(f"{time_range!r} is not a valid time range.", hint=f"Choose one of {', '.join(_RANGES)}.")
    return _RANGES[time_range]


def _wanted(metrics: Sequence[str]) -> frozenset[str]:
    for name in metrics:
        if name not in METRICS:
            hint = f"{did_you_mean(nearest(name, METRICS))} Choose one of {', '.join(METRICS)}.".strip()
            raise InvalidInput(f"There is no metric {name!r}.", hint=hint)
    return frozenset(metrics or METRICS)


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


RULE: Final = "missed-by-queries"
_SHOWN: Final = 5
_CLIP: Final = 120


def missed_findings(missed: Mapping[str, Sequence[MissedQuery]], description: Description) -> Iterator[Finding]:
    """Yield a finding for each operation that people read although their queries had not shown it near the top.

    Args:
        missed: Key of an operation to its queries, the most frequent first.
        description: The description that contains the operations.
    """
    operations = {operation.key: operation for operation in description.operations}
    for key, queries in missed.items():
        operation = operations.get(key)
        if operation is None or not queries:
            continue
        count = sum(query.count for query in queries)
        message = f"{count} {'search' if count == 1 else 'searches'} did not show it among the first."
        evidence = "; ".join(_evidence(query) for query in queries[:_SHOWN])
        yield finding_of(description, RuleHit(RULE, operation.pointer, message, evidence, key))


def _evidence(query: MissedQuery) -> str:
    text = query.query if len(query.query) <= _CLIP else query.query[: _CLIP - 1] + "…"
    place = f"place {query.rank}" if query.rank else "not found"
    return f"{text!r} ({query.count}x, {place})"
