"""A linear classifier of texts: is one worded like those that turn a model against its user?

Rules name what they find and miss what they have no words for. The classifier has seen about a thousand such sentences
in seven languages, each beside a harmless one of the same subject, and knows words, their neighbours and their
beginnings only: it needs no model and no library.

Invariant: pure, and linear in the length of the text. The weights belong to `features` as it stands: after a change of
it or of the lines that teach, `make vectors` writes them again.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final
from zlib import crc32

from thresher.scanner.sentences import sentences
from thresher.scanner.texts import Text

SIZE: Final = 1 << 16
"""Weights; features that meet in one share it."""
STEP: Final = 1 / 5
"""Log odds of one unit of a weight, which is a signed byte."""
POISONED: Final = 0.75
"""Log odds above which a text counts as poisoned, chosen on two sets that had each taught nothing yet."""
HARMLESS: Final = -1.5
"""Log odds below which what the rules find in a short text is a warning; likewise."""
WEIGHTS: Final = Path(__file__).with_name("classifier.bin")

_TOKEN: Final = re.compile(
    r"[a-z0-9\u00df-\u00ff\u0153]+|[\u0430-\u044f\u0451]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""A word of a European language, or one character of Chinese, Japanese or Korean, which has no blanks."""
_UNSPACED: Final = "\u3040"
_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_BEGINNING: Final = 5


def poisoned(text: Text, plain: str) -> tuple[float, str]:
    """How much the worst sentence of a text is worded like a poisoned one.

    Args:
        text: Its place in the definition.
        plain: Its words, folded.

    Returns:
        Log odds, above `POISONED` for a poisoned one, and the sentence, with the one before it where that says more.
    """
    parts = dict.fromkeys(part for sentence in sentences(plain) for part in (sentence.text, sentence.pair))
    return max(((log_odds(features(place_of(text), text.name, part)), part) for part in parts), default=(-math.inf, ""))


def place_of(text: Text) -> str:
    """What the text is to its tool: `parameter`, `value`, `title` or `tool`."""
    if text.role == "value":
        return "value"
    if text.name:
        return "parameter"
    return "title" if text.where == "/title" else "tool"


def log_odds(found: set[str]) -> float:
    """The classifier's verdict on these features; above 0 they speak for a poisoned text."""
    weights = _weights()
    total = sum(weights[crc32(feature.encode()) % SIZE] for feature in found)
    return STEP * (total / math.sqrt(max(1, len(found))) + weights[SIZE])


def features(place: str, name: str, text: str) -> set[str]:
    """What the classifier sees of a text.

    Args:
        place: As `place_of` says.
        name: Of the parameter; looked at where the text is not the tool's own.
        text: A sentence or two.
    """
    tokens = _TOKEN.findall(text.lower())
    found = {f"w:{token}" for token in tokens}
    found.update(f"s:{token[:_BEGINNING]}" for token in tokens if len(token) >= _BEGINNING)
    found.update(f"b:{one}_{two}" for one, two in pairwise(tokens))
    found.update(_wider(tokens))
    found.add(f"place:{place}")
    if place not in ("tool", "title"):
        found.update(f"n:{part.lower()}" for part in _NAME.findall(name))
    return found


def _wider(tokens: list[str]) -> Iterator[str]:
    """Three characters of an unspaced language, two words of another that one stands between."""
    for one, two, three in zip(tokens, tokens[1:], tokens[2:], strict=False):
        yield f"t:{one}{two}{three}" if one >= _UNSPACED else f"k:{one}_{three}"


@cache
def _weights() -> array[int]:
    """Signed bytes: `SIZE` weights and the constant."""
    return array("b", WEIGHTS.read_bytes())
