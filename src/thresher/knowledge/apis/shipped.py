"""What of the understanding of queries is worked out beforehand and ships with the package.

Vectors of all phrases of the concepts, since embedding them takes longer than a search may, and the head of `wishes`,
fitted on the lines of `requests.txt`. `scripts/ship_api_words.py` writes them.

Invariant: they serve the model alone that made them, and the texts that they were made of; else words decide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.apis.concepts import CONCEPTS, Concept
from thresher.knowledge.apis.wishes import Wish, wish_of
from thresher.search import Floats

FILE: Final = Path(__file__).with_name("shipped.npz")
REQUESTS: Final = Path(__file__).with_name("requests.txt")
_STEPS: Final = 127
_PHRASES: Final = 0.6
"""Share of the nearest phrase; the whole line has the rest."""


class Shipped:
    """Vectors of concepts, and the head for actions.

    Args:
        model: Whose they are.
        lines: float32 (concepts, dimension).
        phrases: float32 (phrases, dimension), the concepts' in order, each name before the phrases.
        head: The head of `wishes`.
        concepts: Whose vectors they are.
    """

    def __init__(
        self, model: str, lines: Floats, phrases: Floats, head: Floats, concepts: Sequence[Concept] = CONCEPTS
    ) -> None:
        self.model = model
        self._lines = lines
        self._phrases = phrases
        self._head = head
        self._starts = np.cumsum([0, *(1 + len(concept.phrases) for concept in concepts)])[:-1]

    def nearness(self, vector: Floats) -> Floats:
        """How near each concept is to a query's vector (dimension,): float32 (concepts,)."""
        nearest = np.maximum.reduceat(self._phrases @ vector, self._starts)
        return (_PHRASES * nearest + (1 - _PHRASES) * (self._lines @ vector)).astype(np.float32)

    def wish(self, vector: Floats, text: str) -> Wish:
        """What a query with this text and vector wants."""
        return wish_of(vector, text, self._head)

    def first(self, count: int, concepts: Sequence[Concept] = CONCEPTS) -> Shipped:
        """The same with the first concepts alone."""
        end = sum(1 + len(concept.phrases) for concept in concepts[:count])
        return Shipped(self.model, self._lines[:count], self._phrases[:end], self._head, concepts[:count])


def texts_of(concepts: Sequence[Concept]) -> tuple[list[str], list[str]]:
    """What the encoder reads of concepts: their lines, and each one's name and phrases."""
    phrases = [phrase for concept in concepts for phrase in (concept.name, *concept.phrases)]
    return [concept.line for concept in concepts], phrases


@dataclass(frozen=True, slots=True)
class Request:
    """Something that people ask for.

    Attributes:
        action: Name of what is to be done.
        several: Whether it is done to many things or to one; None where that says nothing.
        text: In their words.
    """

    action: str
    several: bool | None
    text: str


def read_requests(text: str) -> list[Request]:
    """Lines of an action, `item`, `list` or `-`, and the request, with tabs between; lines with # are left out."""
    rows = [line.split("\t") for line in text.splitlines() if "\t" in line and not line.startswith("#")]
    meant = {"item": False, "list": True}
    return [Request(action, meant.get(number), request.strip()) for action, number, request in rows]


@lru_cache(maxsize=1)
def packaged() -> Shipped | None:
    """What ships; None where it was made of other texts."""
    with np.load(FILE, allow_pickle=False) as held:
        kept = cast("dict[str, NDArray[Any]]", dict(held))
    if str(kept["digest"]) != digest():
        return None
    head = np.asarray(kept["head"], np.float32)
    return Shipped(str(kept["model"]), _unpacked(kept["lines"]), _unpacked(kept["phrases"]), head)


def write(model: str, lines: Floats, phrases: Floats, head: Floats, file: Path = FILE) -> None:
    """Keep what was worked out in the package; vectors of phrases in 8 bits a number."""
    np.savez_compressed(
        file,
        model=model,
        digest=digest(),
        lines=_packed(lines),
        phrases=_packed(phrases),
        head=head.astype(np.float16),
    )


def digest() -> str:
    """Names the texts that vectors and head are made of."""
    whole = hashlib.sha256("\n".join(concept.line for concept in CONCEPTS).encode())
    whole.update(REQUESTS.read_bytes())
    return whole.hexdigest()


def _packed(vectors: Floats) -> NDArray[np.int8]:
    scaled = np.rint(vectors / np.abs(vectors).max(axis=1, keepdims=True) * _STEPS)
    return np.asarray(scaled, np.int8)


def _unpacked(packed: NDArray[np.int8]) -> Floats:
    vectors: Floats = np.array(packed, np.float32)
    lengths: Floats = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / lengths
