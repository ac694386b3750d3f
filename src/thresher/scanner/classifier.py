"""A linear classifier for texts that are worded like those that turn a model against its user.

Rules find what they have words for and miss the rest. The classifier was trained on some 2,300 such texts in seven
languages, most of them paired with a harmless text on the same subject. Its only features are character n-grams, so it
needs no model and no library.

Invariant: pure, and linear in the length of the text. The weights fit `features` as it stands: after a change of it or
of the training lines, `make vectors` writes them again.
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
from thresher.scanner.texts import ScanText

SIZE: Final = 1 << 16
"""Number of weights; features that hash to the same one share it."""
STEP: Final = 1 / 5
"""Log odds per unit of a weight, which is a signed byte."""
POISONED: Final = 1.25
"""Log odds above which a text counts as poisoned, chosen on two sets that were not used for training."""
HARMLESS: Final = -0.75
"""Log odds below which a request in a short text is only a warning, chosen likewise."""
WEIGHTS: Final = Path(__file__).with_name("classifier.bin")

_TOKEN: Final = re.compile(
    r"[a-z0-9\u00df-\u00ff\u0153]+|[\u0430-\u044f\u0451]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
"""A word of a European language, or one character of Chinese, Japanese or Korean, which have no blanks."""
_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_RUNS: Final = (3, 5, 7)
"""Lengths of n-grams: parts of words, words, and words with their neighbours."""


def is_read(text: ScanText) -> bool:
    """Return whether a text has enough words to be judged; Chinese and Japanese have no blanks between them."""
    return text.role != "name" and (" " in text.text or not text.text.isascii())


def poisoned(text: ScanText, plain: str) -> tuple[float, str]:
    """Judge the worst sentence of a text.

    Args:
        text: Its place in the definition.
        plain: Its words, folded.

    Returns:
        Log odds, above `POISONED` for a poisoned text, and the sentence, together with the previous one if that is
            worse.
    """
    return max(((log_odds(found), part) for found, part in parts(text, plain)), default=(-math.inf, ""))


def parts(text: ScanText, plain: str) -> Iterator[tuple[set[str], str]]:
    """Yield the features of each sentence, alone and together with the previous one."""
    former = set[str]()
    for sentence in sentences(plain):
        found = features(text, sentence.text)
        yield found, sentence.text
        if former:
            yield found | former, sentence.pair
        former = found


def log_odds(found: set[str]) -> float:
    """Return the log odds for these features; above 0 the text is more likely poisoned."""
    weights = _weights()
    total = sum(weights[crc32(feature.encode()) % SIZE] for feature in found)
    return STEP * (total / math.sqrt(max(1, len(found))) + weights[SIZE])


def features(text: ScanText, words: str) -> set[str]:
    """Return the features of a sentence: its n-grams, the role of its text, and the parameter's name.

    Args:
        text: The text that contains it.
        words: The sentence.
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
    """Return `SIZE` weights and the constant, as signed bytes."""
    return array("b", WEIGHTS.read_bytes())
