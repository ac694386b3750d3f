"""A linear classifier of texts: is one worded like those that turn a model against its user?

Rules name what they find and miss what they have no words for. The classifier has seen some 2,300 such texts in seven
languages, most of them beside a harmless one of the same subject, and knows runs of characters only: it needs no model
and no library.

Invariant: pure, and linear in the length of the text. The weights belong to `features` as it stands: after a change of
it or of the lines that teach, `make vectors` writes them again.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final
from zlib import crc32

from thresher.scanner.sentences import sentences
from thresher.scanner.texts import Text

SIZE: Final = 1 << 16
"""Weights; features that meet in one share it."""
STEP: Final = 1 / 5
"""Log odds of one unit of a weight, which is a signed byte."""
POISONED: Final = 1.25
"""Log odds above which a text counts as poisoned, chosen on two sets that had each taught nothing yet."""
HARMLESS: Final = -0.75
"""Log odds below which what a short text asks for is a warning; likewise."""
WEIGHTS: Final = Path(__file__).with_name("classifier.bin")

_TOKEN: Final = re.compile(
    r"[a-z0-9\u00df-\u00ff\u0153]+|[\u0430-\u044f\u0451]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""A word of a European language, or one character of Chinese, Japanese or Korean, which has no blanks."""
_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_RUNS: Final = (3, 5, 7)
"""Characters of a run: pieces of words, words, and words with what stands beside them."""


def is_read(text: Text) -> bool:
    """Whether a text has words enough to be judged; Chinese and Japanese have no blanks between them."""
    return text.role != "name" and (" " in text.text or not text.text.isascii())


def poisoned(text: Text, plain: str) -> tuple[float, str]:
    """How much the worst sentence of a text is worded like a poisoned one.

    Args:
        text: Its place in the definition.
        plain: Its words, folded.

    Returns:
        Log odds, above `POISONED` for a poisoned one, and the sentence, with the one before it where that says more.
    """
    return max(((log_odds(found), part) for found, part in parts(text, plain)), default=(-math.inf, ""))


def parts(text: Text, plain: str) -> Iterator[tuple[set[str], str]]:
    """What is looked at of a text: the features of each sentence, alone and together with the one before it."""
    former = set[str]()
    for sentence in sentences(plain):
        found = features(text, sentence.text)
        yield found, sentence.text
        if former:
            yield found | former, sentence.pair
        former = found


def log_odds(found: set[str]) -> float:
    """The classifier's verdict on these features; above 0 they speak for a poisoned text."""
    weights = _weights()
    total = sum(weights[crc32(feature.encode()) % SIZE] for feature in found)
    return STEP * (total / math.sqrt(max(1, len(found))) + weights[SIZE])


def features(text: Text, words: str) -> set[str]:
    """What the classifier sees of some words: their runs of characters, what the text is, a parameter's name.

    Args:
        text: Where they stand.
        words: A sentence.
    """
    line = f" {' '.join(_TOKEN.findall(words.lower()))} "
    found = {line[at : at + size] for size in _RUNS for at in range(len(line) - size + 1)}
    if text.role == "value":
        found.add("place:value")
    elif text.name:
        found.add("place:parameter")
    else:
        found.add("place:title" if text.where == "/title" else "place:tool")
        return found
    found.update(f"name:{part.lower()}" for part in _NAME.findall(text.name))
    return found


@cache
def _weights() -> array[int]:
    """Signed bytes: `SIZE` weights and the constant."""
    return array("b", WEIGHTS.read_bytes())
