"""The places of a message where one task may end and the next begin.

Invariant: plain text work; linear in the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_JOINT: Final = re.compile(
    r"(?P<end>(?<=[.!?;])\s+(?=\S)|\s*\n\s*)"
    r"|\s*(?P<comma>[,;])?\s*\b(?P<word>and then|and also|and finally|and after that|and afterwards|but also|while also"
    r"|as well as|along with|after that|after which|then also|then|also|plus|and|but)\b\s+"
    r"|\s+(?P<sign>[&+/])\s+|\s*(?P<bare>[,;])\s+",
    re.I,
)
_OPENING: Final = re.compile(
    r"(?:please|kindly|also|then|now|next|finally|can|could|would|will|i|i'd|i'm|we|let|let's|what|what's|which|who|who's"
    r"|where|where's|when|why|how|is|are|do|does|did|tell|show|give)\b",
    re.I,
)
_BETWEEN: Final = re.compile(r"\b(?:between|both|either)\b(?:(?!\b(?:and|or|between)\b)[^,;.!?]){1,40}$", re.I)
_LINKS: Final = frozenset(
    ["and then", "and also", "and finally", "and after that", "and afterwards", "then also", "after that"]
)
_WORD: Final = re.compile(r"\w+")
_BEHIND, _AHEAD = 60, 40


@dataclass(frozen=True, slots=True)
class Joint:
    """A place that may join two tasks.

    Attributes:
        start: Where the left task ends.
        stop: Where the right task begins.
        odds: Log-odds, by the words around it alone, that two tasks meet there.
    """

    start: int
    stop: int
    odds: float


def joints_of(text: str) -> tuple[Joint, ...]:
    """Every joint of a text, in order."""
    return tuple(_found(text))


def _found(text: str) -> Iterator[Joint]:
    last = 0
    for match in _JOINT.finditer(text):
        if not _WORD.search(text, last, match.start()) or not _WORD.search(text, match.end()):
            continue
        if _BETWEEN.search(text[max(0, match.start() - _BEHIND) : match.start()]):
            continue
        yield Joint(match.start(), match.end(), _odds(match, text[match.end() : match.end() + _AHEAD]))
        last = match.end()


def _odds(match: re.Match[str], ahead: str) -> float:
    """Log-odds by the kind of joint and by how the right side begins."""
    word = (match["word"] or "").lower()
    opening = _OPENING.match(ahead) is not None
    if match["end"] is not None:
        return 2.0
    if word in _LINKS:
        return 3.0 if opening else 1.5
    if word:
        return 1.5 if opening else -1.0
    return 1.5 if opening else -1.0
