"""The records and protocols of encoders.

Invariant: nothing here depends on how vectors are computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]
"""Row vectors, float32, shape (n, dimension)."""

Scores: TypeAlias = NDArray[np.float32]
"""One number per text, float32, shape (n,)."""


@dataclass(frozen=True, slots=True)
class EncoderModel:
    """What is needed of a model to store and compare its vectors.

    Attributes:
        id: Name and fingerprint of the weights, the tokenizer and their use; equal ids give equal vectors. Empty until
            a
            service has shown its dimension.
        dimension: Length of a vector; 0 until a service has shown it (`Encoder.warm` calls it).
        max_tokens: Most tokens of a text, special ones included; the rest is not read.
        query_prefix: Text that the model's authors put before a query; used only on request.
    """

    id: str
    dimension: int
    max_tokens: int
    query_prefix: str = ""


class Windows(list[str]):
    """Pieces of one text that each fit the encoder, in the text's order.

    Attributes:
        left_out: Characters in the middle of the text that are in no piece; 0 if none are.
    """

    def __init__(self, pieces: Iterable[str] = (), left_out: int = 0) -> None:
        super().__init__(pieces)
        self.left_out = left_out


class Encoder(Protocol):
    """Turns texts into unit vectors; a text always gives the same vector, whatever is embedded with it."""

    @property
    def model(self) -> EncoderModel:
        """The model. Known at once for packaged weights; a local folder is read on first use, which blocks."""
        ...

    async def warm(self) -> EncoderModel:
        """Load the model now, off the event loop (for a service: get its dimension).

        Raises:
            EncoderError: The model cannot be loaded or reached; the hint says what to do.
        """
        ...

    async def embed_queries(self, texts: Sequence[str], *, prefixed: bool = False) -> Matrix:
        """Embed short texts at once, from the cache if possible.

        Args:
            texts: Any strings; an empty one has a vector too.
            prefixed: Put the model's query prefix before each text.

        Returns:
            Shape (len(texts), dimension), rows of length 1, in the given order.

        Raises:
            EncoderError: The model cannot be loaded or cannot answer, or the encoder is closed.
        """
        ...

    async def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed texts to be stored; large batches run where queries do not wait for them.

        Returns and raises as `embed_queries`.
        """
        ...

    async def prepare(self) -> None:
        """Begin to prepare what large batches need, such as a worker process; a failure shows at the first batch."""
        ...

    def windows(self, text: str, *, tokens: int | None = None, most: int = 8) -> Windows:
        """Cut a text into overlapping pieces that the encoder reads completely.

        Args:
            text: The text.
            tokens: Most tokens of a piece; by default the encoder's own limit.
            most: Most pieces; head and tail stay, and `Windows.left_out` counts what was left out.
        """
        ...

    async def close(self) -> None:
        """Stop all work and leave no process behind; pending calls end with EncoderError. Idempotent."""
        ...


class CrossEncoder(Protocol):
    """Scores how well texts answer a query by reading both together."""

    async def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Score each text against the query; only the beginning of a long text is read.

        Returns:
            Shape (len(texts),): the model's logits, higher fits better; comparable within one query.

        Raises:
            EncoderError: The model cannot be loaded, or the cross-encoder is closed.
        """
        ...

    async def close(self) -> None:
        """Stop all work. Idempotent."""
        ...
