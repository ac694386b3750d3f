"""Signs that the rules share: what is denied, what is ordered, where things go.

Invariant: a sign is a question about one sentence, answered by its words alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from thresher.scanner.lexicon import ADDRESS, DIRECTED, OUTSIDE, PARAMETER, words
from thresher.scanner.records import Kind, Severity
from thresher.scanner.sentences import Sentence

Said: TypeAlias = tuple[Kind, Severity, str]
"""What a rule found: kind, severity, why."""

Rule: TypeAlias = Callable[[Sentence], Iterator[Said]]
"""What one sentence says."""

AWAY: Final = words(f"{ADDRESS}|{OUTSIDE}")
ELSEWHERE: Final = words(OUTSIDE)
INTO: Final = words(PARAMETER)
_NEGATED: Final = words(
    r"""\b(?:not|never|no|n't|cannot|avoid|without|nor|neither|refuses?\s+to|instead\s+of)\s+(?:ever\s+|be\s+|\w+ly\s+)?(?:to\s+)?$|n't\s+(?:ever\s+)?$"""
)
_ORDERED: Final = words(DIRECTED)


def active(pattern: re.Pattern[str], text: str) -> int | None:
    """Where a verb stands that is not denied; None when there is none."""
    return next((verb.start() for verb in pattern.finditer(text) if not is_denied(text, verb.start())), None)


def used(sentence: Sentence, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """What a pattern finds in a sentence, if it is neither denied nor only spoken of."""
    found = pattern.search(sentence.text)
    if found is None or is_denied(sentence.text, found.start()) or sentence.mentions(found.start(), found.end()):
        return None
    return found


def is_denied(text: str, place: int) -> bool:
    """Whether a word of denial stands before this place."""
    return _NEGATED.search(text[:place][-40:]) is not None


def is_ordered(sentence: Sentence, place: int) -> bool:
    """Whether the sentence is an order to its reader, and not one that it speaks of."""
    return _ORDERED.search(sentence.text) is not None and not sentence.mentions(place)
