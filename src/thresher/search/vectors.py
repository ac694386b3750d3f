"""The vectors of documents and of other texts, kept in a content-addressed cache.

Invariant: no transaction is open while the encoder works. What it computes is cached batch by batch, so that a killed
process repeats one batch at most.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.core import EncoderError, Tenant, event
from thresher.embedding import Encoder, shipped_vectors
from thresher.search import queries
from thresher.search.documents import IndexDocument, VectorPart, text_hash
from thresher.search.queries import run, run_once, vectors_of
from thresher.search.records import Floats
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.search")


async def ensure_vectors(
    database: Database, tenant: Tenant, encoder: Encoder, documents: Sequence[IndexDocument]
) -> frozenset[bytes]:
    """Embed the parts that the cache lacks, and cache them.

    Returns:
        Hashes of the parts that the encoder had to embed. If it fails, nothing is cached and the documents have no
        vectors until the next put.
    """
    missing = await missing_parts(database, tenant, encoder.model.id, documents)
    if not missing:
        return frozenset()
    try:
        vectors = await embed_parts(encoder, missing)
    except EncoderError as error:
        event(_logger, "vectors missing", level=logging.WARNING, parts=len(missing), error=str(error))
        return frozenset()
    await remember(database, tenant, encoder.model.id, [part.hash for part in missing], vectors)
    return frozenset(part.hash for part in missing)


def combined(vectors: Floats, weights: Sequence[float]) -> Floats:
    """Return the weighted sum of unit vectors: its product with a query is the weighted sum of their cosines.

    It is not normalised to length 1: an item whose texts agree is the clearer match (normalising cost one to two
    points of
    recall on the development sets of tools).

    Args:
        vectors: float32 (n, dimension).
        weights: One per vector.

    Returns:
        float32 (dimension,).
    """
    return np.asarray(np.asarray(weights, np.float32) @ vectors, np.float32)


async def missing_parts(
    database: Database, tenant: Tenant, model: str, documents: Sequence[IndexDocument]
) -> list[VectorPart]:
    """Return the distinct parts of some documents that the cache lacks."""
    parts = {part.hash: part for document in documents for part in document.parts}
    async with database.transaction(tenant) as connection:
        rows = await run(connection, queries.CACHED, {"model": model, "hashes": list(parts)})
    held = {bytes(row[0]) for row in rows}
    return [part for digest, part in parts.items() if digest not in held]


async def embed_parts(encoder: Encoder, parts: Sequence[VectorPart]) -> Floats:
    """Return one vector per part, float32 (parts, dimension); a text that several parts share is embedded once.

    Raises:
        EncoderError: The encoder cannot answer.
    """
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


async def remember(
    database: Database, tenant: Tenant, model: str, hashes: Sequence[bytes], vectors: Iterable[Floats]
) -> None:
    """Cache vectors under the hashes of their texts."""
    parameters = {"model": model, "hashes": list(hashes), "vectors": list(vectors)}
    await run_retrying(database, tenant, lambda connection: run(connection, queries.REMEMBER, parameters))


_BATCH = 256
"""Texts a transaction: a second or two of embedding, which is what a kill can cost."""


async def running_model(encoder: Encoder) -> str:
    """Return the running model's id; empty if none runs.

    An embedding service is asked for its dimension first, which is a part of the id.
    """
    if known := known_model(encoder):
        return known
    try:
        return (await encoder.warm()).id
    except EncoderError as error:
        event(_logger, "no model", level=logging.WARNING, error=str(error))
        return ""


def known_model(encoder: Encoder) -> str:
    """Return the running model's id if it is known; empty if it cannot be loaded or a service has not reported it."""
    try:
        return encoder.model.id
    except EncoderError:
        return ""


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors of some texts.

    Attributes:
        vectors: float32 (texts, dimension), rows of length 1, in the order of the texts.
        hashes: The key of each in the cache.
        embedded: The number of texts that the encoder had to embed; 0 if all were cached or ship with the product.
    """

    vectors: Floats
    hashes: tuple[bytes, ...]
    embedded: int


async def text_vectors(
    database: Database, tenant: Tenant, encoder: Encoder, texts: Sequence[str], *, prefixed: bool = False
) -> TextVectors:
    """Return the vectors of texts: cached ones, those that ship with the product, then new ones.

    Args:
        database: Where the cache is.
        tenant: The tenant whose transactions read it; the cache itself is shared by all tenants.
        encoder: Embeds what the cache lacks.
        texts: Any strings; one that occurs twice is embedded once.
        prefixed: Whether to embed each as a query, with the model's prefix before it.

    Raises:
        EncoderError: The model cannot be loaded or cannot answer.
        StoreUnavailable: The database cannot be reached.
    """
    model = await encoder.warm()
    prefix = model.query_prefix if prefixed else ""
    hashes = tuple(text_hash(prefix + text) for text in texts)
    wanted = {digest: prefix + text for digest, text in zip(hashes, texts, strict=True)}
    order = list(wanted)
    place = {digest: row for row, digest in enumerate(order)}
    matrix = np.zeros((len(order), model.dimension), np.float32)
    embedded = 0
    for first in range(0, len(order), _BATCH):
        batch = order[first : first + _BATCH]
        known = await _cached(database, tenant, model.id, model.dimension, batch)
        missing = [digest for digest in batch if digest not in known]
        if missing:
            fresh, counted = await _embed_missing(encoder, model.id, {digest: wanted[digest] for digest in missing})
            await remember(database, tenant, model.id, missing, [fresh[digest] for digest in missing])
            known |= fresh
            embedded += counted
        for digest in batch:
            matrix[place[digest]] = known[digest]
    return TextVectors(matrix[[place[digest] for digest in hashes]], hashes, embedded)


async def _cached(
    database: Database, tenant: Tenant, model: str, dimension: int, hashes: Sequence[bytes]
) -> dict[bytes, Floats]:
    rows = await run_once(database, tenant, queries.CACHED_VECTORS, {"model": model, "hashes": list(hashes)})
    found, packed = bytes(rows[0][0]), bytes(rows[0][1])
    size = hashlib.sha256().digest_size
    keys = [found[first : first + size] for first in range(0, len(found), size)]
    return dict(zip(keys, vectors_of(packed, dimension), strict=True)) if keys else {}


async def _embed_missing(encoder: Encoder, model: str, texts: Mapping[bytes, str]) -> tuple[dict[bytes, Floats], int]:
    """The vectors of texts that are not cached, and how many of them the encoder embedded."""
    found = await asyncio.to_thread(shipped_vectors, model, texts.keys())
    if rest := [digest for digest in texts if digest not in found]:
        fresh = await encoder.embed_documents([texts[digest] for digest in rest])
        found |= dict(zip(rest, fresh, strict=True))
    return found, len(rest)
