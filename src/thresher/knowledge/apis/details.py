"""Everything that is needed to call one operation, inside a token budget.

What a caller must send comes first, then how it signs in, what it gets, what it may send besides, and what can go
wrong; of the named schemas only those that the operation reaches, the nearest first. What does not fit is named.

Invariant: pure; the content never costs more than the budget, exactly counted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from thresher.core import InvalidInput
from thresher.embedding import count_tokens
from thresher.knowledge.apis.details_parts import Parts
from thresher.knowledge.apis.details_said import TITLES, Part, Said, Section
from thresher.knowledge.apis.models import DEFAULT_BUDGET, EndpointAnswer, FoundEndpoint
from thresher.openapi import Description, Operation, visible

BUDGET_CAP: Final = 100_000
_RESERVE: Final = 90
"""Tokens for naming what is left out, at most."""
_LEAST: Final = 8
"""A part costs at least so many tokens."""
_MISSES: Final = 20
"""Parts of a group that are written to see whether they fit; where so many do not, the others are not tried."""
_SHARE: Final = 0.5
"""Of what room is left, an example may take so much while it has a smaller form."""
_NAMED: Final = 10


def explain_endpoint(
    description: Description,
    operation: Operation,
    endpoint: FoundEndpoint,
    *,
    base_url: str = "",
    budget: int = DEFAULT_BUDGET,
) -> EndpointAnswer:
    """Everything that is needed to call an operation, as far as a budget goes.

    Args:
        description: That of the operation.
        operation: What is to be called.
        endpoint: The same in brief.
        base_url: Where it is called, where the description does not say.
        budget: Tokens of the content at most, 1 to 100,000.

    Raises:
        InvalidInput: The budget is out of bounds.
    """
    if not 1 <= budget <= BUDGET_CAP:
        raise InvalidInput("The budget is out of bounds.", hint=f"Allow 1 to {BUDGET_CAP:,} tokens.")
    parts = Parts(description, operation, endpoint, base_url)
    page = _Page(parts.head, budget)
    page.fill(parts)
    content = page.text()
    data = page.data
    return EndpointAnswer(
        endpoint=endpoint,
        content=content,
        parameters=tuple(data.parameters),
        request=data.request,
        responses=tuple(data.responses),
        auth=parts.auth,
        schemas=data.schemas,
        samples=data.samples,
        left_out=page.left_out(),
        budget=budget,
        spent=count_tokens(content),
    )


@dataclass(slots=True)
class _Data:
    """What the parts add to the answer as data, itself no more than the budget."""

    room: int
    parameters: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    request: Any = None
    responses: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    schemas: dict[str, Any] = field(default_factory=dict[str, Any])
    samples: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, said: Said) -> None:
        cost = count_tokens(json.dumps(said.value, default=str)) if said.field else 0
        if not said.field or cost > self.room:
            return
        self.room -= cost
        if said.field == "parameters":
            self.parameters.append(said.value)
        elif said.field == "request":
            self.request = said.value
        elif said.field == "responses":
            self.responses.append(dict(said.value))
        elif said.field == "example":
            status, value = said.value
            self.responses = [{**one, "example": value} if one["status"] == status else one for one in self.responses]
        elif said.field in {"schemas", "samples"}:
            name, value = said.value
            (self.schemas if said.field == "schemas" else self.samples)[name] = value


class _Page:
    """Parts, as many as a budget takes.

    Args:
        head: The first lines.
        budget: Tokens at most.
    """

    def __init__(self, head: str, budget: int) -> None:
        self._budget = budget
        self._head = cut_to(visible(head), budget)
        self._room = budget - count_tokens(self._head) - min(_RESERVE, budget // 5)
        self._taken: list[tuple[Part, str]] = []
        self._sections: set[Section] = {Section.HEAD, Section.ABOUT}
        self._left: dict[str, list[str]] = defaultdict(list)
        self.data = _Data(budget)

    def fill(self, parts: Iterable[Part]) -> None:
        """Take what finds room, in the order given."""
        for part in parts:
            left = self._left[part.group]
            if self._room < _LEAST or len(left) >= _MISSES or not self._take(part):
                left.append(visible(part.name))

    def _take(self, part: Part) -> bool:
        title = 0 if part.section in self._sections else count_tokens(TITLES[part.section]) + 3
        for number, form in enumerate(part.forms):
            said = form()
            text = visible(said.text)
            cost = count_tokens(text) + 1 + title
            last = number == len(part.forms) - 1
            if cost <= (self._room if last else self._room * _SHARE):
                self._room -= cost
                self._sections.add(part.section)
                self._taken.append((part, text))
                self.data.add(said)
                return True
        return False

    def left_out(self) -> tuple[str, ...]:
        """What was left out, by group, and how to get it."""
        groups = [_named(group, names) for group, names in self._left.items() if names]
        if not groups:
            return ()
        return (*groups, f"For more, ask again with a larger budget, such as {min(2 * self._budget, BUDGET_CAP)}.")

    def text(self) -> str:
        """All of it; never more than the budget."""
        while self._taken:
            text = self._assembled(self._note())
            if count_tokens(text) <= self._budget:
                return text
            if self._note() and count_tokens(self._assembled("")) <= self._budget:
                return self._assembled("")
            part, _ = self._taken.pop()
            self._left[part.group].append(part.name)
        return self._head

    def _note(self) -> str:
        """What is left out, in one line that keeps to its room."""
        left = self.left_out()
        if not left:
            return ""
        for count in range(len(left) - 1, -1, -1):
            more = "" if count == len(left) - 1 else "; and more"
            note = (
                f"Left out: {'; '.join(left[:count])}{more}. {left[-1]}" if count else f"Some is left out. {left[-1]}"
            )
            if count_tokens(note) + 3 <= min(_RESERVE, self._budget // 5):
                return note
        return ""

    def _assembled(self, note: str) -> str:
        blocks = [self._head]
        for section in Section:
            texts = [text for part, text in self._taken if part.section is section]
            if texts:
                title = f"{TITLES[section]}\n" if section in TITLES else ""
                blocks.append(title + "\n".join(texts))
        return "\n\n".join([*blocks, note] if note else blocks)


def _named(group: str, names: list[str]) -> str:
    known = [name for name in names if name]
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{group}: {', '.join(known[:_NAMED])}{more}" if known else group


def cut_to(text: str, budget: int) -> str:
    """The beginning of a text that costs no more than a budget."""
    if count_tokens(text) <= budget:
        return text
    low, high = 0, min(len(text), 40 * budget)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    while low and count_tokens(text[:low]) > budget:
        low -= 1
    return text[:low]
