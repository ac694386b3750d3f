"""Sees to it that the content-addressed cache holds the vectors of documents.

Invariant: no transaction is open while the encoder works, and what it has worked out is remembered before anything else
happens, so that a killed process repeats one batch at most.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from thresher.core import EncoderError, Tenant, event
from thresher.embedding import Encoder
from thresher.search import queries
from thresher.search.arrays import Floats, run
from thresher.search.documents import Document, Part
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.search")


async def ensure_vectors(
    database: Database, tenant: Tenant, encoder: Encoder, documents: Sequence[Document]
) -> frozenset[bytes]:
    """Embed the parts that the cache lacks, and remember them.

    Returns:
        Hashes of the parts that the encoder had to work out. When it fails, nothing is remembered and the documents go
        without vectors until the next put.
    """
    parts = {part.hash: part for document in documents for part in document.parts}
    missing = await _missing(database, tenant, encoder.model.id, parts)
    if not missing:
        return frozenset()
    try:
        vectors = await _embed(encoder, missing)
    except EncoderError as error:
        event(_logger, "vectors missing", level=logging.WARNING, parts=len(missing), error=str(error))
        return frozenset()
    await _remember(database, tenant, encoder.model.id, missing, vectors)
    return frozenset(part.hash for part in missing)


def combined(vectors: Floats, weights: Sequence[float]) -> Floats:
    """The weighted sum of unit vectors: its product with a query is the weighted sum of their cosines.

    It is not brought back to length 1: an item whose texts agree is the clearer match (normalising cost one to two
    points of recall on the development sets of tools).

    Args:
        vectors: float32 (n, dimension).
        weights: One a vector.

    Returns:
        float32 (dimension,).
    """
    return np.asarray(np.asarray(weights, np.float32) @ vectors, np.float32)


async def _missing(database: Database, tenant: Tenant, model: str, parts: Mapping[bytes, Part]) -> list[Part]:
    async with database.transaction(tenant) as connection:
        rows = await run(connection, queries.CACHED, {"model": model, "hashes": list(parts)})
    held = {bytes(row[0]) for row in rows}
    return [part for digest, part in parts.items() if digest not in held]


async def _embed(encoder: Encoder, parts: Sequence[Part]) -> Floats:
    """One vector a part; a text that several parts share is embedded once."""
    texts = list(dict.fromkeys(text for part in parts for text in part.texts))
    rows = {text: row for row, text in enumerate(texts)}
    matrix = await encoder.embed_documents(texts)
    return np.stack(
        [
            combined(matrix[[rows[text] for text in part.texts]], part.weights)
            if part.weights
            else matrix[rows[part.texts[0]]]
            for part in parts
        ]
    )


async def _remember(database: Database, tenant: Tenant, model: str, parts: Sequence[Part], vectors: Floats) -> None:
    parameters = {"model": model, "hashes": [part.hash for part in parts], "vectors": list(vectors)}
    await run_retrying(database, tenant, lambda connection: run(connection, queries.REMEMBER, parameters))
