"""Cursors: where a list of operations or tags goes on.

A cursor names a place and the question that it belongs to. It holds no secret and is not signed: whoever writes one
himself gets what he could have asked for anyway.

Invariant: pure; a cursor of another question is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from thresher.core import InvalidInput

DEEPEST: Final = 100_000
_CURSOR: Final = re.compile(r"([0-9a-f]{10})\.([0-9]{1,6})")


def written(question: Sequence[str], place: int) -> str:
    """The cursor that goes on at a place, from 0."""
    return f"{_digest(question)}.{place}"


def place_of(cursor: str, question: Sequence[str]) -> int:
    """Where an answer goes on; 0 without a cursor.

    Raises:
        InvalidInput: It is no cursor, or belongs to another question.
    """
    if not cursor.strip():
        return 0
    found = _CURSOR.fullmatch(cursor.strip())
    if found is None or found[1] != _digest(question) or int(found[2]) > DEEPEST:
        raise InvalidInput(
            "The cursor belongs to another search.",
            hint="Ask the same question with it, or ask again without a cursor.",
        )
    return int(found[2])


def _digest(question: Sequence[str]) -> str:
    whole = hashlib.sha256()
    for part in question:
        encoded = part.encode("utf-8", "replace")
        whole.update(len(encoded).to_bytes(8, "big") + encoded)
    return whole.hexdigest()[:10]
