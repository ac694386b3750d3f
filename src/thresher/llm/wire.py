"""The OpenAI wire format of chat completions: requests and answers.

Services differ in details. A field that a service refuses is left out from then on (`Dialect`), and optional parts of
an answer may be missing.

Invariant: pure; an answer is read completely or not at all, and our errors never contain a service's text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from thresher.core import ModelError, dumps
from thresher.llm.records import ChatRequest, Completion, Finish, Function, FunctionCall, Message, Usage
from thresher.llm.service import empty_answer

HINT = "Check THRESHER_LLM_URL, THRESHER_LLM_MODEL and THRESHER_LLM_KEY."

_FINISHES: Mapping[object, Finish] = {
    "stop": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|\Z)", re.DOTALL)
"""Reasoning that some models write first, if their server does not separate it."""
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The request fields that a service accepts.

    Attributes:
        limit: The field for the maximum tokens of an answer: `max_tokens`, except for OpenAI's newer models.
        temperature: Whether it accepts a temperature; reasoning models do not.
        usage: Whether a stream can report its usage.
        choice: Whether it accepts a tool choice.
    """

    limit: str = "max_tokens"
    temperature: bool = True
    usage: bool = True
    choice: bool = True


def body(model: str, request: ChatRequest, dialect: Dialect) -> bytes:
    """The body of a request."""
    fields: dict[str, Any] = {"model": model, "messages": [_message(message) for message in request.messages]}
    if request.temperature is not None and dialect.temperature:
        fields["temperature"] = request.temperature
    if request.most_tokens is not None:
        fields[dialect.limit] = request.most_tokens
    if request.functions:
        fields["tools"] = [tool_of(function) for function in request.functions]
    return dumps(fields).encode()


def _message(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.answers:
        fields["tool_call_id"] = message.answers
    return fields


def tool_of(function: Function) -> dict[str, Any]:
    """A function in the format of requests."""
    parameters = function.parameters or {"type": "object", "properties": {}}
    about = {"name": function.name, "description": function.description, "parameters": parameters}
    return {"type": "function", "function": about}


def adapted(dialect: Dialect, refusal: bytes) -> Dialect | None:
    """The dialect to try after a refusal; None if no other can help."""
    words = refusal.decode("utf-8", "replace").lower()
    if dialect.limit == "max_tokens" and "max_completion_tokens" in words:
        return replace(dialect, limit="max_completion_tokens")
    if dialect.temperature and "temperature" in words:
        return replace(dialect, temperature=False)
    if dialect.usage and ("stream_options" in words or "include_usage" in words):
        return replace(dialect, usage=False)
    if dialect.choice and "tool_choice" in words:
        return replace(dialect, choice=False)
    return None


def code_of(refusal: bytes) -> str:
    """The code of a service's refusal, in brackets, such as ` (model_not_found)`; empty without one.

    Other parts may quote the request and are not repeated.
    """
    try:
        error = json.loads(refusal)["error"]
        found = next((text for key in ("code", "type") if isinstance(text := error.get(key), str)), "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return f" ({found})" if _CODE.fullmatch(found) else ""


def completion(payload: bytes, hint: str = HINT) -> Completion:
    """Read an answer.

    Args:
        payload: The body.
        hint: What to check if it is not a valid answer.

    Raises:
        ModelError: It is not valid, or it is empty.
    """
    try:
        answer = cast("dict[str, Any]", json.loads(payload))
        if not answer.get("choices") and answer.get("error"):
            raise ModelError(f"The chat model's service failed{code_of(payload)}.", hint=hint)
        choice = answer["choices"][0]
        message = choice["message"]
        text = _THOUGHTS.sub("", text_of(message.get("content")), count=1).strip()
        calls = tuple(_call(call) for call in message.get("tool_calls") or ())
        finish = finish_of(choice.get("finish_reason"))
        model = answer.get("model")
        usage = usage_of(answer.get("usage"))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise ModelError("The chat model's answer cannot be read.", hint=hint) from None
    if not text and not calls:
        raise empty_answer(finish)
    return Completion(text, finish, calls, usage, model if isinstance(model, str) else "")


def finish_of(reason: object) -> Finish:
    """Why an answer ended.

    Raises:
        TypeError: The reason is not hashable, so it is not a valid one.
    """
    return _FINISHES.get(reason, "other")


def text_of(content: object) -> str:
    """The text of content: a string, null, or a list of parts, of which the texts are joined."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = cast("Sequence[dict[str, Any]]", content)
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "".join(texts)


def _call(call: Mapping[str, Any]) -> FunctionCall:
    function, name = call["function"], call["function"]["name"]
    arguments = function.get("arguments") or "{}"
    if not isinstance(name, str):
        raise TypeError("a function's name is not a text")
    written = arguments if isinstance(arguments, str) else dumps(arguments)
    return FunctionCall(str(call.get("id") or ""), name, written)


def usage_of(usage: object) -> Usage:
    """Token counts, as far as they are reported."""
    counts = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = cast("dict[str, Any]", details).get("cached_tokens") if isinstance(details, dict) else 0
    reported = counts.get("prompt_tokens"), counts.get("completion_tokens"), cached
    return Usage(*(value if isinstance(value, int) and value > 0 else 0 for value in reported))
