"""Brings what is stored of a description up to its bytes: the body of the job `apis.sync`.

Words first: as soon as the operations are written they can be found by them; vectors follow.

Invariant: what is answered from is one description, whole; one that cannot be read leaves the last good one as it was.
Whoever is killed, the next run goes on from what is stored; whoever writes at the same time, the last to look sees that
the index holds what the rows say.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import InvalidInput, StoreUnavailable, Tenant, event
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.entries import KIND, Place, entries_of, facets_of
from thresher.knowledge.apis.queries import Standing
from thresher.knowledge.apis.rows import FORM, Prepared, prepared
from thresher.openapi import Description, read_description
from thresher.search import Entry, Filter, SearchIndex
from thresher.store import Database, run_retrying

_logger = logging.getLogger("thresher.knowledge")

Report: TypeAlias = Callable[[str, int, int], None]
"""Told (phase, done, total)."""

_PUT: Final = 512
"""Operations whose wordings are held at a time."""


class Syncing:
    """Takes descriptions over; one for any number of them.

    Args:
        database: Where they are stored.
        index: Where operations are found.
    """

    def __init__(self, database: Database, index: SearchIndex) -> None:
        self._database = database
        self._index = index

    @property
    def runs(self) -> bool:
        """Whether a model is known to run, so that it can be told what it has embedded."""
        return bool(self._index.edition(KIND))

    async def run(self, tenant: Tenant, version: int, report: Report) -> None:
        """Do all that is still to do for a version; one that is gone is fine.

        Raises:
            InvalidInput: Nothing of the description can be read.
            EncoderError: Not everything is embedded; all of it can be found by its words.
            StoreError: The database cannot write.
        """
        await self.remove_left(tenant)
        try:
            report("reading", 0, 0)
            if await self.take(tenant, version):
                report("indexing", 0, 0)
                await self.put(tenant, version)
                report("embedding", 0, 0)
                await self.embed(tenant, version, lambda done, total: report("embedding", done, total))
        except asyncio.CancelledError:
            await asyncio.shield(self.fail(tenant, version, "The sync was ended; sync again to go on."))
            raise
        except InvalidInput as error:
            await self.fail(tenant, version, str(error))
            raise

    async def take(self, tenant: Tenant, version: int, read: Description | None = None) -> bool:
        """Have the newest bytes of a version answered from; whether the version is still there.

        Args:
            tenant: Whose.
            version: Which.
            read: A description that was read already; it serves where it is the newest.

        Raises:
            InvalidInput: Nothing of them can be read.
        """
        standing = await self._standing(tenant, version)
        if standing is None:
            return False
        digest = standing.wanted or standing.digest
        if not digest or (not standing.wanted and standing.form == FORM):
            return True
        if read is None or read.digest != digest:
            body = await queries.read_document(self._database, tenant, version, digest)
            if body is None:  # newer bytes took its place
                return True
            read = await asyncio.to_thread(_read, body, standing.source)
        new = await asyncio.to_thread(prepared, read, standing.name, standing.label)
        await run_retrying(self._database, tenant, lambda link: _write(link, tenant, version, digest, new))
        return True

    async def put(self, tenant: Tenant, version: int) -> None:
        """Have the operations of a version found by their words, as the rows say."""
        put: list[int] = []
        while True:
            standing = await self._standing(tenant, version)
            if standing is None:  # it was removed meanwhile; what was put is taken out again
                await self._index.remove(tenant, KIND, put)
                return
            if not self.is_due(standing):
                return
            async with self._database.transaction(tenant) as link:
                gone = await queries.gone_ids(link, tenant, version)
                put = await queries.current_ids(link, tenant, version)
            await self._index.remove(tenant, KIND, gone)
            for first in range(0, len(put), _PUT):
                entries = await self._entries(tenant, standing, put[first : first + _PUT])
                await self._index.put(tenant, KIND, entries, embed=False)
            if await run_retrying(
                self._database, tenant, lambda link, seen=standing, ids=gone: self._noted(link, tenant, seen, ids)
            ):
                event(_logger, "operations found", tenant=tenant.id, provider=standing.name, operations=len(put))
                return

    async def embed(self, tenant: Tenant, version: int, progress: Callable[[int, int], None] | None = None) -> None:
        """Give vectors to the operations of a version that have none.

        Raises:
            EncoderError: The encoder cannot answer; what was written before stays.
        """

        async def entries(ids: Sequence[int]) -> list[Entry]:
            standing = await self._standing(tenant, version)
            return await self._entries(tenant, standing, ids) if standing is not None else []

        scope = Filter(facets_of([version]))
        await self._index.embed_pending(tenant, KIND, entries, filter=scope, progress=progress)
        await self._end(tenant, version)

    def is_due(self, standing: Standing) -> bool:
        """Whether a version was not put wholly, or by another model's rules."""
        now = self._note(standing)
        same = standing.indexed == now if self.runs else standing.indexed.startswith(now)
        return bool(standing.digest) and not same

    async def fail(self, tenant: Tenant, version: int, reason: str) -> None:
        """Say what is wrong, where that can be said; what was good stays."""
        values = {"state": "failed", "failure": reason[:2_000]}
        try:
            await run_retrying(
                self._database, tenant, lambda link: queries.set_version(link, tenant, version, **values)
            )
        except StoreUnavailable as lost:
            event(_logger, "sync problem not stored", level=logging.WARNING, reason=str(lost))

    async def remove_left(self, tenant: Tenant) -> None:
        """Finish the removals that were begun; may be called again and by many."""
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

    async def _standing(self, tenant: Tenant, version: int) -> Standing | None:
        async with self._database.transaction(tenant) as link:
            found = await queries.standing(link, tenant, version=version)
        return found[0] if found else None

    async def _entries(self, tenant: Tenant, standing: Standing, ids: Sequence[int]) -> list[Entry]:
        async with self._database.transaction(tenant) as link:
            wordings = await queries.wordings(link, tenant, standing.id, ids)
        return list(entries_of(Place(standing.provider, standing.id, standing.owner), wordings))

    async def _noted(self, link: AsyncConnection, tenant: Tenant, seen: Standing, gone: Sequence[int]) -> bool:
        """Note that a version was put, where its operations are still those that were; False where they are not."""
        now = await queries.standing(link, tenant, version=seen.id, lock=True)
        if not now or now[0].edition != seen.edition:
            return False
        await queries.delete_gone(link, tenant, seen.id, gone)
        await queries.set_version(link, tenant, seen.id, indexed=self._note(seen))
        return True

    async def _end(self, tenant: Tenant, version: int) -> None:
        """Say that everything is done, where it is."""

        async def write(link: AsyncConnection) -> None:
            now = await queries.standing(link, tenant, version=version, lock=True)
            if now and not now[0].wanted and not self.is_due(now[0]):
                await queries.set_version(link, tenant, version, state="ready", failure="")

        await run_retrying(self._database, tenant, write)

    def _note(self, standing: Standing) -> str:
        return f"{FORM} {standing.digest} {standing.edition} {self._index.edition(KIND)}"


def _read(body: bytes, source: str) -> Description:
    return read_description(zlib.decompress(body), name=source)


async def _write(link: AsyncConnection, tenant: Tenant, version: int, digest: str, new: Prepared) -> None:
    """Answer from other bytes from now on, all operations at once."""
    found = await queries.standing(link, tenant, version=version, lock=True)
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
    if values:  # nothing where another run was quicker
        await queries.set_version(link, tenant, version, **values)
    await queries.delete_documents(link, tenant, version, [digest, "" if digest == now.wanted else now.wanted])


def counted(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> dict[str, int]:
    """How many operations were added, changed, removed and kept.

    Args:
        before: Method and path to digest.
        after: Likewise.
    """
    kept = before.keys() & after.keys()
    unchanged = sum(before[key] == after[key] for key in kept)
    return {
        "added": len(after.keys() - before.keys()),
        "changed": len(kept) - unchanged,
        "removed": len(before.keys() - after.keys()),
        "unchanged": unchanged,
    }
