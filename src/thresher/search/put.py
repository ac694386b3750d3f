"""Batch upserts: what has changed, its vectors, and one transaction a batch.

Invariant: after every batch the index is whole; a put that was killed is finished by the next one, which repeats
nothing that was written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Tenant, event
from thresher.embedding import Encoder
from thresher.search import queries, writing
from thresher.search.arrays import run
from thresher.search.documents import Document, document_of
from thresher.search.profiles import profile_of
from thresher.search.records import Entry, Progress, PutCounts
from thresher.search.vectors import ensure_vectors
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.search")
BATCH = 256
"""Entries a transaction: a second or two of embedding, which is what a kill can cost."""
_STEP = 16
"""Entries prepared without a pause: some 3 ms."""


@dataclass(frozen=True, slots=True)
class _State:
    """What the index holds of an id: the document's hash, and vectors of the running model."""

    hash: bytes
    vectors: int


async def put_entries(
    database: Database,
    tenant: Tenant,
    kind: str,
    encoder: Encoder,
    entries: Sequence[Entry],
    progress: Progress | None,
    *,
    embed: bool = True,
) -> PutCounts:
    """Insert or replace checked entries, batch by batch.

    Args:
        database: Where.
        tenant: Whose.
        kind: Which collection.
        encoder: Makes the vectors that the cache lacks.
        entries: What the collection shall hold.
        progress: Told after every batch.
        embed: Whether the encoder works; else only vectors that the cache holds are given.
    """
    counts = PutCounts()
    model = await told_model(encoder) if entries else ""
    for first in range(0, len(entries), BATCH):
        batch = await documents_of(kind, entries[first : first + BATCH])
        counts += await _put_batch(database, tenant, kind, encoder, model, batch, embed=embed)
        if progress is not None:
            progress(first + len(batch), len(entries))
    return counts


async def told_model(encoder: Encoder) -> str:
    """The running model's id; a service is asked for its dimension first, which is a part of it. Empty: none runs."""
    if known := model_id(encoder):
        return known
    try:
        return (await encoder.warm()).id
    except EncoderError as error:
        event(_logger, "no model", level=logging.WARNING, error=str(error))
        return ""


def model_id(encoder: Encoder) -> str:
    """The running model's id as far as it is known; empty when it cannot be loaded or a service has not told it."""
    try:
        return encoder.model.id
    except EncoderError:
        return ""


async def complete(database: Database, tenant: Tenant, kind: str, model: str, ids: Sequence[int]) -> int:
    """How many of some ids have vectors of a model."""
    async with database.transaction(tenant) as connection:
        return int((await run(connection, queries.COMPLETE, {"kind": kind, "model": model, "ids": list(ids)}))[0][0])


async def documents_of(kind: str, entries: Sequence[Entry]) -> list[Document]:
    """Prepare a batch in small steps, so that a search in between hardly waits; a thread would hold it up longer."""
    profile = profile_of(kind)
    documents: list[Document] = []
    for first in range(0, len(entries), _STEP):
        documents += [document_of(entry, profile) for entry in entries[first : first + _STEP]]
        await asyncio.sleep(0)
    return documents


async def _put_batch(
    database: Database,
    tenant: Tenant,
    kind: str,
    encoder: Encoder,
    model: str,
    batch: Sequence[Document],
    *,
    embed: bool,
) -> PutCounts:
    state = await _state(database, tenant, kind, model, batch)
    changed = [document for document in batch if _is_changed(document, state)]
    lacking = [document for document in batch if not _is_changed(document, state) and _lacks_vectors(document, state)]
    bare = lacking if embed else []
    wanted = [*changed, *bare] if embed and model else []
    fresh = await ensure_vectors(database, tenant, encoder, wanted) if wanted else frozenset[bytes]()
    completed = [document for document in bare if model and any(part.hash in fresh for part in document.parts)]

    async def write(connection: AsyncConnection) -> None:
        if changed:
            await writing.write_documents(connection, kind, model, changed)
        if bare and model:
            await writing.write_vectors(connection, kind, model, bare)

    if changed or (bare and model):
        await run_retrying(database, tenant, write)
    embedded = sum(any(part.hash in fresh for part in document.parts) for document in changed) + len(completed)
    return PutCounts(embedded=embedded, kept=len(batch) - embedded)


async def _state(
    database: Database, tenant: Tenant, kind: str, model: str, batch: Sequence[Document]
) -> Mapping[int, _State]:
    ids = [document.entry.id for document in batch]
    async with database.transaction(tenant) as connection:
        rows = await run(connection, queries.STATE, {"kind": kind, "model": model, "ids": ids})
    return {row[0]: _State(bytes(row[1]), row[2]) for row in rows}


def _is_changed(document: Document, state: Mapping[int, _State]) -> bool:
    known = state.get(document.entry.id)
    return known is None or known.hash != document.hash


def _lacks_vectors(document: Document, state: Mapping[int, _State]) -> bool:
    return state[document.entry.id].vectors < len(document.parts)
