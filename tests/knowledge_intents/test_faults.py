"""What goes on when the database does not answer, when many ask at once, and when callers ask for nonsense."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from tests.support import Databases
from tests.support.product import opened
from thresher.core import InvalidInput, Settings, StoreUnavailable
from thresher.embedding import Encoder
from thresher.knowledge.intents import IntentService, Sources
from thresher.services import Services
from thresher.store import Database

DEPLOY = "deploy it to production"


@pytest.fixture
async def lost(
    databases: Databases, settings: Settings, encoder: Encoder, sources: Sources
) -> AsyncIterator[tuple[Services, Database]]:
    """Services that have answered once, over a database that then takes no connections any more."""
    name = await databases.create()
    database = await databases.open(name)
    tenant = await database.tenant("local")
    async with opened(database, tenant, settings, encoder, sources) as services:
        await services.intents.prepare(services.caller)
        await services.intents.route(services.caller, DEPLOY)
        await services.intents.settle()
        await databases.admin(f"alter database {name} connection limit 0")
        await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
        yield services, database
    await database.close()
    await databases.drop(name)


async def test_without_the_database_messages_are_still_routed(lost: tuple[Services, Database]) -> None:
    """By the packs and thresholds last known, on the fitted router; what cannot be decided without it is refused."""
    services, _ = lost
    await services.intents.reload(services.caller)

    decision = await services.intents.route(services.caller, "deploy the new version to production")

    assert [score.intent for score in decision.matched] == ["deploy"]
    assert decision.degraded == ""
    assert not await services.intents.was_given(services.caller, "deploy")
    with pytest.raises(StoreUnavailable):
        await services.intents.set_threshold(services.caller, "deploy", 0.5)


async def test_rows_that_cannot_be_written_are_counted(lost: tuple[Services, Database]) -> None:
    """The answer came all the same."""
    services, _ = lost
    for number in range(3):
        await services.intents.route(services.caller, f"{DEPLOY} {number}")
    await services.intents.settle()

    assert services.intents._log.lost == 3


async def test_many_at_once_get_what_one_alone_gets(intents: IntentService, services: Services) -> None:
    """Of several tenants, users and messages, cached and not."""
    messages = [DEPLOY, "create a relation", "how is the weather?", "deploy version 3"] * 10
    callers = [services.caller, replace(services.caller, user="ann"), replace(services.caller, client="c")]

    together = await asyncio.gather(*(intents.route(caller, message) for caller in callers for message in messages))
    alone = [await intents.explain(caller, message) for caller in callers for message in messages]

    assert [{score.intent for score in decision.matched} for decision in together] == [
        {score.intent for score in decision.matched} for decision in alone
    ]


@pytest.mark.parametrize(
    ("message", "more"),
    [
        ("", {}),
        ("  \n", {"queries": [" "]}),
        ("x" * 200_001, {}),
        ("x", {"queries": [f"q {number}" for number in range(21)]}),
        ("x", {"queries": ["q" * 2_001]}),
        ("x", {"files": ["f"] * 1_001}),
    ],
)
async def test_what_is_out_of_bounds_is_refused(
    intents: IntentService, services: Services, message: str, more: dict[str, list[str]]
) -> None:
    """Before anything is embedded."""
    with pytest.raises(InvalidInput):
        await intents.route(services.caller, message, **more)


@pytest.mark.parametrize(
    "message",
    ["\0", "\ud800", "🙂" * 5_000, "deploy " * 20_000, "a,b;c and d or e then f " * 500, "{{PROJECT_NAME}} %s' -- ;"],
)
async def test_any_text_is_routed(intents: IntentService, services: Services, message: str) -> None:
    """And leaves its row."""
    decision = await intents.route(services.caller, message, history=["\0", message], files=["\0", "a/b.py"])
    await intents.settle()

    assert decision.trace_id
    assert intents._log.lost == 0


async def test_of_a_very_long_message_both_ends_are_read(intents: IntentService, services: Services) -> None:
    """And the answer says that the middle was not."""
    pasted = "the quick brown fox jumps over the lazy dog\n" * 1_000

    decision = await intents.route(services.caller, f"{pasted}\n\n{DEPLOY}")

    assert "only the first and last" in decision.degraded
    assert len(decision.clauses[0]) < 10_000
