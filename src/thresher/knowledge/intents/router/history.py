"""Which turn before a message leans on.

Invariant: plain text work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_SAME: Final = re.compile(r"\b(?:same|again|likewise|too|as well)\b", re.I)


def leans(message: str) -> float:
    """How surely a message can be understood only with the turn before: 0 not at all, 1 certainly."""
    return 1.0 if _SAME.search(message) else 0.0


def earlier_turn(history: Sequence[str]) -> str:
    """The last turn that stands on its own; empty where there is none."""
    return history[-1] if history else ""
