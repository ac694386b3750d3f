"""What a query wants done, and whether it asks for one thing: a linear head over its meaning, its verbs and its words.

A small encoder tells what a query is about better than what is wanted of it, so the head reads the words beside the
vector: each word, each pair of neighbours, the first, the last and a question mark, hashed to a fixed number of signs.
It is fitted on `requests.txt` by `scripts/ship_api_words.py`.

Invariant: pure; the same text and vector give the same wish everywhere.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.apis.verbs import ACTIONS, wanted_actions
from thresher.search import Floats

SIGNS: Final = 4096
"""Values that a word or a pair of words is hashed to."""
OUTPUTS: Final = ACTIONS + 1
"""A value for each action, and one for whether what is read is one thing."""
_MEANING: Final = 5.0
_VERBS: Final = 2.0
_SIGN: Final = 0.5
"""What the parts of the input count, so that one decay suits all of them."""
_SUREST: Final = 3.9
"""Most that a log odds may be, which is .98."""
_WORD: Final = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True, slots=True)
class Wish:
    """What a query wants.

    Attributes:
        actions: How likely it wants each action done; they add up to 1, or are all 0 where nothing tells.
        one: Log odds that, if it wants to read, it asks for one thing rather than for a list.
    """

    actions: tuple[float, ...]
    one: float = 0.0


def signs(text: str) -> NDArray[np.int64]:
    """The signs of a text: sorted and distinct, 0 to SIGNS - 1."""
    words = _WORD.findall(text.lower())
    said = [f"u:{word}" for word in words]
    said += [f"b:{one} {other}" for one, other in pairwise(words)]
    said += [f"f:{words[0]}", f"l:{words[-1]}"] if words else []
    said += ["?"] if text.rstrip().endswith("?") else []
    return np.array(sorted({zlib.crc32(sign.encode()) % SIGNS for sign in said}), np.int64)


def inputs(vector: Floats, text: str) -> Floats:
    """What the head reads: float32 (dimension + ACTIONS + SIGNS + 1,), the last a constant."""
    said = np.zeros(SIGNS, np.float32)
    said[signs(text)] = _SIGN
    verbs = _VERBS * np.array(wanted_actions(text), np.float32)
    return np.concatenate([_MEANING * vector, verbs, said, np.ones(1, np.float32)]).astype(np.float32)


def wish_of(vector: Floats, text: str, head: Floats) -> Wish:
    """What a query wants.

    Args:
        vector: float32 (dimension,), of the text.
        text: Cleaned.
        head: float32 (dimension + ACTIONS + SIGNS + 1, OUTPUTS).
    """
    dimension = len(vector)
    values = _MEANING * (vector @ head[:dimension]) + head[-1]
    values += _VERBS * (np.array(wanted_actions(text), np.float32) @ head[dimension : dimension + ACTIONS])
    values += _SIGN * head[dimension + ACTIONS + signs(text)].sum(axis=0)
    powers = np.exp(values[:ACTIONS] - values[:ACTIONS].max())
    one = float(np.clip(values[ACTIONS], -_SUREST, _SUREST))
    return Wish(tuple(float(power) for power in powers / powers.sum()), one)
