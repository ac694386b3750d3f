"""The OpenAI wire format of chat completions: what is sent, and what an answer says.

Services differ in details. What one refuses is left out from then on (`Dialect`), and every part of an answer that may
be missing may be missing.

Invariant: pure; an answer is read whole or not at all, and no text of a service stands in an error of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from thresher.core import ModelError, dumps
from thresher.llm.records import ChatRequest, Completion, Finish, Function, FunctionCall, Message, Usage
from thresher.llm.wording import silence

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
"""What models that think aloud write first, where their server does not set it apart."""
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a service wants to be asked.

    Attributes:
        limit: The field for the most tokens of an answer: `max_tokens` everywhere, but for OpenAI's later models.
        temperature: Whether it takes a temperature; models that think do not.
        usage: Whether a stream may be asked to tell its usage.
        choice: Whether it takes a choice among tools.
    """

    limit: str = "max_tokens"
    temperature: bool = True
    usage: bool = True
    choice: bool = True


def body(model: str, request: ChatRequest, dialect: Dialect) -> bytes:
    """A request's body."""
    said: dict[str, Any] = {"model": model, "messages": [_message(message) for message in request.messages]}
    if request.temperature is not None and dialect.temperature:
        said["temperature"] = request.temperature
    if request.most_tokens is not None:
        said[dialect.limit] = request.most_tokens
    if request.functions:
        said["tools"] = [tool_of(function) for function in request.functions]
    return dumps(said).encode()


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.answers:
        said["tool_call_id"] = message.answers
    return said


def tool_of(function: Function) -> dict[str, Any]:
    """A function as a request offers it."""
    parameters = function.parameters or {"type": "object", "properties": {}}
    about = {"name": function.name, "description": function.description, "parameters": parameters}
    return {"type": "function", "function": about}


def adapted(dialect: Dialect, refusal: bytes) -> Dialect | None:
    """How to ask after a refusal; None where that cannot help."""
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
    """The code that a service gives its refusal, in brackets, such as ` (model_not_found)`; empty where it has none.

    What else it says may quote the request, and is not repeated.
    """
    try:
        error = json.loads(refusal)["error"]
        found = next((text for key in ("code", "type") if isinstance(text := error.get(key), str)), "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ""
    return f" ({found})" if _CODE.fullmatch(found) else ""


def completion(payload: bytes, hint: str = HINT) -> Completion:
    """An answer.

    Args:
        payload: The body.
        hint: What to check where it is none.

    Raises:
        ModelError: It is not one, or it is empty.
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
        raise silence(finish)
    return Completion(text, finish, calls, usage, model if isinstance(model, str) else "")


def finish_of(reason: object) -> Finish:
    """Why an answer ended.

    Raises:
        TypeError: The reason is of no kind that a service gives.
    """
    return _FINISHES.get(reason, "other")


def text_of(content: object) -> str:
    """A text, nothing, or a list of parts of which the texts count."""
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
        raise TypeError("a function's name is no text")
    written = arguments if isinstance(arguments, str) else dumps(arguments)
    return FunctionCall(str(call.get("id") or ""), name, written)


def usage_of(usage: object) -> Usage:
    """Tokens, as far as they are told."""
    told = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    details = told.get("prompt_tokens_details")
    cached = cast("dict[str, Any]", details).get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(_count(told.get("prompt_tokens")), _count(told.get("completion_tokens")), _count(cached))


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
