"""Training on a tenant's own messages: what is kept, for whom, what it changes, and how it is shown and removed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np
import pytest

from tests.support import eventually
from tests.support.product import CATALOGUE, opened
from thresher.core import Caller, InvalidInput, NotAllowed, Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.tools import FindResult, TrainingResult, purge_logs, queries
from thresher.knowledge.tools.learning.training import MOST_EXAMPLES
from thresher.search import Adapter
from thresher.services import Services
from thresher.store import Database

WAYS = {
    "send_email": ("pigeon {} about {}", "let a pigeon fly to {} with {}"),
    "get_forecast": ("crystal ball for {} and {}", "will {} get wet at {}"),
    "git_log": ("who cooked what in {} since {}", "old menus of {} before {}"),
    "read_file": ("dust off {} and {}", "what stands in the scroll {} on {}"),
    "write_file": ("carve {} into {}", "put {} on the scroll {}"),
}
"""How a team speaks of its tools."""
THINGS = ("the lawyers", "invoice 77", "Oslo harbour", "breakfast", "our roadmap", "the broken lift", "Maria's party")
SERVERS = {tool.name: tool.server for tool in CATALOGUE}
EXAMPLES = [
    {"query": way.format(thing, THINGS[number - 3]), "relevant": [f"{SERVERS[tool]}/{tool}"]}
    for tool, ways in WAYS.items()
    for way in ways
    for number, thing in enumerate(THINGS)
]
ASKED = {
    "pigeon the plumber about Sunday": "mail_send_email",
    "crystal ball for Vienna and the picnic": "weather_get_forecast",
    "who cooked what in the shop since May": "git_git_log",
    "carve the minutes into a stone": "files_write_file",
}
"""What they ask next, and the tools that they mean."""
UNTRAINED = ("time_convert_time", "time_get_current_time", "git_git_diff")


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings, encoder: Encoder) -> AsyncIterator[Services]:
    """Services with a small catalogue, which record uses."""
    async with opened(database, tenant, settings, encoder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        yield services


def ignored(_done: int, _total: int) -> None:
    """Take the progress."""


async def train(services: Services, examples: Sequence[dict[str, Any]] | None = EXAMPLES) -> TrainingResult:
    """Train as the owner."""
    return await services.tools.training.train(services.caller, examples, ignored)


async def search(services: Services, message: str, user: str | None = None) -> FindResult:
    """Search so that every tool is in the answer."""
    caller = Caller(services.caller.tenant, user, user or "c")
    return await services.tools.find_tools(caller, queries=[message], threshold=0, budget=4_000)


async def places(services: Services) -> dict[str, int]:
    """The place of the tool that each message means, from 1."""
    return {
        message: 1 + [tool.name for tool in (await search(services, message)).tools].index(tool)
        for message, tool in ASKED.items()
    }


async def use(services: Services, examples: Sequence[dict[str, Any]], users: Sequence[str | None]) -> None:
    """Let users search for the messages of examples, and call what they need."""
    async with services.database.transaction(services.caller.tenant) as connection:
        rows = await connection.exec_driver_sql("select name, id from tool")
        ids = {str(row[0]): int(row[-1]) for row in rows}
    for number, example in enumerate(examples):
        user = users[number % len(users)]
        await search(services, example["query"], user)
        caller, tool = Caller(services.caller.tenant, user, user or "c"), example["relevant"][0].partition("/")[2]
        services.tools.calls.add(caller, name=tool, tool_id=ids[tool], state="ok", duration_ms=1.0, trace_id="t")
    await services.tools.settle()


async def test_examples_that_carry_over_are_kept_and_rank(services: Services) -> None:
    """What the team means stands further ahead for messages that it has not shown, and the reasons say so."""
    before = await places(services)

    result = await train(services)

    assert (result.kept, result.reason, result.left_out) == (True, "", 0)
    assert result.figures.low > 0
    assert result.figures.first_after > result.figures.first_before
    after = await places(services)
    assert sum(after.values()) < sum(before.values())
    assert all(after[message] <= before[message] for message in ASKED)
    found = await search(services, "pigeon the plumber about Sunday")
    trained = {tool.name: tool.scored.why.trained for tool in found.tools}
    assert any(trained.values())
    assert {trained[name] for name in UNTRAINED} == {0.0}


async def test_a_tool_on_which_nothing_was_trained_loses_no_place(services: Services) -> None:
    """Whatever is asked, and whatever was trained."""
    asked = (
        "what is the time in Rome",
        "what did I change since the commit",
        "pigeon the plumber about Sunday",
        "noon",
    )
    before = {message: [tool.name for tool in (await search(services, message)).tools] for message in asked}

    assert (await train(services)).kept

    for message in asked:
        after = [tool.name for tool in (await search(services, message)).tools]
        assert all(after.index(name) <= before[message].index(name) for name in UNTRAINED), message


async def test_whether_anything_fits_is_decided_without_training(services: Services) -> None:
    """A greeting stays one."""
    before = await services.tools.find_tools(services.caller, message="good morning to everybody")

    assert (await train(services)).kept
    after = await services.tools.find_tools(services.caller, message="good morning to everybody")

    assert after.abstained == before.abstained
    assert after.probability == pytest.approx(before.probability, abs=1e-6)


async def test_what_does_not_gain_on_messages_left_out_is_not_kept(services: Services) -> None:
    """Labels that follow no rule teach nothing, and searches stay as they are; so do too few messages."""
    tools = [f"{SERVERS[tool]}/{tool}" for tool in WAYS]
    wrong = [example | {"relevant": [tools[3 * n * n % 5]]} for n, example in enumerate(EXAMPLES)]
    before = await places(services)

    result, few = await train(services, wrong), await train(services, EXAMPLES[:10])

    assert (result.kept, few.kept) == (False, False)
    assert "lower bound" in result.reason
    assert "too few" in few.reason
    assert await places(services) == before
    assert (await services.tools.training.state(services.caller)).reason == "Nothing was trained."


async def test_the_log_of_several_users_is_trained_on(services: Services) -> None:
    """Without any text of a message; the state names the source and who trained."""
    await use(services, EXAMPLES, ("ann", "bob", "eve"))

    result = await train(services, None)

    assert (result.kept, result.figures.voters, result.figures.samples) == (True, 3, len(EXAMPLES))
    state = await services.tools.training.state(services.caller)
    assert (state.in_use, state.source, state.made_by, state.figures) == (True, "log", "owner", result.figures)


async def test_one_key_that_calls_more_than_all_others_does_not_decide(services: Services) -> None:
    """What it teaches is not kept where the others would lose, however often it calls."""
    swapped = {"send_email": "mail/send_email", "read_file": "files/read_file"}
    wrong = [example | {"relevant": [swapped["send_email"]]} for example in EXAMPLES]
    await use(services, EXAMPLES[::2], ("ann", "bob", "eve"))
    before = await places(services)
    await use(services, wrong * 2, ("mallory",))

    await train(services, None)

    after = await places(services)
    assert all(after[message] <= before[message] for message in ASKED)


async def test_who_erases_uses_erases_what_was_trained_on_them(services: Services) -> None:
    """At once, as an erased user asks; what was trained on a file stays."""
    await use(services, EXAMPLES, ("ann", "bob"))
    before = await places(services)
    assert (await train(services, None)).kept
    assert await places(services) != before

    await services.tools.learning.forget(Caller(services.caller.tenant, "ann", "a"), None)

    assert await places(services) == before
    assert not (await services.tools.training.state(services.caller)).in_use

    assert (await train(services)).kept
    await services.tools.learning.forget(services.caller, None)
    assert (await services.tools.training.state(services.caller)).in_use


@pytest.mark.parametrize("how", ["purge", "sweep"])
async def test_what_was_trained_on_the_log_goes_with_its_newest_use(services: Services, how: str) -> None:
    """Not with the first of its uses, else nothing would last; what was trained on a file stays."""
    await use(services, EXAMPLES, ("ann", "bob"))
    assert (await train(services, None)).kept
    aged = "interval '3 days' * (1 - (id - (select min(id) from tool_use))::float / count(*) over ())"
    async with services.database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql(
            f"update tool_use set at = now() - aged from (select id as which, {aged} as aged from tool_use) x"
            " where id = which"
        )

    async def remove(days: float) -> bool:
        if how == "purge":
            await services.tools.purge(services.caller, days)
        else:
            await purge_logs(services.database, days)
        return (await services.tools.training.state(services.caller)).in_use

    assert await remove(2)
    assert not await remove(0)
    assert (await train(services)).kept
    assert await remove(0)


async def test_a_user_who_purges_all_uses_of_theirs_removes_what_was_trained_on_them(services: Services) -> None:
    """As one who erases them does; a user without any removes nothing that is others'."""
    await use(services, EXAMPLES, ("ann", "bob"))
    assert (await train(services, None)).kept
    tenant = services.caller.tenant

    await services.tools.purge(Caller(tenant, "eve", "e"), 0)
    assert (await services.tools.training.state(services.caller)).in_use

    await services.tools.purge(Caller(tenant, "ann", "a"), 1)
    assert (await services.tools.training.state(services.caller)).in_use

    await services.tools.purge(Caller(tenant, "ann", "a"), 0)
    assert not (await services.tools.training.state(services.caller)).in_use


async def test_messages_that_do_not_count_are_explained(services: Services) -> None:
    """Many messages of which few are for one tool are not simply too few."""
    spread = [EXAMPLES[number] for number in (0, 7, 14, 21, 28, 35, 42, 49)]

    result = await train(services, spread)

    assert result.figures.messages == 0
    assert "only those count whose tool 3 or more different messages need" in result.reason


async def test_uses_of_another_model_are_named(services: Services) -> None:
    """With a new encoder the log is full, and teaches nothing yet."""
    await use(services, EXAMPLES, ("ann",))
    async with services.database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql("update tool_use set model = 'former'")

    result = await train(services, None)

    assert f"{len(EXAMPLES)} of another model are left out." in result.reason


async def test_what_was_trained_on_tools_that_are_gone_is_not_said_to_be_in_use(services: Services) -> None:
    """A server that is removed and added again has tools that nothing was trained on."""
    assert (await train(services)).kept
    for server in {tool.server for tool in CATALOGUE}:
        await services.tools.remove_server(services.caller, server)
    await services.tools.import_tools(services.caller, CATALOGUE)

    state = await services.tools.training.state(services.caller)

    assert (state.in_use, state.reason) == (
        False,
        "None of the tools that it was trained on is there any more: train again.",
    )


async def test_uses_that_are_erased_while_it_trains_are_not_trained_on(services: Services) -> None:
    """What was read before the removal is not stored after it."""
    tenant = services.caller.tenant
    await use(services, EXAMPLES[:2], ("ann",))
    async with services.database.transaction(tenant) as connection:
        removals = (await queries.read_learning(connection, tenant)).removals
    await services.tools.learning.forget(Caller(tenant, "ann", "a"), None)
    adapter = Adapter("m", np.array([1]), np.ones((1, 2), np.float32))

    async with services.database.transaction(tenant) as connection:
        stored = await queries.put_adapter(connection, tenant, adapter, {}, "owner", None, removals)

    assert not stored
    assert not (await services.tools.training.state(services.caller)).model


async def test_it_is_removed_and_searches_are_as_before(services: Services) -> None:
    """The answer says whether there was anything."""
    before = await places(services)
    assert (await train(services)).kept

    assert await services.tools.training.remove(services.caller) is True
    assert await services.tools.training.remove(services.caller) is False
    assert await places(services) == before


async def test_a_user_may_neither_train_nor_remove(services: Services) -> None:
    """It ranks the tools of all."""
    ann = Caller(services.caller.tenant, "ann", "a")

    with pytest.raises(NotAllowed, match="all users"):
        await services.tools.training.train(ann, EXAMPLES, ignored)
    with pytest.raises(NotAllowed, match="all users"):
        await services.tools.training.remove(ann)


async def test_other_processes_use_it_and_other_tenants_do_not(
    services: Services, database: Database, settings: Settings, encoder: Encoder
) -> None:
    """After their next log row, as with uses."""
    other_tenant = await database.tenant("other")
    async with (
        opened(database, services.caller.tenant, settings, encoder) as replica,
        opened(database, other_tenant, settings, encoder) as other,
    ):
        await other.tools.import_tools(other.caller, CATALOGUE)
        before, untouched = await places(replica), await places(other)
        assert (await train(services)).kept
        after = await places(services)
        assert after != before

        async def known() -> bool:
            found = await places(replica)
            await replica.tools.settle()
            return found == after

        await eventually(known)
        assert await places(other) == untouched
        assert not (await other.tools.training.state(other.caller)).in_use


async def test_for_another_model_it_has_no_effect_and_says_so(services: Services) -> None:
    """It is tied to the fingerprint of the encoder."""
    before = await places(services)
    assert (await train(services)).kept
    async with services.database.transaction(services.caller.tenant) as connection:
        await connection.exec_driver_sql("update tool_adapter set model = 'older@1', made_at = now() + interval '1 s'")
    services.tools.learning.changed(services.caller.tenant)

    state = await services.tools.training.state(services.caller)

    assert await places(services) == before
    assert not state.in_use
    assert state.reason.startswith("It was trained for older@1; the vectors in use are of ")


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "0 examples"),
        ([EXAMPLES[0]] * (MOST_EXAMPLES + 1), "4001 examples"),
        ([{"relevant": ["mail/send_email"]}], "Example 1 has no query"),
        ([EXAMPLES[0], {"query": " ", "relevant": []}], "Example 2 has no query"),
        ([{"query": "x", "relevant": "mail/send_email"}], "Example 1 has no list"),
        ([{"query": "x", "relevant": ["mail/none"]}], "None of the examples"),
    ],
)
async def test_a_wrong_example_is_named(services: Services, examples: list[dict[str, Any]], message: str) -> None:
    """With the format in the hint."""
    with pytest.raises(InvalidInput, match=message):
        await train(services, examples)


async def test_examples_may_name_tools_as_clients_see_them(services: Services) -> None:
    """Those that name none that is there are counted."""
    named = [example | {"relevant": [example["relevant"][0].replace("/", "_")]} for example in EXAMPLES]

    result = await train(services, [*named, {"query": "more", "relevant": ["gone/tool"]}])

    assert (result.kept, result.left_out) == (True, 1)
