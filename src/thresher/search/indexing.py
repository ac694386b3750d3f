"""Writing the index: what changed, its vectors, and one transaction per batch.

Invariant: when a transaction commits, postings, term statistics, totals and vectors agree with the items. After a put
was killed, the next one finishes its work and repeats nothing that was written.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Tenant
from thresher.embedding import Encoder
from thresher.search import queries
from thresher.search.documents import IndexDocument, VectorPart, checked, document_of
from thresher.search.lexical.bm25 import profile_of
from thresher.search.lexical.terms import ENGLISH
from thresher.search.queries import run, run_once
from thresher.search.records import Entry, Floats, Progress, PutCounts
from thresher.search.vectors import embed_parts, ensure_vectors, missing_parts, remember, running_model
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.search")
BATCH = 256
"""Entries per transaction: a second or two of embedding, which is what a kill can cost."""
_STEP = 16
"""Entries prepared without a pause: about 3 ms."""


@dataclass(frozen=True, slots=True)
class _StoredState:
    """What the index holds for an id: the document's hash, and the number of vectors of the running model."""

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
        database: The store.
        tenant: The tenant of the index.
        kind: The collection.
        encoder: Computes the vectors that the cache lacks.
        entries: What to write.
        progress: Called after each batch.
        embed: Whether to run the encoder; otherwise only cached vectors are used.
    """
    counts = PutCounts()
    model = await running_model(encoder) if entries else ""
    for first in range(0, len(entries), BATCH):
        batch = await documents_of(kind, entries[first : first + BATCH])
        counts += await _put_batch(database, tenant, kind, encoder, model, batch, embed=embed)
        if progress is not None:
            progress(first + len(batch), len(entries))
    return counts


async def complete(database: Database, tenant: Tenant, kind: str, model: str, ids: Sequence[int]) -> int:
    """Return how many of some ids have vectors of a model."""
    async with database.transaction(tenant) as connection:
        return int((await run(connection, queries.COMPLETE, {"kind": kind, "model": model, "ids": list(ids)}))[0][0])


async def documents_of(kind: str, entries: Sequence[Entry]) -> list[IndexDocument]:
    """Prepare a batch in small steps, so that a concurrent search hardly waits; a thread would delay it longer."""
    profile = profile_of(kind)
    documents: list[IndexDocument] = []
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
    batch: Sequence[IndexDocument],
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
            await write_documents(connection, kind, model, changed)
        if bare and model:
            await write_vectors(connection, kind, model, bare)

    if changed or (bare and model):
        await run_retrying(database, tenant, write)
    embedded = sum(any(part.hash in fresh for part in document.parts) for document in changed) + len(completed)
    return PutCounts(embedded=embedded, kept=len(batch) - embedded)


async def _state(
    database: Database, tenant: Tenant, kind: str, model: str, batch: Sequence[IndexDocument]
) -> Mapping[int, _StoredState]:
    ids = [document.entry.id for document in batch]
    async with database.transaction(tenant) as connection:
        rows = await run(connection, queries.STATE, {"kind": kind, "model": model, "ids": ids})
    return {row[0]: _StoredState(bytes(row[1]), row[2]) for row in rows}


def _is_changed(document: IndexDocument, state: Mapping[int, _StoredState]) -> bool:
    known = state.get(document.entry.id)
    return known is None or known.hash != document.hash


def _lacks_vectors(document: IndexDocument, state: Mapping[int, _StoredState]) -> bool:
    return state[document.entry.id].vectors < len(document.parts)


EntryLoader: TypeAlias = Callable[[Sequence[int]], Awaitable[Sequence[Entry]]]
"""Returns the entries of some ids as they were put."""

PENDING_BATCH: Final = 128
"""Items per batch: two frames of the encoder's worker, a few seconds of work, which is what a kill can cost."""


@dataclass(frozen=True, slots=True)
class EmbeddingScope:
    """The items to look at.

    Attributes:
        tenant: The tenant of the index.
        kind: The collection.
        model: The model whose vectors they need.
        facets: An item must carry at least one of these; None for no restriction.
    """

    tenant: Tenant
    kind: str
    model: str
    facets: frozenset[str] | None = None

    @property
    def parameters(self) -> dict[str, object]:
        """Values to bind."""
        facets = None if self.facets is None else sorted(self.facets)
        return {"kind": self.kind, "model": self.model, "facets": facets}


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some items without vectors.

    Attributes:
        last: The highest id that was looked at.
        documents: Those whose entries were loaded.
        missing: Parts that the encoder must embed.
    """

    last: int
    documents: Sequence[IndexDocument]
    missing: Sequence[VectorPart]


async def pending(database: Database, scope: EmbeddingScope, after: int, limit: int) -> list[int]:
    """Return the next ids above `after` that have no vector of the model."""
    parameters = scope.parameters | {"after": after, "limit": limit}
    return [row[0] for row in await run_once(database, scope.tenant, queries.PENDING, parameters)]


async def count_embedded(database: Database, scope: EmbeddingScope) -> int:
    """Return how many items have vectors of the model."""
    return int((await run_once(database, scope.tenant, queries.COUNT_EMBEDDED, scope.parameters))[0][0])


async def serving(database: Database, tenant: Tenant, kind: str) -> str:
    """Return the id of the model whose vectors of a collection are in use; empty if it has none."""
    rows = await run_once(database, tenant, queries.HEAD, {"kind": kind})
    return str(rows[0][0]) if rows else ""


async def embed_all(
    database: Database, encoder: Encoder, scope: EmbeddingScope, entries_of: EntryLoader, progress: Progress | None
) -> int:
    """Embed everything that is pending; returns how many items got vectors.

    The encoder and the database never wait for each other: while one batch is embedded, the one before it is written
    and
    the one after it is read. What is written is never embedded again.

    Raises:
        EncoderError: No model runs, or it cannot answer.
        StoreError: The database does not answer.
    """
    if not scope.model:
        raise EncoderError("No model runs, so nothing can be embedded.", hint="Run `thresher doctor`.")
    counted = await run_once(database, scope.tenant, queries.COUNT_PENDING, scope.parameters)
    job = _PendingRun(database, encoder, scope, entries_of, progress, int(counted[0][0]))
    await job.run()
    return job.done


async def embed_ahead(database: Database, encoder: Encoder, scope: EmbeddingScope, entries: Sequence[Entry]) -> None:
    """Cache the vectors of the first batch of some entries, while they are put without vectors.

    Raises:
        EncoderError: It cannot answer.
        StoreError: The database does not answer.
    """
    documents = await documents_of(scope.kind, checked(entries[:PENDING_BATCH]))
    missing = await missing_parts(database, scope.tenant, scope.model, documents)
    if missing:
        hashes = [part.hash for part in missing]
        await remember(database, scope.tenant, scope.model, hashes, await embed_parts(encoder, missing))


@dataclass(slots=True)
class _PendingRun:
    """One run over all batches, three of them in progress at a time."""

    database: Database
    encoder: Encoder
    scope: EmbeddingScope
    entries_of: EntryLoader
    progress: Progress | None
    total: int
    done: int = 0
    in_work: deque[frozenset[bytes]] = field(default_factory=lambda: deque[frozenset[bytes]](maxlen=2))

    async def run(self) -> None:
        """Process all batches; after a failure, what was embedded is still written."""
        coming = asyncio.create_task(self._prepared(-1))
        written = asyncio.create_task(asyncio.sleep(0))
        try:
            while (batch := await coming) is not None:
                self.in_work.append(frozenset(part.hash for part in batch.missing))
                coming = asyncio.create_task(self._prepared(batch.last))
                vectors = await embed_parts(self.encoder, batch.missing) if batch.missing else None
                await written
                written = asyncio.create_task(self._write(batch, vectors))
            await written
        except BaseException:
            coming.cancel()
            await asyncio.gather(coming, written, return_exceptions=True)
            raise

    async def _prepared(self, after: int) -> _Batch | None:
        ids = await pending(self.database, self.scope, after, PENDING_BATCH)
        if not ids:
            return None
        entries = checked(await self.entries_of(ids))
        documents = await documents_of(self.scope.kind, entries)
        lacking = await missing_parts(self.database, self.scope.tenant, self.scope.model, documents)
        # What the earlier batches are embedding is cached by the time this one is written.
        missing = [part for part in lacking if not any(part.hash in hashes for hashes in self.in_work)]
        return _Batch(ids[-1], documents, missing)

    async def _write(self, batch: _Batch, vectors: Floats | None) -> None:
        scope = self.scope

        async def write(connection: AsyncConnection) -> None:
            await write_vectors(connection, scope.kind, scope.model, batch.documents)

        if vectors is not None:
            await remember(self.database, scope.tenant, scope.model, [part.hash for part in batch.missing], vectors)
        if batch.documents:
            await run_retrying(self.database, scope.tenant, write)
        self.done += len(batch.documents)
        if self.progress is not None:
            self.progress(self.done, max(self.done, self.total))


Stored = Mapping[int, tuple[Sequence[str], float]]
"""Id to the terms and length of a stored item."""


async def write_documents(
    connection: AsyncConnection, kind: str, model: str, documents: Sequence[IndexDocument]
) -> None:
    """Insert or replace items, with postings, statistics, and those vectors that are cached."""
    serving, version = await _begin(connection, kind, model)
    ids = [document.entry.id for document in documents]
    stored = await _stored(connection, kind, ids)
    await _delete_postings(connection, kind, stored)
    await run(connection, queries.DELETE_VECTORS, {"kind": kind, "ids": ids})
    await _insert_items(connection, kind, version, documents)
    await _insert_vectors(connection, kind, model, documents)
    change = Counter(term for document in documents for term in document.frequencies)
    change.subtract(term for terms, _ in stored.values() for term in terms)
    length = sum(document.length for document in documents) - sum(length for _, length in stored.values())
    await _add_statistics(connection, kind, change, len(ids) - len(stored), length)
    if languages := sorted({document.entry.language for document in documents} - {ENGLISH}):
        await run(connection, queries.ADD_LANGUAGES, {"kind": kind, "languages": languages})
    await _serve(connection, kind, serving, model)


async def write_vectors(connection: AsyncConnection, kind: str, model: str, documents: Sequence[IndexDocument]) -> None:
    """Add the vectors of one model to unchanged items."""
    serving, version = await _begin(connection, kind, model)
    await _insert_vectors(connection, kind, model, documents)
    ids = [document.entry.id for document in documents]
    await run(connection, queries.RAISE_VERSIONS, {"kind": kind, "version": version, "ids": ids})
    await _serve(connection, kind, serving, model)


async def delete_items(connection: AsyncConnection, kind: str, model: str, ids: Sequence[int]) -> int:
    """Remove items with all their rows; returns how many existed."""
    serving, _ = await _begin(connection, kind, model)
    stored = await _stored(connection, kind, ids)
    if not stored:
        return 0
    await _delete_postings(connection, kind, stored)
    await run(connection, queries.DELETE_ITEMS, {"kind": kind, "ids": list(stored)})
    change: Counter[str] = Counter()
    change.subtract(term for terms, _ in stored.values() for term in terms)
    await _add_statistics(connection, kind, change, -len(stored), -sum(length for _, length in stored.values()))
    await _serve(connection, kind, serving, model)
    return len(stored)


async def _begin(connection: AsyncConnection, kind: str, model: str) -> tuple[str, int]:
    rows = await run(connection, queries.BEGIN_WRITE, {"kind": kind, "model": model})
    return rows[0][0], rows[0][1]


async def _stored(connection: AsyncConnection, kind: str, ids: Sequence[int]) -> Stored:
    rows = await run(connection, queries.OLD_TERMS, {"kind": kind, "ids": list(ids)})
    return {row[0]: (row[1], row[2]) for row in rows}


async def _delete_postings(connection: AsyncConnection, kind: str, stored: Stored) -> None:
    held = {term for terms, _ in stored.values() for term in terms}
    if held:
        parameters = {"kind": kind, "terms": sorted(held), "ids": list(stored)}
        await run(connection, queries.DELETE_POSTINGS, parameters, prepare=False)


async def _insert_items(
    connection: AsyncConnection, kind: str, version: int, documents: Sequence[IndexDocument]
) -> None:
    parameters = {
        "kind": kind,
        "version": version,
        "ids": [document.entry.id for document in documents],
        "owners": [document.entry.owner for document in documents],
        "facets": ["\x1f".join(sorted(document.entry.facets)) for document in documents],
        "hashes": [document.hash for document in documents],
        "terms": [" ".join(document.frequencies) for document in documents],
        "frequencies": [" ".join(map(repr, document.frequencies.values())) for document in documents],
        "lengths": [document.length for document in documents],
        "slots": [document.slots for document in documents],
    }
    await run(connection, queries.UPSERT_ITEMS, parameters)
    await run(connection, queries.INSERT_POSTINGS, parameters)


async def _insert_vectors(
    connection: AsyncConnection, kind: str, model: str, documents: Sequence[IndexDocument]
) -> None:
    parts = [
        (document.entry.id, number, part.hash) for document in documents for number, part in enumerate(document.parts)
    ]
    parameters = {
        "kind": kind,
        "model": model,
        "ids": [part[0] for part in parts],
        "parts": [part[1] for part in parts],
        "hashes": [part[2] for part in parts],
        "distinct": _distinct(part[2] for part in parts),
    }
    await run(connection, queries.INSERT_VECTORS, parameters)


async def _add_statistics(
    connection: AsyncConnection, kind: str, change: Counter[str], items: int, length: float
) -> None:
    changed = sorted(term for term, difference in change.items() if difference)
    if changed:
        parameters = {"kind": kind, "terms": changed, "changes": [change[term] for term in changed]}
        await run(connection, queries.ADD_STATISTICS, parameters)
    if fewer := [term for term in changed if change[term] < 0]:
        await run(connection, queries.DROP_STATISTICS, {"kind": kind, "terms": fewer})
    await run(connection, queries.ADD_TOTALS, {"kind": kind, "items": items, "length": length})


async def _serve(connection: AsyncConnection, kind: str, serving: str, model: str) -> None:
    """Put the running model to use once all items have its vectors; then delete those of the old one."""
    if model and serving != model and await run(connection, queries.FLIP, {"kind": kind, "model": model}):
        await run(connection, queries.DELETE_OTHER_MODELS, {"kind": kind, "model": model})


def _distinct(hashes: Iterable[bytes]) -> list[bytes]:
    return list(dict.fromkeys(hashes))
