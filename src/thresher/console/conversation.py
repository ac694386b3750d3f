"""A conversation as its page shows it: a turn for each message, with what was called for it, and the answer.

Invariant: pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias
from uuid import UUID

from thresher.agent import Approval, ThreadEntry

CallState: TypeAlias = Literal["done", "failed", "declined", "waits", "runs", "left"]
"""How a call ended; or that it waits for a person, is being made, or was never answered."""


@dataclass(frozen=True, slots=True)
class CallView:
    """A call of a tool.

    Attributes:
        id: Of the call.
        tool: The tool's name.
        arguments: As the model gave them; a text if they are not JSON.
        state: How it ended.
        answer: The result; None before it.
        approval: What a person is asked; None if nobody is.
    """

    id: str
    tool: str
    arguments: Any
    state: CallState
    answer: ThreadEntry | None = None
    approval: Approval | None = None


@dataclass(frozen=True, slots=True)
class TurnView:
    """A message and what came of it.

    Attributes:
        number: From 0.
        question: The message; None for what stands before the first one.
        steps: What the model said and called, in order.
        is_last: Whether no other turn follows.
        is_running: Whether it is being answered.
        failure: Why no model answered; empty unless that is how it ended.
    """

    number: int
    question: ThreadEntry | None
    steps: tuple[ThreadEntry | CallView, ...] = ()
    is_last: bool = False
    is_running: bool = False
    failure: str = ""

    @property
    def report(self) -> Mapping[str, Any]:
        """What the turn did and cost; empty before its end."""
        last = self.steps[-1] if self.steps else None
        return last.report if isinstance(last, ThreadEntry) else {}

    @property
    def is_settled(self) -> bool:
        """Whether the turn has ended with an answer, which stays as it is."""
        return bool(self.report) and not self.is_running

    @property
    def waiting(self) -> tuple[CallView, ...]:
        """The calls that wait for a person."""
        return tuple(one for one in self.steps if isinstance(one, CallView) and one.approval is not None)

    @property
    def passages(self) -> Mapping[int, Mapping[str, Any]]:
        """The passages that the model was given, by number."""
        answers = (one.answer for one in self.steps if isinstance(one, CallView) and one.answer is not None)
        return {one["number"]: one for answer in answers for one in answer.passages if one["number"]}

    def citations(self, thread: UUID) -> Mapping[int, str]:
        """The addresses of the passages, by number."""
        return {number: f"/chat/{thread}/passages/{self.number}/{number}" for number in self.passages}


@dataclass(frozen=True, slots=True)
class _Reading:
    answers: Mapping[str, ThreadEntry]
    approvals: Mapping[str, Approval] = field(default_factory=dict[str, Approval])
    is_running: bool = False

    def steps(self, entries: Sequence[ThreadEntry]) -> Iterator[ThreadEntry | CallView]:
        for entry in entries:
            if entry.kind != "assistant":
                continue
            if entry.text.strip():
                yield entry
            for call in entry.calls:
                answer, approval = self.answers.get(call.id), self.approvals.get(call.id)
                yield CallView(call.id, call.name, _read(call.arguments), self._state(call.id), answer, approval)

    def _state(self, call: str) -> CallState:
        if (answer := self.answers.get(call)) is not None:
            return {"failed": "failed", "declined": "declined"}.get(answer.state, "done")  # pyright: ignore[reportReturnType] - of the type
        return "waits" if call in self.approvals else "runs" if self.is_running else "left"


def turns_of(
    entries: Sequence[ThreadEntry],
    approvals: Sequence[Approval] = (),
    *,
    is_running: bool = False,
    failure: str = "",
) -> list[TurnView]:
    """The turns of a thread.

    Args:
        entries: Its messages, oldest first.
        approvals: The calls that wait.
        is_running: Whether the last turn is being answered.
        failure: Why no model answered the last message.
    """
    answers = {one.call: one for one in entries if one.kind == "tool"}
    begins = [place for place, one in enumerate(entries) if one.kind == "user" or place == 0]
    reading = _Reading(answers, {one.id: one for one in approvals})
    whole = list[TurnView]()
    for number, (begin, end) in enumerate(pairwise([*begins, len(entries)])):
        first = entries[begin]
        is_last = end == len(entries)
        steps = replace(reading, is_running=is_running and is_last).steps(entries[begin:end])
        whole.append(TurnView(number, first if first.kind == "user" else None, tuple(steps), is_last))
    if whole and not whole[-1].is_settled:
        whole[-1] = replace(whole[-1], is_running=is_running, failure=failure)
    return whole


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
