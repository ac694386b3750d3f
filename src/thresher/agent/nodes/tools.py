"""The step that calls tools: asks a person first where that is wanted, makes the calls side by side, answers each.

A step that waits for a person is run again from its beginning when he has decided; so nothing is called before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from thresher.agent.arguments import unreadable
from thresher.agent.artifacts import within
from thresher.agent.desk import Desk
from thresher.agent.detecting import detect
from thresher.agent.events import Called, Step
from thresher.agent.inner import TURNS, select_tables
from thresher.agent.offers import READER, SEARCH, Outcome, Tool
from thresher.agent.state import State, Update
from thresher.agent.transcript import answered, former_words, open_calls, question
from thresher.core import StoreError, ThresherError, dumps, event, named
from thresher.embedding import count_tokens

logger = logging.getLogger("thresher.agent")

AT_ONCE: Final = 8
MOST: Final = 32
"""Calls of one answer that are made side by side, and made at all."""
PREVIEW: Final = 4
"""The part of a long result that stays in the conversation: one of so many of the limit."""
_SCHEMA: Final = "query_database_schema"
_UNASKED: Final = "It waits for approval by now, and nobody was asked about it."
_NO_THREAD: Final = "It needs a person's approval, and a call without a thread cannot wait for one."
_TABLES: Final = 8
"""Tables that are read in full, of those that a model has chosen."""


async def tools(state: State, runtime: Runtime[Desk]) -> Update:
    """Answer the calls of our tools."""
    desk, messages = runtime.context, state["messages"]
    theirs = state.get("theirs", ())
    calls = [call for call in open_calls(messages) if call["name"] not in theirs and call["name"] != SEARCH]
    offered = state.get("offered", [])
    await desk.offers.describe(offered)
    decisions = _decided(desk, [(call, _tool(desk, offered, call)) for call in calls])
    answers = await _answers(desk, state, calls, decisions)
    update: Update = {"messages": list(answers)}
    missed = [one for one in answers if one.status == "error" and not one.additional_kwargs]
    if missed and not state.get("retried"):
        update |= await _again(desk, state, missed)
    return update


async def _answers(
    desk: Desk, state: State, calls: Sequence[ToolCall], decisions: Mapping[str, Mapping[str, Any]]
) -> list[ToolMessage]:
    """The answers to calls, made side by side, some at a time; of a flood the first ones."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(call: ToolCall) -> ToolMessage:
        async with room:
            return await _answer(desk, state, call, decisions.get(call["id"] or ""))

    made = await asyncio.gather(*map(one, calls[:MOST]))
    return [*made, *(_failed(desk, call, f"Not run: {MOST} calls at once are enough.") for call in calls[MOST:])]


def _tool(desk: Desk, offered: Sequence[str], call: ToolCall) -> Tool | None:
    """The tool that a call means, if it was offered and still may be: what nobody offered is not there."""
    tool = desk.offers.get(call["name"])
    return tool if tool is not None and tool.name in offered and desk.offers.known([tool.name]) else None


def _decided(desk: Desk, calls: Sequence[tuple[ToolCall, Tool | None]]) -> Mapping[str, Mapping[str, Any]]:
    """What a person says to those calls that wait for one, by the calls' ids; the step ends here until he has.

    What he was asked about holds for him, whatever the settings say by now; what they say besides was never asked.
    """
    waiting = [told for call, tool in calls if (told := _question(desk, call, tool)) is not None]
    if desk.call.decisions:
        given = cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", interrupt(waiting))["decided"]
        unasked = {one["id"]: {"approved": False, "reason": _UNASKED} for one in waiting}
        return {**unasked, **given}
    if not waiting:
        return {}
    if desk.thread is None:
        desk.account.note(f"Not run without a thread: {', '.join(one['tool'] for one in waiting)}. {_NO_THREAD}")
        return {one["id"]: {"approved": False, "reason": _NO_THREAD} for one in waiting}
    return cast("Mapping[str, Mapping[str, Any]]", interrupt(waiting))


def _question(desk: Desk, call: ToolCall, tool: Tool | None) -> dict[str, Any] | None:
    """What a person is asked before a call; None where it needs no asking."""
    if tool is None or unreadable(call["args"]) or not (why := _waits(desk.settings.approval, tool)):
        return None
    asked = {"id": call["id"], "tool": tool.name, "arguments": call["args"], "why": why}
    rememberable = tool.claim is not None and not tool.claim.agreed and desk.settings.approval != "all"
    return asked | ({"definition": tool.claim.definition} if tool.claim and rememberable else {})


def _waits(approval: str, tool: Tool) -> str:
    """Why a tool's calls wait for a person; empty where they do not."""
    match approval:
        case "all":
            return "every call waits"
        case "writes" | "destructive" if tool.claim is not None and not tool.reads:
            return "its server says that it only reads, and is not marked as trusted"
        case "writes" if not tool.reads:
            return "it may change something"
        case "destructive" if tool.destroys:
            return "it may destroy something"
        case _:
            return ""


async def _answer(desk: Desk, state: State, call: ToolCall, decision: Mapping[str, Any] | None) -> ToolMessage:
    if unreadable(call["args"]):
        return _failed(desk, call, "The arguments are no JSON object. Write them again.")
    if call["name"] == READER:
        return await _leaf(desk, call)
    if (tool := _tool(desk, state.get("offered", ()), call)) is None:
        return _failed(desk, call, f"There is no tool {call['name'][:80]} here. Use those that are offered.")
    arguments, changed = call["args"], ""
    if decision is not None and decision.get("tool", tool.name) != tool.name:
        return _failed(desk, call, f"Not run: the person was asked about {decision['tool']}, which is gone.")
    if decision is not None and not decision.get("approved"):
        desk.account.called.append(Called(tool.name, "declined", why=str(decision.get("reason") or "")))
        reason = f" Reason: {decision['reason']}" if decision.get("reason") else ""
        who = " by the person" if desk.call.decisions else ""
        return answered(call, f"Declined{who}: not run.{reason}", failed=True, declined=True)
    if decision is not None and (changed := await _agreed(desk, tool, decision)):
        return _failed(desk, call, changed)
    if decision is not None and (edited := decision.get("arguments")) is not None:
        arguments, changed = dict(edited), f"(The person changed the arguments to {dumps(edited)}.)\n"
    return await _called(desk, state, call, tool, arguments, changed)


async def _agreed(desk: Desk, tool: Tool, decision: Mapping[str, Any]) -> str:
    """Remember a yes where that was wanted; says why a call is not made after all, nothing where it is."""
    definition = str(decision.get("definition") or "")
    if definition and tool.claim is not None and tool.claim.definition != definition:
        return f"Not run: the definition of {tool.name} has changed since the person was asked."
    if definition and decision.get("remember"):
        try:
            await desk.offers.agree(tool.name, definition)
        except ThresherError as error:
            desk.account.note(f"Your yes to {tool.name} could not be remembered: {error.message}")
    return ""


async def _called(
    desk: Desk, state: State, call: ToolCall, tool: Tool, arguments: Mapping[str, Any], changed: str
) -> ToolMessage:
    desk.tell(Step("tool", tool.name, {"tool": tool.name, "id": call["id"]}))
    outcome = await desk.offers.call(tool.name, arguments, desk.settings.tool_seconds)
    ended = {"tool": tool.name, "id": call["id"], "failed": outcome.failed, "ms": outcome.ms}
    desk.tell(Step("called", tool.name, ended))
    if outcome.rules:
        text = f"Not run yet. Read these rules, then make the call again so that it fits them.\n\n{outcome.text}"
        return answered(call, text, rules=True)
    if outcome.failed:
        return _failed(desk, call, changed + outcome.text, outcome.ms)
    if tool.name == _SCHEMA and not arguments.get("table"):
        outcome = await _chosen(desk, state, arguments, outcome)
    return await _told(desk, call, tool, changed + outcome.text, outcome.ms)


async def _told(desk: Desk, call: ToolCall, tool: Tool, text: str, ms: int) -> ToolMessage:
    """A result; of a long one the beginning, and the cursor of the rest."""
    limit = desk.settings.result_tokens
    if (size := count_tokens(text)) <= limit:
        desk.account.called.append(Called(tool.name, "done", ms))
        return answered(call, text)
    beginning = within(text, limit // PREVIEW)
    desk.account.called.append(Called(tool.name, "moved out", ms, f"{size:,} tokens"))
    try:
        named = await desk.artifacts.add("result", tool.name, text)
    except StoreError as error:
        desk.account.note(f"A long result could not be kept: {error.message}")
        return answered(call, f"{beginning}\n[The rest of {size:,} tokens could not be kept. Ask for less.]")
    cursor = f"{named.hex}-{len(beginning)}"
    more = f"[The result has {size:,} tokens; this is its beginning. Go on with {READER}, cursor {cursor}]"
    return answered(call, f"{beginning}\n{more}", artifact=str(named))


async def _leaf(desk: Desk, call: ToolCall) -> ToolMessage:
    """A page of a long result."""
    try:
        leaf = await desk.artifacts.leaf(str(call["args"].get("cursor") or ""), desk.settings.result_tokens)
    except ThresherError as error:
        return answered(call, f"{error.message} {error.hint}", failed=True, reader=True)
    desk.account.called.append(Called(READER, "done"))
    more = (
        f"\n[{leaf.left:,} tokens follow: {READER}, cursor {leaf.cursor}]" if leaf.cursor else "\n[This was the end.]"
    )
    return answered(call, leaf.text + more)


def _failed(desk: Desk, call: ToolCall, text: str, ms: int = 0) -> ToolMessage:
    desk.account.called.append(Called(call["name"], "failed", ms, text[:200]))
    return answered(call, text, failed=True)


async def _chosen(desk: Desk, state: State, arguments: Mapping[str, Any], outcome: Outcome) -> Outcome:
    """A schema that is too long for the conversation, cut to the tables that the question needs."""
    names = outcome.data.get("shown") or ()
    if not desk.settings.grading or count_tokens(outcome.text) <= desk.settings.result_tokens or len(names) < 2:
        return outcome
    asked = str(arguments.get("question") or question(state["messages"]))
    chosen = await select_tables(desk, asked, dict.fromkeys(names, ""))
    if not chosen:
        return outcome
    searched = {"connection": arguments.get("connection"), "tables": list(chosen[:_TABLES]), "of": len(names)}
    desk.tell(Step("tables", ", ".join(chosen[:_TABLES]), searched))
    room = max(200, desk.settings.result_tokens // min(len(chosen), _TABLES))
    given = {"connection": arguments.get("connection"), "budget": room}
    parts = await asyncio.gather(
        *(desk.offers.call(_SCHEMA, {**given, "table": name}, desk.settings.tool_seconds) for name in chosen[:_TABLES])
    )
    if any(one.failed for one in parts):
        return outcome
    left = [name for name in names if name not in chosen[:_TABLES]]
    tail = f"\n\n[Not shown: {', '.join(map(named, left))}]" if left else ""
    return Outcome("\n\n".join(one.text for one in parts) + tail, outcome.data, ms=outcome.ms)


async def _again(desk: Desk, state: State, missed: Sequence[ToolMessage]) -> Update:
    """Detect what the message needs once more, with what went wrong; once in a turn, and said."""
    messages = state["messages"]
    why = f"{missed[0].name}: {' '.join(str(missed[0].text).split())[:200]}"
    desk.tell(Step("retry", why))
    text = f"{question(messages)}\n{why}"
    needs = await detect(desk, text, former_words(messages, TURNS), state.get("offered", []))
    desk.account.retried = why
    desk.account.intents = needs.intents or desk.account.intents
    event(logger, "intents detected again", intents=needs.intents, offered=len(needs.offered))
    return {"retried": why, "offered": list(needs.offered), "intents": list(needs.intents), "rules": needs.rules}
