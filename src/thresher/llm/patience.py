"""When a refused or lost request is sent again, and after how long.

Invariant: pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

TRIES: Final = 3
FIRST_PAUSE: Final = 0.5
"""Seconds: the pause doubles after each try; a server's Retry-After wins."""
_WORTH_A_RETRY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_MISFITS: Final = frozenset({400, 422})


def worth_a_retry(status: int) -> bool:
    """Whether a service that refuses with this status may not refuse the next time."""
    return status in _WORTH_A_RETRY


def is_misfit(status: int) -> bool:
    """Whether services refuse a field that they do not know with this status."""
    return status in _MISFITS


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a service wants us to wait; None where it does not say."""
    try:
        seconds = float(headers["retry-after"])
    except (KeyError, ValueError):  # the header may also be a date; our own pause serves then
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
