"""One run over one repository: what has changed is read, what has no vectors is embedded.

Invariant: what stands in the database after any step is whole, so that a run that was killed is finished by the next,
which repeats at most one batch; texts are held for one batch at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import (
    EncoderError,
    InvalidInput,
    NotAllowed,
    NotFound,
    Settings,
    SourceUnavailable,
    Tenant,
    ThresherError,
    event,
)
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.differences import batches, difference
from thresher.knowledge.documents.entries import KIND, Holder, entries_of, facets_of
from thresher.knowledge.documents.models import Repository, Skipped, SourceFile, chunk_id
from thresher.knowledge.documents.preparing import FORMAT, Prepared, prepare
from thresher.knowledge.documents.queries import Refused, Standing
from thresher.knowledge.documents.reading import Unreadable
from thresher.knowledge.documents.sources import Limits, Source, open_source
from thresher.knowledge.documents.stored_entries import StoredEntries
from thresher.search import Entry, Filter, PutCounts, SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")

Report: TypeAlias = Callable[[str, int, int], None]
"""Told (phase, done, total); `reading` counts files, `embedding` chunks."""

SKIPPED_KEPT: Final = 1_000
"""Files that were not read, as far as they are listed by name."""
_PUT: Final = 1_024
"""Chunks whose entries are made at once."""
_TELL_SECONDS: Final = 2.0
"""How often the number of embedded chunks is stored while it grows."""


class Removed(Exception):
    """The repository was removed while it was indexed."""


class Run:
    """One run over one repository."""

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        settings: Settings,
        tenant: Tenant,
        repository: Repository,
        report: Report,
    ) -> None:
        self._database, self._index, self._settings = database, index, settings
        self._tenant, self._repository, self._report = tenant, repository, report
        self._entries = StoredEntries(database, tenant)
        self._scope = Filter(facets_of([repository.id]))
        self._refused: list[Refused] = []
        self._unread: list[Skipped] = []
        self._ahead: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ahead.set_result(None)

    async def run(self, guide: Callable[[AsyncConnection, Tenant, int], Awaitable[None]]) -> bool:
        """Read, then embed; whether documents have changed."""
        try:
            return await self._run(guide)
        finally:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)

    async def _run(self, guide: Callable[[AsyncConnection, Tenant, int], Awaitable[None]]) -> bool:
        await self._set(state="indexing", problem="")
        try:
            changed = await self._read()
        except (InvalidInput, NotFound, NotAllowed, SourceUnavailable):
            await run_retrying(
                self._database,
                self._tenant,
                lambda connection: queries.note_origin_failure(connection, self._tenant, self._repository.id),
            )
            await self._embed()  # what is stored must not wait for its source to come back
            raise
        if changed or not self._repository.guide:
            await run_retrying(
                self._database, self._tenant, lambda connection: guide(connection, self._tenant, self._repository.id)
            )
        embedded = await self._embed()
        await self._set(state="ready", problem="", indexed_at=datetime.now(UTC))
        fields = {"tenant": self._tenant.id, "repository": self._repository.id}
        event(_logger, "repository indexed", **fields, changed=changed, embedded=embedded)
        return changed

    async def _read(self) -> bool:
        """Bring what is stored up to the source; whether that changed anything."""
        self._report("listing", 0, 0)
        source = await asyncio.to_thread(self._open)
        try:
            files = await asyncio.to_thread(source.files)
            skipped = await asyncio.to_thread(source.skipped)
            changed = await self._bring_up(source, files)
            await self._describe(skipped, source.version)
        finally:
            await asyncio.to_thread(source.close)
        return changed

    def _open(self) -> Source:
        data = self._settings.data_dir
        return open_source(
            self._repository.origin,
            cache_of(data, self._tenant, self._repository.id),
            limits=Limits.of(self._settings),
            apart=(data,),
        )

    async def _bring_up(self, source: Source, files: Sequence[SourceFile]) -> bool:
        """Store what is new or has changed, and take out what has gone; whether anything was done."""
        async with self._database.transaction(self._tenant) as connection:
            stored = await queries.standing(connection, self._tenant, self._repository.id)
            refused = await queries.refused_files(connection, self._tenant, self._repository.id)
        todo = difference(files, stored, {one.path: one for one in refused})
        self._refused += todo.refused
        await self._sweep(todo.stale)
        for one in todo.finish:
            await self._finish(one)
        done, total = todo.kept + len(todo.finish), len(files)
        if todo.read:
            await self._index.prepare()
        for batch in batches(todo.read):
            self._report("reading", done, total)
            await self._take([made for made in await asyncio.to_thread(self._prepare, source, batch) if made])
            done += len(batch)
        lost = {one.path for one in self._refused}
        await self._retire([*todo.gone, *(one for one in stored if one.current and one.path in lost)])
        self._report("reading", total, total)
        return bool(todo.read or todo.finish or todo.gone)

    def _prepare(self, source: Source, batch: Sequence[SourceFile]) -> list[Prepared | None]:
        return [self._prepared(source, file) for file in batch]

    def _prepared(self, source: Source, file: SourceFile) -> Prepared | None:
        """What is to be stored of a file, or None with the reason noted."""
        try:
            return prepare(file, source.read(file.path))
        except Unreadable as error:
            self._refused.append(Refused(file.path, error.reason, error.detail, file.blob, FORMAT))
        except ThresherError as error:  # gone or changed since it was listed: the next run takes it
            self._unread.append(Skipped(file.path, "unreadable", error.message))
        return None

    async def _take(self, made: Sequence[Prepared]) -> None:
        """Store new versions, have them found by their words, and let them be answered from."""
        if not made:
            return

        async def write(connection: AsyncConnection) -> dict[str, int]:
            await self._lock(connection)
            writes = [one.write for one in made]
            ids = await queries.insert_documents(connection, self._tenant, self._repository.id, writes)
            keys = [(ids[one.write.path], place) for one in made for place in range(len(one.texts))]
            texts = [text for one in made for text in one.texts]
            await queries.insert_texts(connection, self._tenant, keys, texts)
            return ids

        ids = await run_retrying(self._database, self._tenant, write)
        entries = (entry for one in made for entry in entries_of(self._holder(ids[one.write.path], one), one.texts))
        while some := list(islice(entries, _PUT)):
            if self._ahead.done():
                self._ahead = asyncio.create_task(self._index.embed_ahead(self._tenant, KIND, some))
            await self._put(some)
        await self._make_current(list(ids.values()))

    def _holder(self, document: int, made: Prepared) -> Holder:
        return Holder(document, made.write.title, self._repository.id, self._repository.owner, made.layout)

    async def _put(self, entries: Sequence[Entry]) -> PutCounts:
        return await self._index.put(self._tenant, KIND, entries, embed=False)

    async def _finish(self, one: Standing) -> None:
        """Go on with a version that is stored and was not put into the index wholly."""
        ids = [chunk_id(one.id, place) for place in range(one.chunks)]
        for first in range(0, len(ids), _PUT):
            await self._put(await self._entries.of(ids[first : first + _PUT]))
        await self._make_current([one.id])

    async def _make_current(self, ids: Sequence[int]) -> None:
        async def write(connection: AsyncConnection) -> list[Standing]:
            await self._lock(connection)
            old = await queries.make_current(connection, self._tenant, self._repository.id, ids)
            await queries.recount(connection, self._tenant, self._repository.id)
            return old

        await self._unindex(await run_retrying(self._database, self._tenant, write))

    async def _retire(self, gone: Sequence[Standing]) -> None:
        if not gone:
            return

        async def write(connection: AsyncConnection) -> None:
            await self._lock(connection)
            await queries.retire(connection, self._tenant, self._repository.id, [one.id for one in gone])
            await queries.recount(connection, self._tenant, self._repository.id)

        await run_retrying(self._database, self._tenant, write)
        await self._unindex(gone)

    async def _unindex(self, old: Sequence[Standing]) -> None:
        """Old versions are found no more; their texts stay until the next run, for answers that are being written."""
        await self._index.remove(
            self._tenant, KIND, [chunk_id(one.id, place) for one in old for place in range(one.chunks)]
        )

    async def _sweep(self, stale: Sequence[Standing]) -> None:
        """Remove what an earlier run left."""
        if not stale:
            return
        await self._unindex(stale)
        ids = [one.id for one in stale]
        await run_retrying(
            self._database, self._tenant, lambda connection: queries.delete_documents(connection, self._tenant, ids)
        )

    async def _describe(self, skipped: Sequence[Skipped], version: str) -> None:
        """Keep what was not read, and which state of the source this is."""
        unread = [*self._refused, *(Refused(one.path, one.reason, one.detail) for one in (*self._unread, *skipped))]
        counts = Counter(one.reason for one in unread)

        async def write(connection: AsyncConnection) -> None:
            await self._lock(connection)
            await queries.set_refused(connection, self._tenant, self._repository.id, unread[:SKIPPED_KEPT], counts)
            await queries.set_repository(connection, self._tenant, self._repository.id, version=version, former=None)

        await run_retrying(self._database, self._tenant, write)

    async def _embed(self) -> int:
        """Give vectors to what has none yet, and tell now and then how many have."""
        telling = asyncio.create_task(self._tell())
        try:
            await asyncio.gather(self._ahead, return_exceptions=True)  # so that nothing is embedded twice
            return await self._index.embed_pending(
                self._tenant, KIND, self._entries.of, filter=self._scope, progress=self._embedding
            )
        except EncoderError as error:
            await self._set(state="ready", problem=f"Found by words alone as yet: {error}")
            raise
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)
            await self._count_embedded()

    def _embedding(self, done: int, total: int) -> None:
        self._report("embedding", done, total)

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            await self._count_embedded()

    async def _count_embedded(self) -> None:
        await self._set(embedded=await self._index.embedded(self._tenant, KIND, self._scope))

    async def _set(self, **values: object) -> None:
        async def write(connection: AsyncConnection) -> bool:
            return await queries.set_repository(connection, self._tenant, self._repository.id, **values)

        if not await run_retrying(self._database, self._tenant, write):
            raise Removed

    async def _lock(self, connection: AsyncConnection) -> None:
        if not await queries.lock_repository(connection, self._tenant, self._repository.id):
            raise Removed


def cache_of(data_dir: Path, tenant: Tenant, repository_id: int) -> Path:
    """The folder where a source keeps what it need not fetch or read again."""
    return data_dir / "sources" / str(tenant.id) / str(repository_id)
