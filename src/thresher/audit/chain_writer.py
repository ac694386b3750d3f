"""Adds links to chains: simultaneous links are written together, and other processes may write the same chain.

Invariant: `append` returns a position only when its link is committed. If the stored head fails verification, nothing
is appended: an action that needs an entry in the log does not happen.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from psycopg.errors import ForeignKeyViolation, UniqueViolation

from thresher.audit import queries
from thresher.audit.anchors import Anchors
from thresher.audit.links import NOTHING, ChainHead, ChainLink, LinkContent, Signer
from thresher.core import AuditBroken, NotFound, Tenant
from thresher.store import Database

_TOGETHER: Final = 50
"""Links in one statement."""
_TRIES: Final = 4
"""How often a moved head is tried again before it is locked."""


@dataclass(slots=True)
class _Queue:
    """Links of one tenant that wait for their position, and the task that writes them."""

    waiting: list[tuple[LinkContent, asyncio.Future[int]]] = field(
        default_factory=list[tuple[LinkContent, asyncio.Future[int]]]
    )
    task: asyncio.Task[None] | None = None


class ChainWriter:
    """The writer of one process.

    Args:
        database: The database of the chains.
        signer: Makes their hashes.
        anchors: Notes their last links.
    """

    def __init__(self, database: Database, signer: Signer, anchors: Anchors) -> None:
        self._database = database
        self._signer = signer
        self._anchors = anchors
        self._queues: dict[int, _Queue] = {}
        self._heads: dict[int, ChainHead] = {}

    async def append(self, tenant: Tenant, content: LinkContent) -> int:
        """Add a link, even if the caller is cancelled meanwhile.

        Returns:
            Its position.

        Raises:
            AuditBroken: The stored head fails verification.
            NotFound: The tenant was dropped meanwhile.
            StoreUnavailable: The database cannot be reached; whether the link was written is unknown.
        """
        queue = self._queues.setdefault(tenant.id, _Queue())
        place = asyncio.get_running_loop().create_future()
        queue.waiting.append((content, place))
        if queue.task is None:
            queue.task = asyncio.create_task(self._empty(tenant, queue))
        return await place

    async def settle(self) -> None:
        """Wait until no link waits."""
        while tasks := [queue.task for queue in self._queues.values() if queue.task is not None]:
            await asyncio.wait(tasks)

    def forget(self, tenant: Tenant) -> None:
        """Read the head again before the next link."""
        self._heads.pop(tenant.id, None)

    async def restart(self, tenant: Tenant) -> int:
        """Add a link behind the stored ones, and a head that names it.

        Returns:
            Its position.
        """
        await self.settle()
        anchor = self._anchors.read(tenant)
        async with self._database.transaction(tenant) as connection:
            await queries.lock_head(connection, tenant)
            ends = await queries.read_ends(connection, tenant)
            last = await queries.read_links(connection, tenant, ends.last - 1, ends.last, 1)
            former = ChainHead(
                max(ends.last, ends.head.id if ends.head else 0, anchor.id if anchor else 0),
                last[0].hash if last else NOTHING,
                b"",
                b"",
            )
            now = dt.datetime.now(dt.UTC)
            content = LinkContent("restarted", now, subject=ends.last, note=former.hash.hex())
            links, head = self._follow(tenant, former, [content])
            await queries.replace_head(connection, tenant, head, links)
        return self._written(tenant, head, links)[0]

    async def _empty(self, tenant: Tenant, queue: _Queue) -> None:
        try:
            while queue.waiting:
                batch, queue.waiting = queue.waiting[:_TOGETHER], queue.waiting[_TOGETHER:]
                # Gathered, since an error belongs to the waiting callers.
                (written,) = await asyncio.gather(
                    self._write(tenant, [content for content, _ in batch]), return_exceptions=True
                )
                _resolve([place for _, place in batch], written)
        finally:
            queue.task = None
            for _, place in queue.waiting:
                place.cancel()
            queue.waiting.clear()

    async def _write(self, tenant: Tenant, contents: Sequence[LinkContent]) -> list[int]:
        try:
            for _ in range(_TRIES):
                former = self._heads.get(tenant.id) or await self._read_head(tenant)
                links, head = self._follow(tenant, former, contents)
                if await queries.append(self._database, tenant, former, head, links) or await self._is_in(
                    tenant, former, links[-1]
                ):
                    return self._written(tenant, head, links)
            return await self._write_locked(tenant, contents)
        except ForeignKeyViolation:
            self.forget(tenant)
            raise NotFound("The tenant is gone, and its audit log with it.", hint="Sign in again.") from None
        except UniqueViolation:
            self.forget(tenant)
            raise broken("has links behind its head") from None

    async def _is_in(self, tenant: Tenant, former: ChainHead, link: ChainLink) -> bool:
        """Return whether a link was written, which is unknown after a lost connection."""
        self.forget(tenant)
        head, found = await queries.read_head(self._database, tenant, link.id)
        if head is None or head.id < former.id:
            raise broken("was cut")
        return found == link.hash

    async def _write_locked(self, tenant: Tenant, contents: Sequence[LinkContent]) -> list[int]:
        """Write one writer after the other, if many processes write at once."""
        async with self._database.transaction(tenant) as connection:
            former = self._checked(tenant, await queries.lock_head(connection, tenant))
            links, head = self._follow(tenant, former, contents)
            await queries.append_locked(connection, tenant, former, head, links)
        return self._written(tenant, head, links)

    def _follow(
        self, tenant: Tenant, former: ChainHead, contents: Sequence[LinkContent]
    ) -> tuple[list[ChainLink], ChainHead]:
        links: list[ChainLink] = []
        place, previous = former.id, former.hash
        for content in contents:
            links.append(self._signer.link(tenant.id, place := place + 1, previous, content))
            previous = links[-1].hash
        return links, self._signer.head(tenant.id, place, previous)

    def _written(self, tenant: Tenant, head: ChainHead, links: Sequence[ChainLink]) -> list[int]:
        self._heads[tenant.id] = head
        self._anchors.note(tenant, head.id, head.hash)
        return [link.id for link in links]

    async def _read_head(self, tenant: Tenant) -> ChainHead:
        head, _ = await queries.read_head(self._database, tenant, 0)
        if head is None:
            await queries.begin(self._database, tenant, self._signer.head(tenant.id, 0, NOTHING))
            head, _ = await queries.read_head(self._database, tenant, 0)
        return self._checked(tenant, head)

    def _checked(self, tenant: Tenant, head: ChainHead | None) -> ChainHead:
        if head is None:
            raise broken("has lost its head")
        if not self._signer.seals(tenant.id, head):
            changed = "has a head that was changed" if head.key == self._signer.key else "was written with another key"
            raise broken(changed)
        return head


def _resolve(places: Sequence[asyncio.Future[int]], written: list[int] | BaseException) -> None:
    """Set the result for those who still wait."""
    for index, place in enumerate(places):
        if place.done():
            continue
        if isinstance(written, BaseException):
            place.set_exception(written)
        else:
            place.set_result(written[index])


def broken(what: str) -> AuditBroken:
    """Return the error for adding to a log that is not intact."""
    return AuditBroken(
        f"The audit log {what}, so nothing is added to it and no statement runs.",
        hint="See what happened: thresher audit verify. When that is settled: thresher audit restart.",
    )
