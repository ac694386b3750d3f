"""What a message says that it does not mean: "not a relation", "don't commit", "instead of a view".

Only words that refuse a task count. "It does not work", "not found" and "not only" refuse nothing, and where a refused
phrase names no intent `deciding` takes the message as it stands.

Invariant: plain text work; linear in the message's length.
"""

from __future__ import annotations

import re
from typing import Final

_DONT: Final = r"(?:do\s+not|don['\u2019]?t)"
_CLAUSE: Final = (
    r"(?:^|(?<=[,.;:!?\n\u2013\u2014(-])\s*|(?<=\bbut )|(?<=\band )|(?<=\bplease )|(?<=\bjust )|(?<=\bso ))"
)
_HARMLESS: Final = (
    r"(?!\s+(?:only|just|sure|yet|working|found|able|all|every|everything|much|many|really|one|more|longer|problem|idea"
    r"|matter|need|changes?|rush|hurry|i|it|the\s+same|a\s+problem|an\s+option)\b)"
)
_CUES: Final = (
    rf"{_CLAUSE}(?:not|no)(?:\s+(?:about|for|in|with|by))?(?=\s+\w){_HARMLESS}",
    rf"\bnot(?:\s+for)?(?=\s+(?:a|an|the|any|another|my|our|this|that)\s){_HARMLESS}",
    r"\bnot\s+about(?=\s+\w)",
    rf"{_CLAUSE}(?:{_DONT}|never(?!\s+mind)|avoid|no\s+need\s+to)(?=\s+\w)(?!\s+(?:know|see|understand|get|find|think|we|i|you)\b)",
    rf"{_CLAUSE}(?:never\s*mind|forget(?:\s+about)?)(?=\s+\w)(?!\s+(?:it|that)\b)",
    rf"\b(?:i|we)\s+{_DONT}\s+(?:want|need|mean|care\s+about)(?:\s+to)?(?=\s+\w)(?!\s+(?:you|it)\b)",
    r"\b(?:instead\s+of|rather\s+than|as\s+opposed\s+to|other\s+than|except\s+for|without|leaving\s+out)(?=\s+\w)",
)
_CUE: Final = re.compile("|".join(_CUES), re.I)
_STOP: Final = re.compile(
    r"\s*[,.;:!?\n\u2013\u2014()]|\s-\s|\s+(?:but|just|only|instead|rather|please|and\s+then|and\s+instead|then|because"
    r"|since|so|i|we|you|make|create|give|show|add|build|let|want|need|use|do|tell|list)\b",
    re.I,
)
_LEADING: Final = re.compile(r"^(?:[\s,.;:!?\u2013\u2014-]|but\b|instead\b|rather\b|and\b|just\b(?=\s*$))+", re.I)
_WORD: Final = re.compile(r"\w+")
_LONGEST: Final = 120
"""Characters of a refused phrase; a longer one is a story."""
MAX_REFUSALS: Final = 3
"""Phrases read; each costs one text."""


def split_negation(message: str) -> tuple[str, tuple[str, ...]]:
    """A message without what it refuses, and the phrases that it refuses.

    Returns:
        What is asked, empty where the message only refuses, and at most `MAX_REFUSALS` phrases, in order. A message
        that refuses nothing comes back as it is.
    """
    kept: list[str] = []
    refused: list[str] = []
    start = 0
    for cue in _CUE.finditer(message):
        if cue.start() < start or len(refused) == MAX_REFUSALS:
            continue
        end = _scope(message, cue.end())
        phrase = message[cue.end() : end].strip()
        if not _WORD.search(phrase):
            continue
        kept.append(message[start : cue.start()].rstrip(" ,;:-\u2013\u2014("))
        refused.append(phrase)
        start = end
    if not refused:
        return message, ()
    kept.append(message[start:])
    asked = " ".join(text for part in kept if _WORD.search(text := _LEADING.sub("", part).strip()))
    return asked, tuple(refused)


def _scope(message: str, start: int) -> int:
    """Where a refused phrase ends: at a mark, or where the sentence turns to what is wanted; one word at least."""
    first = _WORD.search(message, start)
    begin = first.end() if first else start
    stop = _STOP.search(message, begin, begin + _LONGEST)
    return stop.start() if stop else min(len(message), begin + _LONGEST)
