"""Writes answers of the OpenAI wire format: whole, or as the chunks of a stream.

Invariant: pure; for any events of a turn, the chunks of its stream add up to the whole answer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import uuid4

from thresher.agent import ClientCall, Delta, Event, Finish, Step, TurnReport
from thresher.api.chat.requests import CompletionCall
from thresher.core import dumps, plain
from thresher.llm import Usage

DONE: Final = b"data: [DONE]\n\n"
BEAT: Final = b": still here\n\n"
"""A comment, so that no proxy closes a silent connection."""
_FINISHES: Final[Mapping[Finish, str]] = {"approval": "stop", "limit": "stop", "error": "stop"}
_DETAIL: Final = 200


class Writer:
    """Writes one answer.

    Args:
        completion: The request.

    Attributes:
        ended: Whether the last chunk was written.
    """

    def __init__(self, completion: CompletionCall) -> None:
        self._has_usage = completion.usage
        self._named: dict[str, Any] = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time())}
        self._named["model"] = completion.model
        head = dumps({**self._named, "object": "chat.completion.chunk"})[:-1]
        self._head = f'data: {head}, "choices": [{{"index": 0, "delta": '
        self._usage = ', "usage": null' if completion.usage else ""
        self._tail = f', "finish_reason": null}}]{self._usage}}}\n\n'
        self._has_text = False
        self.ended = False

    def begin(self) -> bytes:
        """Return the first chunk, with the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def write(self, events: Iterable[Event]) -> bytes:
        """Return the chunks of some events; consecutive pieces of text are one chunk."""
        pieces: list[bytes] = []
        text: list[str] = []
        for event in events:
            if isinstance(event, Delta):
                text.append(event.text)
                continue
            pieces += (self._text(text), self._step(event) if isinstance(event, Step) else self._end(event))
            text = []
        return b"".join((*pieces, self._text(text)))

    def _text(self, pieces: list[str]) -> bytes:
        if not (text := "".join(pieces)):
            return b""
        self._has_text = True
        return f'{self._head}{{"content": {dumps(text)}}}{self._tail}'.encode()

    def _chunk(self, delta: Mapping[str, Any]) -> bytes:
        return f"{self._head}{dumps(delta)}{self._tail}".encode()

    def _step(self, step: Step) -> bytes:
        """Return a step as an empty chunk with the object `thresher`, which OpenAI clients ignore."""
        own = {"step": {"name": step.name, "detail": step.detail[:_DETAIL], **plain(step.data)}}
        return f'{self._head}{{}}, "finish_reason": null}}]{self._usage}, "thresher": {dumps(own)}}}\n\n'.encode()

    def _end(self, report: TurnReport) -> bytes:
        """Return the rest of the answer, why the turn ended and what it used."""
        self.ended = True
        chunks = b"" if self._has_text else self._text([report.text])
        if report.client_calls:
            calls = [{"index": place} | _call(call) for place, call in enumerate(report.client_calls)]
            chunks += self._chunk({"tool_calls": calls})
        finish = (
            f'"finish_reason": {dumps(_finish(report))}}}]{self._usage}, "thresher": {dumps(report_data(report))}}}\n\n'
        )
        chunks += f"{self._head}{{}}, {finish}".encode()
        if self._has_usage:
            last = {**self._named, "object": "chat.completion.chunk", "usage": _usage(report.usage)}
            chunks += f"data: {dumps(last | {'choices': ()})}\n\n".encode()
        return chunks + DONE

    def whole(self, report: TurnReport) -> dict[str, Any]:
        """Return the answer as one object."""
        message: dict[str, Any] = {"role": "assistant", "content": report.text, "refusal": None}
        if report.client_calls:
            message["tool_calls"] = [_call(call) for call in report.client_calls]
            message["content"] = report.text or None
        choice = {"index": 0, "message": message, "finish_reason": _finish(report), "logprobs": None}
        answer = {**self._named, "object": "chat.completion", "choices": [choice], "usage": _usage(report.usage)}
        return answer | {"thresher": report_data(report)}


def report_data(report: TurnReport) -> dict[str, Any]:
    """Return the object `thresher` of an answer: the report without what the answer itself contains."""
    fields: dict[str, Any] = plain(report)
    return {name: value for name, value in fields.items() if name not in ("text", "client_calls")}


def _finish(report: TurnReport) -> str:
    return _FINISHES.get(report.finish, report.finish)


def _call(call: ClientCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _usage(usage: Usage) -> dict[str, Any]:
    counted: dict[str, Any] = {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion}
    cached = {"cached_tokens": usage.cached}
    return counted | {"total_tokens": usage.prompt + usage.completion, "prompt_tokens_details": cached}
