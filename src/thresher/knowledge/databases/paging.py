"""Lines into a token budget, and cursors that go on where they ended.

A cursor says at which line an answer ended, and for which question that was said. It holds no secret and is not signed:
whoever writes one himself gets what he could have asked for anyway. Nothing is kept on this side.

Invariant: pure; what is filled never costs more than the budget, exactly counted.
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


class Filling:
    """Lines, as many as a budget takes.

    Args:
        budget: Tokens at most.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lines: list[str] = []
        self._spent = 0

    @property
    def room(self) -> int:
        """Tokens that are left."""
        return self._budget - self._spent

    def add(self, *lines: str) -> bool:
        """Add some lines, all or none; whether they found room."""
        cost = sum(count_tokens(line) + 1 for line in lines)
        if cost > self.room:
            return False
        self._lines += lines
        self._spent += cost
        return True

    def text(self) -> str:
        """What was added."""
        return "\n".join(self._lines)


def filled(lines: Sequence[str], first: int, head: Sequence[str], budget: int) -> tuple[str, int]:
    """Head, and lines from one on.

    Args:
        lines: All of them.
        first: The first that is wanted.
        head: Lines that stand above in any case.
        budget: Tokens at most, for both.

    Returns:
        The text, and the number of the line after its last; a line that is too long by itself is cut.
    """
    filling = Filling(budget)
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
    """The beginning of a line, at most so many tokens of it, ended by an ellipsis."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(line[:middle] + "…") <= budget else (low, middle - 1)
    return line[:low] + "…" if low < len(line) else line


def cursor_of(place: int, question: Sequence[str]) -> str:
    """The cursor that goes on at a place of the answer to a question."""
    return f"{_check(question)}{place}"


def place_of(cursor: str, question: Sequence[str]) -> int:
    """The place that a cursor goes on at.

    Raises:
        InvalidInput: It is no cursor, or belongs to another question.
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
