"""Which turn before a message leans on: "now the same for products" is a task only with the task before it.

Invariant: plain text work; a message that names its task itself leans on nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

WHOLLY: Final = 1.0
"""The message only agrees or asks for more ("yes, do it", "again"): it has no task of its own."""
SURELY: Final = 0.9
"""The words point back at the task itself ("the same for ..."): its intents hold whatever else is asked."""
PERHAPS: Final = 0.7
"""The words go on from something ("what about", "it"): the task before counts where the message names none itself."""
MAX_TURNS: Final = 8
"""Turns that are looked through."""
_READ: Final = 400
"""Characters of a message that are read; what leans is short or says so at its beginning."""
_SHORT: Final = 9
"""Words of a message that may lean by a pronoun alone."""

_WHOLLY: Final = re.compile(
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
_SURELY: Final = re.compile("|".join(_SURELY_CUES), re.I)
_PERHAPS_CUES: Final = (
    r"^(?:(?:and|or|but|now|ok|okay|then|so|also)\b[\s,]*)?(?:what about|how about|this time|for|with|without|only)\b",
    r"^and(?: [\w'\u2019]+){1,3}[.!?]*$",
    r"^(?:and|also|now) (?:for|in|on|with|without|the|to)\b",
    r"\b(?:too|as well|again|instead|another one|one more)[\s.!?]*$",
)
_PERHAPS: Final = re.compile("|".join(_PERHAPS_CUES), re.I)
_POINTER: Final = re.compile(r"\b(?:it|that|this|them|those|these|one|ones)\b", re.I)
_WORD: Final = re.compile(r"\w+(?:['\u2019]\w+)?")
_NODS: Final = re.compile(
    r"^(?:[\s,.!]*\b(?:thanks|thank you|thx|ok|okay|great|perfect|nice|cool|good|fine|yes|no|hello|hi|hey|a lot"
    r"|very much|so much|that works|looks|job|work)\b)+[\s,.!]*$",
    re.I,
)


def leans(message: str) -> float:
    """How surely a message can be understood only with the turn before: 0, `PERHAPS`, `SURELY` or `WHOLLY`."""
    text = message[:_READ].strip()
    words = len(_WORD.findall(text))
    if _WHOLLY.search(text):
        return WHOLLY
    if _SURELY.search(text):
        return SURELY
    if words <= 2 * _SHORT and _PERHAPS.search(text):
        return PERHAPS
    return PERHAPS if words <= _SHORT and _POINTER.search(text) else 0.0


def earlier_turn(history: Sequence[str]) -> str:
    """The last turn that stands on its own, the nods and the turns that lean on it passed over.

    Where none does, the last one that leans by a pronoun or the like: "commit this" is a task, though something was
    meant by "this". Empty without one.
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
