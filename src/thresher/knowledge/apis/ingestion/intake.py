"""Stores the bytes of descriptions and schedules their import.

Invariant: new bytes, the version that needs them, and the job that imports them are written in one transaction.
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
from thresher.knowledge.apis.ingestion.download import SourceContent, Validators
from thresher.knowledge.apis.ingestion.sync import TASK, DescriptionSync
from thresher.knowledge.apis.naming import info_in, is_json, looks_readable
from thresher.knowledge.apis.queries import SyncState
from thresher.openapi import Description, read_description
from thresher.store import Database, run_retrying

INLINE_OCTETS: Final = 6 << 20
"""Maximum bytes of a description that is imported in this process, about a second of work in a thread; workers import
larger ones.
"""
_YAML: Final = 4
"""How many bytes of JSON are parsed in the time of one byte of YAML."""


@dataclass(frozen=True, slots=True)
class PackedDescription:
    """The bytes of a description, ready to be stored.

    Attributes:
        source: Path or URL.
        validators: Validators for the next request.
        digest: SHA-256 of the bytes, hexadecimal.
        size: Number of bytes.
        body: The compressed bytes.
        title: The title of the description.
        declared: The version that the description declares.
        description: The parsed description if it was small enough to parse at once.
    """

    source: str
    validators: Validators
    digest: str
    size: int
    body: bytes = field(repr=False)
    title: str = ""
    declared: str = ""
    description: Description | None = field(default=None, repr=False)

    @property
    def bare(self) -> PackedDescription:
        """The same without the parsed description."""
        return replace(self, description=None)


class Intake:
    """Stores bytes for versions.

    Args:
        database: Where bytes are stored.
        jobs: Queue of the jobs that import them.
        sync: Imports small descriptions in this process.
    """

    def __init__(self, database: Database, jobs: Jobs, sync: DescriptionSync) -> None:
        self._database = database
        self._jobs = jobs
        self._sync = sync
        self._reading = asyncio.Lock()

    async def pack(self, source: str, read: SourceContent) -> PackedDescription:
        """Pack what was read; one source at a time, since each takes memory and the interpreter.

        Raises:
            InvalidInput: It is not a description; a large one may turn out so only in a worker.
        """
        async with self._reading:
            return await asyncio.to_thread(_packed, source, read.data or b"", read.validators)

    async def keep(self, link: AsyncConnection, caller: Caller, version: int, new: PackedDescription) -> None:
        """Store new bytes and schedule their import.

        Raises:
            NotFound: The version was removed in the meantime.
        """
        values = {
            "source": new.source,
            "etag": new.validators.etag,
            "modified": new.validators.modified,
            "wanted": new.digest,
        }
        if not await queries.set_version(link, caller.tenant, version, **values):
            raise NotFound("The version was removed in the meantime.", hint="List the providers.")
        await queries.put_document(link, caller.tenant, version, new.digest, size=new.size, body=new.body)
        await self.defer(link, caller, version)

    async def confirm(
        self, link: AsyncConnection, caller: Caller, one: SyncState, same: PackedDescription | None
    ) -> None:
        """Record that a source was read and has not changed; resume an unfinished import."""
        values: dict[str, Any] = {"synced_at": queries.NOW}
        if same is not None:
            values |= {"etag": same.validators.etag, "modified": same.validators.modified}
        await queries.set_version(link, caller.tenant, one.id, **values)
        if one.state == "failed" or one.wanted or self._sync.is_due(one):
            await self.defer(link, caller, one.id)

    async def defer(self, link: AsyncConnection, caller: Caller, version: int) -> None:
        """Schedule the rest of the work on a version."""
        job = await self._jobs.defer(link, caller.tenant, TASK, version, owner=caller.user)
        values = {"job": job.id, "state": "waiting", "failure": "", "synced_at": queries.NOW}
        await queries.set_version(link, caller.tenant, version, **values)

    async def apply_small(self, tenant: Tenant, versions: Sequence[int], packed: Sequence[PackedDescription]) -> None:
        """Make descriptions that were parsed at once searchable by words; jobs do the rest."""
        for version, one in zip(versions, packed, strict=True):
            if one.description is not None and await self._sync.apply_newest(tenant, version, one.description):
                await self._sync.put(tenant, version)

    async def catch_up(self, caller: Caller, provider: int) -> list[str]:
        """Reindex the versions of a provider that another model or another format indexed; return their labels."""
        async with self._database.transaction(caller.tenant) as link:
            states = await queries.sync_states(link, caller.tenant, provider=provider)
        behind = [one for one in states if one.state != "waiting" and self._sync.is_due(one)]
        for one in behind:
            await run_retrying(
                self._database, caller.tenant, lambda link, version=one.id: self.defer(link, caller, version)
            )
        return [one.label for one in behind]


def _packed(source: str, data: bytes, validators: Validators) -> PackedDescription:
    if not data.strip():
        raise InvalidInput(f"{source} is empty.", hint="Give the file or URL of a description.")
    small = len(data) * (1 if is_json(data) else _YAML) <= INLINE_OCTETS
    description = read_description(data, name=source) if small or not looks_readable(data) else None
    body = zlib.compress(data, 6)
    title, declared = (description.title, description.declared) if description is not None else info_in(data)
    digest = hashlib.sha256(data).hexdigest()
    return PackedDescription(source, validators, digest, len(data), body, title, declared, description)
