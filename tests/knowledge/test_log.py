"""The logs of discoveries and calls: what a row contains, and what happens if it cannot be written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.support import Databases, eventually
from tests.support.product import CATALOGUE, opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import catalogue, queries
from thresher.knowledge.tools.log import LastDiscoveries, now
from thresher.knowledge.tools.queries import Invocation
from thresher.services import Services
from thresher.store import Database, LogQueue, message_of
from thresher.store.log_queue import BATCH

HISTORY = "show commit history"


async def rows(services: Services, table: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of a log, oldest first, once all are written."""
    await services.tools.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql(f"select {columns} from {table} order by id")
        return [tuple(row) for row in found]


def note(services: Services, name: str, *, client: str = "", user: str | None = None, tool_id: int | None = 1) -> None:
    """Log a call."""
    services.tools.calls.add(
        Caller(services.caller.tenant, user, client),
        name=name,
        tool_id=tool_id,
        state="ok",
        duration_ms=1.5,
        trace_id="t",
    )


def invocation(number: int) -> Invocation:
    """A call to be logged."""
    return Invocation(now(), None, "", f"{number}", "on", number, "tool", "ok", 1.0, None)


@asynccontextmanager
async def selecting(
    mode: str, database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, **more: str
) -> AsyncIterator[Services]:
    """Services with a small catalogue and another setting."""
    changed = settings.model_copy(update={"selection": mode, **more})
    async with opened(database, tenant, changed, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        yield services


async def test_a_discovery_and_a_call_leave_a_row_each(services: Services) -> None:
    """The user, the connection and the outcome."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    caller = Caller(services.caller.tenant, "ann", "session-1")

    found = await services.tools.find_tools(caller, queries=[HISTORY], threshold=0)
    note(services, found.tools[0].name, client="session-1", user="ann", tool_id=7)

    assert await rows(services, "discovery", "owner, client, trace_id, selection, message") == [
        ("ann", "session-1", found.trace_id, "on", None)
    ]
    (times,) = await rows(services, "discovery", "duration_ms, embedding_ms, now() - at < interval '1 minute'")
    assert times[0] >= times[1] > 0
    assert times[2]
    assert await rows(services, "invocation", "owner, client, name, tool_id, state, duration_ms, rank, selection") == [
        ("ann", "session-1", "git_git_log", 7, "ok", 1.5, 1, "on")
    ]


async def test_the_rank_is_the_place_in_what_that_client_was_last_offered(services: Services) -> None:
    """Null before its first discovery, 0 for other tools; another connection's discovery does not count."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    asking = Caller(services.caller.tenant, None, "a")

    note(services, "git_git_log", client="a")
    found = await services.tools.find_tools(asking, queries=[HISTORY], threshold=0, limit=2)
    for name in (found.tools[1].name, "mail_send_email"):
        note(services, name, client="a")
    note(services, found.tools[0].name, client="b")
    note(services, found.tools[0].name, client="a", user="bob")
    await services.tools.find_tools(asking, queries=["send an email"], threshold=0, limit=1)
    note(services, "mail_send_email", client="a")
    note(services, "git_git_log", client="a")

    assert [rank for (rank,) in await rows(services, "invocation", "rank")] == [None, 2, 0, None, None, 1, 0]


async def test_a_discovery_without_a_session_counts_for_all_connections_of_its_user(services: Services) -> None:
    """Until they have one of their own, so that a host that searches over HTTP and calls over MCP is tracked."""
    await services.tools.import_tools(services.caller, CATALOGUE)
    tenant = services.caller.tenant

    await services.tools.find_tools(Caller(tenant, "ann"), queries=[HISTORY], threshold=0, limit=1)
    note(services, "git_git_log", client="s", user="ann")
    await services.tools.find_tools(Caller(tenant, "ann", "s"), queries=["send an email"], threshold=0, limit=1)
    note(services, "git_git_log", client="s", user="ann")
    note(services, "git_git_log", client="t", user="ann")

    assert [rank for (rank,) in await rows(services, "invocation", "rank")] == [1, 0, 1]


async def test_a_call_of_an_offered_tools_twin_counts_as_that_tool(services: Services) -> None:
    """An answer shows one of several exact duplicates and names the others."""
    twin = replace(CATALOGUE[0], server="hub")
    await services.tools.import_tools(services.caller, [*CATALOGUE, twin])

    found = await services.tools.find_tools(services.caller, queries=[HISTORY], threshold=0)
    note(services, found.tools[0].also[0])

    assert await rows(services, "invocation", "rank") == [(1,)]


def test_the_least_recent_clients_are_forgotten_first() -> None:
    """Memory is bounded, however many connections come and go."""
    last, tenant = LastDiscoveries(clients=2), Tenant(1, "t")
    for client in ("a", "b", "a", "c"):
        last.remember(Caller(tenant, None, client), ())

    assert [last.rank(Caller(tenant, None, client), "x") for client in ("a", "b", "c")] == [0, None, 0]


async def test_text_is_kept_only_where_it_is_asked_for_and_without_secrets(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """The message's beginning, credentials masked."""
    async with selecting("on", database, tenant, settings, encoder, log_text="on") as services:
        await services.tools.find_tools(services.caller, message="clone with ghp_abcdefghijklmnopqrstuvwxyz0123 \0now")
        kept = await rows(services, "discovery", "message")

    assert kept == [("clone with *** now",)]
    assert message_of(["x"], settings) is None
    text = message_of(["word " * 100_000], settings.model_copy(update={"log_text": "on"}))
    assert text is not None
    assert len(text) == 4_000
    assert text.endswith("…")


async def test_two_thousand_calls_of_fifty_callers_are_all_there_once(services: Services) -> None:
    """None waits, none is lost."""

    async def caller(number: int) -> None:
        for call in range(40):
            note(services, f"tool{call}", client=f"c{number}", tool_id=number * 40 + call)
            await asyncio.sleep(0)

    await asyncio.gather(*(caller(number) for number in range(50)))

    await services.tools.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql("select count(distinct tool_id), count(*) from invocation")
        assert tuple(found.one()) == (2_000, 2_000)


async def test_while_the_database_hangs_the_oldest_rows_go_and_are_counted_once(
    database: Database, tenant: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    """Memory stays bounded; the rest is written when the database is back."""

    async def write(tenant: Tenant, calls: Sequence[Invocation]) -> None:
        await queries.write_logs(database, tenant, [], calls)

    queue = LogQueue(write, most=100, patience=0.2)
    with caplog.at_level(logging.WARNING, "thresher.store"):
        async with database.transaction(tenant) as connection:
            await connection.exec_driver_sql("lock table invocation in access exclusive mode")
            for number in range(250):
                queue.add(tenant, invocation(number))
            await eventually(lambda: "log rows wait" in caplog.messages)
            queue.add(tenant, invocation(250))
        await eventually(lambda: "log rows lost" in caplog.messages)

    async with database.transaction(tenant) as connection:
        found = await connection.exec_driver_sql("select count(*), min(tool_id), max(tool_id) from invocation")
        assert tuple(found.one()) == (100, 151, 250)
    assert queue.lost == 151
    assert caplog.messages.count("log rows wait") == 1
    assert [record.__dict__["fields"] for record in caplog.records if record.msg == "log rows lost"] == [{"rows": 151}]


async def test_at_the_end_rows_that_cannot_be_written_are_given_up_in_time(
    databases: Databases, caplog: pytest.LogCaptureFixture
) -> None:
    """Closing waits for rows being written, never for a database that is gone."""
    name = await databases.create()
    database = await databases.open(name)
    tenant = await database.tenant("t")

    async def write(tenant: Tenant, calls: Sequence[Invocation]) -> None:
        await queries.write_logs(database, tenant, [], calls)

    queue = LogQueue(write, patience=1.0)
    queue.add(tenant, invocation(1))
    await queue.settle()
    await databases.admin(f"alter database {name} connection limit 0")
    await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
    for number in range(BATCH + 1):
        queue.add(tenant, invocation(number))

    async with asyncio.timeout(20):
        await queue.settle()

    assert queue.lost == BATCH + 1
    await database.close()
    await databases.drop(name)


async def test_rows_that_the_database_refuses_do_not_hold_up_later_ones(database: Database, tenant: Tenant) -> None:
    """A removed tenant loses its own rows, and an invalid row those of its batch."""

    async def write(tenant: Tenant, calls: Sequence[Invocation]) -> None:
        await queries.write_logs(database, tenant, [], calls)

    queue = LogQueue(write)
    gone = await database.tenant("soon-gone")
    await database.drop_tenant(gone)
    queue.add(gone, invocation(1))
    queue.add(tenant, invocation(2))
    await queue.settle()
    queue.add(tenant, Invocation(now(), None, "", "t", "on", 2**80, "tool", "ok", 1.0, None))
    await queue.settle()
    queue.add(tenant, invocation(3))
    await queue.settle()

    async with database.transaction(tenant) as connection:
        found = await connection.exec_driver_sql("select tool_id from invocation order by id")
        assert list(found.scalars()) == [2, 3]
    assert queue.lost == 1


async def test_a_discoverys_row_tells_of_another_processs_change(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for the snapshot to expire, which it never does here."""
    monkeypatch.setattr(catalogue, "FRESH_SECONDS", 3600.0)
    tools, caller = services.tools, services.caller
    await tools.import_tools(caller, CATALOGUE)
    await tools.find_tools(caller, queries=[HISTORY])
    before = await tools.version(caller)
    async with services.database.transaction(caller.tenant) as connection:
        await queries.raise_version(connection, caller.tenant)

    await tools.find_tools(caller, queries=[HISTORY])
    await tools.settle()
    seen = await tools.version(caller)

    assert seen == before + 1


async def test_in_shadow_everything_is_offered_and_the_choice_recorded(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """The others are listed next to the chosen ones on request; a call shows whether the choice was right."""
    async with selecting("shadow", database, tenant, settings, encoder) as services:
        found = await services.tools.find_tools(
            services.caller, queries=[HISTORY], threshold=0, limit=2, include_unchosen=True
        )
        plain = await services.tools.find_tools(services.caller, queries=[HISTORY], threshold=0, limit=2)
        note(services, found.tools[0].name)
        chosen = await rows(services, "discovery", "selection, cardinality(chosen)")
        ranks = await rows(services, "invocation", "selection, rank")

    names = {tool.name for tool in (*found.tools, *found.unchosen)}
    assert (found.selection, len(found.tools), len(names), found.left_out) == ("shadow", 2, len(CATALOGUE), 0)
    assert {tool.why.source for tool in found.unchosen} == {"shadow"}
    assert ([tool.name for tool in plain.tools], plain.unchosen) == ([tool.name for tool in found.tools], ())
    assert chosen == [("shadow", 2), ("shadow", 2)]
    assert ranks == [("shadow", 1)]


async def test_switched_off_nothing_is_searched_and_the_answer_says_so(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """All tools are listed on request, and no discovery is logged."""
    async with selecting("off", database, tenant, settings, encoder) as services:
        found = await services.tools.find_tools(services.caller, message=HISTORY, include_unchosen=True)
        note(services, "git_git_log")
        logged = await rows(services, "discovery", "id")
        ranks = await rows(services, "invocation", "selection, rank")

    assert (found.selection, found.tools, found.embedding_generated) == ("off", (), False)
    assert "THRESHER_SELECTION" in found.degraded
    assert not found.abstained
    assert not found.fallback
    assert len(found.unchosen) == len(CATALOGUE)
    assert logged == []
    assert ranks == [("off", None)]
