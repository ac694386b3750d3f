"""Reads a model's answer from the wire, whole or streamed: text, reasoning, calls, usage.

Invariant: bounded in size; missing or unusual fields never fail an answer that can be read.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from thresher.agent.models.records import AnswerChunk
from thresher.core import ModelError, dumps
from thresher.llm import (
    LARGEST_ANSWER,
    Completion,
    Finish,
    FunctionCall,
    RequestLost,
    Usage,
    code_of,
    completion,
    empty_answer,
    finish_of,
    text_of,
    usage_of,
)

_OPENING: Final = ("<think>", "<thinking>")
_CLOSING: Final = ("</think>", "</thinking>")
_LONGEST: Final = max(map(len, _CLOSING))


@dataclass(slots=True)
class SpokenText:
    """The part of a stream that is not reasoning."""

    _held: str = ""
    _thinking: bool = False
    _begun: bool = False

    def feed(self, text: str) -> str:
        """Add a piece; returns the text, of it and of what was held back, that belongs to the answer."""
        if self._begun:
            return text
        self._held += text
        if not self._thinking:
            self._held = self._held.lstrip()
            if any(mark.startswith(self._held) for mark in _OPENING if mark != self._held):
                return ""  # nothing yet, or the beginning of a mark
            self._thinking = self._held.startswith(_OPENING)
        if self._thinking:
            ends = [(place, mark) for mark in _CLOSING if (place := self._held.find(mark)) >= 0]
            if not ends:
                self._held = self._held[-_LONGEST:]
                return ""
            place, mark = min(ends)
            self._thinking, self._held = False, self._held[place + len(mark) :].lstrip()
        said, self._held = self._held, ""
        self._begun = bool(said)
        return said

    def rest(self) -> str:
        """Return the held-back text that turns out to belong to the answer at its end."""
        return "" if self._thinking else self._held


MOST_CALLS: Final = 128
"""Most calls of one answer: a model that calls more repeats itself, and each call would stay in the conversation."""


def paired(text: str) -> str:
    """Return the text with adjacent halves of surrogate pairs joined, and single ones replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(slots=True)
class _Begun:
    index: object
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class CallPieces:
    """The calls of one answer."""

    _begun: list[_Begun] = field(default_factory=list[_Begun])

    def feed(self, pieces: Sequence[Mapping[str, Any]]) -> None:
        """Add the pieces of a delta.

        Raises:
            ModelError: The answer has more than `MOST_CALLS` calls. TypeError, AttributeError: The pieces are
                malformed.
        """
        for piece in pieces:
            function: Mapping[str, Any] = piece.get("function") or {}
            call = self._of(piece.get("index"), piece.get("id") or "", function.get("name") or "")
            arguments = function.get("arguments") or ""
            call.arguments += arguments if isinstance(arguments, str) else dumps(arguments)

    def _of(self, index: object, number: str, name: str) -> _Begun:
        """Return the call of a piece; another id or function name begins a new call."""
        if not isinstance(number, str) or not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a service's
            raise TypeError("a call is named by no text")
        found = next((one for one in reversed(self._begun) if index is None or one.index == index), None)
        if (
            found is None
            or (_both(number, found.id) and number != found.id)
            or (index is None and _both(name, found.name))
        ):
            if len(self._begun) == MOST_CALLS:
                raise ModelError(
                    f"The chat model called more than {MOST_CALLS} tools in one answer.",
                    hint="Ask for one thing at a time.",
                )
            found = _Begun(index, number, name, "")
            self._begun.append(found)
        found.id, found.name = found.id or number, found.name or name
        return found

    def whole(self) -> tuple[FunctionCall, ...]:
        """Return the calls, in the order in which they began.

        Raises:
            TypeError: One names no function.
        """
        if any(not one.name for one in self._begun):
            raise TypeError("a call names no function")
        taken: set[str] = set()
        return tuple(
            FunctionCall(_own_id(one.id, taken), one.name, paired(one.arguments.strip()) or "{}") for one in self._begun
        )


def _both(one: str, other: str) -> bool:
    return bool(one and other)


def _own_id(number: str, taken: set[str]) -> str:
    while not number or number in taken:
        number = f"call_{secrets.token_hex(12)}"
    taken.add(number)
    return number


_DATA: Final = b"data:"
_END: Final = b"[DONE]"
_WORDS: Final = ("content", "tool_calls", "reasoning_content", "reasoning")
_UNREADABLE: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class AnswerReader:
    """One answer as it arrives.

    Args:
        hint: What to check if the service fails.
    """

    def __init__(self, hint: str) -> None:
        self._hint = hint
        self._rest = b""
        self._texts: list[str] = []
        self._half = ""  # of a surrogate pair; the other half is in the next text
        self._spoken = SpokenText()
        self._calls = CallPieces()
        self._finish: Finish | None = None
        self._usage = Usage()
        self._model = ""
        self._said = False
        self.begun = False
        """Whether the model has produced anything, including reasoning."""
        self.done = False
        """Whether the stream has announced its end."""

    def feed(self, data: bytes) -> str:
        """Add bytes as received.

        Returns:
            The chunk of all events that are complete now; may be empty.

        Raises:
            ModelError: They are not such a stream, or the service reports a failure.
        """
        lines = (self._rest + data).split(b"\n") if self._rest else data.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LARGEST_ANSWER:
            raise ModelError(f"The chat model's answer is larger than {LARGEST_ANSWER >> 20} MiB.", hint=self._hint)
        try:
            for line in lines:
                if line.startswith(_DATA):
                    self._event(line[len(_DATA) :].strip())
            if not self._texts:
                return ""
            joined = self._half + "".join(self._texts)
            self._texts.clear()
            self._half = joined[-1:] if "\ud800" <= joined[-1:] <= "\udbff" else ""
            text = self._spoken.feed(paired(joined.removesuffix(self._half)))
        except _UNREADABLE:
            raise self._unreadable() from None
        self._said = self._said or bool(text and not text.isspace())
        return text

    def end(self) -> tuple[AnswerChunk, ...]:
        """Return the remaining chunks at the end of the stream; the last chunk is the answer's last.

        Raises:
            ModelError: It is empty, or a call in it is not valid.
            RequestLost: It broke off.
        """
        text = self.feed(b"\n") if self._rest and not self.done else ""  # the last line may have no end
        if not self.done and self._finish is None:
            raise RequestLost("it broke off")
        try:
            calls = self._calls.whole()
        except _UNREADABLE:
            raise self._unreadable() from None
        text += self._spoken.feed(paired(self._half)) + self._spoken.rest()
        finish = self._finish or "stop"
        if not (calls or self._said or text.strip()):
            raise empty_answer(finish)
        if calls and finish in ("stop", "other"):
            finish = "tool_calls"
        last = AnswerChunk("", calls, self._usage, finish, self._model)
        return (AnswerChunk(text), last) if text else (last,)

    def _event(self, data: bytes) -> None:
        if data == _END:
            self.done = True
        if self.done or not data:
            return
        said = cast("dict[str, Any]", json.loads(data.decode()))
        if choices := said.get("choices"):
            choice: dict[str, Any] = choices[0]
            delta: dict[str, Any] = choice.get("delta") or {}
            self.begun = self.begun or any(delta.get(name) for name in _WORDS)
            if content := delta.get("content"):
                self._texts.append(text_of(content))
            if calls := delta.get("tool_calls"):
                self._calls.feed(calls)
            if reason := choice.get("finish_reason"):
                self._finish = finish_of(reason)
        elif said.get("error"):
            raise ModelError(f"The chat model's service failed{code_of(data)}.", hint=self._hint)
        if usage := said.get("usage"):
            self._usage = usage_of(usage)
        if not self._model and isinstance(model := said.get("model"), str):
            self._model = model

    def _unreadable(self) -> ModelError:
        return ModelError("The chat model's answer cannot be read.", hint=self._hint)


def whole(payload: bytes, hint: str) -> tuple[AnswerChunk, ...]:
    """Return the chunks of an answer that a service sent at once although a stream was requested.

    Raises:
        ModelError: It is not an answer, or it is empty.
    """
    answer = completion(payload, hint)
    last = AnswerChunk("", _with_ids(answer), answer.usage, answer.finish, answer.model)
    return (AnswerChunk(paired(answer.text)), last) if answer.text else (last,)


def _with_ids(answer: Completion) -> Any:
    calls = CallPieces()
    for index, call in enumerate(answer.calls):
        calls.feed([{"index": index, "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}])
    return calls.whole()
