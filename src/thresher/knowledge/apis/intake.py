"""Keeps the bytes of descriptions, and has them taken over.

Invariant: new bytes, the version that wants them and the job that takes them over are written in one transaction.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, InvalidInput, NotFound, Tenant
from thresher.jobs import Jobs
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.fetching import Read, Seen
from thresher.knowledge.apis.naming import declared_in, is_json, looks_readable
from thresher.knowledge.apis.queries import Standing
from thresher.knowledge.apis.syncing import Syncing
from thresher.knowledge.apis.task import TASK
from thresher.openapi import Description, read_description
from thresher.store import Database, run_retrying

TAKEN_HERE: Final = 6 << 20
"""Bytes of a description that is read in this process at once, a second of work in a thread; a larger one is a
worker's."""
_YAML: Final = 4
"""A byte of YAML takes as long as so many of JSON."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The bytes of a description, ready to be stored.

    Attributes:
        source: Where they were read.
        seen: What to ask its server with the next time.
        digest: SHA-256 of the bytes, hexadecimal.
        size: How many there are.
        body: They, compressed.
        declared: What they say of their version.
        description: What they say, where they were read at once.
    """

    source: str
    seen: Seen
    digest: str
    size: int
    body: bytes = field(repr=False)
    declared: str = ""
    description: Description | None = field(default=None, repr=False)

    @property
    def bare(self) -> Packed:
        """The same, to be read again by a worker."""
        return replace(self, description=None)


class Intake:
    """Keeps bytes for versions.

    Args:
        database: Where they are stored.
        jobs: Take them over.
        syncing: The same, in this process.
    """

    def __init__(self, database: Database, jobs: Jobs, syncing: Syncing) -> None:
        self._database = database
        self._jobs = jobs
        self._syncing = syncing
        self._reading = asyncio.Lock()

    async def pack(self, source: str, read: Read) -> Packed:
        """What was read, ready to be stored; one at a time, for each takes memory and the interpreter.

        Raises:
            InvalidInput: It is no description; of a large one that shows at the first look, or in a worker.
        """
        async with self._reading:
            return await asyncio.to_thread(_packed, source, read.data or b"", read.seen)

    async def keep(self, link: AsyncConnection, caller: Caller, version: int, new: Packed) -> None:
        """Keep new bytes, and have them taken over.

        Raises:
            NotFound: The version was removed meanwhile.
        """
        values = {"source": new.source, "etag": new.seen.etag, "modified": new.seen.modified, "wanted": new.digest}
        if not await queries.set_version(link, caller.tenant, version, **values):
            raise NotFound("The version was removed meanwhile.", hint="List the providers.")
        await queries.put_document(link, caller.tenant, version, new.digest, size=new.size, body=new.body)
        await self.defer(link, caller, version)

    async def confirm(self, link: AsyncConnection, caller: Caller, one: Standing, same: Packed | None) -> None:
        """Note that a source was read and says what it said; what is not through goes on."""
        values: dict[str, Any] = {"synced_at": queries.NOW}
        if same is not None:
            values |= {"etag": same.seen.etag, "modified": same.seen.modified}
        await queries.set_version(link, caller.tenant, one.id, **values)
        if one.state == "failed" or one.wanted or self._syncing.is_due(one):
            await self.defer(link, caller, one.id)

    async def defer(self, link: AsyncConnection, caller: Caller, version: int) -> None:
        """Have a worker do what is still to do for a version."""
        job = await self._jobs.defer(link, caller.tenant, TASK, version, owner=caller.user)
        values = {"job": job.id, "state": "waiting", "failure": "", "synced_at": queries.NOW}
        await queries.set_version(link, caller.tenant, version, **values)

    async def take_small(self, tenant: Tenant, versions: Sequence[int], packed: Sequence[Packed]) -> None:
        """Have descriptions that were read at once found by their words; the job does the rest, or all of it."""
        for version, one in zip(versions, packed, strict=True):
            if one.description is not None and await self._syncing.take(tenant, version, one.description):
                await self._syncing.put(tenant, version)

    async def catch_up(self, caller: Caller, provider: int) -> list[str]:
        """Have those versions of a provider done again that were by another model, or in another form; their labels."""
        async with self._database.transaction(caller.tenant) as link:
            standing = await queries.standing(link, caller.tenant, provider=provider)
        behind = [one for one in standing if one.state != "waiting" and self._syncing.is_due(one)]
        for one in behind:
            await run_retrying(
                self._database, caller.tenant, lambda link, version=one.id: self.defer(link, caller, version)
            )
        return [one.label for one in behind]


def _packed(source: str, data: bytes, seen: Seen) -> Packed:
    if not data.strip():
        raise InvalidInput(f"{source} is empty.", hint="Give the file or the address of a description.")
    small = len(data) * (1 if is_json(data) else _YAML) <= TAKEN_HERE
    description = read_description(data, name=source) if small or not looks_readable(data) else None
    body = zlib.compress(data, 6)
    declared = description.declared if description is not None else declared_in(data)
    return Packed(source, seen, hashlib.sha256(data).hexdigest(), len(data), body, declared, description)
