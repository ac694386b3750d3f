"""Cue phrases of a message: where tasks join, what it refuses, and whether it leans on the turn before.

Joints are the places where one task may end and the next begin. A refusal says what is not meant: "not a relation",
"don't commit", "instead of a view". Only words that refuse a task count: "It does not work", "not found" and "not only"
refuse nothing, and if a refused phrase names no intent, `decision` takes the message as it is. "Now the same for
products" leans on an earlier turn; a message that names its own task leans on nothing.

Invariant: plain text work; linear in the message's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from thresher.core import LazyPattern
from thresher.search import is_request

_DONT: Final = r"(?:do\s+not|don['\u2019]?t)"
_HARMLESS: Final = (
    r"(?!\s+(?:only|just|sure|yet|working|found|able|all|every|everything|much|many|really|one|more|longer|problem|idea"
    r"|matter|need|changes?|rush|hurry|i|it|the\s+same|a\s+problem|an\s+option)\b)"
)
_FIRST_WORD: Final = LazyPattern(
    r"\b(?:not|no|do|don['\u2019]?t|never|avoid|forget|leave|i|we|instead|rather|as|other|except|without|leaving)\b",
    re.I,
)
"""The first word of any cue; anything else is tried only where one stands."""
_OPENING_CUE: Final = LazyPattern(
    rf"(?:not|no)(?:\s+(?:about|for|in|with|by))?(?=\s+\w){_HARMLESS}"
    rf"|(?:{_DONT}|never(?!\s*mind)|avoid|no\s+need\s+to)(?=\s+\w)"
    r"(?!\s+(?:know|see|understand|get|find|think|we|i|you|allow|let|permit|accept|cascade|offer)\b)"
    r"|(?:never\s*mind|forget(?:\s+about)?)(?=\s+\w)(?!\s+(?:it|that)\b)"
    r"|leave(?=(?:\s+\w+){1,4}\s+alone\b)",
    re.I,
)
"""Refuses at the beginning of a clause."""
_CUE: Final = LazyPattern(
    rf"not(?:\s+for)?(?=\s+(?:a|an|the|any|another|my|our|this|that)\s){_HARMLESS}"
    r"|not\s+about(?=\s+\w)"
    rf"|(?:i|we)\s+(?:{_DONT}|did\s*n[o'\u2019]?t)\s+(?:want|need|mean|care\s+about|ask\s+for)(?:\s+to)?(?=\s+\w)"
    r"(?!\s+(?:you|it)\b)"
    r"|(?P<beside>instead\s+of|rather\s+than|as\s+opposed\s+to|other\s+than|except\s+for|without|leaving\s+out)(?=\s+\w)",
    re.I,
)
"""Refuses anywhere."""
_CLAUSE: Final = LazyPattern(r"(?:^|[,.;:!?\n\u2013\u2014(-]\s*|\b(?:but|and|please|just|so)\s)$", re.I)
_BEFORE_CUE: Final = 12
_STOP: Final = LazyPattern(
    r"\s*(?:[,;!?\n\u2013\u2014()]|[.:](?=\s|$))|\s-\s|\s+(?:but|just|only|instead|rather|please|and\s+then|and\s+instead|then|because"
    r"|since|so|i|we|you|make|create|give|show|add|build|let|want|need|use|do|tell|delete|remove"
    r"|change|rename|run|query|open|alone)\b",
    re.I,
)
_STATE: Final = LazyPattern(r"no\s+(?:\w+\s+){1,4}(?:in|on|at|for|of|with|over|while|between)\s[^,;!?\n]*", re.I)
"""A message that consists of this refuses no task: "no empty value in the list" says how a thing shall be."""
_LEADING: Final = LazyPattern(
    r"^(?:[\s,.;:!?\u2013\u2014-]|but\b|alone\b|instead\b|rather\b|and\b|just\b(?=\s*$))+", re.I
)
_TRAILING: Final = " ,;:-\u2013\u2014("
_TOKEN: Final = LazyPattern(r"\w+")
_LONGEST_MESSAGE: Final = 4_000
_LONGEST_REFUSAL: Final = 120
"""Characters of a refused phrase; a longer one is a story."""
MAX_REFUSALS: Final = 3
"""Phrases read; each costs one text."""


def split_negation(message: str) -> tuple[str, tuple[str, ...]]:
    """Split a message into what it asks and the phrases that it refuses.

    Returns:
        What is asked, empty if the message only refuses, and at most `MAX_REFUSALS` phrases, in order. A message that
        refuses nothing is returned unchanged, and so is one that only says what something is *beside* ("except for
        ..."): there the end of the phrase was not found.
    """
    kept: list[str] = []
    refused: list[str] = []
    start, beside = 0, True
    for cue in _cues(message):
        if cue.start() < start or len(refused) == MAX_REFUSALS:
            continue
        end = _scope(message, cue.end())
        phrase = message[cue.end() : end].strip()
        if not _TOKEN.search(phrase):
            continue
        kept.append(message[start : cue.start()].rstrip(_TRAILING))
        refused.append(phrase)
        start, beside = end, beside and cue.groupdict().get("beside") is not None
    kept.append(message[start:])
    asked = " ".join(text for part in kept if _TOKEN.search(text := _LEADING.sub("", part).strip()))
    return (asked, tuple(refused)) if refused and (asked or not beside) else (message, ())


def _cues(message: str) -> Iterator[re.Match[str]]:
    """Yield where a refusal begins; none in a long message, whose "not" belongs to pasted text."""
    if len(message) > _LONGEST_MESSAGE or _STATE.fullmatch(message.strip()):
        return
    for word in _FIRST_WORD.finditer(message):
        cue = _CUE.match(message, word.start())
        if cue is None and _CLAUSE.search(message[max(0, word.start() - _BEFORE_CUE) : word.start()]):
            cue = _OPENING_CUE.match(message, word.start())
        if cue is not None:
            yield cue


def _scope(message: str, start: int) -> int:
    """Return where a refused phrase of at least one word ends: at a mark, or where the wanted part begins."""
    first = _TOKEN.search(message, start)
    begin = first.end() if first else start
    stop = _STOP.search(message, begin, begin + _LONGEST_REFUSAL)
    return stop.start() if stop else min(len(message), begin + _LONGEST_REFUSAL)


WHOLLY: Final = 1.0
"""The message only agrees or asks for more ("yes, do it", "again"): it has no task of its own."""
SURELY: Final = 0.9
"""The words point back at the task itself ("the same for ..."): its intents apply whatever else is asked."""
PERHAPS: Final = 0.7
"""The words continue something ("what about", "it"): the task before counts if the message names none itself."""
MAX_TURNS: Final = 8
"""Turns that are searched."""
_TURN_CHARACTERS: Final = 400
"""Characters of a message that are read; a message that leans is short or says so at its beginning."""
_SHORT: Final = 9
"""Words of a message that may lean by a pronoun alone."""

_WHOLLY: Final = LazyPattern(
    r"^(?:(?:yes|yep|yeah|ok|okay|sure|right|correct|perfect|great)\b[\s,.!]*)?(?:please\s+)?"
    r"(?:do it|do that|do it again|go ahead|go on|continue|proceed|carry on|yes please|yes|again|repeat"
    r"|(?:and |now )?(?:the )?same (?:again|here|thing)(?: please)?)"
    r"[\s,.!]*(?:please)?[\s.!]*$",
    re.I,
)
_SURELY_CUES: Final = (
    r"\bthe\s+same\b(?!\s+(?:as\s+(?:yesterday|always)|day|\w+[?.!]*$|time\b(?!\s+for)))",
    r"\bthe\s+same(?:\s+(?:again|too|here|now|please|thing))?[?.!]*$",
    r"^(?:now |and |then |please )*same\b",
    r"\b(?:likewise|ditto|once more)\b",
    r"\b(?:do|try|run|repeat)\s+(?:it|that|this)(?:\s+all)?\s+(?:again|for|with|on|in|once more)\b",
)
_SURELY: Final = LazyPattern("|".join(_SURELY_CUES), re.I)
_PERHAPS_CUES: Final = (
    r"^(?:(?:and|or|but|now|ok|okay|then|so|also)\b[\s,]*)?(?:what about|how about|this time|for|with|without|only)\b",
    r"^and(?: [\w'\u2019]+){1,3}[.!?]*$",
    r"^(?:and|also|now) (?:for|in|on|with|without|the|to)\b",
    r"\b(?:too|as well|again|instead|another one|one more)[\s.!?]*$",
)
_PERHAPS: Final = LazyPattern("|".join(_PERHAPS_CUES), re.I)
_PRONOUN: Final = LazyPattern(r"\b(?:it|that|this|them|those|these|one|ones)\b", re.I)
_NODS: Final = LazyPattern(
    r"^(?:[\s,.!]*\b(?:thanks|thank you|thx|ok|okay|great|perfect|nice|cool|good|fine|yes|no|hello|hi|hey|a lot"
    r"|very much|so much|that works|looks|job|work)\b)+[\s,.!]*$",
    re.I,
)


def leans(message: str) -> float:
    """Return how surely a message needs the turn before to be understood: 0, `PERHAPS`, `SURELY` or `WHOLLY`."""
    text = message[:_TURN_CHARACTERS].strip()
    words = len(_WORD.findall(text))
    if _WHOLLY.search(text):
        return WHOLLY
    if _SURELY.search(text):
        return SURELY
    if words <= 2 * _SHORT and _PERHAPS.search(text):
        return PERHAPS
    return PERHAPS if words <= _SHORT and _PRONOUN.search(text) else 0.0


def earlier_turn(history: Sequence[str]) -> str:
    """Return the last turn that stands on its own, skipping nods and turns that lean on it.

    Without one, the last turn that leans by a pronoun or the like: "commit this" is a task, though something was meant
    by "this". Else empty.
    """
    perhaps = ""
    for turn in reversed(history[-MAX_TURNS:]):
        text = turn.strip()
        if not text or _NODS.match(text) or (leaning := leans(text)) > PERHAPS:
            continue
        if leaning == 0.0:
            return text
        perhaps = perhaps or text
    return perhaps


_JOINT: Final = LazyPattern(
    r"(?P<end>(?<=[.!?;])[\"')\]]*\s+(?=\S)|\s*\n\s*)"
    r"|\s*(?P<comma>[,;])?\s*\b(?P<word>and then|and also|and finally|and after that|and afterwards|but also|while also"
    r"|as well as|along with|after that|after which|then also|then|also|plus|and|but)\b[\s,]+"
    r"|\s+(?P<sign>[&+/])\s+|\s*(?P<bare>[,;])\s+",
    re.I,
)
_LINKS: Final = frozenset(
    ["and then", "and also", "and finally", "and after that", "and afterwards", "then also", "after that", "but also"]
)
_BETWEEN: Final = LazyPattern(r"\b(?:between|both|either)\b(?:(?!\b(?:and|or|between)\b)[^,;.!?]){1,40}$", re.I)
_QUESTION: Final = LazyPattern(
    r"(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|has|have|should|can|could|would|will|may)\b",
    re.I,
)
_VERB: Final = LazyPattern(
    r"(?:set|change|make|switch|commit|stage|stash|push|pull|merge|rebase|revert|undo|drop|alter|rename|describe|define"
    r"|use|give|let|put|play|turn|tell|show|list|ask|help|need|want|please)\b",
    re.I,
)
_STATEMENT: Final = LazyPattern(
    r"(?:i|i've|i'm|we|we've|my|our|it|it's|its|the|this|that|there|there's|they|he|she|you|your|a|an|some|someone)\b",
    re.I,
)
_CONDITION: Final = LazyPattern(r"(?:if|when|since|because|as|after|before|while|once|in case|for|so|although)\b", re.I)
_POINTER: Final = LazyPattern(
    r"\b(?:it|its|this|that|that's|them|their|these|those|they|one|ones|there|so|same|result|results)\b", re.I
)
_BARE: Final = LazyPattern(
    r"(?:please|(?:(?:please )?(?:tell me|show me|explain|i want to know) )?(?:why|how|how so|when|where)"
    r"|(?:please |can you |could you )?help(?: me)?(?: please)?|do you know|any idea|let me know|or both|or not)$",
    re.I,
)
_REPORT: Final = LazyPattern(r"(?:please )?(?:tell|show|let|give|explain|send|make|put|do|use|check|see|say)\b", re.I)
_WORD: Final = LazyPattern(r"\w+(?:['\u2019]\w+)?")
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
"""Log odds that each sign adds to two tasks meeting at a joint."""


@dataclass(frozen=True, slots=True)
class Joint:
    """A place that may join two tasks.

    Attributes:
        start: Where the left task ends.
        stop: Where the right task begins.
        signs: The signs of its words, keys of `SIGNS`.
    """

    start: int
    stop: int
    signs: tuple[str, ...]

    @property
    def odds(self) -> float:
        """Log odds, by the words around it only, that two tasks meet there."""
        return sum(SIGNS[sign] for sign in self.signs)


def joints_of(text: str) -> tuple[Joint, ...]:
    """Return every joint of a text, in order."""
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
    """Return whether a side asks for nothing by itself; it stays with the text before it."""
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
    """Return the signs of a joint and its two sides."""
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
    """Yield whether a side asks, states or sets a condition, and whether it is short."""
    if _CONDITION.match(text):
        yield f"{side} condition"
    elif _QUESTION.match(text) or _VERB.match(text) or is_request(text):
        yield f"{side} asks"
    elif _STATEMENT.match(text):
        yield f"{side} statement"
    if len(_WORD.findall(text)) <= 2:
        yield f"{side} short"
