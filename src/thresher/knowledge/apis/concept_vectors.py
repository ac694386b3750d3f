"""The vectors of concepts, which ship with the package: working them out takes longer than a search may.

Invariant: they serve the model alone that made them, and the phrases that they were made of; else words decide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.apis.concepts import CONCEPTS, Concept
from thresher.search import Floats

FILE: Final = Path(__file__).with_name("concept_vectors.npz")
_STEPS: Final = 127
_PHRASES: Final = 0.6
"""Share of the nearest phrase; the whole line has the rest."""


class ConceptVectors:
    """Vectors of the lines and phrases of concepts.

    Args:
        model: Whose they are.
        lines: float32 (concepts, dimension).
        phrases: float32 (phrases, dimension), the concepts' in order, each name before the phrases.
        concepts: Whose they are.
    """

    def __init__(self, model: str, lines: Floats, phrases: Floats, concepts: Sequence[Concept] = CONCEPTS) -> None:
        self.model = model
        self._lines = lines
        self._phrases = phrases
        self._starts = np.cumsum([0, *(1 + len(concept.phrases) for concept in concepts)])[:-1]

    def nearness(self, vector: Floats) -> Floats:
        """How near each concept is to a query's vector (dimension,): float32 (concepts,)."""
        nearest = np.maximum.reduceat(self._phrases @ vector, self._starts)
        return (_PHRASES * nearest + (1 - _PHRASES) * (self._lines @ vector)).astype(np.float32)


def texts_of(concepts: Sequence[Concept]) -> tuple[list[str], list[str]]:
    """What the encoder reads of concepts: their lines, and each one's name and phrases."""
    phrases = [phrase for concept in concepts for phrase in (concept.name, *concept.phrases)]
    return [concept.line for concept in concepts], phrases


@lru_cache(maxsize=1)
def packaged() -> ConceptVectors | None:
    """The vectors that ship; None where they were made of other concepts."""
    with np.load(FILE, allow_pickle=False) as held:
        kept = cast("dict[str, NDArray[Any]]", dict(held))
    if str(kept["digest"]) != digest_of(CONCEPTS):
        return None
    return ConceptVectors(str(kept["model"]), _unpacked(kept["lines"]), _unpacked(kept["phrases"]))


def write(model: str, lines: Floats, phrases: Floats) -> None:
    """Keep vectors of the concepts in the package; 8 bits a number."""
    np.savez_compressed(FILE, model=model, digest=digest_of(CONCEPTS), lines=_packed(lines), phrases=_packed(phrases))


def digest_of(concepts: Sequence[Concept]) -> str:
    """What vectors were made of."""
    return hashlib.sha256("\n".join(concept.line for concept in concepts).encode()).hexdigest()


def _packed(vectors: Floats) -> NDArray[np.int8]:
    return np.round(vectors / np.abs(vectors).max(axis=1, keepdims=True) * _STEPS).astype(np.int8)


def _unpacked(packed: NDArray[np.int8]) -> Floats:
    vectors = np.asarray(packed, np.float32)
    lengths: Floats = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return vectors / lengths
