"""Conversations: each is its owner's alone, bounded, and over after a day."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import text

from thresher.agent import AssistantSessions
from thresher.agent.assistant.records import AssistantCall, RememberedTurn, ResultSubject
from thresher.agent.assistant.sessions import LIFE_SECONDS, OTHERS, SUBJECTS, TURNS
from thresher.core import Caller, NotFound, Tenant
from thresher.store import Database

SUBJECT = ResultSubject(
    "endpoint", "GET /pets (shop)", AssistantCall("get_api_endpoint", {"endpoint_id": "op_1"}), ("shop",)
)


def turn(query: str = "list pets", *subjects: ResultSubject, more: AssistantCall | None = None) -> RememberedTurn:
    """A turn of a conversation."""
    return RememberedTurn(query, query, "search", subjects, ("shop",), more)


@pytest.fixture
def sessions(database: Database) -> AssistantSessions:
    """The service under test."""
    return AssistantSessions(database)


async def begun(sessions: AssistantSessions, caller: Caller, *turns: RememberedTurn) -> str:
    """The name of a conversation with these turns."""
    name = (await sessions.open(caller)).name
    for one in turns or (turn(),):
        await sessions.add(caller, name, one)
    return name


async def age(database: Database, tenant: Tenant, seconds: float) -> None:
    """Let a tenant's conversations have ended so long ago."""
    async with database.transaction(tenant) as connection:
        await connection.execute(
            text("update assistant_session set at = now() - make_interval(secs => :s)"), {"s": seconds}
        )


async def count(database: Database, tenant: Tenant) -> int:
    """How many conversations a tenant has."""
    async with database.transaction(tenant) as connection:
        return int((await connection.execute(text("select count(*) from assistant_session"))).scalar_one())


async def test_a_conversation_is_read_as_it_was_kept(sessions: AssistantSessions, tenant: Tenant) -> None:
    """With what its results are read by, and how its last answer goes on."""
    caller = Caller(tenant)
    kept = turn("pets?", SUBJECT, SUBJECT, more=AssistantCall("search_api_docs", {"query": "pets", "cursor": "c"}))
    name = await begun(sessions, caller, turn(), kept)

    assert (await sessions.open(caller, name)).turns == (turn(), kept)


async def test_a_conversation_is_continued_only_by_its_owner(
    sessions: AssistantSessions, tenant: Tenant, other_tenant: Tenant
) -> None:
    """Neither another user, nor who stands for none, nor another tenant."""
    ann = Caller(tenant, "ann")
    name = await begun(sessions, ann)
    others = [Caller(tenant, "ben"), Caller(tenant), Caller(other_tenant, "ann"), Caller(other_tenant)]

    for caller in others:
        with pytest.raises(NotFound) as missing:
            await sessions.open(caller, name)
        assert "new one" in missing.value.hint
        await sessions.add(caller, name, turn("mine"))

    assert (await sessions.open(ann, name)).turns == (turn(),)


async def test_turns_at_once_are_all_kept(sessions: AssistantSessions, tenant: Tenant) -> None:
    """Also where the conversation begins with them."""
    caller = Caller(tenant)
    name = (await sessions.open(caller)).name
    await asyncio.gather(*(sessions.add(caller, name, turn(f"question {number}")) for number in range(8)))

    kept = (await sessions.open(caller, name)).turns

    assert {one.query for one in kept} == {f"question {number}" for number in range(8)}


async def test_a_conversation_is_bounded(sessions: AssistantSessions, database: Database, tenant: Tenant) -> None:
    """In turns, in results, in what a turn weighs; the last turns stay."""
    caller = Caller(tenant)
    heavy = ResultSubject("endpoint", "n" * 3_000, AssistantCall("get_api_endpoint", {"path": "p" * 3_000}))
    huge = turn("q" * 4_000, *[heavy] * 30)
    name = await begun(sessions, caller, huge, *(turn(f"question {number}") for number in range(TURNS + 3)), huge)

    kept = (await sessions.open(caller, name)).turns

    async with database.transaction(tenant) as connection:
        rows = await connection.execute(text("select turns from assistant_session"))
        turns: list[Any] = rows.scalar_one()
    assert len(kept) == TURNS
    assert kept[-2].query == f"question {TURNS + 2}"
    assert len(kept[-1].query) < 1_000
    assert 0 < len(kept[-1].subjects) < SUBJECTS
    assert len(json.dumps(turns[-1])) < 20_000


async def test_an_owner_keeps_so_many_conversations(
    sessions: AssistantSessions, database: Database, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that went on last; another user's are not counted."""
    monkeypatch.setattr("thresher.agent.assistant.sessions.OTHERS", 2)
    ann = await begun(sessions, Caller(tenant, "ann"))
    first, *rest = [await begun(sessions, Caller(tenant)) for _ in range(4)]

    assert OTHERS > 100
    assert await count(database, tenant) == 4
    assert (await sessions.open(Caller(tenant, "ann"), ann)).turns
    assert all([(await sessions.open(Caller(tenant), name)).turns for name in rest])
    with pytest.raises(NotFound):
        await sessions.open(Caller(tenant), first)


async def test_a_conversation_ends_after_a_day(
    sessions: AssistantSessions, database: Database, tenant: Tenant, other_tenant: Tenant
) -> None:
    """It cannot be continued from then on, and the sweep removes it, of whichever tenant."""
    caller = Caller(tenant)
    name = await begun(sessions, caller)
    await begun(sessions, Caller(other_tenant))
    fresh = await begun(sessions, Caller(other_tenant))
    await age(database, tenant, LIFE_SECONDS + 60)

    with pytest.raises(NotFound):
        await sessions.open(caller, name)
    purged = await sessions.purge()

    assert purged == 1
    assert await count(database, tenant) == 0
    assert (await sessions.open(Caller(other_tenant), fresh)).turns


async def test_an_expired_conversation_begins_again(
    sessions: AssistantSessions, database: Database, tenant: Tenant
) -> None:
    """What was said before is not said again."""
    caller = Caller(tenant)
    name = await begun(sessions, caller, turn("old"))
    await age(database, tenant, LIFE_SECONDS + 60)

    await sessions.add(caller, name, turn("new"))

    assert [one.query for one in (await sessions.open(caller, name)).turns] == ["new"]


async def test_what_cannot_be_stored_is_stored_without(sessions: AssistantSessions, tenant: Tenant) -> None:
    """NUL, half a surrogate pair; and a secret is masked."""
    caller = Caller(tenant)
    odd = ResultSubject("endpoint", "a\0b\ud800", AssistantCall("get_api_endpoint", {"path": "/\0"}))
    secret = "ghp_" + "a1B2" * 9
    name = await begun(sessions, caller, turn(f"token {secret}", odd))

    (kept,) = (await sessions.open(caller, name)).turns

    assert secret not in kept.query
    assert kept.subjects[0].name.startswith("ab")


async def test_a_turn_of_another_form_is_passed_over(
    sessions: AssistantSessions, database: Database, tenant: Tenant
) -> None:
    """As another version of Thresher may have written it."""
    caller = Caller(tenant)
    name = await begun(sessions, caller)
    async with database.transaction(tenant) as connection:
        await connection.execute(text("update assistant_session set turns = '[{\"other\": 1}, 7]'"))

    assert (await sessions.open(caller, name)).turns == ()
