"""Embeds what was put without vectors: the encoder never waits for the database, and the database not for it.

While one batch is embedded, the one before it is written and the one after it is read.

Invariant: every batch is written in a transaction of its own, after its vectors are in the cache; what is written is
never embedded again, whoever is killed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Tenant
from thresher.embedding import Encoder
from thresher.search import queries, writing
from thresher.search.arrays import Floats, run_once
from thresher.search.documents import Document, Part, checked
from thresher.search.put import documents_of
from thresher.search.records import Entry, Progress
from thresher.search.vectors import embed_parts, missing_parts, remember
from thresher.store import Database, run_retrying

EntriesOf: TypeAlias = Callable[[Sequence[int]], Awaitable[Sequence[Entry]]]
"""Gives the entries of some ids as they were put."""

BATCH: Final = 128
"""Items at once: two frames of the encoder's worker, a few seconds of work, which is what a kill can cost."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which items are looked at.

    Attributes:
        tenant: Whose.
        kind: Which collection.
        model: The model whose vectors they shall have.
        facets: Any of these must be on the item; None asks for nothing.
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
    """Some items that lack vectors.

    Attributes:
        last: The highest id looked at.
        documents: Those whose entries were given.
        missing: Parts that the encoder must work out.
    """

    last: int
    documents: Sequence[Document]
    missing: Sequence[Part]


async def pending(database: Database, scope: Scope, after: int, limit: int) -> list[int]:
    """The next ids above `after` that have no vector of the model."""
    parameters = scope.parameters | {"after": after, "limit": limit}
    return [row[0] for row in await run_once(database, scope.tenant, queries.PENDING, parameters)]


async def count_embedded(database: Database, scope: Scope) -> int:
    """How many items have vectors of the model."""
    return int((await run_once(database, scope.tenant, queries.COUNT_EMBEDDED, scope.parameters))[0][0])


async def serving(database: Database, tenant: Tenant, kind: str) -> str:
    """Id of the model whose vectors of a collection answer; empty where the collection has none."""
    rows = await run_once(database, tenant, queries.HEAD, {"kind": kind})
    return str(rows[0][0]) if rows else ""


async def embed_all(
    database: Database, encoder: Encoder, scope: Scope, entries_of: EntriesOf, progress: Progress | None
) -> int:
    """Embed everything that is pending; returns how many items got their vectors.

    Raises:
        EncoderError: No model runs, or it cannot answer.
        StoreError: The database does not answer.
    """
    if not scope.model:
        raise EncoderError("No model runs, so nothing can be embedded.", hint="Run `thresher doctor`.")
    counted = await run_once(database, scope.tenant, queries.COUNT_PENDING, scope.parameters)
    job = _Job(database, encoder, scope, entries_of, progress, int(counted[0][0]))
    await job.run()
    return job.done


async def embed_ahead(database: Database, encoder: Encoder, scope: Scope, entries: Sequence[Entry]) -> None:
    """Have the first batch of some entries in the cache, while they are being put without vectors.

    Raises:
        EncoderError: It cannot answer.
        StoreError: The database does not answer.
    """
    documents = await documents_of(scope.kind, checked(entries[:BATCH]))
    missing = await missing_parts(database, scope.tenant, scope.model, documents)
    if missing:
        await remember(database, scope.tenant, scope.model, missing, await embed_parts(encoder, missing))


@dataclass(slots=True)
class _Job:
    """One run over all batches, three of them in work at a time."""

    database: Database
    encoder: Encoder
    scope: Scope
    entries_of: EntriesOf
    progress: Progress | None
    total: int
    done: int = 0
    in_work: deque[frozenset[bytes]] = field(default_factory=lambda: deque[frozenset[bytes]](maxlen=2))

    async def run(self) -> None:
        """Go through all batches; after a failure what was embedded is still written."""
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
        ids = await pending(self.database, self.scope, after, BATCH)
        if not ids:
            return None
        entries = checked(await self.entries_of(ids))
        documents = await documents_of(self.scope.kind, entries)
        lacking = await missing_parts(self.database, self.scope.tenant, self.scope.model, documents)
        # What the batches before are embedding will be in the cache when this one is written.
        missing = [part for part in lacking if not any(part.hash in hashes for hashes in self.in_work)]
        return _Batch(ids[-1], documents, missing)

    async def _write(self, batch: _Batch, vectors: Floats | None) -> None:
        scope = self.scope

        async def write(connection: AsyncConnection) -> None:
            await writing.write_vectors(connection, scope.kind, scope.model, batch.documents)

        if vectors is not None:
            await remember(self.database, scope.tenant, scope.model, batch.missing, vectors)
        if batch.documents:
            await run_retrying(self.database, scope.tenant, write)
        self.done += len(batch.documents)
        if self.progress is not None:
            self.progress(self.done, max(self.done, self.total))
