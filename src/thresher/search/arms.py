"""The two arms of a search, and what becomes of it when one of them is missing.

Invariant: what fails is an outcome with a note as long as the other arm can answer; only when neither can is it an
error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thresher.core import StoreError, StoreUnavailable, event
from thresher.embedding import Encoder
from thresher.search.arrays import Floats
from thresher.search.guessing import longer, slips
from thresher.search.phrases import Embedded, embed
from thresher.search.planning import Plan
from thresher.search.put import told_model
from thresher.search.reading import Reader, Reading, Request

_logger = logging.getLogger("thresher.search")
_READ_SECONDS = 5.0
"""How long a search waits for the database before it goes on with what the process holds."""


class Arms:
    """Words from the reader, meaning from the encoder.

    Args:
        reader: Of the index.
        encoder: The running model.
        previous: The model before a change.
    """

    def __init__(self, reader: Reader, encoder: Encoder, previous: Encoder | None) -> None:
        self._reader = reader
        self._encoder = encoder
        self._previous = previous

    async def embed(self, plan: Plan) -> Embedded:
        """Vectors of a plan by the running model."""
        return await embed(plan, self._encoder)

    async def read(self, request: Request, terms: Sequence[str], *, narrow: bool = False) -> tuple[Reading, str]:
        """The collection with the postings of some terms, and what was not as it should be; see `Reader.read`.

        Raises:
            StoreError: The database does not answer, and this process holds no copy.
        """
        try:
            async with asyncio.timeout(_READ_SECONDS):
                return await self._reader.read(request, terms, narrow=narrow), ""
        except (StoreError, TimeoutError) as error:
            last = self._reader.last(request)
            if last is None:
                raise
            event(_logger, "search without database", level=logging.WARNING, kind=request.kind, error=str(error))
            return last, "Searched by meaning alone, in the last copy of the index: the database does not answer."

    async def near_terms(self, request: Request, word: str, term: str) -> list[str]:
        """Terms that a word may mean which no item holds; none where the database does not answer."""
        try:
            async with asyncio.timeout(_READ_SECONDS):
                return await self._reader.near_terms(request, slips(word), longer(term))
        except (StoreError, TimeoutError):
            return []

    async def matching(self, plan: Plan, reading: Reading, embedded: Embedded, lost: str) -> Embedded:
        """Vectors of the model that serves; none, with a note, when no encoder at hand is that model.

        Args:
            plan: What was embedded.
            reading: The collection.
            embedded: Vectors of the running model.
            lost: What was not as it should be with the words; empty when they can answer.

        Raises:
            StoreUnavailable: Neither arm can answer.
        """
        found = await self._of_serving_model(plan, reading, embedded)
        if lost and found.matrix is None:
            raise StoreUnavailable(
                f"Neither the database nor the encoder answers. {found.note}",
                hint="Run `thresher doctor`; it names what is wrong.",
            )
        return found

    async def dense(self, request: Request, reading: Reading, embedded: Embedded) -> tuple[Floats | None, str]:
        """Scores of the dense arm, float32 (texts, n), or None and the reason."""
        if embedded.matrix is None or not len(reading.ids):
            return None, ""
        if reading.model:
            dense = await self._reader.dense(request, reading, embedded.matrix, embedded.owners)
            if not np.isnan(dense).all():
                return dense, ""
        return None, "Searched by words alone: nothing in the index is embedded yet; index again."

    async def _of_serving_model(self, plan: Plan, reading: Reading, embedded: Embedded) -> Embedded:
        if embedded.matrix is None or not reading.model or embedded.model == reading.model:
            return embedded
        if self._previous is not None and await told_model(self._previous) == reading.model:
            again = await embed(plan, self._previous)
            return replace(again, milliseconds=again.milliseconds + embedded.milliseconds)
        note = (
            f"Searched by words alone: the index holds vectors of {reading.model}, the running model is"
            f" {embedded.model}; index again to search by meaning."
        )
        return replace(embedded, matrix=None, note=note)
