"""Joins calls to the searches before them: which search a call belongs to, and what it says about the tools offered.

A call belongs to the client's newest search that offered the tool; a call of a tool that no search offered says
nothing. If the client had searched before for something like it without calling anything, the call also counts, less,
for that message: its answer lacked what was needed. A client that searches for all steps of a plan before it calls
anything thus teaches nothing wrong, since its steps are unlike. Searches of requests without a client, such as those of
the command line, belong to no session of another client.

Invariant: no input or output; the time is an argument. A search yields one use per tool at most, however often the
tool is called.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from thresher.core import Caller
from thresher.knowledge.tools.learning.evidence import LIKE, SEARCHED_AGAIN
from thresher.knowledge.tools.models import Use

_CLIENTS: Final = 1_024
"""Clients whose last searches are remembered; the least recently used one is dropped first."""
_SEARCHES: Final = 4
"""Searches of a client that a call may belong to."""
_LASTING: Final = dt.timedelta(hours=1)
"""How long after a search a call of an offered tool belongs to it."""
_AGAIN: Final = dt.timedelta(minutes=10)
"""How long after a search another one, for something like it, says that its answer lacked something."""
_PASSED: Final = 3
"""Tools that count as passed over: the last ones before the tool that was called."""
FAILURES: Final = frozenset({"tool error", "failed"})
"""How a call ends that counts against its tool."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of an answer.

    Attributes:
        id: The tool's row.
        copies: The rows of copies that the answer names beside it.
        phrase: The searched text that it was found for.
        standing: Its score less that of the best one, without what use had taught.
    """

    id: int
    copies: tuple[int, ...]
    phrase: int
    standing: float


@dataclass(slots=True)
class OfferedAnswer:
    """An answer to a search, and what became of it.

    Attributes:
        at: When.
        trace_id: The search, as its log row names it.
        model: The model of the vectors.
        vectors: float16 (phrases, dimension).
        tools: The offered tools, best first.
        message: The text, where the setting allows it.
        failed: Tools whose calls failed, and that were not called with success since.
        used: Tools that were called with success.
    """

    at: dt.datetime
    trace_id: str
    model: str
    vectors: NDArray[np.float16]
    tools: Sequence[OfferedTool]
    message: str | None
    failed: dict[int, None] = field(default_factory=dict[int, None])
    used: set[int] = field(default_factory=set[int])

    def find(self, tool_id: int) -> int | None:
        """Return the place of a tool, or of the one that stands for it; None if it was not offered."""
        return next(
            (place for place, tool in enumerate(self.tools) if tool_id == tool.id or tool_id in tool.copies), None
        )


def voter_of(caller: Caller) -> str:
    """Return whose say a caller's uses are: a user's, a key's, or that of the owner of the data folder, empty."""
    if caller.user is not None:
        return f"user:{caller.user}"
    return f"key:{caller.key or ''}" if caller.keyed else ""


class UseTracker:
    """The last searches of each client of this process."""

    def __init__(self, clients: int = _CLIENTS) -> None:
        self._answers: LRUCache[tuple[int, str, str], deque[OfferedAnswer]] = LRUCache(clients)
        self._swept = dt.datetime.min.replace(tzinfo=dt.UTC)

    def offered(self, caller: Caller, answer: OfferedAnswer) -> None:
        """Record an answer."""
        if answer.at - self._swept > _AGAIN:
            self._swept = answer.at
            for key in [key for key, answers in self._answers.items() if answer.at - answers[-1].at > _LASTING]:
                del self._answers[key]
        key = (caller.tenant.id, voter_of(caller), caller.client)
        self._answers.setdefault(key, deque(maxlen=_SEARCHES)).append(answer)

    def called(self, caller: Caller, tool_id: int, state: str, now: dt.datetime) -> list[Use]:
        """Record a call; returns what it says.

        Args:
            caller: The caller of the tool.
            tool_id: The tool's row.
            state: How the call ended.
            now: When.
        """
        answers = self._recent(caller, now)
        offering = next((one for one in reversed(answers) if one.find(tool_id) is not None), None)
        if offering is None:
            return []
        if state in FAILURES:
            offering.failed[tool_id] = None
        if state != "ok":
            return []
        uses: list[Use] = []
        for one in answers:
            lacking = one.at < offering.at <= one.at + _AGAIN and one.find(tool_id) is None and not one.used
            phrase = _like_phrase(one, offering, tool_id) if lacking else None
            if phrase is not None:
                uses.append(_use(caller, one, phrase, tool_id, now, SEARCHED_AGAIN))
                one.used.add(tool_id)
        if tool_id not in offering.used:
            uses.append(_offered_use(caller, offering, tool_id, now))
        offering.used.add(tool_id)
        offering.failed.pop(tool_id, None)
        return uses

    def _recent(self, caller: Caller, now: dt.datetime) -> list[OfferedAnswer]:
        """The client's answers that a call may belong to, oldest first."""
        found = self._answers.get((caller.tenant.id, voter_of(caller), caller.client), ())
        return [one for one in found if now - one.at <= _LASTING]

    def __len__(self) -> int:
        """The number of clients whose searches are known."""
        return len(self._answers)

    def forget(self, caller: Caller) -> None:
        """Forget the searches of a tenant, or of one of its users."""
        voter = None if caller.user is None else voter_of(caller)
        for key in [*self._answers]:
            if key[0] == caller.tenant.id and voter in (None, key[1]):
                del self._answers[key]


def _like_phrase(answer: OfferedAnswer, offering: OfferedAnswer, tool_id: int) -> int | None:
    """The text of an answer that is most like the one for which another answer offered a tool; None if none is."""
    place = offering.find(tool_id)
    if place is None or answer.model != offering.model:
        return None
    wanted = offering.vectors[offering.tools[place].phrase].astype(np.float32)
    likeness = answer.vectors.astype(np.float32) @ wanted
    return int(likeness.argmax()) if likeness.max() >= LIKE else None


def _use(caller: Caller, answer: OfferedAnswer, phrase: int, tool_id: int, now: dt.datetime, weight: float) -> Use:
    """What a successful call says about one text of an answer."""
    return Use(
        at=now,
        searched_at=answer.at,
        owner=caller.user,
        voter=voter_of(caller),
        trace_id=answer.trace_id,
        model=answer.model,
        vector=answer.vectors[phrase].tobytes(),
        tool_id=tool_id,
        weight=weight,
        passed=(),
        failed=tuple(answer.failed.keys() - {tool_id}),
        offered=(),
        standings=(),
        message=answer.message,
    )


def _offered_use(caller: Caller, answer: OfferedAnswer, tool_id: int, now: dt.datetime) -> Use:
    """What a successful call of an offered tool says about the answer, and about the tools beside it."""
    tool = answer.tools[answer.find(tool_id) or 0]
    beside = [one for one in answer.tools if one.phrase == tool.phrase]
    before = [one.id for one in beside[: beside.index(tool)] if one.id not in answer.used | answer.failed.keys()]
    return replace(
        _use(caller, answer, tool.phrase, tool.id, now, 1.0),
        failed=tuple(answer.failed.keys() - {tool_id}),
        passed=tuple(before[-_PASSED:]),
        offered=tuple(one.id for one in beside),
        standings=tuple(round(one.standing, 3) for one in beside),
    )


def offered_tools(
    names: Mapping[str, int], found: Sequence[tuple[str, Sequence[str]]], hits: Mapping[int, tuple[int, float]]
) -> tuple[OfferedTool, ...]:
    """Return the tools of an answer that its search found.

    Args:
        names: Tool ids by exposed name.
        found: Name and names of copies of each tool, best first.
        hits: By tool: the text that it was found for, and its standing.
    """
    tools: list[OfferedTool] = []
    for name, also in found:
        number = names[name]
        if number in hits:
            copies = tuple(names[copy] for copy in also)
            tools.append(OfferedTool(number, copies, *hits[number]))
    return tuple(tools)
