"""How probably a message is small talk: greetings, thanks, assent, chat, whatever asks for nothing that is indexed.

A linear classifier over words, pairs of words and parts of words, in some thirty languages; it needs no model, so that
it answers before anything is embedded or searched.

Invariant: pure, and linear in the length of the message. The weights fit `features` as it stands: after a change of it
or of the training lines, `make vectors` writes them again (`scripts/ship_small_talk.py`).
"""

from __future__ import annotations

import math
import re
from array import array
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

SIZE: Final = 1 << 14
"""Number of weights; features that hash to the same one share it."""
STEP: Final = 1 / 10
"""Log odds per unit of a weight, which is a signed byte."""
CHATS: Final = 0.6
"""Log odds from which a message is small talk: of 3,220 requests and questions that did not teach, 3 lie above, two of
which are small talk; see docs/decisions/0073-passages-that-abstain.md."""
LEAST: Final = -6.0
"""The log odds of whatever is not short, and the least of any message."""
WEIGHTS: Final = Path(__file__).with_name("small_talk.bin")
_LONGEST: Final = 300
"""Characters; a longer message has something to ask besides."""
_WORDS: Final = 15
_TOKEN: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
_RUNS: Final = (3, 4, 5)
_ASKS: Final = re.compile(r"\b(?:am|can|could|did|do|may|must|shall|should|will|would)\s+i\b", re.IGNORECASE)
"""Who asks about themselves, such as "what am I doing today", wants to know it."""


def chats(message: str) -> bool:
    """Return whether a message greets, thanks, agrees or chats, or has no word at all, and asks for nothing."""
    if not any(character.isalnum() for character in message):
        return len(message) <= _LONGEST
    return log_odds(message) >= CHATS and not _ASKS.search(message)


def log_odds(message: str) -> float:
    """Return the log odds that a message is small talk; far below 0 for one that is long."""
    if len(message) > _LONGEST or len(message.split()) > _WORDS or not (found := features(message)):
        return LEAST
    weights = _weights()
    total = sum(weights[crc32(feature.encode(errors="replace")) % SIZE] for feature in found)
    return max(STEP * (total / math.sqrt(len(found)) + weights[SIZE]), LEAST)


def features(message: str) -> set[str]:
    """Return the features of a message: its words and signs, their pairs, parts of words, and its length."""
    words = ["0" if word.isdigit() else word for word in _TOKEN.findall(message.replace("\u2019", "'").lower())]
    if not words:
        return set()
    found = {f"w:{word}" for word in words}
    found |= {f"b:{left} {right}" for left, right in zip(["^", *words], [*words, "$"], strict=True)}
    for word in words:
        edged = f"<{word}>"
        found |= {edged[at : at + size] for size in _RUNS for at in range(len(edged) - size + 1)}
    return found | {f"len:{min(len(words), 12)}"}


@cache
def _weights() -> array[int]:
    """Return `SIZE` weights and the constant, as signed bytes."""
    return array("b", WEIGHTS.read_bytes())
