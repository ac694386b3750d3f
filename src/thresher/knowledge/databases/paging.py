"""Fits lines into a token budget, and makes cursors that continue where an answer ended.

A cursor holds the line at which an answer ended and a check of the question. It is not signed: a forged cursor grants
no extra access. Nothing is stored on the server.

Invariant: pure; filled text never costs more than the budget, counted exactly.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from thresher.core import InvalidInput
from thresher.embedding import count_tokens

_CHECK_DIGITS: Final = 6
_CURSOR: Final = re.compile(r"[0-9]{7,16}")


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


def cursor_of(place: int, question: Sequence[str]) -> str:
    """The cursor that continues the answer to a question at a position."""
    return f"{_check(question)}{place}"


def cursor_position(cursor: str, question: Sequence[str]) -> int:
    """The position at which a cursor continues.

    Raises:
        InvalidInput: It is not a cursor, or belongs to another question.
    """
    written = cursor.strip()
    if not _CURSOR.fullmatch(written) or written[:_CHECK_DIGITS] != _check(question):
        raise InvalidInput(
            "The cursor belongs to another question, or a digit of it is wrong.",
            hint="Copy the cursor digit by digit and ask the same, or ask again without a cursor.",
        )
    return int(written[_CHECK_DIGITS:])


def _check(question: Sequence[str]) -> str:
    whole = hashlib.sha256()
    for part in question:
        encoded = part.encode("utf-8", "replace")
        whole.update(len(encoded).to_bytes(8, "big") + encoded)
    return f"{int.from_bytes(whole.digest()[:8], 'big') % 10**_CHECK_DIGITS:0{_CHECK_DIGITS}d}"
