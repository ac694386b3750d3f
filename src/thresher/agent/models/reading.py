"""Reads the stream of an answer: server-sent events of the OpenAI wire format.

The client library reads them too; this costs a tenth, which is what many streams at once need.

Invariant: pure; an answer that cannot be read is an error without a word of the service, and nothing is said twice.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from thresher.agent.models.calling import Calls, paired
from thresher.agent.models.failures import Lost
from thresher.agent.models.records import Chunk
from thresher.agent.models.thoughts import Spoken
from thresher.core import ModelError
from thresher.llm import (
    LARGEST_ANSWER,
    Completion,
    Finish,
    Usage,
    code_of,
    completion,
    finish_of,
    silence,
    text_of,
    usage_of,
)

_DATA: Final = b"data:"
_END: Final = b"[DONE]"
_WORDS: Final = ("content", "tool_calls", "reasoning_content", "reasoning")
_UNREADABLE: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class Reading:
    """One answer as it comes.

    Args:
        hint: What to check where the service fails.
    """

    def __init__(self, hint: str) -> None:
        self._hint = hint
        self._rest = b""
        self._texts: list[str] = []
        self._half = ""  # of a surrogate pair, whose other half comes with the next text
        self._spoken = Spoken()
        self._calls = Calls()
        self._finish: Finish | None = None
        self._usage = Usage()
        self._model = ""
        self._said = False
        self.begun = False
        """Whether the model has said anything, if only to itself."""
        self.done = False
        """Whether the stream has said that it is at its end."""

    def feed(self, data: bytes) -> str:
        """Take bytes as they came.

        Returns:
            What they say, of all events that are whole now; empty where that is nothing.

        Raises:
            ModelError: They are no such stream, or the service tells of a failure.
        """
        lines = (self._rest + data).split(b"\n") if self._rest else data.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LARGEST_ANSWER:
            raise ModelError(f"The chat model's answer is larger than {LARGEST_ANSWER >> 20} MiB.", hint=self._hint)
        try:
            for line in lines:
                if line.startswith(_DATA):
                    self._event(line[len(_DATA) :].strip())
            return self._taken()
        except _UNREADABLE:
            raise self._unreadable() from None

    def end(self) -> tuple[Chunk, ...]:
        """What remains to be told at the end of the stream; the last chunk is the answer's last.

        Raises:
            ModelError: It said nothing, or a call in it is none.
            Lost: It broke off.
        """
        text = self.feed(b"\n") if self._rest and not self.done else ""  # the last line may lack its end
        if not self.done and self._finish is None:
            raise Lost("it broke off")
        try:
            calls = self._calls.whole()
        except _UNREADABLE:
            raise self._unreadable() from None
        text += self._spoken.feed(paired(self._half)) + self._spoken.rest()
        finish = self._finish or "stop"
        if not (calls or self._said or text.strip()):
            raise silence(finish)
        if calls and finish in ("stop", "other"):
            finish = "tool_calls"
        last = Chunk("", calls, self._usage, finish, self._model)
        return (Chunk(text), last) if text else (last,)

    def _event(self, data: bytes) -> None:
        if data == _END:
            self.done = True
        if self.done or not data:
            return
        said = cast("dict[str, Any]", json.loads(data.decode()))
        if choices := said.get("choices"):
            self._choice(choices[0])
        elif said.get("error"):
            raise ModelError(f"The chat model's service failed{code_of(data)}.", hint=self._hint)
        if usage := said.get("usage"):
            self._usage = usage_of(usage)
        if not self._model and isinstance(model := said.get("model"), str):
            self._model = model

    def _choice(self, choice: dict[str, Any]) -> None:
        delta: dict[str, Any] = choice.get("delta") or {}
        self.begun = self.begun or any(delta.get(name) for name in _WORDS)
        if content := delta.get("content"):
            self._texts.append(text_of(content))
        if calls := delta.get("tool_calls"):
            self._calls.feed(calls)
        if reason := choice.get("finish_reason"):
            self._finish = finish_of(reason)

    def _taken(self) -> str:
        if not self._texts:
            return ""
        joined = self._half + "".join(self._texts)
        self._texts.clear()
        self._half = joined[-1:] if "\ud800" <= joined[-1:] <= "\udbff" else ""
        text = self._spoken.feed(paired(joined.removesuffix(self._half)))
        self._said = self._said or bool(text and not text.isspace())
        return text

    def _unreadable(self) -> ModelError:
        return ModelError("The chat model's answer cannot be read.", hint=self._hint)


def whole(payload: bytes, hint: str) -> tuple[Chunk, ...]:
    """The pieces of an answer that a service gave at once, where it was asked for a stream.

    Raises:
        ModelError: It is none, or it is empty.
    """
    answer = completion(payload, hint)
    last = Chunk("", _with_ids(answer), answer.usage, answer.finish, answer.model)
    return (Chunk(paired(answer.text)), last) if answer.text else (last,)


def _with_ids(answer: Completion) -> Any:
    calls = Calls()
    for index, call in enumerate(answer.calls):
        calls.feed([{"index": index, "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}])
    return calls.whole()
