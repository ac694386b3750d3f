"""Brings what is stored of a repository up to its source: the body of the job `documents.index`.

Words first: as soon as a file's chunks are written it can be found by them; vectors follow when all files are through.

Invariant: what stands in the database after any step is whole, so that a run that was killed is finished by the next,
which repeats at most one batch; texts are held for one batch at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import EncoderError, Settings, StoreUnavailable, Tenant, ThresherError, event
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.describing import Describer
from thresher.knowledge.documents.entries import KIND, Holder, entries_of, facets_of
from thresher.knowledge.documents.guide import guide_of
from thresher.knowledge.documents.models import Repository, Skipped, SourceFile, chunk_id
from thresher.knowledge.documents.preparing import FORMAT, Prepared, prepare
from thresher.knowledge.documents.queries import Refused, Standing
from thresher.knowledge.documents.reading import Unreadable
from thresher.knowledge.documents.sources import Limits, Source, open_source
from thresher.knowledge.documents.stored_entries import StoredEntries
from thresher.llm import Chat
from thresher.search import Entry, Filter, PutCounts, SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")

Report: TypeAlias = Callable[[str, int, int], None]
"""Told (phase, done, total); `reading` counts files, `embedding` chunks."""

BATCH_BYTES: Final = 1 << 20
"""Bytes of files that are prepared, and whose texts are held, at once; a single larger file is a batch of its own."""
BATCH_FILES: Final = 64
SKIPPED_KEPT: Final = 1_000
"""Files that were not read, as far as they are listed by name."""
_PUT: Final = 1_024
"""Chunks whose entries are made at once."""
_TELL_SECONDS: Final = 2.0
"""How often the number of embedded chunks is stored while it grows."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a source has against what is stored.

    Attributes:
        read: Files to read.
        finish: Versions that are stored whole and not current yet: an earlier run was ended before that.
        gone: Current versions of files that are no longer there.
        stale: Versions that are not current and never will be.
        refused: Files that an earlier run could not read, unchanged.
        kept: How many are as they were.
    """

    read: tuple[SourceFile, ...]
    finish: tuple[Standing, ...]
    gone: tuple[Standing, ...]
    stale: tuple[Standing, ...]
    refused: tuple[Refused, ...]
    kept: int


def difference(
    files: Iterable[SourceFile], stored: Sequence[Standing], unreadable: Mapping[str, Refused] = MappingProxyType({})
) -> Difference:
    """Compare by path and blob id; what another edition of the readers made counts as changed.

    Args:
        files: That the source lists.
        stored: Versions that the database holds.
        unreadable: By path, what an earlier run could not read.
    """
    current = {one.path: one for one in stored if one.current}
    others = {(one.path, one.blob): one for one in stored if not one.current and one.format == FORMAT}
    read: list[SourceFile] = []
    finish: list[Standing] = []
    again: list[Refused] = []
    paths: set[str] = set()
    for file in files:
        paths.add(file.path)
        known = current.get(file.path)
        if known is not None and (known.blob, known.format) == (file.blob, FORMAT):
            continue
        if (refused := unreadable.get(file.path)) is not None and (refused.blob, refused.format) == (file.blob, FORMAT):
            again.append(refused)
        elif (ready := others.get((file.path, file.blob))) is not None:
            finish.append(ready)
        else:
            read.append(file)
    kept = len(paths) - len(read) - len(finish)
    there = paths - {one.path for one in again}
    finished = {one.id for one in finish}
    return Difference(
        tuple(read),
        tuple(finish),
        tuple(one for path, one in current.items() if path not in there),
        tuple(one for one in stored if not one.current and one.id not in finished),
        tuple(again),
        kept,
    )


class Indexing:
    """Runs the job; one for any number of repositories.

    Args:
        database: Where documents are stored.
        index: Where they are found.
        settings: The limits of sources, and the data folder.
        chat: The configured model, if there is one: it writes guides.
    """

    def __init__(self, database: Database, index: SearchIndex, settings: Settings, chat: Chat | None = None) -> None:
        self._database = database
        self._index = index
        self._settings = settings
        self._describer = Describer(database, chat, settings.llm_seconds)

    async def run(self, tenant: Tenant, repository_id: int, report: Report) -> None:
        """Index a repository; one that is gone is fine.

        Raises:
            InvalidInput: Its source cannot be read, or is too large.
            NotFound: There is nothing at its place, or no such branch.
            EncoderError: Not everything is embedded; all of it can be found by its words.
            StoreError: The database cannot write.
        """
        async with self._database.transaction(tenant) as connection:
            left = await queries.removing(connection, tenant)
            found = await queries.repository_by_id(connection, tenant, repository_id)
        for gone in left:
            await remove(self._database, self._index, tenant, gone)
        if found is None:
            return
        run = _Run(self._database, self._index, self._settings, tenant, found, report)
        try:
            await run.run(self.guide)
            await self._describer.describe(tenant, repository_id)
        except _Removed:
            await remove(self._database, self._index, tenant, repository_id)
        except asyncio.CancelledError:
            await asyncio.shield(
                self._fail(tenant, repository_id, "The run was ended; refresh the repository to go on.")
            )
            raise
        except EncoderError:
            raise
        except ThresherError as error:
            await self._fail(tenant, repository_id, str(error))
            raise

    async def guide(self, connection: AsyncConnection, tenant: Tenant, repository_id: int) -> None:
        """Build the guide of a repository and its glossary anew; a guide that a person wrote stays."""
        found = await queries.repository_by_id(connection, tenant, repository_id)
        if found is None:
            return
        outlines = await queries.outlines(connection, tenant, repository_id)
        text, acronyms = await asyncio.to_thread(guide_of, found.name, outlines)
        built = {} if found.guide_by == "person" else {"guide": text, "guide_by": "structure"}
        await queries.set_repository(connection, tenant, repository_id, acronyms=acronyms, **built)
        await queries.recount(connection, tenant, repository_id)

    async def _fail(self, tenant: Tenant, repository_id: int, problem: str) -> None:
        """Say what is wrong, where that can be said."""
        values = {"state": "failed", "problem": problem}
        try:
            async with self._database.transaction(tenant) as connection:
                await queries.set_repository(connection, tenant, repository_id, **values)
        except StoreUnavailable as lost:
            event(_logger, "index problem not stored", level=logging.WARNING, reason=str(lost))


class _Removed(Exception):
    """The repository was removed while it was indexed."""


class _Run:
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

    async def run(self, guide: Callable[[AsyncConnection, Tenant, int], Awaitable[None]]) -> None:
        await self._set(state="indexing", problem="")
        self._report("listing", 0, 0)
        source = await asyncio.to_thread(self._open)
        try:
            files = await asyncio.to_thread(source.files)
            skipped = await asyncio.to_thread(source.skipped)
            changed = await self._bring_up(source, files)
            version = source.version
        finally:
            await asyncio.to_thread(source.close)
        await self._describe(skipped, version)
        if changed or not self._repository.guide:
            await run_retrying(
                self._database, self._tenant, lambda connection: guide(connection, self._tenant, self._repository.id)
            )
        try:
            embedded = await self._embed()
        except EncoderError as error:
            await self._set(state="ready", problem=f"Found by words alone as yet: {error}")
            raise
        finally:
            await self._count_embedded()
        await self._set(state="ready", problem="", indexed_at=datetime.now(UTC))
        fields = {"tenant": self._tenant.id, "repository": self._repository.id, "files": len(files)}
        event(_logger, "repository indexed", **fields, changed=changed, embedded=embedded)

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
            await queries.set_repository(connection, self._tenant, self._repository.id, version=version)

        await run_retrying(self._database, self._tenant, write)

    async def _embed(self) -> int:
        """Give vectors to what has none yet, and tell now and then how many have."""
        telling = asyncio.create_task(self._tell())
        try:
            return await self._index.embed_pending(
                self._tenant, KIND, self._entries.of, filter=self._scope, progress=self._embedding
            )
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

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
            raise _Removed

    async def _lock(self, connection: AsyncConnection) -> None:
        if not await queries.lock_repository(connection, self._tenant, self._repository.id):
            raise _Removed


def batches(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Files in order, grouped into what is held at once."""
    groups: list[list[SourceFile]] = []
    size = 0
    for file in files:
        size += file.size
        if groups and len(groups[-1]) < BATCH_FILES and size <= BATCH_BYTES:
            groups[-1].append(file)
        else:
            groups.append([file])
            size = file.size
    return groups


def cache_of(data_dir: Path, tenant: Tenant, repository_id: int) -> Path:
    """The folder where a source keeps what it need not fetch or read again."""
    return data_dir / "sources" / str(tenant.id) / str(repository_id)


async def remove(database: Database, index: SearchIndex, tenant: Tenant, repository_id: int) -> None:
    """Take a repository whose removal was begun out of the index, and remove its rows; may be called again."""
    async with database.transaction(tenant) as connection:
        stored = await queries.standing(connection, tenant, repository_id)
    await index.remove(tenant, KIND, [chunk_id(one.id, place) for one in stored for place in range(one.chunks)])
    await run_retrying(
        database, tenant, lambda connection: queries.delete_repository(connection, tenant, repository_id)
    )
