"""The guide of a repository as it is shown: cut to a budget, or reduced to a description.

Invariant: pure; the result never exceeds its limit.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.core import shortened
from thresher.embedding import count_tokens

_SIZE: Final = re.compile(r"[\d,]+ documents?, [\d,]+ tokens\.")
_DESCRIPTION: Final = 300
"""Characters of a description."""


def description_of(guide: str) -> str:
    """The first informative line of a guide: not a heading or a mark, and its size only if there is no other."""
    lines = (line.strip().lstrip(">*-|").strip() for line in guide.splitlines() if not line.lstrip().startswith("#"))
    candidates = [line for line in lines if any(sign.isalpha() for sign in line)]
    found = next((line for line in candidates if not _SIZE.fullmatch(line)), next(iter(candidates), ""))
    return shortened(" ".join(found.split()), _DESCRIPTION)


def cut_to_budget(guide: str, budget: int) -> str:
    """The first lines of a guide within a token budget."""
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
