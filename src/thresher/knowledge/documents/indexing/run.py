"""One run over one repository: read what has changed, embed what has no vectors.

Invariant: the database is consistent after every step, so that the next run completes one that was killed and repeats
at most one batch; texts are held for one batch at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
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
from thresher.jobs import Yielded
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.entries import (
    EDITION,
    KIND,
    IndexedDocument,
    StoredEntries,
    entries_of,
    facets_of,
    language_in,
    stemming_of,
)
from thresher.knowledge.documents.indexing.preparation import FORMAT, PreparedFile, batches, difference, prepare
from thresher.knowledge.documents.models import Repository, Skipped, SourceFile, chunk_id
from thresher.knowledge.documents.queries import RefusedFile, StoredVersion
from thresher.knowledge.documents.reading import UnreadableDocument
from thresher.knowledge.documents.sources import FileSource, SourceLimits, open_source
from thresher.knowledge.documents.uploads import queries as uploads
from thresher.knowledge.documents.uploads.source import UploadSource
from thresher.search import Entry, Filter, PutCounts, SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")

Report: TypeAlias = Callable[[str, int, int], None]
"""Called with (phase, done, total); `reading` counts files, `embedding` chunks."""

OthersWait: TypeAlias = Callable[[], Awaitable[bool]]
"""Returns whether another job waits to read a source; see `Work.others_wait`."""

SKIPPED_KEPT: Final = 1_000
"""Most files that were not read that are listed by name."""
_PUT: Final = 1_024
"""Chunks whose entries are made at once."""
_PROGRESS_SECONDS: Final = 2.0
"""How often the growing number of embedded chunks is stored."""
_LOOK_SECONDS: Final = 0.5
"""How often to check, while chunks are embedded, whether another job waits to read."""


class RepositoryRemoved(Exception):
    """The repository was removed while it was being indexed."""


class IndexRun:
    """One run over one repository."""

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        settings: Settings,
        tenant: Tenant,
        repository: Repository,
        report: Report,
        others_wait: OthersWait | None = None,
    ) -> None:
        self._database, self._index, self._settings = database, index, settings
        self._tenant, self._repository, self._report = tenant, repository, report
        self._others_wait = others_wait
        self._entries = StoredEntries(database, tenant)
        self._scope = Filter(facets_of([repository.id]))
        self._refused: list[RefusedFile] = []
        self._unread: list[Skipped] = []
        self._prefetch: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._prefetch.set_result(None)

    async def run(self, guide: Callable[[AsyncConnection, Tenant, int], Awaitable[None]]) -> bool:
        """Read, then embed; return whether documents have changed.

        Raises:
            Yielded: Another job waits to read; the next run embeds what is left.
        """
        try:
            return await self._run(guide)
        finally:
            self._prefetch.cancel()
            await asyncio.gather(self._prefetch, return_exceptions=True)

    async def _run(self, guide: Callable[[AsyncConnection, Tenant, int], Awaitable[None]]) -> bool:
        await self._set(state="indexing", problem="")
        await self._stem_again()
        try:
            changed = await self._read()
        except (InvalidInput, NotFound, NotAllowed, SourceUnavailable):
            await run_retrying(
                self._database,
                self._tenant,
                lambda connection: queries.note_origin_failure(connection, self._tenant, self._repository.id),
            )
            await self._embed()  # embed what is stored even while its source is unavailable
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

    async def _stem_again(self) -> None:
        """Index the words of documents again that another edition of the stemming has indexed; vectors stay."""
        async with self._database.transaction(self._tenant) as connection:
            stored = await queries.stored_versions(connection, self._tenant, self._repository.id)
        for one in stored:
            if not one.current or one.stemming.startswith(EDITION):
                continue
            ids = [chunk_id(one.id, place) for place in range(one.chunks)]
            stemming = ""
            for first in range(0, len(ids), _PUT):
                entries = await self._entries.of(ids[first : first + _PUT])
                if not stemming:  # its beginning tells the language
                    entries.sort(key=lambda entry: entry.id)
                    stemming = stemming_of("".join(entry.fields["text"] for entry in entries))
                await self._put([replace(entry, language=language_in(stemming)) for entry in entries])
            await run_retrying(
                self._database,
                self._tenant,
                lambda connection, key=one.id, told=stemming: queries.set_stemming(connection, self._tenant, key, told),
            )

    async def _read(self) -> bool:
        """Bring what is stored up to date with the source; return whether anything changed."""
        self._report("listing", 0, 0)
        source = await self._opened()
        try:
            files = await asyncio.to_thread(source.files)
            skipped = await asyncio.to_thread(source.skipped)
            changed = await self._bring_up(source, files)
            await self._describe(skipped, source.version)
        finally:
            await asyncio.to_thread(source.close)
        return changed

    async def _opened(self) -> FileSource:
        if self._repository.origin.kind != "upload":
            return await asyncio.to_thread(self._open)
        async with self._database.transaction(self._tenant) as connection:
            files = await uploads.uploaded_files(connection, self._tenant, self._repository.id)
        loop = asyncio.get_running_loop()

        async def loaded(path: str) -> bytes | None:
            async with self._database.transaction(self._tenant) as connection:
                return await uploads.uploaded_bytes(connection, self._tenant, self._repository.id, path)

        def load(path: str) -> bytes | None:
            return asyncio.run_coroutine_threadsafe(loaded(path), loop).result()

        cache = cache_of(self._settings.data_dir, self._tenant, self._repository.id)
        return await asyncio.to_thread(UploadSource, files, load, cache, SourceLimits.of(self._settings))

    def _open(self) -> FileSource:
        data = self._settings.data_dir
        return open_source(
            self._repository.origin,
            cache_of(data, self._tenant, self._repository.id),
            limits=SourceLimits.of(self._settings),
            forbidden=(data,),
        )

    async def _bring_up(self, source: FileSource, files: Sequence[SourceFile]) -> bool:
        """Store what is new or changed, and remove what is gone; return whether anything was done."""
        async with self._database.transaction(self._tenant) as connection:
            stored = await queries.stored_versions(connection, self._tenant, self._repository.id)
            refused = await queries.refused_files(connection, self._tenant, self._repository.id)
        changes = difference(files, stored, {one.path: one for one in refused})
        self._refused += changes.refused
        await self._sweep(changes.stale)
        for one in changes.finish:
            await self._finish(one)
        done, total = changes.kept + len(changes.finish), len(files)
        if changes.read:
            await self._index.prepare()
        for batch in batches(changes.read):
            self._report("reading", done, total)
            await self._take(await asyncio.to_thread(self._prepare, source, batch))
            done += len(batch)
        lost = {one.path for one in self._refused}
        await self._retire([*changes.gone, *(one for one in stored if one.current and one.path in lost)])
        self._report("reading", total, total)
        return bool(changes.read or changes.finish or changes.gone)

    def _prepare(self, source: FileSource, batch: Sequence[SourceFile]) -> list[PreparedFile]:
        """The files of a batch that can be read; the reason is recorded for the others."""
        made: list[PreparedFile] = []
        for file in batch:
            try:
                made.append(prepare(file, source.read(file.path)))
            except UnreadableDocument as error:
                self._refused.append(RefusedFile(file.path, error.reason, error.detail, file.blob, FORMAT))
            except ThresherError as error:  # gone or changed since it was listed: the next run reads it
                self._unread.append(Skipped(file.path, "unreadable", error.message))
        return made

    async def _take(self, made: Sequence[PreparedFile]) -> None:
        """Store new versions, index their words, and make them current."""
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
        entries = (entry for one in made for entry in entries_of(self._indexed(ids[one.write.path], one), one.texts))
        while some := list(islice(entries, _PUT)):
            if self._prefetch.done():
                self._prefetch = asyncio.create_task(self._index.embed_ahead(self._tenant, KIND, some))
            await self._put(some)
        await self._make_current(list(ids.values()))

    def _indexed(self, document: int, made: PreparedFile) -> IndexedDocument:
        owner = self._repository.owner
        write = made.write
        return IndexedDocument(document, write.title, self._repository.id, owner, made.layout, write.stemming)

    async def _put(self, entries: Sequence[Entry]) -> PutCounts:
        return await self._index.put(self._tenant, KIND, entries, embed=False)

    async def _finish(self, one: StoredVersion) -> None:
        """Complete a version that is stored but not fully indexed."""
        ids = [chunk_id(one.id, place) for place in range(one.chunks)]
        for first in range(0, len(ids), _PUT):
            await self._put(await self._entries.of(ids[first : first + _PUT]))
        await self._make_current([one.id])

    async def _make_current(self, ids: Sequence[int]) -> None:
        async def write(connection: AsyncConnection) -> list[StoredVersion]:
            await self._lock(connection)
            old = await queries.make_current(connection, self._tenant, self._repository.id, ids)
            await queries.recount(connection, self._tenant, self._repository.id)
            return old

        await self._unindex(await run_retrying(self._database, self._tenant, write))

    async def _retire(self, gone: Sequence[StoredVersion]) -> None:
        if not gone:
            return

        async def write(connection: AsyncConnection) -> None:
            await self._lock(connection)
            await queries.retire(connection, self._tenant, self._repository.id, [one.id for one in gone])
            await queries.recount(connection, self._tenant, self._repository.id)

        await run_retrying(self._database, self._tenant, write)
        await self._unindex(gone)

    async def _unindex(self, old: Sequence[StoredVersion]) -> None:
        """Remove old versions from the index; their texts stay until the next run, for answers being written."""
        await self._index.remove(
            self._tenant, KIND, [chunk_id(one.id, place) for one in old for place in range(one.chunks)]
        )

    async def _sweep(self, stale: Sequence[StoredVersion]) -> None:
        """Delete what an earlier run left."""
        if not stale:
            return
        await self._unindex(stale)
        ids = [one.id for one in stale]
        await run_retrying(
            self._database, self._tenant, lambda connection: queries.delete_documents(connection, self._tenant, ids)
        )

    async def _describe(self, skipped: Sequence[Skipped], version: str) -> None:
        """Store which files were not read, and the version of the source."""
        unread = [*self._refused, *(RefusedFile(one.path, one.reason, one.detail) for one in (*self._unread, *skipped))]
        counts = Counter(one.reason for one in unread)

        async def write(connection: AsyncConnection) -> None:
            await self._lock(connection)
            await queries.set_refused(connection, self._tenant, self._repository.id, unread[:SKIPPED_KEPT], counts)
            await queries.set_repository(connection, self._tenant, self._repository.id, version=version, former=None)

        await run_retrying(self._database, self._tenant, write)

    async def _embed(self) -> int:
        """Embed what has no vectors, and store the progress from time to time."""
        progress = asyncio.create_task(self._store_progress())
        try:
            await asyncio.gather(self._prefetch, return_exceptions=True)  # so that no chunk is embedded twice
            return await self._embed_or_yield()
        except EncoderError as error:
            await self._set(state="ready", problem=f"Found by words only for now: {error}")
            raise
        finally:
            progress.cancel()
            await asyncio.gather(progress, return_exceptions=True)
            await self._count_embedded()

    async def _embed_or_yield(self) -> int:
        """Embed what is pending; stop after a batch or more if another job waits to read, since words come first."""
        written = asyncio.Event()

        def progress(done: int, total: int) -> None:
            written.set()
            self._report("embedding", done, total)

        async def other(others_wait: OthersWait) -> int:
            await written.wait()  # so that every attempt gets on
            while True:
                if await others_wait():
                    raise Yielded
                await asyncio.sleep(_LOOK_SECONDS)

        pending = self._index.embed_pending(self._tenant, KIND, self._entries.of, filter=self._scope, progress=progress)
        if self._others_wait is None:
            return await pending
        tasks = [asyncio.create_task(pending), asyncio.create_task(other(self._others_wait))]
        try:
            (first, *_), _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return first.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _store_progress(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            await self._count_embedded()

    async def _count_embedded(self) -> None:
        await self._set(embedded=await self._index.embedded(self._tenant, KIND, self._scope))

    async def _set(self, **values: object) -> None:
        async def write(connection: AsyncConnection) -> bool:
            return await queries.set_repository(connection, self._tenant, self._repository.id, **values)

        if not await run_retrying(self._database, self._tenant, write):
            raise RepositoryRemoved

    async def _lock(self, connection: AsyncConnection) -> None:
        if not await queries.lock_repository(connection, self._tenant, self._repository.id):
            raise RepositoryRemoved


def cache_of(data_dir: Path, tenant: Tenant, repository_id: int) -> Path:
    """The folder in which a source keeps what it need not fetch or read again."""
    return data_dir / "sources" / str(tenant.id) / str(repository_id)
