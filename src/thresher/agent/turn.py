"""Runs a turn: from a face's request to events and the stored conversation.

A decision about a call that waits for a person is recorded before the call is run. So a process that dies while an
approved call runs leaves nothing that could be approved, and run, a second time.

Invariant: a turn runs in one task; a listener that stops ends it, and its results so far are in the thread. A call that
was decided waits no more, whatever happens to the turn that acts on the decision.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast
from uuid import UUID, uuid4

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, Interrupt, StateSnapshot

from thresher.agent.artifacts import Artifacts, PartialAnswer, cut_off, drop_drafts
from thresher.agent.assistant.service import QUERY_CHARACTERS, Assistant
from thresher.agent.conversations import ChatServices
from thresher.agent.exchange import Approval, ChatCall, ClientCall, Decision, Delta, Event, TurnReport
from thresher.agent.graph import Graph, build, client_calls
from thresher.agent.messages import LentModel, keepable, read_messages, unasked, written_arguments
from thresher.agent.models import OpenModel, seen_of, seen_statement
from thresher.agent.offers import Offers
from thresher.agent.prompts import AgentPrompt, PromptVersion, in_force_statement
from thresher.agent.settings import ChatSettings, Layers, layers_statement
from thresher.agent.state import CLASSES, MARK, Messages, Searches, State
from thresher.agent.threads import ThreadSaver, Turn
from thresher.agent.tracing import untraced
from thresher.agent.transcript import NOT_ANSWERED, answered, closed, closings, now, open_calls
from thresher.agent.turn_context import TurnContext
from thresher.core import Caller, Conflict, InvalidInput, Talk, acting_for, event, shortened, talking_in, traced
from thresher.embedding import printable
from thresher.llm import Message

_DECIDED: Final = "decided"
"""The record's task and channel: not one of the graph's, which ignores it."""


async def waiting_in(graph: Graph, state: StateSnapshot) -> tuple[Approval, ...]:
    """Return the calls that wait for a person.

    Args:
        graph: Of the thread.
        state: Its last one.
    """
    if not state.interrupts or await _decided(graph, state):
        return ()
    return asked(state.interrupts)


def asked(interrupts: Iterable[Interrupt]) -> tuple[Approval, ...]:
    """Return the approvals that an interrupted step asks for."""
    return tuple(
        Approval(one["id"], one["tool"], one["arguments"], one["why"], one.get("definition", ""))
        for told in interrupts
        for one in told.value
    )


async def note_decided(graph: Graph, state: StateSnapshot) -> None:
    """Record that the waiting calls are decided, before anything is done about it.

    Raises:
        StoreUnavailable: The database does not answer; then they still wait.
        Conflict: The turn was overtaken.
    """
    await _saver(graph).aput_writes(state.config, [(_DECIDED, True)], _DECIDED)


async def _decided(graph: Graph, state: StateSnapshot) -> bool:
    saved = await _saver(graph).aget_tuple(state.config)
    return saved is not None and any(channel == _DECIDED for _, channel, _ in saved.pending_writes or ())


def _saver(graph: Graph) -> BaseCheckpointSaver[Any]:
    return cast("BaseCheckpointSaver[Any]", graph.checkpointer)


logger = logging.getLogger("thresher.agent")

GRAPH: Final = build()
WENT_ON: Final = "Declined: the person went on without approving it. It was not run."
TITLE: Final = 60
"""Characters of a title taken from the first message."""
_SHOWN: Final = 80
"""Characters of a message quoted in a note."""
_LONGEST: Final = 2_000_000
"""Characters of all messages of a call: more than any model reads."""


async def talk(services: ChatServices, caller: Caller, call: ChatCall) -> AsyncGenerator[Event]:
    """Run a turn; see `Conversations.talk`."""
    line: asyncio.Queue[Event | None] = asyncio.Queue()
    task = asyncio.create_task(run(services, caller, call, line.put_nowait))
    task.add_done_callback(lambda _: line.put_nowait(None))
    try:
        while (told := await line.get()) is not None:
            yield told
        await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


async def run(
    services: ChatServices,
    caller: Caller,
    call: ChatCall,
    tell: Callable[[Event], None],
    begun: Callable[[], None] = lambda: None,
) -> None:
    """Run a turn, raising what `Conversations.talk` does.

    Args:
        services: What it uses.
        caller: The caller.
        call: The request.
        tell: Takes its events.
        begun: Called once the turn has its thread, and the call fits it.
    """
    with traced() as trace:
        _check(call)
        call = replace(call, messages=tuple(replace(one, text=printable(one.text)) for one in call.messages))
        settings, model, prompts = await _chosen(services, caller, call)
        async with AsyncExitStack() as stack:
            turn = await stack.enter_async_context(services.threads.turn(caller, call.thread)) if call.thread else None
            talk = await _conversation(services, caller, call, turn, settings, model)
            stack.enter_context(talking_in(talk))
            acting = replace(caller, client=f"chat:{call.thread or uuid4()}")
            stack.enter_context(acting_for(acting))
            context = TurnContext(
                services=services,
                caller=acting,
                call=call,
                settings=settings,
                prompts=prompts,
                model=model,
                assist=partial(_assist, services.assistant, caller, call.thread),
                offers=Offers(services.calling, settings, services.consents, acting),
                artifacts=Artifacts(services.database, caller, turn),
                tell=tell,
                thread=call.thread,
                trace=trace,
                draft=partial(PartialAnswer, services.database, caller, turn),
            )
            asked_for, holds = call.settings.get("approval"), settings.approval
            if asked_for is not None and str(asked_for).strip() != holds:
                note = f"approval is '{holds}' and not '{asked_for}': the owner of this installation allows no less."
                context.account.note(note)
            saver = ThreadSaver(services.database, caller, turn, CLASSES) if turn else None
            graph = GRAPH.copy({"checkpointer": saver}) if saver else GRAPH
            try:
                report = await _turn(services, graph, context, turn, begun)
            finally:
                if saver is not None:
                    await asyncio.shield(saver.settle())
            tell(report)


async def _assist(
    assistant: Assistant, caller: Caller, thread: UUID | None, question: str
) -> tuple[str, tuple[str, ...]]:
    """Return text and notes of the assistant that needs no model; in a thread a question may continue the last ones."""
    name = str(thread) if thread else ""
    answer = await assistant.ask(caller, question[:QUERY_CHARACTERS] or "-", session_id=name, begins=True)
    return answer.response.text, answer.response.notes


async def _chosen(
    services: ChatServices, caller: Caller, call: ChatCall
) -> tuple[ChatSettings, OpenModel | None, Mapping[str, AgentPrompt]]:
    """Return the settings of a turn, the model that answers, and the prompts; errors come before a thread is begun.

    Raises:
        InvalidInput: A setting is unknown, or out of bounds.
        NotFound: There is no such model, or no such thread if one is required.
        Conflict: The model is disabled.
    """
    if call.thread is not None and (call.decisions or _results(call.messages)):
        await services.threads.get(caller, call.thread)
    layers, models, versions = await services.database.together(
        caller.tenant,
        layers_statement(caller, call.thread),
        seen_statement(caller),
        in_force_statement(caller),
    )
    settings = services.settings.resolved(Layers(*layers[0]), call.settings)
    model = await services.models.open(caller, settings.model, settings=settings, rows=seen_of(models))
    return settings, model, services.prompts.merged(PromptVersion(*row) for row in versions)


async def _conversation(
    services: ChatServices,
    caller: Caller,
    call: ChatCall,
    turn: Turn | None,
    settings: ChatSettings,
    model: OpenModel | None,
) -> Talk:
    """Return the conversation as tools see it; a new one gets its first words as title."""
    title = ""
    if turn is not None and turn.began:
        words = " ".join(_last_words(call).split())
        title = (await services.threads.rename(caller, turn.thread, shortened(words, TITLE))).title
    elif turn is not None:
        title = turn.title
    lent = LentModel(model) if model is not None else None
    return Talk(call.thread, title, settings.model_dump(), lent.name if lent else "", lent)


async def _turn(
    services: ChatServices, graph: Graph, context: TurnContext, turn: Turn | None, begun: Callable[[], None]
) -> TurnReport:
    """Run the graph; returns how it ended."""
    config: Any = {"recursion_limit": context.settings.recursion}
    if turn is not None:
        config["configurable"] = {"thread_id": str(turn.thread)}
    entry: Any = (
        await _entry(graph, config, context, services, turn) if turn else {"messages": _stateless(context.call)}
    )
    begun()
    try:
        with untraced():
            state = cast("dict[str, Any]", await graph.ainvoke(entry, config, context=context))  # pyright: ignore[reportUnknownMemberType] - the library's
    except GraphRecursionError:
        context.account.finish = "limit"
        context.account.note(f"The turn was ended after {context.settings.recursion} steps.")
        state = {}
    report = _report(context, state)
    event(
        logger, "turn ended", finish=report.finish, calls=report.calls, documents=report.documents, usage=report.usage
    )
    return report


def _report(context: TurnContext, state: Mapping[str, Any]) -> TurnReport:
    waiting = asked(state.get("__interrupt__", ()))
    theirs = tuple(
        ClientCall(call["id"] or "", call["name"], written_arguments(call["args"]))
        for call in (client_calls(cast("State", state)) if state else ())
    )
    if waiting:
        context.account.finish = "approval"
        _say_what_waits(context, waiting)
    elif theirs:
        context.account.finish = "tool_calls"
    return context.report(state.get("searches") or Searches(), approvals=waiting, client_calls=theirs)


def _say_what_waits(context: TurnContext, waiting: Sequence[Approval]) -> None:
    """Say in words that calls wait, for clients that show only words."""
    names = ", ".join(dict.fromkeys(one.tool for one in waiting))
    text = f"(Waits for your approval: {names})"
    context.account.parts.append(f"\n\n{text}" if context.account.parts else text)
    context.tell(Delta(context.account.parts[-1]))


async def _entry(graph: Graph, config: Any, context: TurnContext, services: ChatServices, turn: Turn) -> Any:
    """Return the input of a thread's turn: decisions, answers of the client's tools, or the last message."""
    call = context.call
    before = await graph.aget_state(config)
    messages: Messages = before.values.get("messages", [])
    waiting = {one.id: one for one in await waiting_in(graph, before)}
    if call.decisions:
        resumed = _resumed(waiting, call)
        await note_decided(graph, before)
        return Command(resume={"decided": resumed})  # with ids only, LangGraph would read it as a map of its own
    given = _instructed(context, before.values.get("instruction", ""))
    if results := _results(call.messages):
        return given | {"messages": [*_fitting(results, messages, waiting), *_rest(results, messages)]}
    if waiting:
        names = ", ".join(one.tool for one in waiting.values())
        context.account.note(f"What waited for approval was declined by continuing: {names}.")
    cut = await cut_off(services.database, context.caller, turn.thread, messages) if turn.drafts else None
    if turn.drafts:
        await drop_drafts(services.database, context.caller, turn.thread)
    words = _last_words(call)
    if cut is None and messages and isinstance(messages[-1], HumanMessage) and messages[-1].text == words:
        return {**given, "messages": Messages()}  # sent again after a failure: the thread has it already
    closing = closings(messages, dict.fromkeys(waiting, WENT_ON), cut)
    said = HumanMessage(words, id=str(uuid4()), additional_kwargs={MARK: {"at": now()}})
    return given | {"messages": [*closing, *_sent_along(context, messages), said]}


def _instructed(context: TurnContext, former: str) -> dict[str, str]:
    """Return the thread's instruction if the call has system messages: they replace it, empty ones remove it."""
    said = [one.text for one in context.call.messages if one.role == "system"]
    if not said:
        return {}
    instruction = "\n\n".join(text for text in said if text.strip())
    if instruction != former and former:
        context.account.note(f"The thread's instruction was {'replaced' if instruction else 'taken back'}.")
    elif instruction != former:
        context.account.note("The system message is the thread's instruction from now on.")
    return {"instruction": instruction}


def _sent_along(context: TurnContext, messages: Messages) -> Messages:
    """Return the messages before the last one for an empty thread; else note those that the thread lacks."""
    sent = [one for one in context.call.messages if one.role != "system"]
    last = max((place for place, one in enumerate(sent) if one.role == "user"), default=0)
    earlier = sent[:last]
    if not earlier:
        return []
    if not messages:
        read = read_messages(earlier)
        context.account.note(f"The thread begins with the {len(read)} earlier messages that were sent along.")
        if lost := unasked(earlier):
            context.account.note(
                f"{len(lost)} answers of tools were left out: no call stands before them. The first is to the call "
                f"'{shortened(lost[0].answers, _SHOWN)}'."
            )
        return [*read, *closings(read, {})]
    known = {(one.type, one.text.strip()) for one in messages}
    kinds = {"user": "human", "assistant": "ai", "tool": "tool"}
    left = [one for one in earlier if one.text.strip() and (kinds[one.role], one.text.strip()) not in known]
    if left:
        context.account.note(
            f"{len(left)} earlier messages that were sent along are not in this thread and were left out: the thread "
            f"has its own history. The first: {shortened(left[0].text, _SHOWN)}"
        )
    return []


def _resumed(waiting: Mapping[str, Approval], call: ChatCall) -> dict[str, Any]:
    """Return a person's decision for each call that waits.

    Raises:
        Conflict: No call waits.
        InvalidInput: A decision is about a call that does not wait, one is missing, or an approval cannot be
            remembered.
    """
    if not waiting:
        raise Conflict("Nothing waits for approval in this thread.", hint="It was decided before, or went on.")
    given = {one.id: one for one in call.decisions}
    if unknown := given.keys() - waiting:
        raise InvalidInput(
            f"No call '{min(unknown)[:80]}' waits.", hint=f"Those that do: {', '.join(sorted(waiting))}."
        )
    if missing := waiting.keys() - given.keys():
        raise InvalidInput(f"The call '{min(missing)}' is not decided.", hint="Decide about all waiting calls at once.")
    if once := [one.id for one in call.decisions if one.remember and not waiting[one.id].definition]:
        raise InvalidInput(
            f"A yes to the call '{once[0]}' cannot be remembered.",
            hint="Leave out `remember`: it is for tools that claim to only read, of servers that are not trusted.",
        )
    return {name: _decision(waiting[name], one) for name, one in given.items()}


def _decision(asked: Approval, one: Decision) -> dict[str, Any]:
    arguments = dict(one.arguments) if one.arguments is not None else None
    told = {"approved": one.approved, "arguments": arguments, "reason": one.reason[:2_000], "remember": one.remember}
    return {"tool": asked.tool, "definition": asked.definition, **told}


def _results(messages: Sequence[Message]) -> list[Message]:
    """Return the answers of the client's tools at the end of the conversation."""
    last = next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role != "tool"), -1)
    return list(messages[last + 1 :])


def _fitting(results: Sequence[Message], messages: Sequence[AnyMessage], waiting: Mapping[str, Approval]) -> Messages:
    """Return these answers if their calls are open; a call that waits for a person is answered only by that person.

    Raises:
        InvalidInput: An answer is not to an open call.
    """
    calls = {call["id"]: call for call in open_calls(messages) if call["id"] not in waiting}
    if unknown := [one.answers for one in results if one.answers not in calls]:
        raise InvalidInput(
            f"No call '{unknown[0][:80]}' is open in this thread.",
            hint="Answer with the tool_call_id of the last answer.",
        )
    return [answered(calls[one.answers], one.text) for one in results]


def _rest(results: Sequence[Message], messages: Sequence[AnyMessage]) -> Messages:
    given = {one.answers for one in results}
    return [answered(call, NOT_ANSWERED, failed=True) for call in open_calls(messages) if call["id"] not in given]


def _stateless(call: ChatCall) -> Messages:
    """Return the messages of a call without a thread; the model makes all its calls in this turn.

    Raises:
        InvalidInput: There is an answer whose call is missing.
    """
    if lost := unasked(call.messages):
        raise InvalidInput(
            f"No call '{lost[0].answers[:80]}' is open that a tool could answer.",
            hint="Send the assistant's message that made it before the answer, or name its thread.",
        )
    return closed(read_messages(call.messages))


def _check(call: ChatCall) -> None:
    """Refuse a call that cannot be answered, before anything of it is kept.

    Raises:
        InvalidInput: There is no message to answer, it is too long, or decisions come without a thread.
    """
    if call.decisions:
        if call.thread is None:
            raise InvalidInput("Decisions are about calls of a thread.", hint="Name the thread.")
        if call.messages:
            raise InvalidInput("Decisions come without a message.", hint="Send them alone, then the message.")
        if len({one.id for one in call.decisions}) < len(call.decisions):
            raise InvalidInput("A call is decided twice.", hint="Decide about each once.")
        if not all(keepable(dict(one.arguments or {})) for one in call.decisions):
            raise InvalidInput("The arguments hold what no tool takes.", hint="Whole text, numbers of 64 bits.")
        return
    if not any(one.role in ("user", "tool") for one in call.messages):
        raise InvalidInput("There is no message of the user.", hint="Send at least one with role user.")
    if not _results(call.messages) and not _last_words(call).strip():
        raise InvalidInput("The message is empty.", hint="Say something.")
    if (size := sum(len(one.text) for one in call.messages)) > _LONGEST:
        raise InvalidInput(f"The messages have {size:,} characters.", hint=f"{_LONGEST:,} at most; send less.")


def _last_words(call: ChatCall) -> str:
    return next((one.text for one in reversed(call.messages) if one.role == "user"), "")
