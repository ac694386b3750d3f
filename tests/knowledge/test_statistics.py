"""What `tools stats` counts, and what a purge removes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.support.product import CATALOGUE, opened
from thresher.core import ASSISTANT, Caller, InvalidInput, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import ToolService, purge_logs
from thresher.knowledge.tools.log import prune
from thresher.services import Services
from thresher.store import Database

HISTORY = "show commit history"

_DISCOVERIES = """
    insert into discovery (tenant_id, at, owner, trace_id, source, clauses, searched, chosen, scores, abstained,
                           duration_ms, embedding_ms)
    select %(tenant)s, now() - %(days)s * interval '1 day', %(owner)s, 't', 'hybrid', 1, 8, '{}', '{}', false, 1, 1
    from generate_series(1, %(count)s)"""
_CALLS = """
    insert into invocation (tenant_id, at, owner, trace_id, name, state, duration_ms)
    select %(tenant)s, now() - %(days)s * interval '1 day', %(owner)s, 't', 'x', 'ok', 1
    from generate_series(1, %(count)s)"""


async def insert(database: Database, tenant: Tenant, *, days: int, count: int = 1, owner: str | None = None) -> None:
    """Rows of both logs of a certain age."""
    async with database.transaction(tenant) as connection:
        values = {"tenant": tenant.id, "days": days, "count": count, "owner": owner}
        for statement in (_DISCOVERIES, _CALLS):
            await connection.exec_driver_sql(statement, values)


async def counted(database: Database, tenant: Tenant) -> tuple[int, int]:
    """The number of rows in each log."""
    async with database.transaction(tenant) as connection:
        found = await connection.exec_driver_sql(
            "select (select count(*) from discovery), (select count(*) from invocation)"
        )
        return tuple(found.one())


def called(tools: ToolService, caller: Caller, name: str, tool_id: int, state: str = "ok") -> None:
    """Log a call."""
    tools.calls.add(caller, name=name, tool_id=tool_id, state=state, duration_ms=1.0, trace_id="t")


async def ids(services: Services) -> dict[str, int]:
    """The tools' rows by exposed name."""
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql(
            "select server.name || '_' || tool.name, tool.id from tool join server on server.id = tool.server_id"
        )
        return {row[0]: row[1] for row in found}


async def test_without_any_rows_there_is_nothing_to_divide(services: Services) -> None:
    """Shares and times are absent, not zero."""
    await services.tools.import_tools(services.caller, CATALOGUE)

    found = await services.tools.stats(services.caller)

    assert (found.discoveries, found.calls, found.tools) == (0, 0, len(CATALOGUE))
    assert {found.latency_p50_ms, found.fallback_rate, found.error_rate, found.chosen_share, found.mean_rank} == {None}
    assert len(found.never_chosen) == len(CATALOGUE)


async def test_the_figures_tell_what_was_chosen_called_and_missed(services: Services) -> None:
    """Shares over discoveries and calls; tools by name."""
    tools, caller = services.tools, services.caller
    await tools.import_tools(caller, [*CATALOGUE, replace(CATALOGUE[0], server="hub")])
    rows = await ids(services)

    called(tools, caller, "time_convert_time", rows["time_convert_time"])
    for _ in range(3):
        first = await tools.find_tools(caller, queries=[HISTORY], threshold=0, limit=1)
    await tools.find_tools(caller, queries=["weather forecast of a city"], threshold=1.0)
    await tools.find_tools(caller, queries=[HISTORY], threshold=0, limit=1)
    called(tools, caller, first.tools[0].also[0], rows[first.tools[0].also[0]])
    called(tools, caller, "mail_send_email", rows["mail_send_email"], "tool error")
    called(tools, caller, "mail_send_email", rows["mail_send_email"], "cancelled")
    await tools.settle()
    found = await tools.stats(caller, days=1)

    assert (found.discoveries, found.shadow, found.calls, found.asked_calls) == (5, 0, 4, 3)
    assert found.latency_p50_ms is not None
    assert found.latency_p99_ms is not None
    assert 0 < found.latency_p50_ms <= found.latency_p99_ms
    assert (found.embedded_share, found.fallback_rate, found.abstained_share) == (1.0, 0.0, 0.2)
    assert found.sources["hybrid"] + found.sources["semantic"] == 4
    assert (found.error_rate, found.mean_rank, found.shadow_chosen_share) == (0.25, 1.0, None)
    assert found.chosen_share == pytest.approx(1 / 3)
    assert [(tool.name, tool.count) for tool in found.most_chosen] == [(first.tools[0].name, 4)]
    assert [(tool.name, tool.count) for tool in found.called_unchosen] == [
        ("mail_send_email", 2),
        ("time_convert_time", 1),
    ]
    assert set(found.never_chosen) == set(rows) - {"git_git_log", "hub_git_log"}


async def test_what_the_assistant_asks_and_calls_counts_nowhere(services: Services) -> None:
    """It searches everywhere for every question, so it would dilute every share; the rows are there."""
    tools, caller = services.tools, services.caller
    await tools.import_tools(caller, CATALOGUE)
    assistant = replace(caller, client=f"{ASSISTANT}1")

    await tools.find_tools(assistant, queries=[HISTORY], threshold=0, limit=1)
    called(tools, assistant, "mail_send_email", 1, "tool error")
    await tools.settle()
    found = await tools.stats(caller)

    assert (found.discoveries, found.calls, found.error_rate, found.most_chosen) == (0, 0, None, [])
    assert await counted(services.database, caller.tenant) == (1, 1)


async def test_calls_in_shadow_are_counted_apart(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """So that the choice can be judged before anything depends on it."""
    caller = Caller(tenant)
    for mode in ("on", "shadow"):
        async with opened(database, tenant, settings.model_copy(update={"selection": mode}), encoder) as services:
            await services.tools.import_tools(caller, CATALOGUE)
            await services.tools.find_tools(caller, queries=[HISTORY], threshold=0, limit=1)
            called(services.tools, caller, "git_git_log", 1)
            if mode == "shadow":
                called(services.tools, caller, "mail_send_email", 2)
            await services.tools.settle()
            found = await services.tools.stats(caller)

    assert (found.discoveries, found.shadow) == (2, 1)
    assert found.shadow_chosen_share == 0.5
    assert found.chosen_share == pytest.approx(2 / 3)


async def test_a_user_counts_and_purges_own_rows_alone(
    database: Database, tenant: Tenant, other_tenant: Tenant, services: Services
) -> None:
    """The tenant's own caller sees all of them, and none of another tenant."""
    for whose, owner in ((tenant, "ann"), (tenant, "bob"), (tenant, None), (other_tenant, "ann")):
        await insert(database, whose, days=5, owner=owner)
    tools = services.tools

    seen = [(await tools.stats(Caller(tenant, user))).discoveries for user in ("ann", None)]
    purged = await tools.purge(Caller(tenant, "ann"), older_than=1)

    assert seen == [1, 3]
    assert purged.rows == 2
    assert await counted(database, tenant) == (2, 2)
    assert await counted(database, other_tenant) == (1, 1)


async def test_a_purge_removes_what_is_as_old_as_told_or_as_the_setting_says(
    database: Database, tenant: Tenant, services: Services
) -> None:
    """All of it with 0 days; an impossible age is refused."""
    for days in (200, 50, 2):
        await insert(database, tenant, days=days)
    tools, caller = services.tools, services.caller

    first = await tools.purge(caller)
    second = await tools.purge(caller, older_than=10)
    last = await tools.purge(caller, older_than=0)

    assert [purged.rows for purged in (first, second, last)] == [2, 2, 2]
    assert await counted(database, tenant) == (0, 0)
    for days in (-1, float("nan"), 1e9):
        with pytest.raises(InvalidInput, match="days"):
            await tools.purge(caller, older_than=days)
    with pytest.raises(InvalidInput, match="days"):
        await tools.stats(caller, days=0)


async def test_more_rows_than_fit_one_transaction_are_all_purged(
    database: Database, tenant: Tenant, services: Services
) -> None:
    """In several steps, none of them long."""
    await insert(database, tenant, days=100, count=45_000)
    await insert(database, tenant, days=1)

    purged = await services.tools.purge(services.caller)

    assert purged.rows == 90_000
    assert await counted(database, tenant) == (1, 1)


async def test_the_sweep_removes_old_rows_of_every_tenant(
    database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Recent ones stay."""
    for whose in (tenant, other_tenant):
        await insert(database, whose, days=91)
        await insert(database, whose, days=89)

    purged = await purge_logs(database, 90)

    assert purged.rows >= 4
    assert await counted(database, tenant) == await counted(database, other_tenant) == (1, 1)


async def test_a_sweep_that_has_long_found_nothing_is_still_quick_when_there_is_much(
    database: Database, tenant: Tenant
) -> None:
    """The plans that a session made for empty logs must not be used for full ones: that took minutes, not a second."""
    for _ in range(8):
        await purge_logs(database, 90)
    await insert(database, tenant, days=120, count=30_000)

    async with asyncio.timeout(30):
        swept = await purge_logs(database, 90)

    assert swept.rows >= 60_000


async def test_sweeps_at_once_share_the_work(
    database: Database, tenant: Tenant, other_tenant: Tenant, services: Services
) -> None:
    """Replicas sweep independently, next to a manual purge."""
    for whose in (tenant, other_tenant):
        await insert(database, whose, days=120, count=30_000)

    swept = await asyncio.gather(*(purge_logs(database, 90) for _ in range(3)))
    purged = await services.tools.purge(services.caller)

    assert sum(one.rows for one in swept) + purged.rows == 120_000
    assert await counted(database, tenant) == await counted(database, other_tenant) == (0, 0)


async def test_embeddings_are_removed_when_no_index_has_used_them_for_long(
    database: Database, tenant: Tenant, other_tenant: Tenant, services: Services
) -> None:
    """Those that any tenant uses stay, and so do those in use at an earlier sweep within that time."""
    tools = services.tools
    mine, shared = CATALOGUE[:2], CATALOGUE[2:]
    await tools.import_tools(services.caller, [replace(tool, description=f"{tool.description} Mine.") for tool in mine])
    mine_hashes = await hashes(database, tenant)
    await tools.import_tools(services.caller, shared)
    await tools.import_tools(Caller(other_tenant), shared)
    shared_hashes = await hashes(database, other_tenant)

    await tools.remove_server(services.caller, "git")
    young = await prune(database, 90)
    kept = await cached(services, mine_hashes)
    await prune(database, 0)

    assert young == 0
    assert kept == len(mine_hashes) > 0
    assert await cached(services, mine_hashes) == 0
    assert await cached(services, shared_hashes) == len(shared_hashes) > 0


async def test_an_embedding_that_is_used_again_counts_as_used(
    database: Database, tenant: Tenant, services: Services
) -> None:
    """The next sweep withdraws the mark of the earlier one."""
    tools, caller = services.tools, services.caller
    tool = replace(CATALOGUE[0], description="Back and forth.")
    await tools.import_tools(caller, [tool])
    own = await hashes(database, tenant)
    await tools.remove_server(caller, "git")
    await prune(database, 90)

    again = await tools.import_tools(caller, [tool])
    await prune(database, 90)
    await prune(database, 0)

    assert (again.embedded, again.kept) == (0, 1)
    assert await cached(services, own) == len(own)


async def hashes(database: Database, tenant: Tenant) -> list[bytes]:
    """The keys of the vectors that a tenant's index holds."""
    async with database.transaction(tenant) as connection:
        return list((await connection.exec_driver_sql("select distinct hash from item_vector")).scalars())


async def cached(services: Services, wanted: list[bytes]) -> int:
    """The number of these vectors in the cache."""
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql(
            "select count(*) from cached_embeddings(%(model)s, %(hashes)s::bytea[])",
            {"model": services.encoder.model.id, "hashes": wanted},
        )
        return int(found.scalar_one())
