"""Learning from use: what counts, for whom, what it changes, and how it is inspected, decided and erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.support import Databases, eventually
from tests.support.product import CATALOGUE, opened
from thresher.core import Caller, NotAllowed, NotFound, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import FindResult, purge_logs
from thresher.knowledge.tools.learning.evidence import OTHERS
from thresher.services import Services
from thresher.store import Database

MESSAGE = "tell everybody about the release"
LIKE = "tell everyone about the new release"
OTHER = "what is the weather in Berlin"


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings, encoder: Encoder) -> AsyncIterator[Services]:
    """Services that rank by use, with a small catalogue."""
    changed = settings.model_copy(update={"learning": "on"})
    async with opened(database, tenant, changed, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        yield services


def caller_of(services: Services, user: str | None, client: str = "c") -> Caller:
    """A user of the tenant."""
    return Caller(services.caller.tenant, user, client)


async def search(services: Services, caller: Caller, message: str = MESSAGE, **more: Any) -> FindResult:
    """Search so that every tool is in the answer."""
    return await services.tools.find_tools(caller, queries=[message], threshold=0, budget=4_000, **more)


def names(found: FindResult) -> list[str]:
    """The tools of an answer, best first."""
    return [tool.name for tool in found.tools]


async def log_call(services: Services, caller: Caller, name: str, state: str = "ok") -> None:
    """Log a call."""
    async with services.database.transaction(caller.tenant) as connection:
        own = name.partition("_")[2]
        found = await connection.exec_driver_sql("select id from tool where name = %s", (own,))
    number = found.scalar_one()
    services.tools.calls.add(caller, name=name, tool_id=number, state=state, duration_ms=1.0, trace_id="t")


async def call(services: Services, caller: Caller, name: str, state: str = "ok") -> None:
    """Log a call, and wait until what it says is known."""
    await log_call(services, caller, name, state)
    await services.tools.settle()
    services.tools.learning.changed(caller.tenant)


async def use(services: Services, user: str | None, name: str, message: str = MESSAGE, times: int = 1) -> None:
    """Search and call, as one user."""
    for _ in range(times):
        caller = caller_of(services, user)
        await search(services, caller, message)
        await call(services, caller, name)


async def test_a_tool_that_was_used_ranks_higher_for_like_messages(services: Services) -> None:
    """And the reasons say so; a message that is like none is ranked as before."""
    ann = caller_of(services, "ann")
    before, other = await search(services, ann), await search(services, ann, OTHER)
    third = names(before)[2]

    await use(services, "ann", third, times=2)
    after, like = await search(services, ann), await search(services, ann, LIKE)

    assert names(after)[0] == names(like)[0] == third
    assert after.tools[0].why.learned > like.tools[0].why.learned > 0
    assert after.tools[0].why.uses == 2
    again = await search(services, ann, OTHER)
    assert names(again) == names(other)
    assert [tool.score for tool in again.tools] == pytest.approx([tool.score for tool in other.tools], abs=1e-5)
    assert {(tool.why.learned, tool.why.uses) for tool in again.tools} == {(0, 0)}


async def test_without_learning_uses_are_recorded_and_change_nothing(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """In shadow, which is the default; with `off` nothing is recorded."""
    async with opened(database, tenant, settings, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        before = await search(services, services.caller)
        await use(services, None, names(before)[2], times=2)
        after, state = await search(services, services.caller), await services.tools.learning.state(services.caller)

        assert names(after) == names(before)
        assert (state.mode, state.uses, [tool.name for tool in state.tools if tool.uses]) == (
            "shadow",
            2,
            [names(before)[2]],
        )

    off = settings.model_copy(update={"learning": "off"})
    async with opened(database, tenant, off, encoder) as services:
        await use(services, None, names(before)[2])
        state = await services.tools.learning.state(services.caller)

        assert (state.mode, state.uses) == ("off", 2)
        with pytest.raises(NotAllowed, match="THRESHER_LEARNING is off"):
            await services.tools.learning.decide(services.caller, "on")


async def test_one_other_user_changes_nothing_and_two_who_agree_do(services: Services) -> None:
    """However often the one calls."""
    ann = caller_of(services, "ann")
    before = await search(services, ann)
    third = names(before)[2]

    await use(services, "mallory", third, times=10)
    assert names(await search(services, ann)) == names(before)

    await use(services, "bob", third, times=2)
    after = await search(services, ann)
    assert names(after).index(third) < 2
    assert 0 < next(tool for tool in after.tools if tool.name == third).why.learned <= OTHERS


async def test_what_one_user_passes_over_is_not_lowered_for_others(services: Services) -> None:
    """A key cannot push a tool away from others, alone or with another one."""
    ann = caller_of(services, "ann")
    before = await search(services, ann)

    for user in ("mallory", "bob"):
        await use(services, user, names(before)[3], times=5)
    after = await search(services, ann)

    assert all(tool.why.learned >= 0 for tool in after.tools)


async def test_keys_without_a_user_are_told_apart(services: Services) -> None:
    """Each is a voter of its own, so one of them changes nothing for the others."""
    first, second = (Caller(services.caller.tenant, None, "c", keyed=True, key=key) for key in (1, 2))
    before = await search(services, first)

    await search(services, second)
    await call(services, second, names(before)[2])

    assert names(await search(services, first)) == names(before)
    assert names(await search(services, second)) != names(before)


async def test_passed_over_and_failed_tools_rank_lower(services: Services) -> None:
    """One whose call failed more than one that was passed over; a failure without a call after it says nothing."""
    ann = caller_of(services, "ann")
    before = names(await search(services, ann))

    await call(services, ann, before[0], "tool error")
    assert names(await search(services, ann)) == before

    await call(services, ann, before[0], "tool error")
    await call(services, ann, before[2])
    learned = {tool.name: tool.why.learned for tool in (await search(services, ann)).tools}
    assert learned[before[0]] < learned[before[1]] < 0 < learned[before[2]]


async def test_a_call_after_a_second_search_counts_for_the_first_message_too(services: Services) -> None:
    """Its answer lacked the tool; it counts half there, once, and not for what was asked about something else."""
    ann = caller_of(services, "ann")
    await services.tools.find_tools(ann, queries=[OTHER], threshold=0, limit=1)
    await services.tools.find_tools(ann, queries=[MESSAGE], threshold=0, limit=1)
    found = await search(services, ann, LIKE)
    await call(services, ann, names(found)[2])
    await services.tools.find_tools(ann, queries=[OTHER], threshold=0, limit=1)
    await call(services, ann, names(found)[2])

    uses = await rows(services, "weight, cardinality(offered)")
    assert sorted(uses) == [(0.5, 0), (1.0, len(found.tools))]


async def test_a_tool_counts_once_for_a_search_however_often_it_is_called(services: Services) -> None:
    """Else one search and a loop of calls would say more than many searches."""
    ann = caller_of(services, "ann")
    found = await search(services, ann)
    for _ in range(3):
        await call(services, ann, found.tools[0].name)

    assert len(await rows(services, "id")) == 1


async def test_no_text_is_kept_unless_the_setting_allows_it(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, services: Services
) -> None:
    """Vectors and ids suffice."""
    await use(services, "ann", "mail_send_email")
    assert await rows(services, "message, length(vector)") == [(None, 768)]

    texts = settings.model_copy(update={"learning": "on", "log_text": "on"})
    async with opened(database, tenant, texts, encoder) as others:
        await use(others, "ann", "mail_send_email")
        state = await others.tools.learning.state(others.caller)

        assert state.tools[0].messages == (MESSAGE,)


async def test_a_tenant_learns_nothing_from_another(
    database: Database, settings: Settings, encoder: Encoder, services: Services
) -> None:
    """Not even of the same tools and the same messages."""
    elsewhere = await database.tenant("elsewhere")
    changed = settings.model_copy(update={"learning": "on"})
    async with opened(database, elsewhere, changed, encoder) as others:
        await others.tools.import_tools(others.caller, CATALOGUE)
        before = await search(others, others.caller)
        await use(services, None, names(before)[2], times=3)

        assert names(await search(others, others.caller)) == names(before)
        assert (await others.tools.learning.state(others.caller)).uses == 0
    await database.drop_tenant(elsewhere)


async def test_users_see_and_erase_only_their_own_uses(services: Services) -> None:
    """A caller without a user sees those of the whole tenant; erased uses rank nothing any more."""
    ann, learning = caller_of(services, "ann"), services.tools.learning
    before = await search(services, ann)
    third = names(before)[2]
    for user in ("ann", "bob"):
        await use(services, user, third, times=2)

    assert [(await learning.state(one)).uses for one in (ann, caller_of(services, "bob"), services.caller)] == [2, 2, 4]
    assert await learning.forget(ann, None) == 2
    assert [(await learning.state(one)).uses for one in (ann, services.caller)] == [0, 2]
    assert names(await search(services, ann)) == names(before)
    assert await learning.forget(services.caller, [third]) == 2
    assert (await learning.state(services.caller)).tools == ()


async def test_a_purge_erases_uses_by_their_age(services: Services) -> None:
    """As it does the other rows of the log, and searches know at once."""
    ann = caller_of(services, "ann")
    before = await search(services, ann)
    await use(services, "ann", names(before)[2], times=2)

    await services.tools.purge(services.caller, 1)
    assert len(await rows(services, "id")) == 2

    await services.tools.purge(services.caller, 0)
    assert await rows(services, "id") == []
    assert names(await search(services, ann)) == names(before)


async def test_the_daily_sweep_removes_old_uses(services: Services) -> None:
    """With the other logs, of all tenants."""
    await use(services, "ann", "mail_send_email")
    await use(services, "bob", "mail_send_email")
    async with services.database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql("update tool_use set at = now() - interval '2 days' where owner = 'ann'")

    await purge_logs(services.database, 1)

    assert await rows(services, "owner") == [("bob",)]


async def test_searches_know_what_the_daily_sweep_removed(
    services: Services, database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """In a process that had read the uses before, after its next log row; one that starts ignores what is too old."""
    ann = caller_of(services, "ann")
    before = await search(services, ann)
    await use(services, "ann", names(before)[2], times=2)
    assert names(await search(services, ann)) != names(before)
    await services.tools.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql("update tool_use set at = now() - interval '100 days'")
    changed = settings.model_copy(update={"learning": "on"})
    async with opened(database, tenant, changed, encoder) as others:
        assert names(await search(others, ann)) == names(before)

    await purge_logs(services.database, 90)
    await search(services, ann)
    await services.tools.settle()

    assert names(await search(services, ann)) == names(before)


async def test_what_another_process_erases_ranks_nothing_after_the_next_search(
    services: Services, database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """And a search of before the removal yields no use any more."""
    ann = caller_of(services, "ann")
    before = await search(services, ann)
    await use(services, "ann", names(before)[2], times=2)
    await search(services, ann)
    await services.tools.settle()
    async with opened(database, tenant, settings, encoder) as others:
        assert await others.tools.learning.forget(ann, None) == 2

    await search(services, caller_of(services, "bob", "d"))
    await services.tools.settle()
    after = await search(services, caller_of(services, "ann", "e"))
    await call(services, ann, names(before)[1])

    assert names(after) == names(before)
    assert await rows(services, "id") == []


@pytest.mark.parametrize("how", ["unlearn", "purge", "off"])
async def test_uses_that_wait_in_the_log_are_erased_too(services: Services, how: str) -> None:
    """And calls after it do not write again what was asked before."""
    ann = caller_of(services, "ann")
    found = await search(services, ann)
    await log_call(services, ann, names(found)[1])

    if how == "unlearn":
        await services.tools.learning.forget(ann, None)
    elif how == "purge":
        await services.tools.purge(services.caller, 0)
    else:
        await services.tools.learning.decide(services.caller, "off")
        await services.tools.learning.forget(ann, None)
    await call(services, ann, names(found)[2])

    assert await rows(services, "id") == []


async def test_uses_of_a_tool_that_is_gone_can_be_erased_by_its_name(services: Services) -> None:
    """Its name is known from the log of calls; a name that nobody called is an error."""
    ann = caller_of(services, "ann")
    await search(services, ann)
    await call(services, ann, "mail_send_email")
    await services.tools.remove_server(services.caller, "mail")

    with pytest.raises(NotFound):
        await services.tools.learning.forget(caller_of(services, "bob"), ["mail_send_email"])
    assert await services.tools.learning.forget(ann, ["mail_send_email"]) == 1


async def test_a_key_reads_no_messages_of_others(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """Only its own; the owner of the data folder reads all."""
    texts = settings.model_copy(update={"log_text": "on"})
    async with opened(database, tenant, texts, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        await use(services, "ann", "mail_send_email")
        key = Caller(services.caller.tenant, None, "k", keyed=True, key=1)
        await search(services, key, LIKE)
        await call(services, key, "mail_send_email")

        for caller, messages in ((services.caller, (LIKE, MESSAGE)), (key, (LIKE,))):
            (tool,) = [one for one in (await services.tools.learning.state(caller)).tools if one.uses]
            assert (tool.uses, tool.messages) == (2, messages)


async def test_one_voter_cannot_crowd_out_the_others(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many of the newest uses of each count."""
    monkeypatch.setattr("thresher.knowledge.tools.queries.learning.MOST_USES", 4)
    monkeypatch.setattr("thresher.knowledge.tools.queries.learning.MOST_EACH", 2)
    for user in ("ann", "bob", *["mallory"] * 5):
        await use(services, user, "mail_send_email")

    state = await services.tools.learning.state(services.caller)

    assert (state.uses, state.tools[0].voters) == (4, 3)


async def test_a_person_switches_learning_and_a_user_may_not(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """The decision is the tenant's, is kept, and wins over the setting."""
    async with opened(database, tenant, settings, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        before = await search(services, services.caller)
        await use(services, None, names(before)[2], times=2)
        with pytest.raises(NotAllowed, match="all users"):
            await services.tools.learning.decide(caller_of(services, "ann"), "on")

        state = await services.tools.learning.decide(services.caller, "on")

        assert (state.mode, state.setting, state.decided_by) == ("on", "shadow", "owner")
        assert names(await search(services, services.caller)) != names(before)
    async with opened(database, tenant, settings, encoder) as services:
        assert names(await search(services, services.caller)) != names(before)
        await services.tools.learning.decide(services.caller, "off")
        await use(services, None, names(before)[0])
        assert (await services.tools.learning.state(services.caller)).uses == 2


async def test_what_another_process_learns_is_known_here(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, services: Services
) -> None:
    """It is read beside a search, after the log has shown that there is something new."""
    ann = caller_of(services, "ann")
    before = await search(services, ann)
    third = names(before)[2]
    changed = settings.model_copy(update={"learning": "on"})
    async with opened(database, tenant, changed, encoder) as others:
        await use(others, "ann", third, times=2)

    async def ranked() -> bool:
        found = await search(services, ann)
        await services.tools.settle()
        return names(found)[0] == third

    await eventually(ranked)


async def test_while_the_database_is_away_what_is_known_still_ranks(
    databases: Databases, settings: Settings, encoder: Encoder
) -> None:
    """And where nothing is known, a search goes on without it."""
    name = await databases.create()
    database = await databases.open(name)
    changed = settings.model_copy(update={"learning": "on"})
    async with opened(database, await database.tenant("away"), changed, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        before = names(await search(services, services.caller))
        await use(services, None, before[2], times=2)
        known = names(await search(services, services.caller))
        await services.index.settle()
        await databases.admin(f"alter database {name} connection limit 0")
        await databases.admin(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")

        during = names(await search(services, services.caller))
        services.tools.learning.changed(services.caller.tenant)
        without = [names(await search(services, services.caller)) for _ in range(2)]
    await database.close()
    await databases.drop(name)

    assert during[0] == known[0] == before[2]
    assert len(without[0]) == len(without[1]) == len(before)


async def test_uses_are_recorded_once_each_when_many_call_at_once(services: Services) -> None:
    """Each client's calls belong to its own search."""
    callers = [caller_of(services, f"user{number}", f"client{number}") for number in range(20)]
    found = await asyncio.gather(*(search(services, caller) for caller in callers))

    for caller, one in zip(callers, found, strict=True):
        await call(services, caller, names(one)[1])

    assert await rows(services, "count(*), count(distinct voter)", order="") == [(20, 20)]


async def test_a_replay_tells_what_learning_would_have_changed(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """Each use is ranked by those before it alone, and nothing is changed."""
    async with opened(database, tenant, settings, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        before = await search(services, services.caller)
        third = names(before)[2]
        await use(services, None, third, times=3)

        replay = await services.tools.learning.replay(services.caller)

        assert (replay.mode, replay.uses, replay.voters, replay.changed, replay.better) == ("shadow", 3, 1, 2, 2)
        assert replay.first_before == 0
        assert replay.first_after == pytest.approx(2 / 3)
        assert replay.gain == pytest.approx(2 / 3 * 2 / 3)
        assert not replay.helps
        assert [(tool.name, tool.uses, tool.before) for tool in replay.moved] == [(third, 3, 3.0)]
        assert names(await search(services, services.caller)) == names(before)


async def test_a_replay_switches_learning_on_where_a_setting_allows_it(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder
) -> None:
    """After enough uses whose gain is above zero, and only if nobody has decided."""
    changed = settings.model_copy(update={"learning_auto": "on"})
    async with opened(database, tenant, changed, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        third = names(await search(services, services.caller))[2]
        users = [caller_of(services, user) for user in ("ann", "bob", "carol", "dan")]
        for number in range(100):
            await search(services, users[number % 4])
            await log_call(services, users[number % 4], third)
        await services.tools.settle()
        state = await services.tools.learning.state(services.caller)

        assert (state.mode, state.setting, state.decided_by, state.uses) == ("on", "shadow", "replay", 100)
        assert names(await search(services, services.caller))[0] == third

        await services.tools.learning.decide(services.caller, "shadow")
        for number in range(100):
            await search(services, users[number % 4])
            await log_call(services, users[number % 4], third)
        await services.tools.settle()

        assert (await services.tools.learning.state(services.caller)).mode == "shadow"


async def rows(services: Services, columns: str, order: str = "order by id") -> Sequence[tuple[Any, ...]]:
    """The recorded uses, once all are written."""
    await services.tools.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        found = await connection.exec_driver_sql(f"select {columns} from tool_use {order}")
        return [tuple(row) for row in found]
