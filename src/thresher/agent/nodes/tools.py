"""The step that calls tools: asks a person first if required, makes the calls side by side, answers each.

A step that waits for a person is run again from its beginning after the decision; so nothing is called before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from thresher.agent.artifacts import RESULT_CURSOR
from thresher.agent.exchange import CalledTool, Step
from thresher.agent.messages import unreadable
from thresher.agent.needs import detect
from thresher.agent.offers import READER, SEARCH, ModelTool, ToolOutcome
from thresher.agent.state import State, Update
from thresher.agent.subtasks import TURNS, select_tables
from thresher.agent.transcript import answered, former_words, open_calls, question
from thresher.agent.turn_context import TurnContext
from thresher.core import StoreError, ThresherError, dumps, event, named
from thresher.embedding import count_tokens
from thresher.results import LEAST_BUDGET, fit, read_on

logger = logging.getLogger("thresher.agent")

AT_ONCE: Final = 8
MOST: Final = 32
"""Calls of one answer that are made side by side, and at all."""
PREVIEW: Final = 4
"""Fraction of the limit of a long result that stays in the conversation: one part of so many."""
_SCHEMA: Final = "query_database_schema"
_UNASKED: Final = "It needs approval now, and no one was asked about it."
_NO_THREAD: Final = "It needs a person's approval, and a call without a thread cannot wait for one."
_TABLES: Final = 8
"""Most tables that are read in full, of those that a model has chosen."""


async def tools(state: State, runtime: Runtime[TurnContext]) -> Update:
    """Answer the calls of Thresher's tools."""
    context, messages = runtime.context, state["messages"]
    theirs = state.get("theirs", ())
    calls = [call for call in open_calls(messages) if call["name"] not in theirs and call["name"] != SEARCH]
    offered = state.get("offered", [])
    await context.offers.describe(offered)
    decisions = _decided(context, [(call, _tool(context, offered, call)) for call in calls])
    answers = await _answers(context, state, calls, decisions)
    update: Update = {"messages": list(answers)}
    missed = [one for one in answers if one.status == "error" and not one.additional_kwargs]
    if missed and not state.get("retried"):
        update |= await _again(context, state, missed)
    return update


async def _answers(
    context: TurnContext, state: State, calls: Sequence[ToolCall], decisions: Mapping[str, Mapping[str, Any]]
) -> list[ToolMessage]:
    """Return the answers to calls, made side by side, some at a time; of too many only the first are made."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(call: ToolCall) -> ToolMessage:
        async with room:
            return await _answer(context, state, call, decisions.get(call["id"] or ""))

    made = await asyncio.gather(*map(one, calls[:MOST]))
    return [*made, *(_failed(context, call, f"Not run: {MOST} calls at once are enough.") for call in calls[MOST:])]


def _tool(context: TurnContext, offered: Sequence[str], call: ToolCall) -> ModelTool | None:
    """Return the tool of a call if it was offered and still may be."""
    tool = context.offers.get(call["name"])
    return tool if tool is not None and tool.name in offered and context.offers.known([tool.name]) else None


def _decided(
    context: TurnContext, calls: Sequence[tuple[ToolCall, ModelTool | None]]
) -> Mapping[str, Mapping[str, Any]]:
    """Return a person's decisions about the waiting calls, by the calls' ids; without them the step ends here.

    A decision counts for exactly what the person was asked, whatever the settings are by now.
    """
    waiting = [told for call, tool in calls if (told := _question(context, call, tool)) is not None]
    if context.call.decisions:
        given = cast("Mapping[str, Mapping[str, Mapping[str, Any]]]", interrupt(waiting))["decided"]
        unasked = {one["id"]: {"approved": False, "reason": _UNASKED} for one in waiting}
        return {**unasked, **given}
    if not waiting:
        return {}
    if context.thread is None:
        context.account.note(f"Not run without a thread: {', '.join(one['tool'] for one in waiting)}. {_NO_THREAD}")
        return {one["id"]: {"approved": False, "reason": _NO_THREAD} for one in waiting}
    return cast("Mapping[str, Mapping[str, Any]]", interrupt(waiting))


def _question(context: TurnContext, call: ToolCall, tool: ModelTool | None) -> dict[str, Any] | None:
    """Return the question to a person before a call; None if it needs no approval."""
    if tool is None or unreadable(call["args"]) or not (why := _waits(context.settings.approval, tool)):
        return None
    asked = {"id": call["id"], "tool": tool.name, "arguments": call["args"], "why": why}
    rememberable = tool.claim is not None and not tool.claim.agreed and context.settings.approval != "all"
    return asked | ({"definition": tool.claim.definition} if tool.claim and rememberable else {})


def _waits(approval: str, tool: ModelTool) -> str:
    """Return why a tool's calls wait for a person; empty if they do not."""
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


async def _answer(
    context: TurnContext, state: State, call: ToolCall, decision: Mapping[str, Any] | None
) -> ToolMessage:
    if unreadable(call["args"]):
        return _failed(context, call, "The arguments are not a JSON object. Write them again.")
    if call["name"] == READER:
        return await _leaf(context, call)
    if (tool := _tool(context, state.get("offered", ()), call)) is None:
        return _failed(context, call, f"There is no tool {call['name'][:80]} here. Use those that are offered.")
    arguments, changed = call["args"], ""
    if decision is not None and decision.get("tool", tool.name) != tool.name:
        return _failed(context, call, f"Not run: the person was asked about {decision['tool']}, which is gone.")
    if decision is not None and not decision.get("approved"):
        context.account.called.append(CalledTool(tool.name, "declined", why=str(decision.get("reason") or "")))
        reason = f" Reason: {decision['reason']}" if decision.get("reason") else ""
        who = " by the person" if context.call.decisions else ""
        return answered(call, f"Declined{who}: not run.{reason}", failed=True, declined=True)
    if decision is not None and (changed := await _agreed(context, tool, decision)):
        return _failed(context, call, changed)
    if decision is not None and (edited := decision.get("arguments")) is not None:
        arguments, changed = dict(edited), f"(The person changed the arguments to {dumps(edited)}.)\n"
    return await _called(context, state, call, tool, arguments, changed)


async def _agreed(context: TurnContext, tool: ModelTool, decision: Mapping[str, Any]) -> str:
    """Remember an approval if that was requested; returns why a call is not made after all, or an empty text."""
    definition = str(decision.get("definition") or "")
    if definition and tool.claim is not None and tool.claim.definition != definition:
        return f"Not run: the definition of {tool.name} has changed since the person was asked."
    if definition and decision.get("remember"):
        try:
            await context.offers.agree(tool.name, definition)
        except ThresherError as error:
            context.account.note(f"Your yes to {tool.name} could not be remembered: {error.message}")
    return ""


async def _called(
    context: TurnContext, state: State, call: ToolCall, tool: ModelTool, arguments: Mapping[str, Any], changed: str
) -> ToolMessage:
    context.tell(Step("tool", tool.name, {"tool": tool.name, "id": call["id"]}))
    outcome = await context.offers.call(tool.name, arguments, context.settings.tool_seconds)
    ended = {"tool": tool.name, "id": call["id"], "failed": outcome.failed, "ms": outcome.ms}
    context.tell(Step("called", tool.name, ended))
    if outcome.rules:
        text = f"Not run yet. Read these rules, then make the call again so that it fits them.\n\n{outcome.text}"
        return answered(call, text, rules=True)
    if outcome.failed:
        return _failed(context, call, changed + outcome.text, outcome.ms)
    if tool.name == _SCHEMA and not arguments.get("table"):
        outcome = await _chosen(context, state, arguments, outcome)
    return await _result(context, call, tool, changed + outcome.text, outcome.ms, question(state["messages"]))


async def _result(context: TurnContext, call: ToolCall, tool: ModelTool, text: str, ms: int, asked: str) -> ToolMessage:
    """Return a result; of a long one what answers the person's message, and the cursor of the rest."""
    limit = context.settings.result_tokens
    if (size := count_tokens(text)) <= limit:
        context.account.called.append(CalledTool(tool.name, "done", ms))
        return answered(call, text)
    context.account.called.append(CalledTool(tool.name, "moved out", ms, f"{size:,} tokens"))
    part = (await asyncio.to_thread(fit, text, max(limit // PREVIEW, LEAST_BUDGET), asked)).text
    try:
        named = await context.artifacts.add("result", tool.name, text)
    except StoreError as error:
        context.account.note(f"A long result could not be kept: {error.message}")
        return answered(call, f"{part}\n[The rest of {size:,} tokens could not be kept. Ask for less.]")
    cursor = RESULT_CURSOR.encode(named, 0)
    more = f"[The result has {size:,} tokens; this is a part of it. Read more with {READER}, cursor {cursor}]"
    return answered(call, f"{part}\n{more}", artifact=str(named))


async def _leaf(context: TurnContext, call: ToolCall) -> ToolMessage:
    """Return a page of a long result, or what answers a question in it."""
    given = {name: str(call["args"].get(name) or "") for name in ("focus", "pointer", "lines", "pattern")}
    cursor, limit = str(call["args"].get("cursor") or ""), context.settings.result_tokens
    try:
        if any(given.values()):
            text = await context.artifacts.result(cursor)
            part = await asyncio.to_thread(lambda: read_on(text, limit, more=f"{READER}, cursor {cursor}", **given))
            context.account.called.append(CalledTool(READER, "done"))
            return answered(call, part.text)
        leaf = await context.artifacts.leaf(cursor, limit)
    except ThresherError as error:
        return answered(call, f"{error.message} {error.hint}", failed=True, reader=True)
    context.account.called.append(CalledTool(READER, "done"))
    more = (
        f"\n[{leaf.left:,} tokens follow: {READER}, cursor {leaf.cursor}]" if leaf.cursor else "\n[This was the end.]"
    )
    return answered(call, leaf.text + more)


def _failed(context: TurnContext, call: ToolCall, text: str, ms: int = 0) -> ToolMessage:
    context.account.called.append(CalledTool(call["name"], "failed", ms, text[:200]))
    return answered(call, text, failed=True)


async def _chosen(
    context: TurnContext, state: State, arguments: Mapping[str, Any], outcome: ToolOutcome
) -> ToolOutcome:
    """Return a schema that is too long for the conversation, cut to the tables that the question needs."""
    names = outcome.data.get("shown") or ()
    if not context.settings.grading or count_tokens(outcome.text) <= context.settings.result_tokens or len(names) < 2:
        return outcome
    asked = str(arguments.get("question") or question(state["messages"]))
    chosen = await select_tables(context, asked, dict.fromkeys(names, ""))
    if not chosen:
        return outcome
    searched = {"connection": arguments.get("connection"), "tables": list(chosen[:_TABLES]), "of": len(names)}
    context.tell(Step("tables", ", ".join(chosen[:_TABLES]), searched))
    room = max(200, context.settings.result_tokens // min(len(chosen), _TABLES))
    given = {"connection": arguments.get("connection"), "budget": room}
    parts = await asyncio.gather(
        *(
            context.offers.call(_SCHEMA, {**given, "table": name}, context.settings.tool_seconds)
            for name in chosen[:_TABLES]
        )
    )
    if any(one.failed for one in parts):
        return outcome
    left = [name for name in names if name not in chosen[:_TABLES]]
    tail = f"\n\n[Not shown: {', '.join(map(named, left))}]" if left else ""
    return ToolOutcome("\n\n".join(one.text for one in parts) + tail, outcome.data, ms=outcome.ms)


async def _again(context: TurnContext, state: State, missed: Sequence[ToolMessage]) -> Update:
    """Detect the message's needs again, with the failure; once in a turn, and reported."""
    messages = state["messages"]
    why = f"{missed[0].name}: {' '.join(str(missed[0].text).split())[:200]}"
    context.tell(Step("retry", why))
    text = f"{question(messages)}\n{why}"
    needs = await detect(context, text, former_words(messages, TURNS), state.get("offered", []))
    context.account.retried = why
    context.account.intents = needs.intents or context.account.intents
    event(logger, "intents detected again", intents=needs.intents, offered=len(needs.offered))
    return {"retried": why, "offered": list(needs.offered), "intents": list(needs.intents), "rules": needs.rules}
