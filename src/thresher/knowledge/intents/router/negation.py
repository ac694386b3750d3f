"""What a message says that it does not mean: "not a relation", "don't commit", "instead of a view".

Only words that refuse a task count. "It does not work", "not found" and "not only" refuse nothing, and where a refused
phrase names no intent `deciding` takes the message as it stands.

Invariant: plain text work; linear in the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_DONT: Final = r"(?:do\s+not|don['\u2019]?t)"
_HARMLESS: Final = (
    r"(?!\s+(?:only|just|sure|yet|working|found|able|all|every|everything|much|many|really|one|more|longer|problem|idea"
    r"|matter|need|changes?|rush|hurry|i|it|the\s+same|a\s+problem|an\s+option)\b)"
)
_FIRST_WORD: Final = re.compile(
    r"\b(?:not|no|do|don['\u2019]?t|never|avoid|forget|leave|i|we|instead|rather|as|other|except|without|leaving)\b",
    re.I,
)
"""The first word of any cue; only where one stands is anything else tried."""
_OPENING_CUE: Final = re.compile(
    rf"(?:not|no)(?:\s+(?:about|for|in|with|by))?(?=\s+\w){_HARMLESS}"
    rf"|(?:{_DONT}|never(?!\s*mind)|avoid|no\s+need\s+to)(?=\s+\w)"
    r"(?!\s+(?:know|see|understand|get|find|think|we|i|you|allow|let|permit|accept|cascade|offer)\b)"
    r"|(?:never\s*mind|forget(?:\s+about)?)(?=\s+\w)(?!\s+(?:it|that)\b)"
    r"|leave(?=(?:\s+\w+){1,4}\s+alone\b)",
    re.I,
)
"""What refuses where it opens a clause."""
_CUE: Final = re.compile(
    rf"not(?:\s+for)?(?=\s+(?:a|an|the|any|another|my|our|this|that)\s){_HARMLESS}"
    r"|not\s+about(?=\s+\w)"
    rf"|(?:i|we)\s+(?:{_DONT}|did\s*n[o'\u2019]?t)\s+(?:want|need|mean|care\s+about|ask\s+for)(?:\s+to)?(?=\s+\w)"
    r"(?!\s+(?:you|it)\b)"
    r"|(?P<beside>instead\s+of|rather\s+than|as\s+opposed\s+to|other\s+than|except\s+for|without|leaving\s+out)(?=\s+\w)",
    re.I,
)
"""What refuses anywhere."""
_CLAUSE: Final = re.compile(r"(?:^|[,.;:!?\n\u2013\u2014(-]\s*|\b(?:but|and|please|just|so)\s)$", re.I)
_BEHIND: Final = 12
_STOP: Final = re.compile(
    r"\s*(?:[,;!?\n\u2013\u2014()]|[.:](?=\s|$))|\s-\s|\s+(?:but|just|only|instead|rather|please|and\s+then|and\s+instead|then|because"
    r"|since|so|i|we|you|make|create|give|show|add|build|let|want|need|use|do|tell|delete|remove"
    r"|change|rename|run|query|open|alone)\b",
    re.I,
)
_STATE: Final = re.compile(r"no\s+(?:\w+\s+){1,4}(?:in|on|at|for|of|with|over|while|between)\s[^,;!?\n]*", re.I)
"""A message that is this and nothing else refuses no task: "no empty value in the list" says how a thing shall be."""
_LEADING: Final = re.compile(
    r"^(?:[\s,.;:!?\u2013\u2014-]|but\b|alone\b|instead\b|rather\b|and\b|just\b(?=\s*$))+", re.I
)
_TRAILING: Final = " ,;:-\u2013\u2014("
_WORD: Final = re.compile(r"\w+")
_LONGEST_MESSAGE: Final = 4_000
_LONGEST: Final = 120
"""Characters of a refused phrase; a longer one is a story."""
MAX_REFUSALS: Final = 3
"""Phrases read; each costs one text."""


def split_negation(message: str) -> tuple[str, tuple[str, ...]]:
    """A message without what it refuses, and the phrases that it refuses.

    Returns:
        What is asked, empty where the message only refuses, and at most `MAX_REFUSALS` phrases, in order. A message
        that refuses nothing comes back as it is, and so does one that only says what something is *beside*
        ("except for ..."): there the end of the phrase was not found.
    """
    kept: list[str] = []
    refused: list[str] = []
    start, beside = 0, True
    for cue in _cues(message):
        if cue.start() < start or len(refused) == MAX_REFUSALS:
            continue
        end = _scope(message, cue.end())
        phrase = message[cue.end() : end].strip()
        if not _WORD.search(phrase):
            continue
        kept.append(message[start : cue.start()].rstrip(_TRAILING))
        refused.append(phrase)
        start, beside = end, beside and cue.re is _CUE and cue["beside"] is not None
    kept.append(message[start:])
    asked = " ".join(text for part in kept if _WORD.search(text := _LEADING.sub("", part).strip()))
    return (asked, tuple(refused)) if refused and (asked or not beside) else (message, ())


def _cues(message: str) -> Iterator[re.Match[str]]:
    """Where a refusal begins; none in a long message, whose "not" belongs to what was pasted."""
    if len(message) > _LONGEST_MESSAGE or _STATE.fullmatch(message.strip()):
        return
    for word in _FIRST_WORD.finditer(message):
        cue = _CUE.match(message, word.start())
        if cue is None and _CLAUSE.search(message[max(0, word.start() - _BEHIND) : word.start()]):
            cue = _OPENING_CUE.match(message, word.start())
        if cue is not None:
            yield cue


def _scope(message: str, start: int) -> int:
    """Where a refused phrase ends: at a mark, or where the sentence turns to what is wanted; one word at least."""
    first = _WORD.search(message, start)
    begin = first.end() if first else start
    stop = _STOP.search(message, begin, begin + _LONGEST)
    return stop.start() if stop else min(len(message), begin + _LONGEST)
