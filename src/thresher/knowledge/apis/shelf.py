"""What this process holds of providers: their operations in brief, and descriptions that were read.

Invariant: operations are kept by their version's edition, descriptions by the digest of their bytes, so that neither
can be out of date; all of it together is bounded. Who sees what is asked of the database every time.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.core import Caller, NotFound, Tenant
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.heads import Brief, Operations, ProviderHead, VersionHead, operations_of
from thresher.openapi import Description, read_description
from thresher.store import Database

_MOST_OPERATIONS: Final = 50_000
"""About 60 MB; the operations of one version are kept however many."""
_MOST_TEXT: Final = 12 << 20
"""Bytes of the sources of the descriptions that are kept read: 8 to 17 times as much memory."""
_ID: Final = re.compile(r"op_[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Located:
    """An operation with the provider and the version that it belongs to."""

    provider: ProviderHead
    version: VersionHead
    brief: Brief


class Shelf:
    """Reads what answers need, and keeps it.

    Args:
        database: Where it is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._operations: OrderedDict[tuple[int, int], Operations] = OrderedDict()
        self._descriptions: OrderedDict[str, tuple[Description, int]] = OrderedDict()
        self._reading = asyncio.Lock()

    async def directory(self, caller: Caller) -> tuple[ProviderHead, ...]:
        """The providers that the caller sees, active or not, by name; one round trip."""
        return await queries.heads(self._database, caller)

    async def operations(self, tenant: Tenant, version: VersionHead) -> Operations:
        """The operations of a version, at the edition of `version` or a newer one."""
        key = tenant.id, version.id
        kept = self._operations.get(key)
        if kept is None or kept.edition < version.edition:
            briefs = await queries.briefs(self._database, tenant, version.id)
            tags = await queries.tags(self._database, tenant, version.id)
            kept = self._operations[key] = operations_of(version.id, version.edition, briefs, tags)
        self._operations.move_to_end(key)
        self._bound()
        return kept

    async def located(self, caller: Caller, endpoint: str) -> tuple[Located, ...]:
        """The operations that go by an id, of all providers that the caller sees, active or not."""
        if not _ID.fullmatch(endpoint):
            return ()
        holding = await queries.holders(self._database, caller.tenant, endpoint)
        if not holding:
            return ()
        versions = {number for number, _ in holding}
        found = [
            Located(provider, version, brief)
            for provider in await self.directory(caller)
            for version in provider.versions
            if version.id in versions
            and (brief := (await self.operations(caller.tenant, version)).by_endpoint.get(endpoint)) is not None
        ]
        return tuple(found)

    async def candidates(
        self, caller: Caller, providers: Sequence[str] = (), *, version: str = ""
    ) -> tuple[Located, ...]:
        """All operations of the providers that the caller sees, active or not.

        Args:
            caller: Who asks.
            providers: Only of these, by name.
            version: Only of descriptions with this label.
        """
        found = [
            Located(provider, one, brief)
            for provider in await self.directory(caller)
            if not providers or provider.name in providers
            for one in provider.versions
            if version in ("", one.label)
            for brief in (await self.operations(caller.tenant, one)).briefs
        ]
        return tuple(found)

    async def source(self, tenant: Tenant, version: int, digest: str) -> bytes:
        """The bytes of a description as they were read.

        Raises:
            NotFound: They were replaced or removed meanwhile.
        """
        body = await queries.read_document(self._database, tenant, version, digest)
        if body is None:
            raise NotFound("The description has changed meanwhile.", hint="Ask again.")
        return await asyncio.to_thread(zlib.decompress, body)

    async def description(self, tenant: Tenant, version: VersionHead) -> Description:
        """The description of a version, read.

        Raises:
            NotFound: There is none yet, or it was replaced or removed meanwhile.
        """
        if not version.digest:
            raise NotFound(f"The description '{version.label}' was not read yet.", hint="Try again in a moment.")
        if (kept := self._kept(version.digest)) is not None:
            return kept
        data = await self.source(tenant, version.id, version.digest)
        async with self._reading:  # so that many who ask at once read it once
            if (kept := self._kept(version.digest)) is not None:
                return kept
            found = await asyncio.to_thread(read_description, data, name=version.label)
            self._descriptions[version.digest] = found, len(data)
            while len(self._descriptions) > 1 and sum(size for _, size in self._descriptions.values()) > _MOST_TEXT:
                self._descriptions.popitem(last=False)
            return found

    def forget(self, tenant: Tenant, version: int) -> None:
        """Let the operations of a version go."""
        self._operations.pop((tenant.id, version), None)

    def _kept(self, digest: str) -> Description | None:
        if (found := self._descriptions.get(digest)) is None:
            return None
        self._descriptions.move_to_end(digest)
        return found[0]

    def _bound(self) -> None:
        while len(self._operations) > 1 and sum(len(o.briefs) for o in self._operations.values()) > _MOST_OPERATIONS:
            self._operations.popitem(last=False)
