"""Imports descriptions: the body of the job `apis.sync`.

Operations can be found by their words as soon as they are written; vectors follow.

Invariant: answers come from one complete description; one that cannot be read leaves the last good one in place. After
a kill the next run resumes from what is stored. Of concurrent writers, the last to check makes the index match the
rows.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import InvalidInput, StoreUnavailable, Tenant, event
from thresher.jobs import Work
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.ingestion.rows import (
    FORM,
    KIND,
    DescriptionRows,
    IndexScope,
    description_rows,
    entries_of,
    facets_of,
)
from thresher.knowledge.apis.queries import SyncState
from thresher.openapi import Description, read_description
from thresher.search import Entry, Filter, SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")

Report: TypeAlias = Callable[[str, int, int], None]
"""Called with (phase, done, total)."""

_PUT: Final = 512
"""Operations whose wordings are loaded at a time."""


class DescriptionSync:
    """Imports descriptions; one instance serves any number of them.

    Args:
        database: Where descriptions are stored.
        index: Where operations are found.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._database = database
        self._index = index

    @property
    def runs(self) -> bool:
        """Whether a model is known, so that what it has embedded can be recorded."""
        return bool(self._index.edition(KIND))

    async def run(self, tenant: Tenant, version: int, report: Report) -> None:
        """Do everything that is left to do for a version; a removed version is skipped.

        Raises:
            InvalidInput: Nothing in the description can be read.
            EncoderError: Some operations have no vectors yet; all can be found by their words.
            StoreError: The database cannot write.
        """
        await self.remove_left(tenant)
        try:
            report("reading", 0, 0)
            if await self.apply_newest(tenant, version):
                report("indexing", 0, 0)
                await self.put(tenant, version)
                report("embedding", 0, 0)
                await self.embed(tenant, version, lambda done, total: report("embedding", done, total))
        except asyncio.CancelledError:
            await asyncio.shield(self.fail(tenant, version, "The sync was stopped; sync again to continue."))
            raise
        except InvalidInput as error:
            await self.fail(tenant, version, str(error))
            raise

    async def apply_newest(self, tenant: Tenant, version: int, read: Description | None = None) -> bool:
        """Start answering from the newest bytes of a version; return whether the version still exists.

        Args:
            tenant: The owner of the version.
            version: Row id.
            read: A description that is already parsed, used if it is the newest.

        Raises:
            InvalidInput: Nothing in the description can be read.
        """
        state = await self._state(tenant, version)
        if state is None:
            return False
        digest = state.wanted or state.digest
        if not digest or (not state.wanted and state.form == FORM):
            return True
        if read is None or read.digest != digest:
            body = await queries.read_document(self._database, tenant, version, digest)
            if body is None:  # replaced by newer bytes
                return True
            read = await asyncio.to_thread(_read, body, state.source)
        new = await asyncio.to_thread(description_rows, read, state.name, state.label)
        await run_retrying(self._database, tenant, lambda link: _write(link, tenant, version, digest, new))
        return True

    async def put(self, tenant: Tenant, version: int) -> None:
        """Index the operations of a version by their words."""
        put: list[int] = []
        while True:
            state = await self._state(tenant, version)
            if state is None:  # removed in the meantime: take out what was put in
                await self._index.remove(tenant, KIND, put)
                return
            if not self.is_due(state):
                return
            async with self._database.transaction(tenant) as link:
                gone = await queries.gone_ids(link, tenant, version)
                put = await queries.current_ids(link, tenant, version)
            await self._index.remove(tenant, KIND, gone)
            for first in range(0, len(put), _PUT):
                entries = await self._entries(tenant, state, put[first : first + _PUT])
                await self._index.put(tenant, KIND, entries, embed=False)
            if await run_retrying(
                self._database, tenant, lambda link, seen=state, ids=gone: self._noted(link, tenant, seen, ids)
            ):
                event(_logger, "operations found", tenant=tenant.id, provider=state.name, operations=len(put))
                return

    async def embed(self, tenant: Tenant, version: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed the operations of a version that have no vectors.

        Raises:
            EncoderError: The encoder cannot answer; vectors written before stay.
        """

        async def entries(ids: Sequence[int]) -> list[Entry]:
            state = await self._state(tenant, version)
            return await self._entries(tenant, state, ids) if state is not None else []

        scope = Filter(facets_of([version]))
        await self._index.embed_pending(tenant, KIND, entries, filter=scope, progress=progress)
        await self._end(tenant, version)

    def is_due(self, state: SyncState) -> bool:
        """Return whether a version is not completely indexed, or was indexed by another model."""
        now = self._note(state)
        same = state.indexed == now if self.runs else state.indexed.startswith(now)
        return bool(state.digest) and not same

    async def fail(self, tenant: Tenant, version: int, reason: str) -> None:
        """Record a failure if the database can be reached; the last good content stays."""
        values = {"state": "failed", "failure": reason[:2_000]}
        try:
            await run_retrying(
                self._database, tenant, lambda link: queries.set_version(link, tenant, version, **values)
            )
        except StoreUnavailable as lost:
            event(_logger, "sync problem not stored", level=logging.WARNING, reason=str(lost))

    async def remove_left(self, tenant: Tenant) -> None:
        """Finish pending removals; safe to repeat and to run concurrently."""
        async with self._database.transaction(tenant) as link:
            left = await queries.removing(link, tenant)
        for version in left:
            async with self._database.transaction(tenant) as link:
                ids = await queries.all_ids(link, tenant, version)
            await self._index.remove(tenant, KIND, ids)
            await run_retrying(
                self._database, tenant, lambda link, gone=version: queries.delete_version(link, tenant, gone)
            )
        await run_retrying(self._database, tenant, lambda link: queries.delete_providers(link, tenant))

    async def _state(self, tenant: Tenant, version: int) -> SyncState | None:
        async with self._database.transaction(tenant) as link:
            found = await queries.sync_states(link, tenant, version=version)
        return found[0] if found else None

    async def _entries(self, tenant: Tenant, state: SyncState, ids: Sequence[int]) -> list[Entry]:
        async with self._database.transaction(tenant) as link:
            wordings = await queries.wordings(link, tenant, state.id, ids)
        return list(entries_of(IndexScope(state.provider, state.id, state.owner), wordings))

    async def _noted(self, link: AsyncConnection, tenant: Tenant, seen: SyncState, gone: Sequence[int]) -> bool:
        """Record that a version is indexed; return False if its operations have changed since."""
        now = await queries.sync_states(link, tenant, version=seen.id, lock=True)
        if not now or now[0].edition != seen.edition:
            return False
        await queries.delete_gone(link, tenant, seen.id, gone)
        await queries.set_version(link, tenant, seen.id, indexed=self._note(seen))
        return True

    async def _end(self, tenant: Tenant, version: int) -> None:
        """Mark a version as ready if nothing is left to do."""

        async def write(link: AsyncConnection) -> None:
            now = await queries.sync_states(link, tenant, version=version, lock=True)
            if now and not now[0].wanted and not self.is_due(now[0]):
                await queries.set_version(link, tenant, version, state="ready", failure="")

        await run_retrying(self._database, tenant, write)

    def _note(self, state: SyncState) -> str:
        return f"{FORM} {state.digest} {state.edition} {self._index.edition(KIND)}"


def _read(body: bytes, source: str) -> Description:
    return read_description(zlib.decompress(body), name=source)


async def _write(link: AsyncConnection, tenant: Tenant, version: int, digest: str, new: DescriptionRows) -> None:
    """Replace all operations of a version at once."""
    found = await queries.sync_states(link, tenant, version=version, lock=True)
    if not found or digest not in (found[0].wanted, found[0].digest):
        return
    now = found[0]
    before = await queries.digests(link, tenant, version)
    after = new.digests
    values: dict[str, Any] = {"wanted": "", "counts": counted(before, after)} if digest == now.wanted else {}
    if (now.digest, now.form) != (digest, FORM):
        await queries.mark_gone(link, tenant, version, [key for key in before if key not in after])
        await queries.upsert_operations(link, tenant, version, new.rows)
        values |= {**new.version, "operations": len(after), "digest": digest, "form": FORM}
        values |= {"edition": now.edition + 1, "state": "indexing", "failure": ""}
    if values:  # nothing if another run was faster
        await queries.set_version(link, tenant, version, **values)
    await queries.delete_documents(link, tenant, version, [digest, "" if digest == now.wanted else now.wanted])


def counted(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> dict[str, int]:
    """Count the operations added, changed, removed and unchanged.

    Args:
        before: Method and path to digest.
        after: Method and path to digest.
    """
    kept = before.keys() & after.keys()
    unchanged = sum(before[key] == after[key] for key in kept)
    return {
        "added": len(after.keys() - before.keys()),
        "changed": len(kept) - unchanged,
        "removed": len(before.keys() - after.keys()),
        "unchanged": unchanged,
    }


TASK: Final = "apis.sync"


class SyncTask:
    """The job that imports a description.

    Invariant: it keeps no state between jobs and reaches no network; the bytes are in the database.

    Args:
        database: Where descriptions are stored.
        index: Where operations are found.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._sync = DescriptionSync(database, index)

    @property
    def name(self) -> str:
        """See `Task.name`."""
        return TASK

    async def run(self, work: Work) -> None:
        """See `Task.run`."""
        await self._sync.run(work.tenant, work.subject, work.report)
