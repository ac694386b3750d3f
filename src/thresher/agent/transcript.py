"""Reads a conversation: what a model is shown of it, what is unanswered in it, what people see.

Invariant: pure; of what is shown every call is answered, and nothing that is marked internal is in it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

from thresher.agent.offers import READER
from thresher.agent.state import MARK, Messages
from thresher.core import dumps
from thresher.embedding import count_tokens

NOT_ANSWERED: Final = "The client did not answer this call."
UNANSWERED: Final = "The turn was interrupted before this call was answered. It may have been run."
READ_AGAIN: Final = "(It was read in that turn. The same cursor gives it again.)"
_MESSAGE_TOKENS: Final = 4
"""What a message costs beside its text, about."""


def marked(message: AnyMessage) -> Mapping[str, Any]:
    """What a message says of itself to us."""
    return cast("Mapping[str, Any]", message.additional_kwargs.get(MARK) or {})


def text_of(message: AnyMessage) -> str:
    """A message's text."""
    return str(message.text)


def now() -> str:
    """This moment, as messages keep it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def user_message(text: str) -> HumanMessage:
    """What the person says."""
    return HumanMessage(text, id=str(uuid4()), additional_kwargs={MARK: {"at": now()}})


def answered(call: ToolCall, text: str, *, name: str = "", failed: bool = False, **marks: Any) -> ToolMessage:
    """The answer to a call; `marks` are kept with it."""
    return ToolMessage(
        text,
        tool_call_id=call["id"] or "",
        name=name or call["name"],
        id=str(uuid4()),
        status="error" if failed else "success",
        additional_kwargs={MARK: marks} if marks else {},
    )


def this_turn(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """The messages since the person spoke last, with that one."""
    return messages[_last_turn(messages) :]


def _last_turn(messages: Sequence[AnyMessage]) -> int:
    return next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), 0)


def question(messages: Sequence[AnyMessage]) -> str:
    """What the person said last."""
    last = next((one for one in reversed(messages) if isinstance(one, HumanMessage)), None)
    return text_of(last) if last is not None else ""


def former_words(messages: Sequence[AnyMessage], turns: int) -> list[str]:
    """What was said in the last turns before this one, oldest first, each with who said it."""
    before = messages[: _last_turn(messages)]
    said = [
        f"{'User' if isinstance(one, HumanMessage) else 'Assistant'}: {text}"
        for one in before
        if isinstance(one, HumanMessage | AIMessage) and (text := text_of(one).strip())
    ]
    return said[-2 * turns :]


def open_calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """Calls that nothing has answered, in their order."""
    closed = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    return [
        call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls if call["id"] not in closed
    ]


def closed(messages: Sequence[AnyMessage]) -> Messages:
    """A conversation of a client's, in which every call is answered: those that it left open say so, in their place."""
    left = {call["id"] for call in open_calls(messages)}
    whole = Messages()
    for one in messages:
        whole.append(one)
        calls = one.tool_calls if isinstance(one, AIMessage) else []
        whole += [answered(call, NOT_ANSWERED, failed=True) for call in calls if call["id"] in left]
    return whole


def closings(messages: Sequence[AnyMessage], known: Mapping[str, str], cut: AIMessage | None = None) -> Messages:
    """Answers to calls that nothing has answered, and what was said of an answer that was broken off.

    Args:
        messages: The conversation.
        known: What became of calls of which that is known, by id.
        cut: The words of an answer that was broken off; None where none came.
    """
    closed: Messages = [
        answered(call, known.get(call["id"] or "", UNANSWERED), failed=True) for call in open_calls(messages)
    ]
    if messages and not closed and isinstance(messages[-1], HumanMessage | ToolMessage):
        closed.append(cut or AIMessage("(No answer was given: the turn was interrupted.)", id=str(uuid4())))
    return closed


def shown(messages: Sequence[AnyMessage], history_tokens: int) -> Messages:
    """The conversation as a model sees it.

    Args:
        messages: All of it.
        history_tokens: Of the turns before this one, about, at most.
    """
    seen = list(_visible(messages))
    now = _last_turn(seen)
    former = [_short(one) for one in seen[:now]]
    return [*former[_beginning(former, history_tokens) :], *seen[now:]]


def _visible(messages: Sequence[AnyMessage]) -> Iterator[AnyMessage]:
    """Without what is internal; each call with its answers behind it."""
    answers = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AIMessage):
            yield message
            continue
        calls = [call for call in message.tool_calls if not _internal(answers.get(call["id"] or ""))]
        if calls or text_of(message).strip():
            yield message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})
        for call in calls:
            yield answers.get(call["id"] or "") or answered(call, UNANSWERED, failed=True)


def _internal(answer: ToolMessage | None) -> bool:
    return answer is not None and bool(marked(answer).get("internal"))


def _short(message: AnyMessage) -> AnyMessage:
    """A message of an earlier turn: pages of long results are not shown again."""
    if isinstance(message, ToolMessage) and message.name == READER and message.status != "error":
        return message.model_copy(update={"content": READ_AGAIN})
    return message


def _beginning(messages: Sequence[AnyMessage], limit: int) -> int:
    """Where a history within a limit begins: at a turn.

    When the limit is passed, half of it is let go at once, counted from the first message on: so the beginning, and
    with it what services have cached, stays the same for many turns.
    """
    begin, size = 0, 0
    costs = [_cost(one) for one in messages]
    for place, cost in enumerate(costs):
        size += cost
        if size <= limit:
            continue
        while begin <= place and (size > limit // 2 or not isinstance(messages[begin], HumanMessage)):
            size -= costs[begin]
            begin += 1
            if begin == len(messages):
                return begin
    return begin


def _cost(message: AnyMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return (
        _MESSAGE_TOKENS + count_tokens(text_of(message)) + sum(count_tokens(dumps(call["args"])) + 8 for call in calls)
    )
