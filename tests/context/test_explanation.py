"""The whole decision about a message, from the services that answer it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from thresher.context import ContextExplanation, ContextService, Trial
from thresher.core import Caller, InvalidInput, NotFound
from thresher.knowledge.documents import Origin
from thresher.knowledge.tools import RankedTool
from thresher.services import Services

SHOW = "show the git log of last week"
SEND = "send an email to the whole team"
BOTH = "show the git log of the repository and then send an email to the whole team"


def ranked(explanation: ContextExplanation) -> Mapping[str, RankedTool]:
    """The tools by name."""
    return {tool.name: tool for tool in explanation.tools.ranked}


async def logged(services: Services) -> list[int]:
    """The number of rows in the logs."""
    await services.tools.settle()
    await services.intents.settle()
    async with services.database.transaction(services.caller.tenant) as connection:
        counts = [
            await connection.exec_driver_sql(f"select count(*) from {table}")
            for table in ("decision", "discovery", "invocation", "tool_use")
        ]
        return [count.scalar_one() for count in counts]


async def test_the_texts_are_those_that_a_model_gets(
    context: ContextService, services: Services, caller: Caller
) -> None:
    """Of each of the three verbs, to the letter."""
    for message in (SHOW, SEND, BOTH, "hello"):
        explanation = await context.explain(caller, message, budget=900)
        prompt = await context.process_prompt(caller, message)
        found = await services.tools.find_tools(caller, message=message)
        pack = await context.get_context(caller, message, budget=900)

        assert explanation.process_prompt.text == prompt.text
        assert explanation.find_tools.text == found.text
        assert explanation.get_context.text == pack.text
        assert [tool.name for tool in explanation.tools.ranked if tool.fate == "given"] == [
            tool.name for tool in sorted(found.tools, key=lambda one: ranked(explanation)[one.name].rank or 99)
        ]
        assert [(one.kind, one.name) for one in explanation.pieces if one.fate == "given"] == [
            (piece.kind, piece.name)
            for kind in explanation.kinds
            for piece in sorted(pack.pieces, key=lambda one: -one.value)
            if piece.kind == kind.share.kind
        ]


async def test_intents_are_there_with_their_thresholds_and_what_is_not_given_with_the_reason(
    context: ContextService, caller: Caller
) -> None:
    """Matched or not; a pack that fits and none of whose servers is there is withheld."""
    shown = await context.explain(caller, SHOW)

    scores = {score.intent: score for score in shown.decision.scores}
    assert scores["history"].matched
    assert scores["history"].score >= scores["history"].threshold
    assert not scores["mail"].matched
    assert scores["mail"].margin < 0

    none = await context.explain(caller, SHOW, trial=Trial(thresholds={"history": 1.0}))
    only = await context.explain(caller, SHOW, trial=Trial(thresholds={"*": 1.0, "history": 0.3}))

    assert none.process_prompt.text == "PASS_THROUGH"
    assert {score.intent: score.threshold for score in only.decision.scores}.items() >= {
        ("history", 0.3),
        ("mail", 1.0),
    }
    assert only.process_prompt.text == shown.process_prompt.text
    again = await context.process_prompt(caller, SHOW)
    assert [rule.intent for rule in again.rules] == ["history"]


async def test_nothing_of_a_try_is_recorded(context: ContextService, services: Services, caller: Caller) -> None:
    """Neither decisions nor searches, nor that a client was shown tools or rules."""
    before = await logged(services)

    await context.explain(caller, SHOW)
    await context.explain(caller, SEND, queries=["send an email"], expected=["git_git_log"])

    assert await logged(services) == before
    assert not await services.intents.was_given(caller, "history")


async def test_what_was_learned_counts_in_a_try_as_in_a_search(
    context: ContextService, services: Services, caller: Caller
) -> None:
    """The try asks the same index with the same learner, and only leaves the log alone."""
    await services.tools.find_tools(caller, message=SHOW)
    services.tools.calls.add(caller, name="git_git_diff", tool_id=1, state="ok", duration_ms=1.0, trace_id="t")
    await services.tools.settle()

    explanation = await context.explain(caller, SHOW)
    found = await services.tools.find_tools(caller, message=SHOW)

    given = {tool.name: tool.why for tool in found.tools}
    assert {name: tool.why for name, tool in ranked(explanation).items() if name in given} == given


async def test_a_try_changes_what_holds_for_it_alone(context: ContextService, caller: Caller) -> None:
    """Servers, the threshold of tools, kinds and budgets."""
    plain = await context.explain(caller, BOTH)
    git = await context.explain(caller, BOTH, trial=Trial(servers=["git"]), expected=["mail_send_email"])
    strict = await context.explain(caller, BOTH, trial=Trial(threshold=1.0))
    tools = await context.explain(caller, BOTH, trial=Trial(kinds=["tools"]), budget=600, find_budget=50)
    again = await context.explain(caller, BOTH)

    assert {tool.server for tool in git.tools.ranked if tool.fate == "given"} == {"git"}
    assert ranked(git)["mail_send_email"].fate == "server"
    assert "mail_send_email" in plain.get_context.text
    assert "mail_send_email" not in git.get_context.text + git.process_prompt.text
    assert strict.tools.abstained
    assert strict.tools.threshold == 1.0
    assert {tool.fate for tool in strict.tools.ranked} == {"abstained"}
    assert {one.kind for one in tools.pieces} == {"tools"}
    assert "left out of this try" in [kind.share.why for kind in tools.kinds]
    assert (tools.get_context.budget, tools.find_tools.budget) == (600, 50)
    assert tools.find_tools.tokens <= 50
    assert again.get_context.text == plain.get_context.text


async def test_the_tasks_of_a_message_are_shown_and_what_was_found_for_each(
    context: ContextService, caller: Caller
) -> None:
    """A piece names the task that it was found for."""
    explanation = await context.explain(caller, BOTH)

    assert len(explanation.tasks) == 2
    assert len(explanation.tools.clauses) >= 1
    tasks = {one.name: one.task for one in explanation.pieces if one.kind == "tools"}
    assert (tasks["git_git_log"], tasks["mail_send_email"]) == (0, 1)
    tools = next(kind for kind in explanation.kinds if kind.share.kind == "tools")
    assert len(tools.chances) == len(tools.evidence) == 2


async def test_the_budget_is_accounted_for(context: ContextService, caller: Caller) -> None:
    """Parts and frame are what was spent, and the rest is left."""
    explanation = await context.explain(caller, SHOW, budget=2_000)

    answer = explanation.get_context
    assert answer.budget is not None
    assert answer.left is not None
    assert answer.tokens + answer.left == answer.budget
    assert sum(answer.parts.values()) >= answer.tokens
    assert {"rules", "tools", "frame"} <= answer.parts.keys()
    assert {"embedding", "route", "gather", "compose", "total"} <= answer.timings.keys()
    assert all(value >= 0 for value in answer.timings.values())
    assert explanation.process_prompt.budget is None
    short = (await context.explain(caller, BOTH, find_budget=50)).find_tools
    for found in (explanation.find_tools, short):
        assert sum(found.parts.values()) == found.tokens


async def test_pieces_say_what_became_of_them(
    context: ContextService, services: Services, caller: Caller, tmp_path: Path
) -> None:
    """Passages that get in, and what is too improbable or finds no room."""
    manual = tmp_path / "manual"
    manual.mkdir()
    (manual / "boiler.md").write_text("# Boiler\n\nA valve limits the pressure of the boiler to 3 bar.\n")
    for number in range(4):
        (manual / f"tank{number}.md").write_text(
            f"# Tank {number}\n\n" + "The pressure of this tank is not limited. " * 40
        )
    await services.documents.index_here(caller, "manual", Origin("folder", str(manual)))

    whole = await context.explain(caller, "How is the pressure of the boiler limited?")
    small = await context.explain(caller, "How is the pressure of the boiler limited?", budget=260)
    chat = await context.explain(caller, "hello")

    passages = [one for one in whole.pieces if one.kind == "passages"]
    assert (passages[0].name, passages[0].fate) == ("manual/boiler.md:1-3", "given")
    assert "3 bar" in passages[0].text
    assert {one.fate for one in whole.pieces} >= {"given", "worthless"}
    assert all(set(one.place) == {"repository", "document", "lines"} for one in passages)
    assert all(one.reason for one in whole.pieces)
    assert "budget" in {one.fate for one in small.pieces}
    assert {kind.share.why for kind in chat.kinds if kind.share.kind != "rules"} == {
        "not searched: the message is small talk"
    }


async def test_bad_tries_are_refused(context: ContextService, caller: Caller) -> None:
    """Unknown servers and intents, thresholds that are none, an empty message, a budget for nothing."""
    with pytest.raises(NotFound, match="no server 'gut'"):
        await context.explain(caller, SHOW, trial=Trial(servers=["gut"]))
    with pytest.raises(NotFound, match="no intent 'histry'"):
        await context.explain(caller, SHOW, trial=Trial(thresholds={"histry": 0.5}))
    with pytest.raises(InvalidInput, match="not a valid threshold"):
        await context.explain(caller, SHOW, trial=Trial(thresholds={"history": float("nan")}))
    with pytest.raises(InvalidInput, match="empty"):
        await context.explain(caller, " ")
    with pytest.raises(InvalidInput, match="too small"):
        await context.explain(caller, SHOW, budget=5)


async def test_the_record_is_plain_data(context: ContextService, caller: Caller) -> None:
    """It can be sent and read again."""
    adapter: TypeAdapter[Any] = TypeAdapter(ContextExplanation)

    sent = adapter.dump_json(await context.explain(caller, SHOW, expected=["none_such"]))

    assert json.loads(sent)["tools"]["ranked"][-1]["fate"] == "unknown"
