"""Fits lines into a token budget.

Invariant: pure; filled text never costs more than the budget, counted exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.embedding import count_tokens


class BudgetedLines:
    """Collects lines up to a token budget.

    Args:
        budget: Maximum tokens.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lines: list[str] = []
        self._spent = 0

    @property
    def room(self) -> int:
        """Remaining tokens."""
        return self._budget - self._spent

    def add(self, *lines: str) -> bool:
        """Add lines, all or none; returns whether they fit."""
        cost = sum(count_tokens(line) + 1 for line in lines)
        if cost > self.room:
            return False
        self._lines += lines
        self._spent += cost
        return True

    def text(self) -> str:
        """The collected text."""
        return "\n".join(self._lines)


def filled(lines: Sequence[str], first: int, head: Sequence[str], budget: int) -> tuple[str, int]:
    """The head and as many lines as fit.

    Args:
        lines: All lines.
        first: Index of the first line to show.
        head: Lines that always come first.
        budget: Maximum tokens for both.

    Returns:
        The text, and the index of the line after its last; a single line that is too long is cut.
    """
    filling = BudgetedLines(budget)
    filling.add(*head)
    for number in range(first, len(lines)):
        if filling.add(lines[number]):
            continue
        if number > first:
            return filling.text(), number
        filling.add(cut(lines[number], filling.room - 2))
        return filling.text(), number + 1
    return filling.text(), len(lines)


def cut(line: str, budget: int) -> str:
    """Cut a line to a number of tokens, and end it with an ellipsis."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(line[:middle] + "…") <= budget else (low, middle - 1)
    return line[:low] + "…" if low < len(line) else line
