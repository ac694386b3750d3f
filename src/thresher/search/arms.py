"""The two arms of a search, and what happens when one of them is missing.

Invariant: as long as one arm can answer, a failure of the other is a result with a note; it is an error only if both
fail.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thresher.core import StoreError, StoreUnavailable, event
from thresher.embedding import Encoder
from thresher.search.lexical.query_expansion import misspellings, prefix_range
from thresher.search.plan import EmbeddedQuery, SearchPlan, embed
from thresher.search.reading import CollectionReader, CollectionReading, IndexScope
from thresher.search.records import Floats
from thresher.search.vectors import running_model

_logger = logging.getLogger("thresher.search")
_READ_SECONDS = 5.0
"""How long a search waits for the database before it continues with what the process has."""


class SearchArms:
    """The lexical arm by the reader, the dense arm by the encoder.

    Args:
        reader: The reader of the index.
        encoder: The running model.
        previous: The model before a change.
    """

    def __init__(self, reader: CollectionReader, encoder: Encoder, previous: Encoder | None) -> None:
        self._reader = reader
        self._encoder = encoder
        self._previous = previous

    async def embed(self, plan: SearchPlan) -> EmbeddedQuery:
        """Embed a plan with the running model."""
        return await embed(plan, self._encoder)

    async def read(
        self, request: IndexScope, terms: Sequence[str], *, narrow: bool = False
    ) -> tuple[CollectionReading, str]:
        """Read the collection with some terms, as `CollectionReader.read` does, and a note on what was missing.

        Raises:
            StoreError: The database does not answer, and this process has no copy.
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

    def languages(self, request: IndexScope) -> tuple[str, ...]:
        """The languages of a collection's items besides English, as they were last read."""
        return self._reader.languages(request)

    async def near_terms(self, request: IndexScope, word: str, term: str) -> list[str]:
        """Return terms that an unknown word may stand for; none if the database does not answer."""
        try:
            async with asyncio.timeout(_READ_SECONDS):
                return await self._reader.near_terms(request, misspellings(word), prefix_range(term))
        except (StoreError, TimeoutError):
            return []

    async def matching(
        self, plan: SearchPlan, reading: CollectionReading, embedded: EmbeddedQuery, lost: str
    ) -> EmbeddedQuery:
        """Return vectors of the model in use; none, with a note, if no available encoder is that model.

        Args:
            plan: What was embedded.
            reading: The collection.
            embedded: Vectors of the running model.
            lost: What was missing in the lexical arm; empty if it can answer.

        Raises:
            StoreUnavailable: Neither arm can answer.
        """
        found = embedded
        if embedded.matrix is not None and reading.model and embedded.model != reading.model:
            if self._previous is not None and await running_model(self._previous) == reading.model:
                again = await embed(plan, self._previous)
                found = replace(again, milliseconds=again.milliseconds + embedded.milliseconds)
            else:
                note = (
                    f"Searched by words alone: the index holds vectors of {reading.model}, the running model is"
                    f" {embedded.model}; index again to search by meaning."
                )
                found = replace(embedded, matrix=None, note=note)
        if lost and found.matrix is None:
            raise StoreUnavailable(
                f"Neither the database nor the encoder answers. {found.note}",
                hint="Run `thresher doctor`; it names what is wrong.",
            )
        return found

    async def dense(
        self, request: IndexScope, reading: CollectionReading, embedded: EmbeddedQuery
    ) -> tuple[Floats | None, str]:
        """Return the scores of the dense arm, float32 (texts, n), or None and the reason."""
        if embedded.matrix is None or not len(reading.ids):
            return None, ""
        if reading.model:
            dense = await self._reader.dense(request, reading, embedded.matrix, embedded.owners)
            if not np.isnan(dense).all():
                return dense, ""
        return None, "Searched by words alone: nothing in the index is embedded yet; index again."
