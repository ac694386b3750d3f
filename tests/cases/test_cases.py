"""Test cases over the real services: saved, asked, compared with earlier runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import without_tenant_conditions
from thresher.cases import Case, Cases
from thresher.core import Caller, InvalidInput, NotAllowed, NotFound, Tenant
from thresher.services import Services

SHOW = "show the git log of last week"
SEND = "send an email to the whole team"
NONSENSE = "zxqv wvut plomb"


@pytest.fixture
def cases(services: Services) -> Cases:
    """The service under test."""
    return services.cases


async def test_a_run_says_what_came_and_what_did_not(cases: Cases, caller: Caller) -> None:
    """Tools by each of their names, rules of packs; what must not come, and a message that needs nothing."""
    good = await cases.add(caller, SHOW, {"tools": ["git:git_log"], "intents": ["history"]}, {"tools": ["send_email"]})
    bad = await cases.add(caller, SEND, {"tools": ["read_file"]}, {"intents": ["mail"]})
    tools = await cases.add(caller, SHOW, {"tools": ["git_git_log"]}, {}, "find_tools")
    nothing = await cases.add(caller, NONSENSE, {}, {})

    run = await cases.run(caller)

    outcomes = {one.case: one for one in run.outcomes}
    assert {number: one.passed for number, one in outcomes.items()} == {
        good.id: True,
        bad.id: False,
        tools.id: True,
        nothing.id: True,
    }
    assert (run.cases, run.passed) == (4, 3)
    assert run.outcomes[0].case == bad.id
    assert outcomes[bad.id].missing == ("tools: read_file",)
    assert outcomes[bad.id].unwanted == ("intents: mail",)
    assert "intents: history" in outcomes[good.id].delivered
    assert outcomes[good.id].tokens > 0
    assert outcomes[nothing.id].delivered == ()
    assert run.previous is None
    assert run.yesterday is None


async def test_a_run_is_compared_with_the_one_before_and_with_yesterdays(
    cases: Cases, services: Services, caller: Caller
) -> None:
    """A tool that is switched off breaks a case; a new case is said to be new."""
    case = await cases.add(caller, SHOW, {"tools": ["git_log"]}, {})
    first = await cases.run(caller)
    async with services.database.transaction(caller.tenant) as connection:
        await connection.exec_driver_sql("update case_run set at = at - interval '1 day'")
    second = await cases.run(caller)
    new = await cases.add(caller, SEND, {"tools": ["send_email"]}, {})
    await services.tools.set_tool(caller, "git_git_log", enabled=False)

    third = await cases.run(caller)

    assert second.previous is not None
    assert second.previous.run == first.id
    assert second.previous.changes == ()
    assert third.previous is not None
    assert third.previous.run == second.id
    assert [(one.case, one.change) for one in third.previous.changes] == [(case.id, "broken"), (new.id, "new")]
    assert "tools: git_git_log" in third.previous.changes[0].gone
    assert third.yesterday is not None
    assert (third.yesterday.run, third.yesterday.cases, third.yesterday.passed) == (first.id, 1, 1)
    last = await cases.last(caller)
    assert last == replace(third, duration_ms=last.duration_ms) if last else False
    assert [(run.id, run.cases, run.passed) for run in await cases.runs(caller)] == [
        (third.id, 2, 1),
        (second.id, 1, 1),
        (first.id, 1, 1),
    ]


async def test_runs_count_in_no_figure_and_teach_nothing(cases: Cases, services: Services, caller: Caller) -> None:
    """Neither as messages and searches, nor as rules that a session was given."""
    await cases.add(caller, NONSENSE, {"tools": ["git_log"]}, {})
    await cases.run(caller)
    await services.tools.settle()
    await services.insight.contexts.settle()

    usage = (await services.insight.usage(caller)).total

    assert (usage.messages, usage.searches) == (0, 0)
    assert (await services.insight.unanswered(caller)).messages == ()


async def test_a_case_of_the_same_message_gets_the_new_names(cases: Cases, caller: Caller) -> None:
    """It keeps its number; another verb makes another case."""
    first = await cases.add(caller, SHOW, {"tools": ["a"]}, {})
    second = await cases.add(caller, f"  {SHOW} ", {"tools": ["b"], "intents": []}, {"intents": ["c"]})
    await cases.add(caller, SHOW, {}, {}, "find_tools")

    listed = await cases.list_cases(caller)

    assert second.id == first.id
    assert [(one.verb, one.needs, one.excluded) for one in listed] == [
        ("get_context", {"tools": ("b",)}, {"intents": ("c",)}),
        ("find_tools", {}, {}),
    ]


async def test_an_import_takes_the_format_of_eval_all_or_nothing(cases: Cases, caller: Caller) -> None:
    """Members that a case has not are left unread; one wrong line stops all."""
    lines: list[dict[str, Any]] = [
        {"message": SHOW, "needs": {"tools": ["git:git_log"]}, "acceptable": {"intents": ["history"]}},
        {"message": SEND, "needs": {}, "excluded": {"tools": ["read_file"]}, "verb": "find_tools"},
    ]

    with pytest.raises(InvalidInput, match="Case 3: 'needs' is missing"):
        await cases.import_cases(caller, [*lines, {"message": "x"}])
    assert await cases.list_cases(caller) == ()
    assert await cases.import_cases(caller, []) is not None

    first = await cases.import_cases(caller, lines)
    again = await cases.import_cases(caller, lines)

    assert (first.added, first.replaced, again.added, again.replaced) == (2, 0, 0, 2)
    assert len(await cases.list_cases(caller)) == 2


@pytest.mark.parametrize(
    ("message", "needs", "verb"),
    [
        ("", {}, "get_context"),
        ("x" * 8_001, {}, "get_context"),
        ("x", {"spells": ["a"]}, "get_context"),
        ("x", {"tools": "a"}, "get_context"),
        ("x", {"tools": [" "]}, "get_context"),
        ("x", {"tools": ["a"] * 2 + [str(number) for number in range(50)]}, "get_context"),
        ("x", {"documents": ["a"]}, "find_tools"),
        ("x", {}, "call_tool"),
    ],
)
async def test_what_is_not_valid_is_refused(
    cases: Cases, caller: Caller, message: str, needs: dict[str, Any], verb: Any
) -> None:
    """With a reason, before anything is stored."""
    with pytest.raises(InvalidInput):
        await cases.add(caller, message, needs, {}, verb)

    assert await cases.list_cases(caller) == ()


async def test_users_share_the_tenants_cases_and_change_only_their_own(
    cases: Cases, services: Services, caller: Caller, other_tenant: Tenant
) -> None:
    """Nothing of another tenant is seen, also without the statements' conditions."""
    ana, bob, other = replace(caller, user="ana"), replace(caller, user="bob"), Caller(other_tenant)
    shared = await cases.add(caller, SHOW, {"tools": ["git_log"]}, {})
    hers = await cases.add(ana, SEND, {"tools": ["send_email"]}, {})
    theirs = await cases.add(other, SHOW, {"tools": ["git_log"]}, {})

    def numbers(found: tuple[Case, ...]) -> list[int]:
        return [case.id for case in found]

    assert numbers(await cases.list_cases(caller)) == [shared.id]
    assert numbers(await cases.list_cases(ana)) == [shared.id, hers.id]
    assert numbers(await cases.list_cases(other)) == [theirs.id]
    assert (await cases.run(ana)).cases == 2
    assert await cases.last(bob) is None
    async with without_tenant_conditions(services.database):
        assert numbers(await cases.list_cases(ana)) == [shared.id, hers.id]
        with pytest.raises(NotFound):
            await cases.remove(caller, theirs.id)
        run = await cases.run(ana)
        assert (run.cases, run.passed) == (2, 2)
    with pytest.raises(NotAllowed):
        await cases.remove(ana, shared.id)
    with pytest.raises(NotFound):
        await cases.remove(bob, hers.id)
    await cases.remove(ana, hers.id)
    last = await cases.last(ana)
    assert last is not None
    assert [one.case for one in last.outcomes] == [shared.id]


async def test_without_cases_there_is_nothing_to_run(cases: Cases, caller: Caller) -> None:
    """And nothing is stored."""
    run = await cases.run(caller)

    assert (run.id, run.cases, run.outcomes) == (0, 0, ())
    assert await cases.runs(caller) == ()


async def test_old_runs_are_purged(cases: Cases, caller: Caller) -> None:
    """The cases stay."""
    await cases.add(caller, NONSENSE, {}, {})
    await cases.run(caller)

    assert await cases.purge(caller, 0) == 1
    assert len(await cases.list_cases(caller)) == 1
