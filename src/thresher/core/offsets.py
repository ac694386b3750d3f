"""Lines and columns of places in a text.

Invariant: pure; both count from 1, as editors do.
"""

from __future__ import annotations

import re
from bisect import bisect_right


class Lines:
    """Lines and columns of a text's offsets.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def at(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        row = bisect_right(self._starts, offset)
        return row, offset - self._starts[row - 1] + 1
