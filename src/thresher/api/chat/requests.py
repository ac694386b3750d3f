"""Reads a request of the OpenAI wire format: the turn, its conversation, and the form of the answer.

Invariant: pure; what is not valid is refused with the name of the field, before anything is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Never, cast
from uuid import UUID

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from thresher.agent import ChatCall, ChatSettings, Decision
from thresher.api.chat.bodies import MOST_CHARACTERS, PASSED, ChatBody, MessageBody
from thresher.core import problem_of
from thresher.llm import Function, FunctionCall, Message

THREAD_HEADER: Final = "x-thresher-thread"
_HEADER_SHOWN: Final = "X-Thresher-Thread"
OWN_MODEL: Final = "thresher"
"""The model that every caller has: the one in their settings, or the assistant without a model."""
_CHOICES: Final = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class CompletionCall:
    """A request, checked.

    Attributes:
        call: The turn.
        model: As the client named it; the answer repeats it.
        stream: Whether the answer is a stream.
        usage: Whether a stream ends with the usage.
    """

    call: ChatCall
    model: str
    stream: bool
    usage: bool


def read_call(body: ChatBody, threads: Sequence[str] = ()) -> CompletionCall:
    """Return a checked request.

    Args:
        body: Its body.
        threads: The values of the header that names the thread.

    Raises:
        RequestValidationError: It is not valid.
    """
    thread = _thread(body, threads)
    decisions = _decisions(body)
    if decisions and thread is None:
        refuse(("thresher", "approvals"), f"Decisions belong to a thread: name it in the header {_HEADER_SHOWN}")
    if not body.messages and not decisions:
        refuse(("messages",), "A conversation has a message at least")
    functions = _functions(body)
    call = ChatCall(
        messages=tuple(_message(number, message) for number, message in enumerate(body.messages)),
        thread=thread,
        functions=functions,
        choice=_choice(body.tool_choice, functions),
        settings=_settings(body),
        decisions=decisions,
        passed=_passed(body),
    )
    usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    return CompletionCall(call, body.model or OWN_MODEL, bool(body.stream), usage)


def refuse(field: tuple[str | int, ...], message: str) -> Never:
    """Refuse a request because of one of its fields.

    Raises:
        RequestValidationError: Always.
    """
    entry = {"type": "value_error", "loc": ("body", *field), "msg": message, "ctx": {"error": message}}
    raise RequestValidationError([entry])


def _thread(body: ChatBody, headers: Sequence[str]) -> UUID | None:
    """Return the thread that the header or the metadata names.

    If both name one, it must be the same: otherwise the answer could go into the wrong thread.
    """
    field = ("metadata", "thread_id")
    header = (_HEADER_SHOWN,)
    within = (body.metadata or {}).get("thread_id")
    if within is not None and not isinstance(within, str):
        refuse(field, "A thread's id is a text")
    named = {_uuid(text, header) for text in headers if text.strip()}
    if len(named) > 1:
        refuse(header, "It names two threads: send one of them")
    named |= {_uuid(text, field) for text in (within or "",) if text.strip()}
    if len(named) > 1:
        refuse(field, f"Another thread than the header {_HEADER_SHOWN} names: send one of them")
    return next(iter(named), None)


def _uuid(text: str, field: tuple[str, ...]) -> UUID:
    try:
        return UUID(text.strip())
    except ValueError:
        refuse(field, f"'{text[:40]}' is not a valid thread id: send a UUID")


def _message(number: int, body: MessageBody) -> Message:
    field = ("messages", number)
    if body.role == "tool" and not body.tool_call_id:
        refuse((*field, "tool_call_id"), "A tool's message names the call that it answers")
    if body.role == "user" and not body.content:
        refuse((*field, "content"), "A message of the user has a content")
    if len(body.content) > MOST_CHARACTERS:
        refuse(
            (*field, "content"), f"A message has {MOST_CHARACTERS:,} characters at most, this one {len(body.content):,}"
        )
    if body.tool_calls and body.role != "assistant":
        refuse((*field, "tool_calls"), "Only the assistant calls tools")
    calls = tuple(FunctionCall(one.id, one.function.name, one.function.arguments) for one in body.tool_calls or ())
    role = "system" if body.role == "developer" else body.role
    return Message(role, body.content, calls, (body.tool_call_id or "") if role == "tool" else "")


def _functions(body: ChatBody) -> tuple[Function, ...]:
    functions = [tool.function for tool in body.tools or ()]
    names = [function.name for function in functions]
    for number, name in enumerate(names):
        if name in names[:number]:
            refuse(("tools", number, "function", "name"), f"Two tools are called '{name}'")
    return tuple(Function(one.name, one.description or "", one.parameters or {}) for one in functions)


def _choice(choice: object, functions: Sequence[Function]) -> str:
    """Return `auto`, `none`, `required`, or the name of one of the client's tools."""
    if choice is None:
        return "auto"
    if isinstance(choice, str) and choice in _CHOICES:
        return choice
    fields = cast("Mapping[str, Any]", choice if isinstance(choice, dict) else {})
    function = fields.get("function") if fields.get("type") == "function" else None
    name = cast("Mapping[str, Any]", function if isinstance(function, dict) else {}).get("name")
    if not isinstance(name, str):
        refuse(("tool_choice",), "Send auto, none, required, or {type: function, function: {name}}")
    if name not in {function.name for function in functions}:
        refuse(("tool_choice",), f"There is no tool '{name[:64]}' in this request")
    return name


def _settings(body: ChatBody) -> dict[str, Any]:
    """Return the settings of this turn; a field of the wire takes precedence over `thresher.settings`."""
    own = {
        name: value for name, value in (body.thresher.settings if body.thresher else {}).items() if value is not None
    }
    try:
        settings = ChatSettings.model_validate(own).model_dump(include=set(own))
    except ValidationError as error:
        first = error.errors()[0]
        refuse(("thresher", "settings", *first["loc"]), problem_of(first))
    if body.model and body.model != OWN_MODEL:
        settings["model"] = body.model
    if body.temperature is not None:
        settings["temperature"] = body.temperature
    most = body.max_completion_tokens or body.max_tokens
    return settings | ({} if most is None else {"max_tokens": most})


def _decisions(body: ChatBody) -> tuple[Decision, ...]:
    approvals = body.thresher.approvals if body.thresher else []
    return tuple(Decision(one.id, one.approved, one.arguments, one.reason, one.remember) for one in approvals)


def _passed(body: ChatBody) -> dict[str, Any]:
    """Return the fields that are passed on to the model; the default form of the answer is left out."""
    passed = {name: value for name in PASSED if (value := getattr(body, name)) is not None}
    form = body.response_format
    if form is not None and form.type == "text":
        passed.pop("response_format")
    elif form is not None:
        passed["response_format"] = form.model_dump()
    return passed
