"""Turns messages of the wire into messages as the graph has them, and lends a conversation's model to tools.

Invariant: no two calls in a conversation have the same id, whatever clients and services say: an answer belongs to one.
Arguments that are no JSON object are kept as they are, and never reach a tool.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from thresher.agent.models import OpenModel
from thresher.agent.state import Messages
from thresher.core import dumps
from thresher.embedding import printable
from thresher.llm import ChatRequest, Completion, FunctionCall, Message

_UNREADABLE: Final = "unreadable"
_LONGEST: Final = 200_000
_DEEPEST: Final = 64


def read_arguments(text: str) -> dict[str, Any]:
    """Arguments as a mapping; what is no JSON object stands in one of its own."""
    try:
        read = json.loads(text or "{}") if len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict) and keepable(cast("dict[str, Any]", read)):
        return cast("dict[str, Any]", read)
    return {_UNREADABLE: printable(text[:2_000])}


def keepable(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether a value of JSON can be kept and sent on: finite, of numbers and nesting that others take, and text."""
    match value:
        case dict() | list():
            given = cast("dict[str, Any] | list[Any]", value)
            inner = [*given, *given.values()] if isinstance(given, dict) else given
            return depth > 0 and all(keepable(one, depth - 1) for one in inner)
        case str():
            return printable(value) is value
        case bool() | int():
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case _:
            return True


def unreadable(arguments: Mapping[str, Any]) -> bool:
    """Return whether arguments could not be read."""
    return list(arguments) == [_UNREADABLE]


def written_arguments(arguments: Mapping[str, Any]) -> str:
    """Return arguments as the model wrote them, as far as they are kept."""
    return str(arguments[_UNREADABLE]) if unreadable(arguments) else dumps(arguments)


_LONGEST_ID: Final = 64
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that services do not accept in the name of a function; such a name would make them refuse every later
prompt."""


def read_messages(said: Sequence[Message]) -> Messages:
    """Return messages in the graph's form. An answer belongs to the last earlier call of its id."""
    messages, calls = Messages(), dict[str, ToolCall]()
    taken = set[str]()
    for one in said:
        match one.role:
            case "system":
                messages.append(SystemMessage(one.text, id=_new()))
            case "user":
                messages.append(HumanMessage(one.text, id=_new()))
            case "assistant":
                made = tool_calls(one.calls, taken)
                calls |= {asked.id: call for asked, call in zip(one.calls, made, strict=True)}
                messages.append(AIMessage(one.text, tool_calls=made, id=_new()))
            case "tool" if (call := calls.get(one.answers)) is not None:
                messages.append(ToolMessage(one.text, tool_call_id=call["id"] or "", name=call["name"], id=_new()))
            case "tool":
                continue  # its call is missing, and no service accepts such an answer
    return messages


def unasked(said: Sequence[Message]) -> list[Message]:
    """Return answers of tools without an earlier call: they cannot be used."""
    made, lost = set[str](), list[Message]()
    for one in said:
        made |= {call.id for call in one.calls}
        if one.role == "tool" and one.answers not in made:
            lost.append(one)
    return lost


def tool_calls(said: Iterable[FunctionCall], taken: set[str]) -> list[ToolCall]:
    """Return calls of a model, each with an id that is not taken yet."""
    made = list[ToolCall]()
    for one in said:
        sound = one.id.isascii() and one.id.isprintable() and 0 < len(one.id) <= _LONGEST_ID
        name = one.id if sound and one.id not in taken else f"call_{uuid4().hex}"
        taken.add(name)
        said_name = _NO_NAME.sub("_", one.name)[:64] or "tool"
        made.append(ToolCall(name=said_name, args=read_arguments(one.arguments), id=name, type="tool_call"))
    return made


def ids_of(messages: Sequence[AnyMessage]) -> set[str]:
    """Return the ids of the calls in a conversation."""
    return {call["id"] or "" for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}


def _new() -> str:
    return str(uuid4())


class LentModel:
    """A conversation's model, for tools that ask it something; see `thresher.llm.Chat`.

    Args:
        model: Answers.
    """

    def __init__(self, model: OpenModel) -> None:
        self._model = model
        self.name = f"{model.name}@{model.address}"
        """See `Chat.name`."""

    async def complete(self, request: ChatRequest, *, seconds: float | None = None) -> Completion:
        """See `Chat.complete`."""
        return await self._model.complete(
            read_messages(request.messages),
            functions=request.functions,
            temperature=request.temperature,
            max_tokens=request.most_tokens,
            seconds=seconds,
        )
