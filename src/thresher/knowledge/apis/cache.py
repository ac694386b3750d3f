"""The operations and descriptions that this process keeps in memory.

Invariant: operations are keyed by their version's edition and descriptions by the digest of their bytes, so neither is
ever stale; their total size is bounded. Visibility is read from the database on every call.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache

from thresher.core import Caller, NotFound, Tenant
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.heads import Brief, Operations, ProviderHead, VersionHead, operations_of
from thresher.openapi import Description, read_description
from thresher.store import Database, shared

_MOST_OPERATIONS: Final = 50_000
"""About 60 MB. The operations of a single version are kept whatever their number."""
_MOST_TEXT: Final = 12 << 20
"""Bytes of source text behind the parsed descriptions that are kept; parsed, they take 8 to 17 times as much memory."""
_ID: Final = re.compile(r"op_[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class LocatedOperation:
    """An operation with its provider and version."""

    provider: ProviderHead
    version: VersionHead
    brief: Brief


class DescriptionCache:
    """Loads what answers need and caches it.

    Args:
        database: Where providers, operations and descriptions are stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._operations: LRUCache[tuple[int, int], Operations] = LRUCache(
            _MOST_OPERATIONS, lambda one: min(len(one.briefs), _MOST_OPERATIONS)
        )
        self._descriptions: LRUCache[str, tuple[Description, int]] = LRUCache(
            _MOST_TEXT, lambda kept: min(kept[1], _MOST_TEXT)
        )
        self._reading = asyncio.Lock()

    async def directory(self, caller: Caller) -> tuple[ProviderHead, ...]:
        """Return the providers that the caller sees, active or not, by name; one round trip."""
        return await shared(("apis", caller.tenant.id, caller.user), lambda: queries.heads(self._database, caller))

    async def operations(self, tenant: Tenant, version: VersionHead) -> Operations:
        """Return the operations of a version at the edition of `version`, or at a newer one."""
        key = tenant.id, version.id
        kept = self._operations.get(key)
        if kept is None or kept.edition < version.edition:
            briefs = await queries.briefs(self._database, tenant, version.id)
            tags = await queries.tags(self._database, tenant, version.id)
            kept = self._operations[key] = operations_of(version.id, version.edition, briefs, tags)
        return kept

    async def located(self, caller: Caller, endpoint: str) -> tuple[LocatedOperation, ...]:
        """Return the operations with this id among all providers that the caller sees, active or not."""
        if not _ID.fullmatch(endpoint):
            return ()
        holding = await queries.holders(self._database, caller.tenant, endpoint)
        if not holding:
            return ()
        versions = {number for number, _ in holding}
        found = [
            LocatedOperation(provider, version, brief)
            for provider in await self.directory(caller)
            for version in provider.versions
            if version.id in versions
            and (brief := (await self.operations(caller.tenant, version)).by_endpoint.get(endpoint)) is not None
        ]
        return tuple(found)

    async def candidates(
        self, caller: Caller, providers: Sequence[str] = (), *, version: str = ""
    ) -> tuple[LocatedOperation, ...]:
        """Return all operations of the providers that the caller sees, active or not.

        Args:
            caller: The tenant and user.
            providers: Names of the only providers to include; empty for all.
            version: Label of the only version to include; empty for all.
        """
        found = [
            LocatedOperation(provider, one, brief)
            for provider in await self.directory(caller)
            if not providers or provider.name in providers
            for one in provider.versions
            if version in ("", one.label)
            for brief in (await self.operations(caller.tenant, one)).briefs
        ]
        return tuple(found)

    async def source(self, tenant: Tenant, version: int, digest: str) -> bytes:
        """Return the bytes of a description as they were read.

        Raises:
            NotFound: The description was replaced or removed in the meantime.
        """
        body = await queries.read_document(self._database, tenant, version, digest)
        if body is None:
            raise NotFound("The description has changed in the meantime.", hint="Ask again.")
        return await asyncio.to_thread(zlib.decompress, body)

    async def description(self, tenant: Tenant, version: VersionHead) -> Description:
        """Return the parsed description of a version.

        Raises:
            NotFound: Nothing has been read yet, or the description was replaced or removed in the meantime.
        """
        if not version.digest:
            raise NotFound(f"The description '{version.label}' has not been read yet.", hint="Try again in a moment.")
        if (kept := self._kept(version.digest)) is not None:
            return kept
        data = await self.source(tenant, version.id, version.digest)
        async with self._reading:  # concurrent callers parse it once
            if (kept := self._kept(version.digest)) is not None:
                return kept
            found = await asyncio.to_thread(read_description, data, name=version.label)
            self._descriptions[version.digest] = found, len(data)
            return found

    def forget(self, tenant: Tenant, version: int) -> None:
        """Drop the operations of a version."""
        self._operations.pop((tenant.id, version), None)

    def _kept(self, digest: str) -> Description | None:
        found = self._descriptions.get(digest)
        return None if found is None else found[0]
