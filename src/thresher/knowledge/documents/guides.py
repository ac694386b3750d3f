"""The navigation guide as it is given: cut to a size on a line.

Invariant: pure; what is given never costs more than allowed.
"""

from __future__ import annotations

from thresher.embedding import count_tokens


def fitted(guide: str, budget: int) -> str:
    """The first lines of a guide that cost at most so many tokens."""
    if count_tokens(guide) <= budget:
        return guide
    lines = guide.splitlines(keepends=True)
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens("".join(lines[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    return "".join(lines[:low])
