"""The vectors of texts that belong to no item: cached ones, then those that come with the product, then fresh ones.

Invariant: as for documents, no transaction is open while the encoder works, and what it has worked out is remembered
batch by batch, so that a killed process repeats one batch at most.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thresher.core import Tenant
from thresher.embedding import Encoder, shipped_vectors
from thresher.search import queries
from thresher.search.arrays import Floats, run, run_once, vectors_of
from thresher.store import Database, run_retrying

_BATCH = 256
"""Texts a transaction: a second or two of embedding, which is what a kill can cost."""


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors of some texts.

    Attributes:
        vectors: float32 (texts, dimension), rows of length 1, in the order given.
        hashes: The key of each in the cache.
        embedded: Texts that the encoder had to work out; 0 when all were known or come with the product.
    """

    vectors: Floats
    hashes: tuple[bytes, ...]
    embedded: int


async def text_vectors(
    database: Database, tenant: Tenant, encoder: Encoder, texts: Sequence[str], *, prefixed: bool = False
) -> TextVectors:
    """The vectors of texts.

    Args:
        database: Where the cache is.
        tenant: In whose transactions it is asked; the cache itself knows no tenants.
        encoder: Works out what the cache lacks.
        texts: Any strings; one that comes twice is embedded once.
        prefixed: Embed each as a query, with the model's prefix before it.

    Raises:
        EncoderError: The model cannot be loaded or cannot answer.
        StoreUnavailable: The database cannot be reached.
    """
    model = await encoder.warm()
    prefix = model.query_prefix if prefixed else ""
    hashes = tuple(_digest(prefix + text) for text in texts)
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
            fresh, counted = await _worked_out(encoder, model.id, {digest: wanted[digest] for digest in missing})
            await _remember(database, tenant, model.id, missing, [fresh[digest] for digest in missing])
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


async def _worked_out(encoder: Encoder, model: str, texts: Mapping[bytes, str]) -> tuple[dict[bytes, Floats], int]:
    """The vectors of texts that no cache holds, and how many of them the encoder was asked for."""
    found = await asyncio.to_thread(shipped_vectors, model, texts.keys())
    if rest := [digest for digest in texts if digest not in found]:
        fresh = await encoder.embed_documents([texts[digest] for digest in rest])
        found |= dict(zip(rest, fresh, strict=True))
    return found, len(rest)


async def _remember(
    database: Database, tenant: Tenant, model: str, hashes: Sequence[bytes], vectors: Sequence[Floats]
) -> None:
    parameters = {"model": model, "hashes": list(hashes), "vectors": list(vectors)}
    await run_retrying(database, tenant, lambda connection: run(connection, queries.REMEMBER, parameters))


def _digest(text: str) -> bytes:
    """SHA-256 of a text; lone surrogates, which UTF-8 cannot hold, count as question marks."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
