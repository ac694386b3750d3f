"""The step in which the model answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from typing import Final
from uuid import uuid4

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime

from thresher.agent.exchange import Delta, Finish, Step
from thresher.agent.messages import ids_of, tool_calls
from thresher.agent.prompt import functions_of, prompt_of, prompt_tokens
from thresher.agent.state import MARK, Messages, Searches, State, Update
from thresher.agent.transcript import answered, marked, now, question, this_turn
from thresher.agent.turn_context import TurnContext
from thresher.core import ModelError, ThresherError, event, plain
from thresher.llm import Completion, Function, FunctionCall

logger = logging.getLogger("thresher.agent")

LAST_STEPS: Final = 3
"""So many steps before the limit the model has to answer with what it has."""
LIMIT_TEXT: Final = "(The steps of this turn are used up. This is what there was by then.)"
_FINISHES: Final[Mapping[str, Finish]] = {"length": "length", "content_filter": "content_filter"}
_NOT_RUN: Final = "This call was not run: the steps of this turn are used up."


async def complete(state: State, runtime: Runtime[TurnContext]) -> Update:
    """Ask the model, and pass its words on as they come."""
    context = runtime.context
    if context.model is None:
        return await _without(state, context)
    searches = await _searches(state, context)
    at_limit = state.get("remaining", LAST_STEPS + 1) <= LAST_STEPS
    functions = [] if at_limit else functions_of(context, state)
    context.account.offered = tuple(function.name for function in functions) or context.account.offered
    context.account.saved += state.get("passed", 0)
    event(logger, "passages placed", passages=len(searches.passages), tokens=searches.tokens)
    said = await _answered(state, context, searches, functions)
    calls = tool_calls(said.calls, ids_of(state["messages"])) if said.calls else []
    made = AIMessage(said.text, tool_calls=calls, id=str(uuid4()))
    if at_limit and (made.tool_calls or not said.text):
        return _stopped(state, context, made, searches)
    if made.tool_calls:  # the turn continues, here or at the client
        return {"messages": [made], "searches": searches}
    if at_limit:
        context.account.finish = "limit"
    return _last(state, context, made, searches)


async def _answered(
    state: State, context: TurnContext, searches: Searches, functions: Sequence[Function]
) -> Completion:
    """Return the model's streamed answer; a later failure of a turn becomes a message with a reference to the log.

    Raises:
        ModelError: It failed at once.
    """
    before = len(context.account.text)
    try:
        prompt = prompt_of(context, state, searches, functions)
        context.account.prompt = partial(prompt_tokens, context, state, searches, functions, prompt)
        return await _streamed(context, prompt, functions, str(state["messages"][-1].id or ""))
    except ThresherError as error:
        if _failed_at_once(context, error):
            raise
        logger.warning("model failed", exc_info=error, extra={"fields": {"trace": context.trace}})
        context.account.finish = "error"
        text = f"I could not answer: {error.message} {error.hint} (reference {context.trace})".replace("  ", " ")
        _tell(context, text if not context.account.text else f"\n\n{text}")
        return Completion(context.account.text[before:].strip(), "stop")


def _failed_at_once(context: TurnContext, error: ThresherError) -> bool:
    """Return whether a turn fails as a whole: nothing was said, and nothing done that a second try would repeat."""
    return (
        isinstance(error, ModelError) and context.sent <= 1 and not context.account.text and not context.account.called
    )


async def _streamed(
    context: TurnContext, messages: Messages, functions: Sequence[Function], answers: str
) -> Completion:
    if (model := context.model) is None:
        raise ModelError("There is no model.")
    settings, parts, calls = context.settings, list[str](), list[FunctionCall]()
    usage, finish, name = None, "stop", ""
    choice = context.call.choice if not context.sent else "auto"
    context.sent += 1
    separate = bool(context.account.text)
    answer = model.stream(
        messages,
        functions=tuple(functions),
        choice=choice if functions else "auto",
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        seconds=settings.model_seconds,
        first_seconds=settings.first_seconds,
        more=context.call.passed,
    )
    async with context.draft(answers) as draft, aclosing(answer) as chunks:
        async for chunk in chunks:
            if chunk.text:
                draft.add(chunk.text)
                _tell(context, f"\n\n{chunk.text}" if separate else chunk.text)
                separate = False
                parts.append(chunk.text)
            calls += chunk.calls
            usage, finish, name = chunk.usage or usage, chunk.finish or finish, chunk.model or name
    context.account.spent(usage)
    if usage is not None:
        context.tell(Step("usage", data={"calls": context.account.calls, **asdict(context.account.usage)}))
    context.account.model = name or context.account.model
    context.account.finish = _FINISHES.get(finish, "stop")
    return Completion("".join(parts), finish, tuple(calls))  # pyright: ignore[reportArgumentType] - as the model said


def _tell(context: TurnContext, text: str) -> None:
    context.account.parts.append(text)
    context.tell(Delta(text))


def _stopped(state: State, context: TurnContext, made: AIMessage, searches: Searches) -> Update:
    """Return the end of a turn whose steps are used up."""
    context.account.finish = "limit"
    context.account.note(f"The turn was ended after {context.settings.recursion} steps.")
    _tell(context, f"\n\n{LIMIT_TEXT}" if context.account.text else LIMIT_TEXT)
    closed = [answered(call, _NOT_RUN, failed=True) for call in made.tool_calls]
    if not closed:
        return _last(state, context, made.model_copy(update={"content": LIMIT_TEXT}), searches)
    whole = _last(state, context, AIMessage(LIMIT_TEXT, id=str(uuid4())), searches)
    return whole | {"messages": [made, *closed, *whole["messages"]]}


def _last(state: State, context: TurnContext, made: AIMessage, searches: Searches) -> Update:
    """Return the answer with its report; its placed tokens are counted for later turns."""
    report = plain(context.report(searches))
    kept = {key: value for key, value in report.items() if value and key not in ("text", "thread")}
    made.additional_kwargs[MARK] = {"report": kept, "at": now()}
    return {"messages": [made], "searches": searches, "passed": state.get("passed", 0) + searches.tokens}


async def _searches(state: State, context: TurnContext) -> Searches:
    """Return the passages of this turn; after an interruption they are read from the artifacts kept for people."""
    if (searches := state.get("searches")) is not None:
        return searches
    kept = [
        str(name)
        for one in this_turn(state["messages"])
        if isinstance(one, ToolMessage) and (name := marked(one).get("artifact")) and marked(one).get("internal")
    ]
    passages = await context.artifacts.passages(kept) if kept else []
    return Searches(tuple(passages), len(kept))


async def _without(state: State, context: TurnContext) -> Update:
    """Return the answer of the assistant that needs no model."""
    text, notes = await context.assist(question(state["messages"]))
    for note in ("No model is configured: the assistant without one has answered.", *notes):
        context.account.note(note)
    _tell(context, text)
    return _last(state, context, AIMessage(text, id=str(uuid4())), Searches())
