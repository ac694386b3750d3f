"""Precomputed vectors and weights that ship with the package.

They are the vectors of all phrases of the concepts, since embedding them takes longer than a search may, and the head
of `actions`, fitted on the lines of `requests.txt`. `scripts/ship_api_words.py` writes them.

Invariant: they are used only with the model and the texts that they were made from; otherwise words decide.
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

from thresher.knowledge.apis.search.actions import Goal, goal_of
from thresher.knowledge.apis.search.concepts import CONCEPTS, Concept
from thresher.search import Floats

FILE: Final = Path(__file__).with_name("shipped.npz")
REQUESTS: Final = Path(__file__).with_name("requests.txt")
_STEPS: Final = 127
_PHRASES: Final = 0.6
"""Weight of the nearest phrase; the whole line has the rest."""


class Shipped:
    """Vectors of concepts, and the head for actions.

    Args:
        model: Id of the model that made the vectors.
        lines: float32 (concepts, dimension).
        phrases: float32 (phrases, dimension), in the order of the concepts, each name before its phrases.
        head: The head of `actions`.
        concepts: The concepts.
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
        """Return the nearness of each concept to a query's vector (dimension,): float32 (concepts,)."""
        nearest = np.maximum.reduceat(self._phrases @ vector, self._starts)
        return (_PHRASES * nearest + (1 - _PHRASES) * (self._lines @ vector)).astype(np.float32)

    def goal(self, vector: Floats, text: str) -> Goal:
        """Return what a query with this text and vector wants done."""
        return goal_of(vector, text, self._head)

    def first(self, count: int, concepts: Sequence[Concept] = CONCEPTS) -> Shipped:
        """Return the same with the first concepts only."""
        end = sum(1 + len(concept.phrases) for concept in concepts[:count])
        return Shipped(self.model, self._lines[:count], self._phrases[:end], self._head, concepts[:count])


def texts_of(concepts: Sequence[Concept]) -> tuple[list[str], list[str]]:
    """Return the texts of concepts that are embedded: their lines, and each one's name and phrases."""
    phrases = [phrase for concept in concepts for phrase in (concept.name, *concept.phrases)]
    return [concept.line for concept in concepts], phrases


@dataclass(frozen=True, slots=True)
class LabelledRequest:
    """A request in people's words, with the action that it asks for.

    Attributes:
        action: Name of the action.
        several: Whether it is about many things or one; None if that is not known.
        text: The request.
    """

    action: str
    several: bool | None
    text: str


def read_requests(text: str) -> list[LabelledRequest]:
    """Read tab-separated lines of an action, `item`, `list` or `-`, and a request; lines with # are comments."""
    rows = [line.split("\t") for line in text.splitlines() if "\t" in line and not line.startswith("#")]
    meant = {"item": False, "list": True}
    return [LabelledRequest(action, meant.get(number), request.strip()) for action, number, request in rows]


@lru_cache(maxsize=1)
def packaged() -> Shipped | None:
    """Return what ships; None if it was made from other texts."""
    with np.load(FILE, allow_pickle=False) as held:
        kept = cast("dict[str, NDArray[Any]]", dict(held))
    if str(kept["digest"]) != digest():
        return None
    head = np.asarray(kept["head"], np.float32)
    return Shipped(str(kept["model"]), _unpacked(kept["lines"]), _unpacked(kept["phrases"]), head)


def write(model: str, lines: Floats, phrases: Floats, head: Floats, file: Path = FILE) -> None:
    """Write the precomputed data into the package; vectors of phrases take 8 bits a number."""
    np.savez_compressed(
        file,
        model=model,
        digest=digest(),
        lines=_packed(lines),
        phrases=_packed(phrases),
        head=head.astype(np.float16),
    )


def digest() -> str:
    """Return the digest of the texts that vectors and head are made from."""
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
