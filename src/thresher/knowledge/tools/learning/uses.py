"""Joins calls to the searches before them: which search a call belongs to, and what it says about the tools offered.

A call belongs to the client's newest search that offered the tool. If the client had searched before without calling
anything, the call also counts, less, for that message: its answer lacked what was needed. Where no search offered the
tool, the call counts, less, for the newest one.

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
from thresher.knowledge.tools.learning.evidence import SEARCHED_AGAIN
from thresher.knowledge.tools.models import Use

_CLIENTS: Final = 1_024
"""Clients whose last searches are remembered; the least recently used one is dropped first."""
_SEARCHES: Final = 4
"""Searches of a client that a call may belong to."""
_LASTING: Final = dt.timedelta(hours=1)
"""How long after a search a call of an offered tool belongs to it."""
_AGAIN: Final = dt.timedelta(minutes=10)
"""How long after a search a call of another tool, or another search, says that its answer lacked something."""
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

    def offered(self, caller: Caller, answer: OfferedAnswer) -> None:
        """Record an answer."""
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
        if state in FAILURES and offering is not None:
            offering.failed[tool_id] = None
        if state != "ok" or not answers:
            return []
        newest = offering or answers[-1]
        lacking = [one for one in answers if one.at < newest.at and one.find(tool_id) is None and not one.used]
        before = [one for one in lacking if newest.at - one.at <= _AGAIN]
        uses = [_use(caller, one, tool_id, now, SEARCHED_AGAIN) for one in before]
        if tool_id not in newest.used and (offering is not None or (now - newest.at <= _AGAIN and not newest.used)):
            uses.append(_use(caller, newest, tool_id, now, 1.0 if offering is not None else SEARCHED_AGAIN))
        for one in (*before, newest):
            one.used.add(tool_id)
            one.failed.pop(tool_id, None)
        return uses

    def _recent(self, caller: Caller, now: dt.datetime) -> list[OfferedAnswer]:
        """The answers that a call may belong to, oldest first; those to requests without a session count, too."""
        tenant, voter = caller.tenant.id, voter_of(caller)
        found = [one for client in {caller.client, ""} for one in self._answers.get((tenant, voter, client), ())]
        return sorted((one for one in found if now - one.at <= _LASTING), key=lambda one: one.at)

    def forget(self, caller: Caller) -> None:
        """Forget the searches of a tenant, or of one of its users."""
        voter = None if caller.user is None else voter_of(caller)
        for key in [*self._answers]:
            if key[0] == caller.tenant.id and voter in (None, key[1]):
                del self._answers[key]


def _use(caller: Caller, answer: OfferedAnswer, tool_id: int, now: dt.datetime, weight: float) -> Use:
    """What a successful call says about one answer."""
    place = answer.find(tool_id)
    use = Use(
        at=now,
        owner=caller.user,
        voter=voter_of(caller),
        trace_id=answer.trace_id,
        model=answer.model,
        vector=answer.vectors[0].tobytes(),
        tool_id=tool_id,
        weight=weight,
        passed=(),
        failed=tuple(answer.failed.keys() - {tool_id}),
        offered=(),
        standings=(),
        message=answer.message,
    )
    if place is None:
        return use
    tool = answer.tools[place]
    beside = [one for one in answer.tools if one.phrase == tool.phrase]
    before = [one.id for one in beside[: beside.index(tool)] if one.id not in answer.used | answer.failed.keys()]
    return replace(
        use,
        tool_id=tool.id,
        vector=answer.vectors[tool.phrase].tobytes(),
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
