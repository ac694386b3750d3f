"""Explains how to call one operation, within a token budget.

Required input comes first, then authentication, the response, optional input and errors; of the named schemas only
those that the operation reaches, the nearest first. Whatever does not fit is listed by name.

Invariant: pure; the content never exceeds the budget, by exact count.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from thresher.core import InvalidInput
from thresher.embedding import count_tokens
from thresher.knowledge.apis.models import DEFAULT_BUDGET, EndpointAnswer, FoundEndpoint
from thresher.knowledge.apis.sections import TITLES, ItemText, PageSection, SectionItem, SectionItems
from thresher.openapi import Description, Operation, visible

BUDGET_CAP: Final = 100_000
_RESERVE: Final = 90
"""Maximum tokens of the list of omitted items."""
_LEAST: Final = 8
"""Minimum tokens of an item."""
_MISSES: Final = 20
"""After this many items of a group that do not fit, the rest of the group is not tried."""
_SHARE: Final = 0.5
"""Share of the remaining room that an example may take while it has a shorter form."""
_NAMED: Final = 10


def explain_endpoint(
    description: Description,
    operation: Operation,
    endpoint: FoundEndpoint,
    *,
    base_url: str = "",
    location: str = "",
    budget: int = DEFAULT_BUDGET,
) -> EndpointAnswer:
    """Explain how to call an operation, as far as the budget goes.

    Args:
        description: The description that contains the operation.
        operation: The operation.
        endpoint: The operation as search shows it.
        base_url: Base address if the description names none.
        location: Path or URL of the description.
        budget: Maximum tokens of the content, 1 to 100,000.

    Raises:
        InvalidInput: The budget is out of range.
    """
    if not 1 <= budget <= BUDGET_CAP:
        raise InvalidInput("The budget is out of range.", hint=f"Use 1 to {BUDGET_CAP:,} tokens.")
    parts = SectionItems(description, operation, endpoint, base_url, location)
    page = _BudgetedPage(parts.head, budget)
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
class _AnswerData:
    """The structured part of an answer, which costs no more than the budget either."""

    room: int
    parameters: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    request: Any = None
    responses: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    schemas: dict[str, Any] = field(default_factory=dict[str, Any])
    samples: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, item_text: ItemText) -> None:
        cost = count_tokens(json.dumps(item_text.value, default=str)) if item_text.field else 0
        if not item_text.field or cost > self.room:
            return
        self.room -= cost
        if item_text.field == "parameters":
            self.parameters.append(item_text.value)
        elif item_text.field == "request":
            self.request = item_text.value
        elif item_text.field == "responses":
            self.responses.append(dict(item_text.value))
        elif item_text.field == "example":
            status, value = item_text.value
            self.responses = [{**one, "example": value} if one["status"] == status else one for one in self.responses]
        elif item_text.field in {"schemas", "samples"}:
            name, value = item_text.value
            (self.schemas if item_text.field == "schemas" else self.samples)[name] = value


class _BudgetedPage:
    """The items that fit into a budget.

    Args:
        head: The first lines.
        budget: Maximum tokens.
    """

    def __init__(self, head: str, budget: int) -> None:
        self._budget = budget
        self._head = cut_to(visible(head), budget)
        self._room = budget - count_tokens(self._head) - min(_RESERVE, budget // 5)
        self._taken: list[tuple[SectionItem, str]] = []
        self._sections: set[PageSection] = {PageSection.RELEVANCE, PageSection.ABOUT}
        self._left: dict[str, list[str]] = defaultdict(list)
        self.data = _AnswerData(budget)

    def fill(self, parts: Iterable[SectionItem]) -> None:
        """Add the items that fit, in the given order."""
        for item in parts:
            left = self._left[item.group]
            if self._room < _LEAST or len(left) >= _MISSES or not self._take(item):
                left.append(visible(item.name))

    def _take(self, item: SectionItem) -> bool:
        title = 0 if item.section in self._sections else count_tokens(TITLES[item.section]) + 3
        for number, form in enumerate(item.forms):
            item_text = form()
            text = visible(item_text.text)
            cost = count_tokens(text) + 1 + title
            last = number == len(item.forms) - 1
            if cost <= (self._room if last else self._room * _SHARE):
                self._room -= cost
                self._sections.add(item.section)
                self._taken.append((item, text))
                self.data.add(item_text)
                return True
        return False

    def left_out(self) -> tuple[str, ...]:
        """Return what was left out, by group, and how to get it."""
        groups = [_named(group, names) for group, names in self._left.items() if names]
        if not groups:
            return ()
        return (*groups, f"For more, ask again with a larger budget, such as {min(2 * self._budget, BUDGET_CAP)}.")

    def text(self) -> str:
        """Return the whole text, within the budget."""
        while self._taken:
            text = self._assembled(self._note())
            if count_tokens(text) <= self._budget:
                return text
            if self._note() and count_tokens(self._assembled("")) <= self._budget:
                return self._assembled("")
            item, _ = self._taken.pop()
            self._left[item.group].append(item.name)
        return self._head

    def _note(self) -> str:
        """Return a line that lists what was left out, within its own limit."""
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
        for section in PageSection:
            texts = [text for item, text in self._taken if item.section is section]
            if texts:
                title = f"{TITLES[section]}\n" if section in TITLES else ""
                blocks.append(title + "\n".join(texts))
        return "\n\n".join([*blocks, note] if note else blocks)


def _named(group: str, names: list[str]) -> str:
    known = [name for name in names if name]
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{group}: {', '.join(known[:_NAMED])}{more}" if known else group


def cut_to(text: str, budget: int) -> str:
    """Return the longest prefix of a text that fits into a budget."""
    if count_tokens(text) <= budget:
        return text
    low, high = 0, min(len(text), 40 * budget)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle]) <= budget else (low, middle - 1)
    while low and count_tokens(text[:low]) > budget:
        low -= 1
    return text[:low]
