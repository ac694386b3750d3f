"""The places of a message where one task may end and the next begin, with what the words there say for and against.

Invariant: plain text work; linear in the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from thresher.search import is_request

_JOINT: Final = re.compile(
    r"(?P<end>(?<=[.!?;])[\"')\]]*\s+(?=\S)|\s*\n\s*)"
    r"|\s*(?P<comma>[,;])?\s*\b(?P<word>and then|and also|and finally|and after that|and afterwards|but also|while also"
    r"|as well as|along with|after that|after which|then also|then|also|plus|and|but)\b[\s,]+"
    r"|\s+(?P<sign>[&+/])\s+|\s*(?P<bare>[,;])\s+",
    re.I,
)
_LINKS: Final = frozenset(
    ["and then", "and also", "and finally", "and after that", "and afterwards", "then also", "after that", "but also"]
)
_BETWEEN: Final = re.compile(r"\b(?:between|both|either)\b(?:(?!\b(?:and|or|between)\b)[^,;.!?]){1,40}$", re.I)
_QUESTION: Final = re.compile(
    r"(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|has|have|should|can|could|would|will|may)\b",
    re.I,
)
_VERB: Final = re.compile(
    r"(?:set|change|make|switch|commit|stage|stash|push|pull|merge|rebase|revert|undo|drop|alter|rename|describe|define"
    r"|use|give|let|put|play|turn|tell|show|list|ask|help|need|want|please)\b",
    re.I,
)
_STATEMENT: Final = re.compile(
    r"(?:i|i've|i'm|we|we've|my|our|it|it's|its|the|this|that|there|there's|they|he|she|you|your|a|an|some|someone)\b",
    re.I,
)
_CONDITION: Final = re.compile(r"(?:if|when|since|because|as|after|before|while|once|in case|for|so|although)\b", re.I)
_POINTER: Final = re.compile(
    r"\b(?:it|its|this|that|that's|them|their|these|those|they|one|ones|there|so|same|result|results)\b", re.I
)
_BARE: Final = re.compile(
    r"(?:please|(?:(?:please )?(?:tell me|show me|explain|i want to know) )?(?:why|how|how so|when|where)"
    r"|(?:please |can you |could you )?help(?: me)?(?: please)?|do you know|any idea|let me know|or both|or not)$",
    re.I,
)
_REPORT: Final = re.compile(r"(?:please )?(?:tell|show|let|give|explain|send|make|put|do|use|check|see|say)\b", re.I)
_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)?")
_MARKS: Final = " .!?,;"
_BEHIND: Final = 60
_READ: Final = 300
"""Characters of a side that are read for its signs."""

SIGNS: Final[dict[str, float]] = {
    "end": 1.70,
    "link": 4.38,
    "word": 0.99,
    "comma": 1.98,
    "comma word": 2.44,
    "right asks": 1.61,
    "right statement": 0.23,
    "right condition": 0.25,
    "right points": -0.92,
    "right points back": -1.10,
    "right short": 0.48,
    "left asks": 1.32,
    "left statement": -0.77,
    "left condition": -1.33,
    "left short": -0.22,
}
"""What each sign adds to the log-odds that two tasks meet at a joint."""


@dataclass(frozen=True, slots=True)
class Joint:
    """A place that may join two tasks.

    Attributes:
        start: Where the left task ends.
        stop: Where the right task begins.
        signs: What its words say, keys of `SIGNS`.
    """

    start: int
    stop: int
    signs: tuple[str, ...]

    @property
    def odds(self) -> float:
        """Log-odds, by the words around it alone, that two tasks meet there."""
        return sum(SIGNS[sign] for sign in self.signs)


def joints_of(text: str) -> tuple[Joint, ...]:
    """Every joint of a text, in order."""
    found = list(_found(text))
    edges = [0, *(match.end() for match in found)]
    ends = [*(match.start() for match in found), len(text)]
    sides = [text[start:end][:_READ] for start, end in zip(edges, ends, strict=True)]
    return tuple(
        Joint(match.start(), match.end(), _signs(match, left, right))
        for match, (left, right) in zip(found, pairwise(sides), strict=True)
        if not _is_bare(right) and not (match is found[0] and _is_bare(left))
    )


def _is_bare(side: str) -> bool:
    """Whether a side asks for nothing by itself; it stays with what stands before it."""
    return _BARE.match(side.strip(_MARKS)) is not None


def _found(text: str) -> Iterator[re.Match[str]]:
    last = 0
    for match in _JOINT.finditer(text):
        if not _WORD.search(text, last, match.start()) or not _WORD.search(text, match.end()):
            continue
        if _BETWEEN.search(text[max(last, match.start() - _BEHIND) : match.start()]):
            continue
        yield match
        last = match.end()


def _signs(match: re.Match[str], left: str, right: str) -> tuple[str, ...]:
    """What the joint and its two sides say."""
    signs = [_kind(match), *_form("left", left), *_form("right", right)]
    if _POINTER.search(right):
        signs.append("right points back" if _REPORT.match(right) else "right points")
    return tuple(signs)


def _kind(match: re.Match[str]) -> str:
    word = (match["word"] or "").lower()
    if match["end"] is not None:
        return "end"
    if word in _LINKS:
        return "link"
    if word and match["comma"]:
        return "comma word"
    return "word" if word or match["sign"] else "comma"


def _form(side: str, text: str) -> Iterator[str]:
    """Whether a side asks, tells or sets a condition, and whether it is short."""
    if _CONDITION.match(text):
        yield f"{side} condition"
    elif _QUESTION.match(text) or _VERB.match(text) or is_request(text):
        yield f"{side} asks"
    elif _STATEMENT.match(text):
        yield f"{side} statement"
    if len(_WORD.findall(text)) <= 2:
        yield f"{side} short"
