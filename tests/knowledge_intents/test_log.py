"""The log of decisions: what a row holds, what calls say of it, the figures, and how long they are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import Databases
from tests.support.product import opened
from thresher.core import ASSISTANT, FINGERPRINT, Caller, InvalidInput, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.intents import IntentService, Sources
from thresher.knowledge.intents.decision_log import LIFE_SECONDS, SessionMemory, session_of
from thresher.knowledge.tools import purge_logs
from thresher.services import Services
from thresher.store import Database

DEPLOY, RELATION, WEATHER = "deploy it to production", "create a relation", "how is the weather in Lisbon?"


async def rows(services: Services, table: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of a log, oldest first, once all are written."""
    await services.intents.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql(f"select {columns} from {table} order by id")
        return [tuple(row) for row in found]


async def test_a_decision_leaves_a_row_without_its_text(services: Services, intents: IntentService) -> None:
    """Hash, intents, scores and times; equal messages have equal hashes, and explaining leaves nothing."""
    caller = replace(services.caller, client="c1")
    first = await intents.route(caller, DEPLOY)
    await intents.route(caller, DEPLOY)
    await intents.route(caller, WEATHER)
    await intents.explain(caller, RELATION)

    found = await rows(
        services, "decision", "client, trace_id, message, intents[1], matched, cached, degraded, message_hash"
    )

    assert found[0][:7] == ("c1", first.trace_id, None, "deploy", 1, False, "")
    assert [row[4:6] for row in found] == [(1, False), (1, True), (0, False)]
    assert found[0][7] == found[1][7] != found[2][7]
    assert len(found[0][7]) == 32


async def test_a_message_has_another_hash_in_another_tenant(
    database: Database, services: Services, intents: IntentService, other_tenant: Tenant
) -> None:
    """So a caller cannot find out what others have asked."""
    await intents.route(services.caller, DEPLOY)
    await intents.route(Caller(other_tenant), DEPLOY)
    await intents.settle()
    hashes = set()
    for tenant in (services.caller.tenant, other_tenant):
        async with database.transaction(tenant) as connection:
            hashes.add(bytes((await connection.exec_driver_sql("select message_hash from decision")).scalar_one()))

    assert len(hashes) == 2


async def test_text_is_kept_where_the_setting_says_so(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, sources: Sources
) -> None:
    """Without its secrets, and without what the database cannot hold."""
    talking = settings.model_copy(update={"log_text": "on"})
    async with opened(database, tenant, talking, encoder, sources) as services:
        await services.intents.route(services.caller, "deploy with token=abcdefgh12345678 \0 now")
        found = await rows(services, "decision", "message")

    assert "abcdefgh" not in found[0][0]
    assert found[0][0].startswith("deploy with token=")


async def test_a_call_of_the_assistant_is_no_signal(services: Services, intents: IntentService) -> None:
    """It asks every kind of source for every question, so what it calls says nothing of the decision."""
    assistant = replace(services.caller, client=f"{ASSISTANT}1")
    await intents.route(assistant, WEATHER)
    intents.note_call(assistant, ["relations"], "relations_create")
    intents.note_unread(assistant, "deploy", "deploy_now")

    assert await rows(services, "intent_signal", "client") == []


async def test_the_next_call_of_another_packs_tool_is_a_signal(services: Services, intents: IntentService) -> None:
    """The first call after a decision counts, in its own session, and a call of the decided pack speaks for it."""
    one, two, three = (replace(services.caller, client=name) for name in ("one", "two", "three"))
    await intents.route(one, DEPLOY)
    await intents.route(two, DEPLOY)
    await intents.route(three, WEATHER)
    intents.note_call(one, ["relations"], "relations_create")
    intents.note_call(one, ["relations"], "relations_create")
    intents.note_call(two, ["relations", "deploy"], "shared")
    intents.note_call(two, ["relations"], "relations_create")
    intents.note_call(three, ["relations"], "relations_create")
    intents.note_call(replace(services.caller, client="four"), ["relations"], "relations_create")
    intents.note_unread(two, "deploy", "deploy_now")

    found = await rows(services, "intent_signal", "client, kind, decided, pack, tool")

    assert found == [
        ("one", "other", ["deploy"], "relations", "relations_create"),
        ("three", "missed", [], "relations", "relations_create"),
        ("two", "unread", [], "deploy", "deploy_now"),
    ]


async def test_a_session_remembers_what_it_was_given(services: Services, intents: IntentService) -> None:
    """Another one was not given it; a restart, and another process, read it from the database."""
    one, two = (replace(services.caller, client=name) for name in ("one", "two"))
    intents.mark_given(one, ["deploy"])
    at_once = await intents.was_given(one, "deploy"), await intents.was_given(two, "deploy")
    await intents.settle()
    async with opened(services.database, services.caller.tenant, services.settings, services.encoder) as restarted:
        later = [await restarted.intents.was_given(caller, "deploy") for caller in (one, two)]

    assert at_once == (True, False)
    assert later == [True, False]


async def test_rules_given_without_a_connection_count_for_the_users_others(
    services: Services, intents: IntentService
) -> None:
    """As a hook gives them: only in the same project."""
    hook = replace(services.caller, project="/projects/a")
    intents.mark_given(hook, ["deploy"])
    same = replace(hook, client="c1")
    elsewhere = replace(hook, client="c2", project="/projects/b")

    assert await intents.was_given(hook, "deploy")
    assert await intents.was_given(same, "deploy")
    assert not await intents.was_given(elsewhere, "deploy")
    assert not await intents.was_given(replace(same, user="ann"), "deploy")
    assert not await intents.was_given(same, "relations")


def test_rules_given_without_a_connection_count_for_an_hour() -> None:
    """Those of a connection count for as long as it is remembered."""
    now = [0.0]
    sessions = SessionMemory(lambda: now[0])
    caller = Caller(Tenant(1, "t"))
    connected = replace(caller, client="c1")
    sessions.give(session_of(caller), ["deploy"])
    sessions.give(session_of(connected), ["relations"])
    now[0] = LIFE_SECONDS
    before = sessions.has(caller, "deploy"), sessions.has(connected, "deploy")
    now[0] = LIFE_SECONDS + 1

    assert before == (True, True)
    assert (sessions.has(caller, "deploy"), sessions.has(connected, "deploy")) == (False, False)
    assert sessions.has(connected, "relations")


async def test_the_figures_of_a_period(services: Services, intents: IntentService) -> None:
    """What was asked for most, what passed through, and where calls went elsewhere; one user's figures are its own.

    What the assistant asked is among none of them.
    """
    caller = replace(services.caller, client="c1")
    await intents.route(replace(caller, client=f"{ASSISTANT}1"), "what is the biggest planet")
    for message in (DEPLOY, DEPLOY, WEATHER, RELATION):
        await intents.route(caller, message)
    intents.note_call(caller, ["deploy"], "deploy_now")
    await intents.settle()

    stats = await intents.stats(caller)
    nothing = await intents.stats(replace(caller, user="ann"), days=1)

    assert (stats.decisions, stats.pass_through_rate, stats.cached_share) == (4, 0.25, 0.25)
    assert [(count.intent, count.count) for count in stats.intents] == [("deploy", 2), ("relations", 1)]
    assert (stats.unused, stats.wrong_tool_rate, stats.lost_rows) == ([], 0.25, 0)
    assert [(one.kind, one.decided, one.pack, one.count) for one in stats.signals] == [
        ("other", ("relations",), "deploy", 1)
    ]
    assert stats.latency_p50_ms is not None
    assert (nothing.decisions, nothing.pass_through_rate, nothing.unused) == (0, None, ["deploy", "relations"])
    for days in (0, -1, 1e9, float("nan")):
        with pytest.raises(InvalidInput):
            await intents.stats(caller, days)


async def test_old_rows_go(database: Database, services: Services, intents: IntentService) -> None:
    """At once for one tenant, and with the daily sweep for all; what is younger stays."""
    for _ in range(3):
        await intents.route(services.caller, DEPLOY)
    intents.note_unread(services.caller, "deploy", "x")
    intents.mark_given(services.caller, ["deploy"])
    await intents.settle()
    async with database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql(
            "update decision set at = now() - interval '100 days' where id = (select min(id) from decision)"
        )
        await connection.exec_driver_sql("update rules_given set at = now() - interval '100 days'")

    swept = await purge_logs(database, 90)
    left = [len(await rows(services, table, "id")) for table in ("decision", "intent_signal", "rules_given")]
    kept = await intents.purge(services.caller, 1)
    rest = await intents.purge(services.caller, 0)

    assert swept.rows == 2
    assert left == [2, 1, 0]
    assert (kept, rest) == (0, 3)
    with pytest.raises(InvalidInput):
        await intents.purge(services.caller, -1)


async def test_embeddings_of_lines_stay_for_as_long_as_their_fit(
    databases: Databases, settings: Settings, encoder: Encoder, sources: Sources
) -> None:
    """A sweep finds them in use; when the fit has not been used for long it goes, and they after it."""
    name = await databases.create()
    database = await databases.open(name)
    tenant = await database.tenant("local")
    async with opened(database, tenant, settings, encoder, sources) as services:
        await services.intents.prepare(services.caller)

    async def counts() -> tuple[object, ...]:
        query = "select (select count(*) from intent_fit), count(*), count(unused_since) from embedding"
        return (await databases.admin(query, name))[0]

    lines = (await counts())[1]
    await purge_logs(database, 1)
    used = await counts()
    await databases.admin("update intent_fit set used_at = now() - interval '2 days'", name)
    await purge_logs(database, 1)
    unused = await counts()
    await purge_logs(database, 0)
    gone = await counts()
    await database.close()
    await databases.drop(name)

    assert used == (1, lines, 0)
    assert unused == (0, lines, lines)
    assert gone == (0, 0, 0)


async def test_rules_given_to_a_client_without_sessions_count_for_it_alone_and_for_an_hour(
    services: Services, intents: IntentService
) -> None:
    """Not for others of its tenant; also after a restart."""
    one, two = (replace(services.caller, client=f"{FINGERPRINT}{name}") for name in ("one", "two"))
    intents.mark_given(one, ["deploy"])
    at_once = [await intents.was_given(who, "deploy") for who in (one, two, services.caller)]
    await intents.settle()
    async with opened(services.database, services.caller.tenant, services.settings, services.encoder) as restarted:
        later = [await restarted.intents.was_given(who, "deploy") for who in (one, two, services.caller)]
    now = [0.0]
    sessions = SessionMemory(lambda: now[0])
    sessions.give(session_of(one), ["deploy"])
    now[0] = LIFE_SECONDS + 1

    assert at_once == [True, False, False]
    assert later == [True, False, False]
    assert not sessions.has(one, "deploy")
