"""A second implementation of the Encoder protocol: bags of words, fast and the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from thresher.core import EncoderError
from thresher.embedding import EncoderModel, Matrix, Windows

DIMENSION = 48


def vector_of(text: str, salt: str = "") -> Matrix:
    """A unit vector: the sum of one pseudo-random vector per word."""
    total = np.full(DIMENSION, 1e-3, np.float32)
    for word in text.lower().split():
        seed = int.from_bytes(hashlib.sha256(f"{salt}/{word}".encode("utf-8", "replace")).digest()[:8], "big")
        total += np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return (total / np.linalg.norm(total)).astype(np.float32)


class WordEncoder:
    """Counts what it is asked, and fails when told.

    Args:
        name: The model's id, under which the cache remembers its vectors.
        most_words: Words that a window holds.
        salt: Where its vectors come from; the name unless told. Two encoders of one salt give equal vectors.
    """

    def __init__(self, name: str = "words@1", most_words: int = 400, salt: str | None = None) -> None:
        self.name = name
        self.salt = name if salt is None else salt
        self.most_words = most_words
        self.broken = False
        self.documents: list[str] = []
        self.queries: list[str] = []

    @property
    def model(self) -> EncoderModel:
        """The model."""
        return EncoderModel(self.name, DIMENSION, 512, "")

    async def warm(self) -> EncoderModel:
        """The model."""
        return self.model

    async def embed_queries(self, texts: Sequence[str], *, prefixed: bool = False) -> Matrix:
        """Vectors of queries."""
        self.queries += texts
        return self._embed(texts)

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors of documents."""
        matrix = self._embed(texts)
        self.documents += texts
        return matrix

    async def prepare(self) -> None:
        """Does nothing."""

    def windows(self, text: str, *, tokens: int | None = None, most: int = 8) -> Windows:
        """Pieces of `most_words` words; of too many the middle is left out, as the protocol requires."""
        words = text.split()
        size = self.most_words
        pieces = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
        if len(pieces) <= most:
            return Windows(pieces or [text])
        head = (most + 1) // 2
        tail = len(pieces) - (most - head)
        return Windows(pieces[:head] + pieces[tail:], sum(map(len, pieces[head:tail])))

    async def close(self) -> None:
        """Fail from now on."""
        self.broken = True

    def _embed(self, texts: Sequence[str]) -> Matrix:
        if self.broken:
            raise EncoderError("The encoder is out of order.", hint="Mend it.")
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        return np.stack([vector_of(text, self.salt) for text in texts])
