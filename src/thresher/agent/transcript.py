"""Reads a conversation: what a model is shown, which calls are unanswered, what people see.

Invariant: pure; in the part that is shown every call is answered, and no message is marked internal.
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
from thresher.results import fit, fits

NOT_ANSWERED: Final = "The client did not answer this call."
UNANSWERED: Final = "The turn was interrupted before this call was answered. It may have been run."
READ_AGAIN: Final = "(It was read in that turn. The same cursor gives it again.)"
FORMER_RESULT: Final = 300
"""Most tokens of a result in the turns after its own; the model reads more of it by its cursor, or calls again."""
_MESSAGE_TOKENS: Final = 4
"""What a message costs beside its text, about."""


def marked(message: AnyMessage) -> Mapping[str, Any]:
    """Return Thresher's own data in a message."""
    return cast("Mapping[str, Any]", message.additional_kwargs.get(MARK) or {})


def now() -> str:
    """Return the current time, as messages store it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")


def answered(call: ToolCall, text: str, *, name: str = "", failed: bool = False, **marks: Any) -> ToolMessage:
    """Return the answer to a call; `marks` are stored with it."""
    return ToolMessage(
        text,
        tool_call_id=call["id"] or "",
        name=name or call["name"],
        id=str(uuid4()),
        status="error" if failed else "success",
        additional_kwargs={MARK: marks} if marks else {},
    )


def this_turn(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages from the person's last one on."""
    return messages[_last_turn(messages) :]


def _last_turn(messages: Sequence[AnyMessage]) -> int:
    return next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], HumanMessage)), 0)


def question(messages: Sequence[AnyMessage]) -> str:
    """Return the person's last message."""
    last = next((one for one in reversed(messages) if isinstance(one, HumanMessage)), None)
    return str(last.text) if last is not None else ""


def former_words(messages: Sequence[AnyMessage], turns: int) -> list[str]:
    """Return the messages of the last turns before this one, oldest first, each with its author."""
    before = messages[: _last_turn(messages)]
    said = [
        f"{'User' if isinstance(one, HumanMessage) else 'Assistant'}: {text}"
        for one in before
        if isinstance(one, HumanMessage | AIMessage) and (text := one.text.strip())
    ]
    return said[-2 * turns :]


def open_calls(messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """Return unanswered calls, in their order."""
    closed = {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}
    return [
        call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls if call["id"] not in closed
    ]


def closed(messages: Sequence[AnyMessage]) -> Messages:
    """Return a client's conversation with every call answered: open ones get an answer that says so, in their place."""
    left = {call["id"] for call in open_calls(messages)}
    whole = Messages()
    for one in messages:
        whole.append(one)
        calls = one.tool_calls if isinstance(one, AIMessage) else []
        whole += [answered(call, NOT_ANSWERED, failed=True) for call in calls if call["id"] in left]
    return whole


def closings(messages: Sequence[AnyMessage], known: Mapping[str, str], cut: AIMessage | None = None) -> Messages:
    """Return answers to unanswered calls, and the words of an interrupted answer.

    Args:
        messages: The conversation.
        known: The known outcomes of calls, by id.
        cut: The words of an interrupted answer; None without any.
    """
    closed: Messages = [
        answered(call, known.get(call["id"] or "", UNANSWERED), failed=True) for call in open_calls(messages)
    ]
    if messages and not closed and isinstance(messages[-1], HumanMessage | ToolMessage):
        closed.append(cut or AIMessage("(No answer was given: the turn was interrupted.)", id=str(uuid4())))
    return closed


def shown(messages: Sequence[AnyMessage], history_tokens: int) -> Messages:
    """Return the conversation as a model sees it.

    Args:
        messages: All of it.
        history_tokens: Approximate maximum for the turns before this one.
    """
    seen = list(_visible(messages))
    now = _last_turn(seen)
    former = [
        one.model_copy(update={"content": READ_AGAIN})  # pages of long results are not shown again
        if isinstance(one, ToolMessage) and one.name == READER and one.status != "error"
        else _shortened(one)
        for one in seen[:now]
    ]
    return [*former[_beginning(former, history_tokens) :], *seen[now:]]


def _shortened(message: AnyMessage) -> AnyMessage:
    """Return a tool's large result of an earlier turn as its shape and beginning, with the line of its cursor."""
    text = str(message.text)
    if not isinstance(message, ToolMessage) or message.status == "error" or fits(text, FORMER_RESULT):
        return message
    body, line, cursor = text.rpartition("\n[The result has ")
    part = fit(body if line else text, FORMER_RESULT).text
    return message.model_copy(update={"content": f"{part}{line}{cursor}" if line else part})


def _visible(messages: Sequence[AnyMessage]) -> Iterator[AnyMessage]:
    """Yield messages that are not internal; each call is followed by its answers."""
    answers = {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AIMessage):
            yield message
            continue
        calls = [call for call in message.tool_calls if not _internal(answers.get(call["id"] or ""))]
        if calls or message.text.strip():
            yield message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})
        for call in calls:
            yield answers.get(call["id"] or "") or answered(call, UNANSWERED, failed=True)


def _internal(answer: ToolMessage | None) -> bool:
    return answer is not None and bool(marked(answer).get("internal"))


def message_tokens(message: AnyMessage) -> int:
    """Return what a message costs in a prompt, about."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return (
        _MESSAGE_TOKENS + count_tokens(str(message.text)) + sum(count_tokens(dumps(call["args"])) + 8 for call in calls)
    )


def _beginning(messages: Sequence[AnyMessage], limit: int) -> int:
    """Return where a history within a limit begins: at a turn.

    When the limit is passed, half of it is dropped at once, counted from the first message: so the beginning, and with
    it the services' cache, stays valid for many turns.
    """
    begin, size = 0, 0
    costs = [message_tokens(one) for one in messages]
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
