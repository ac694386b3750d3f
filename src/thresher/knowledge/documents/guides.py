"""The navigation guide as it is given: cut to a size on a line, or to the one that says what it is about.

Invariant: pure; what is given never costs more than allowed.
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
    """The first line of a guide that is no heading and no mark; how much there is counts for want of others."""
    lines = (line.strip().lstrip(">*-|").strip() for line in guide.splitlines() if not line.lstrip().startswith("#"))
    said = [line for line in lines if any(sign.isalpha() for sign in line)]
    found = next((line for line in said if not _SIZE.fullmatch(line)), next(iter(said), ""))
    return shortened(" ".join(found.split()), _DESCRIPTION)


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
