"""Usage of API descriptions: what is logged, and what the logs then report."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import insert

from thresher.core import ASSISTANT, Caller, InvalidInput, Settings, Tenant, Why
from thresher.knowledge.apis.models import FoundEndpoint, FoundEndpoints
from thresher.knowledge.apis.usage import METRICS, measure_usage, missed_queries, purge_usage
from thresher.knowledge.apis.usage_log import UsageLog, folded, id_of, number_of
from thresher.store import Database
from thresher.store.tables.apis import api_operation, api_provider, api_version


@pytest.fixture
def caller(tenant: Tenant) -> Caller:
    """The owner of a fresh tenant, who sees all of it."""
    return Caller(tenant)


@pytest.fixture
def log(database: Database, settings: Settings) -> UsageLog:
    """A log of this process."""
    return UsageLog(database, settings)


def endpoint(number: int, provider: str = "jira") -> FoundEndpoint:
    """An endpoint as a search returns it."""
    return FoundEndpoint(
        id=id_of(number),
        title="",
        description="",
        provider=provider,
        version="v3",
        method="GET",
        path=f"/things/{number}",
        operation_id="",
        tags=(),
        deprecated=False,
        relevance=1.0,
        why=Why("hybrid"),
    )


def found(*numbers: int, provider: str = "jira", **more: Any) -> FoundEndpoints:
    """An answer with these endpoints."""
    return FoundEndpoints("", "search", tuple(endpoint(number, provider) for number in numbers), **more)


def search(log: UsageLog, caller: Caller, query: str, *numbers: int, ms: float = 10.0) -> None:
    """Log a search that found these endpoints."""
    log.searched(caller, query, found(*numbers), duration_ms=ms)


def read(log: UsageLog, caller: Caller, number: int, provider: str = "jira") -> None:
    """Log a read of an endpoint."""
    log.read(caller, endpoint(number, provider), duration_ms=1.0)


async def age(database: Database, caller: Caller, by: str, where: str = "true") -> None:
    """Make rows of both logs older."""
    async with database.transaction(caller.tenant) as connection:
        for table in ("api_search_log", "api_read_log"):
            condition = where if table == "api_search_log" else "true"
            await connection.exec_driver_sql(f"update {table} set at = at - interval '{by}' where {condition}")


async def add_operation(database: Database, caller: Caller, number: int) -> None:
    """Have the operation that an endpoint stands for in a description, from now on."""
    tenant = {"tenant_id": caller.tenant.id}
    async with database.transaction(caller.tenant) as connection:
        provider = insert(api_provider).values(**tenant, name="jira", display_name="Jira").returning(api_provider.c.id)
        version = insert(api_version).values(
            **tenant, provider_id=(await connection.execute(provider)).scalar_one(), label="v3", source="jira.json"
        )
        of = (await connection.execute(version.returning(api_version.c.id))).scalar_one()
        row = {"endpoint": id_of(number), "method": "GET", "path": "/issues/{key}/watchers", "ordinal": 0, "digest": ""}
        await connection.execute(insert(api_operation).values(**tenant, version_id=of, **row))


def counted(queries: Sequence[Any]) -> list[tuple[str, int]]:
    """Queries with their counts."""
    return [(one.query, one.count) for one in queries]


async def test_empty_logs_name_every_metric_as_without_data(database: Database, caller: Caller) -> None:
    """Nothing is invented: no figure, no query, no time."""
    report = await measure_usage(database, caller)

    assert report.no_data == METRICS
    assert (report.searches, report.reads, report.read_rate, report.latency_p50_ms) == (0, 0, None, None)
    assert not report.top_queries
    assert not report.per_day


async def test_a_report_counts_searches_reads_and_what_was_asked(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """Case, white space and trailing punctuation of queries are ignored."""
    search(log, caller, "Add a watcher?", 1, 2)
    search(log, caller, "add  a watcher", 1, 2)
    search(log, caller, "delete a board", 3)
    search(log, caller, "make coffee")
    read(log, caller, 2)
    await log.settle()

    report = await measure_usage(database, caller)

    assert (report.searches, report.reads) == (4, 1)
    assert counted(report.top_queries) == [("add a watcher", 2), ("delete a board", 1), ("make coffee", 1)]
    assert counted(report.zero_result_queries) == [("make coffee", 1)]
    assert report.read_rate == 0.5
    assert [(one.endpoint, one.operation, one.count) for one in report.endpoints] == [(id_of(2), "GET /things/2", 1)]
    assert list(report.per_day.values()) == [{"searches": 4, "reads": 1, "errors": 0}]
    assert dt.date.fromisoformat(next(iter(report.per_day))) >= report.since.date()
    assert report.no_data == ("rising_queries",)


async def test_times_are_those_that_half_and_nearly_all_searches_took(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """Of twenty searches the tenth and the nineteenth, to a tenth of a millisecond."""
    for number in range(1, 21):
        search(log, caller, f"q{number}", 1, ms=number)
    await log.settle()

    report = await measure_usage(database, caller, metrics=["latency"])

    assert (report.latency_p50_ms, report.latency_p95_ms) == (10.0, 19.0)
    assert (report.searches, report.top_queries, report.no_data) == (0, (), ())


@pytest.mark.parametrize(
    ("reader", "minutes", "number", "followed"),
    [
        (("ann", "s1"), 0, 1, True),
        (("ann", ""), 0, 1, True),
        (("ann", "s2"), 0, 1, False),
        (("bob", "s1"), 0, 1, False),
        (("ann", "s1"), 31, 1, False),
        (("ann", "s1"), 0, 9, False),
    ],
    ids=["the same", "session unknown", "another session", "another user", "too late", "not a hit"],
)
async def test_a_search_counts_as_followed_by_a_read_of_its_own_hit(
    database: Database,
    caller: Caller,
    log: UsageLog,
    reader: tuple[str, str],
    minutes: int,
    number: int,
    followed: bool,
) -> None:
    """The same user, the same session if both are known, and within half an hour."""
    search(log, Caller(caller.tenant, "ann", "s1"), "watchers", 1, 2)
    await log.settle()
    await age(database, caller, f"{minutes} minutes")

    read(log, Caller(caller.tenant, *reader), number)
    await log.settle()

    assert (await measure_usage(database, caller)).read_rate == (1.0 if followed else 0.0)


async def test_a_hit_of_a_later_page_belongs_to_the_search(database: Database, caller: Caller, log: UsageLog) -> None:
    """Pages are one search, whether they are written together or not."""
    search(log, caller, "boards", 1, 2)
    await log.settle()
    for page in ((3, 4), (5,)):
        log.searched(caller, "boards", found(*page), duration_ms=1.0, continued=True)
    read(log, caller, 5)
    await log.settle()

    report = await measure_usage(database, caller)

    assert (report.searches, report.read_rate) == (1, 1.0)


async def test_rising_queries_are_those_asked_more_often_than_before(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """Compared with the preceding period of the same length."""
    for query in ("old", "old", "old", "same"):
        search(log, caller, query, 1)
    await log.settle()
    await age(database, caller, "8 days")
    for query in ("new", "new", "same", "old"):
        search(log, caller, query, 1)
    await log.settle()

    report = await measure_usage(database, caller)

    assert [(one.query, one.count, one.before) for one in report.rising_queries] == [("new", 2, 0)]
    assert [(one.query, one.before) for one in report.top_queries] == [("new", 0), ("old", 3), ("same", 1)]


async def test_failures_are_counted_by_their_code_and_as_nothing_else(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """A failed search was not answered, so it is not a search without results."""
    log.searched(caller, "x", None, duration_ms=1.0, error="not_found", providers=["jira"])
    log.read(caller, None, duration_ms=1.0, error="not_found", provider="jira")
    log.read(caller, None, duration_ms=1.0, error="invalid_input")
    await log.settle()

    report = await measure_usage(database, caller)

    assert report.errors == {"not_found": 2, "invalid_input": 1}
    assert (report.searches, report.reads, report.zero_result_queries) == (0, 0, ())
    assert "errors" not in report.no_data
    assert {"read_rate", "latency", "top_queries"} <= set(report.no_data)


async def test_one_provider_can_be_counted_by_itself(database: Database, caller: Caller, log: UsageLog) -> None:
    """A search is about the providers that it was restricted to, or else those of its hits."""
    log.searched(caller, "pods", found(1, provider="kubernetes"), duration_ms=1.0)
    log.searched(caller, "boards", found(2, providers=("jira",)), duration_ms=1.0)
    log.searched(caller, "nothing", found(providers=("jira", "kubernetes")), duration_ms=1.0)
    read(log, caller, 1, "kubernetes")
    await log.settle()

    whole, one = await measure_usage(database, caller), await measure_usage(database, caller, "kubernetes")

    assert whole.per_provider == {
        "jira": {"searches": 2, "reads": 0, "read_rate": 0.0},
        "kubernetes": {"searches": 2, "reads": 1, "read_rate": 0.5},
    }
    assert counted(one.top_queries) == [("nothing", 1), ("pods", 1)]
    assert list(one.per_provider) == ["kubernetes"]
    assert (await measure_usage(database, caller, "datadog")).no_data == METRICS


async def test_a_user_sees_only_their_own_usage_and_the_tenant_sees_all(
    database: Database, caller: Caller, other_tenant: Tenant, log: UsageLog
) -> None:
    """Text that one person searched for is not shown to another."""
    ann, bob = Caller(caller.tenant, "ann"), Caller(caller.tenant, "bob")
    search(log, ann, "secret plan", 1)
    search(log, bob, "lunch", 1)
    await log.settle()

    seen = {who: await measure_usage(database, who) for who in (caller, ann, bob)}

    assert counted(seen[ann].top_queries) == [("secret plan", 1)]
    assert counted(seen[bob].top_queries) == [("lunch", 1)]
    assert seen[caller].searches == 2
    assert (await measure_usage(database, Caller(other_tenant))).no_data == METRICS
    assert await purge_usage(database, bob, 0) == 1
    assert (await measure_usage(database, caller)).searches == 1


async def test_queries_that_missed_an_endpoint_come_with_its_rank(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """Read from the fourth place, or shown by other words for the same; a hit among the first is no miss.

    What was searched before and has no word in common with that is about something else.
    """
    for _ in range(2):
        search(log, caller, "observers", 1, 2, 3, 4)
        read(log, caller, 4)
        await log.settle()
        await age(database, caller, "1 hour")
    search(log, caller, "list purple llamas", 1, 2)
    search(log, caller, "list ticket followers", 1, 2)
    search(log, caller, "list watchers of a ticket", 4, 5)
    read(log, caller, 4)
    await log.settle()

    missed = await missed_queries(database, caller)

    assert set(missed) == {id_of(4)}
    assert [(one.query, one.count, one.rank) for one in missed[id_of(4)]] == [
        ("observers", 2, 4),
        ("list ticket followers", 1, 0),
    ]
    assert await missed_queries(database, caller, [id_of(1)]) == {}


async def test_a_search_that_was_not_for_an_api_does_not_count_for_it(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """Kept to another, of the assistant, which asks every kind of source, or without a word in common with it.

    But the last search before the read counts whatever its words are, if it found nothing.
    """
    await add_operation(database, caller, 4)
    log.searched(caller, "popular movies", found(providers=("tmdb",)), duration_ms=1.0)
    log.searched(caller, "cast of a film", found(7, provider="tmdb"), duration_ms=1.0)
    assistant = replace(caller, client=f"{ASSISTANT}1")
    log.searched(assistant, "the time in tokyo", found(8), duration_ms=1.0)
    search(log, caller, "quux zebra telescopes")
    search(log, caller, "list watchers", 9)
    search(log, caller, "latest movie trailers", 8, 9)
    search(log, caller, "subscribers")
    read(log, caller, 4)
    await log.settle()

    missed = await missed_queries(database, caller)

    assert [one.query for one in missed[id_of(4)]] == ["list watchers", "subscribers"]


async def test_a_search_from_before_an_operation_was_there_does_not_count_for_it(
    database: Database, caller: Caller, log: UsageLog
) -> None:
    """Nothing could have been found."""
    search(log, caller, "followers and watchers")
    await log.settle()
    await add_operation(database, caller, 4)
    search(log, caller, "watchers of issues")
    read(log, caller, 4)
    await log.settle()

    missed = await missed_queries(database, caller)

    assert [one.query for one in missed[id_of(4)]] == ["watchers of issues"]


async def test_text_is_logged_without_secrets_or_not_at_all(
    database: Database, caller: Caller, settings: Settings
) -> None:
    """Counting goes on without them and reports that there is no text."""
    quiet = UsageLog(database, settings.model_copy(update={"api_queries": "off"}))
    search(quiet, caller, "boards", 1)
    await quiet.settle()

    report = await measure_usage(database, caller)

    assert (report.searches, report.top_queries) == (1, ())
    assert {"top_queries", "zero_result_queries"} <= set(report.no_data)
    assert "hunter2" not in folded("why is password=hunter2 refused?")
    assert len(folded("word " * 10_000)) == 300


async def test_a_wrong_range_or_metric_is_refused_with_the_valid_ones(database: Database, caller: Caller) -> None:
    """The error lists the valid ones."""
    with pytest.raises(InvalidInput, match="1d, 7d, 30d, 90d"):
        await measure_usage(database, caller, time_range="2w")  # pyright: ignore[reportArgumentType] - a wrong one
    with pytest.raises(InvalidInput, match="Did you mean 'top_queries'"):
        await measure_usage(database, caller, metrics=["top_querys"])


def test_ids_and_logged_numbers_convert_into_each_other() -> None:
    """An invalid id has no number."""
    assert id_of(number_of("op_00ffa0123456") or 0) == "op_00ffa0123456"
    assert number_of("nonsense") is None
