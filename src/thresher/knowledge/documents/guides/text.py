"""Lines of a guide: the one that describes a repository, and as many as a budget has room for.

Invariant: pure.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from thresher.core import shortened
from thresher.embedding import count_tokens

_SIZE: Final = re.compile(r"[\d,]+ documents?, [\d,]+ tokens\.")
_DESCRIPTION: Final = 300
"""Characters of a description."""


@lru_cache(maxsize=1_024)
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
