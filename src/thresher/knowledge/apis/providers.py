"""What people do with providers: add, sync, list, switch off, remove.

Invariant: a version's row, its new bytes and the job that takes them over are written in one transaction; whoever does
not own a provider changes nothing of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, Settings, Tenant, ThresherError
from thresher.jobs import Jobs
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.entries import KIND, facets_of
from thresher.knowledge.apis.fetching import Read, Seen, read_source
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.models import Provider, Version
from thresher.knowledge.apis.naming import (
    check_free,
    checked_aliases,
    checked_base,
    checked_label,
    checked_name,
    checked_title,
    declared_in,
    labels_of,
    unknown,
)
from thresher.knowledge.apis.queries import Standing
from thresher.knowledge.apis.shelf import Shelf
from thresher.knowledge.apis.sources import Source, source_of
from thresher.knowledge.apis.syncing import Syncing
from thresher.knowledge.apis.task import TASK
from thresher.search import Filter, SearchIndex
from thresher.store import Database, run_retrying

_MOST_SOURCES: Final = 20
_TAKEN_HERE: Final = 256 << 10
"""Bytes of a description that is read in this process at once: a tenth of a second; a larger one is a worker's."""
_ENDING_SECONDS: Final = 10.0
_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person says of a provider.

    Attributes:
        name: Its name.
        display_name: As people write it; empty: as it was, or the name.
        aliases: Other words for it; empty: as they were.
        base_url: Where its operations are called; empty: as it was.
    """

    name: str
    display_name: str
    aliases: tuple[str, ...]
    base_url: str

    @property
    def values(self) -> dict[str, Any]:
        """Column to value, of what was said."""
        said = {"display_name": self.display_name, "aliases": list(self.aliases), "base_url": self.base_url}
        return {name: value for name, value in said.items() if value}


@dataclass(frozen=True, slots=True)
class Packed:
    """The bytes of a description, ready to be stored."""

    label: str
    source: str
    seen: Seen
    digest: str
    size: int
    body: bytes


class Providers:
    """The providers of all tenants.

    Args:
        database: Where they are.
        index: Where their operations are found.
        jobs: Takes descriptions over.
        shelf: Knows who sees which.
        settings: Who may read what.
    """

    def __init__(self, database: Database, index: SearchIndex, jobs: Jobs, shelf: Shelf, settings: Settings) -> None:
        self._database = database
        self._index = index
        self._jobs = jobs
        self._shelf = shelf
        self._settings = settings
        self._syncing = Syncing(database, index)

    async def add(
        self, caller: Caller, wanted: Wanted, sources: Sequence[str], *, version: str = "", replace: bool = False
    ) -> Provider:
        """Add versions of a provider, which comes to be with its first one."""
        if not 1 <= len(sources) <= _MOST_SOURCES:
            raise InvalidInput("That are no sources.", hint=f"Give one to {_MOST_SOURCES} files or addresses.")
        if version and len(sources) > 1:
            raise InvalidInput("A version is one description.", hint="Add the sources one by one, each with a version.")
        found = [source_of(text, caller, self._settings) for text in sources]
        self._check(await self._shelf.directory(caller), caller, wanted)
        reads = await _all_read(found)
        data = [read.data or b"" for read in reads]
        declared = await asyncio.to_thread(lambda: [declared_in(one) for one in data])
        labels = (checked_label(version),) if version else labels_of([one.location for one in found], declared)
        packed = [
            await asyncio.to_thread(_packed, label, source, read)
            for label, source, read in zip(labels, found, reads, strict=True)
        ]

        async def write(link: AsyncConnection) -> list[int]:
            provider = await self._own_or_new(link, caller, wanted, labels, replace=replace)
            return [await self._wanted(link, caller, provider, one) for one in packed]

        versions = await run_retrying(self._database, caller.tenant, write)
        await self._take_small(caller.tenant, versions, packed)
        return await self.get(caller, wanted.name)

    async def sync(self, caller: Caller, name: str, version: str = "") -> Provider:
        """Read sources again."""
        provider = await self._own(caller, name)
        async with self._database.transaction(caller.tenant) as link:
            standing = await queries.standing(link, caller.tenant, provider=provider.id)
        chosen = [one for one in standing if version in ("", one.label)]
        if not chosen:
            raise _no_version(provider.name, version, [one.label for one in standing])
        failures = [await self._sync_one(caller, one) for one in chosen]
        if all(failures) and failures[0] is not None:
            raise failures[0]
        return await self.get(caller, provider.name)

    async def _sync_one(self, caller: Caller, one: Standing) -> ThresherError | None:
        """Read one source again; what went wrong is noted and given back."""
        try:
            source = source_of(one.source, caller, self._settings)
            seen = Seen(one.etag, one.modified) if one.digest and not one.wanted else Seen()
            read = await read_source(source, seen)
        except ThresherError as error:
            await self._syncing.fail(caller.tenant, one.id, str(error))
            return error
        packed = await asyncio.to_thread(_packed, one.label, source, read) if read.data is not None else None
        if packed is None or packed.digest == (one.wanted or one.digest):
            await run_retrying(self._database, caller.tenant, lambda link: self._same(link, caller, one, packed))
            return None
        number = await run_retrying(
            self._database, caller.tenant, lambda link: self._wanted(link, caller, one.provider, packed)
        )
        await self._take_small(caller.tenant, [number], [packed])
        return None

    async def catch_up(self, caller: Caller) -> list[str]:
        """Have those versions put and embedded again that were by another model or in another form."""
        if not self._index.edition(KIND):
            return []
        behind: list[str] = []
        for head in await self._shelf.directory(caller):
            if head.owner != caller.user:
                continue
            async with self._database.transaction(caller.tenant) as link:
                standing = await queries.standing(link, caller.tenant, provider=head.id)
            for one in standing:
                if self._syncing.is_due(one) and one.state != "waiting":
                    await run_retrying(
                        self._database, caller.tenant, lambda link, v=one: self._deferred(link, caller, v.id)
                    )
                    behind.append(f"{head.name} {one.label}")
        return behind

    async def listed(self, caller: Caller, *, include_inactive: bool = True) -> tuple[Provider, ...]:
        """All that the caller sees, by name."""
        async with self._database.transaction(caller.tenant) as link:
            found = {one.name: one for one in await queries.providers(link, caller)}
        kept = [one for _, one in sorted(found.items()) if one.active or include_inactive]
        return tuple([await self._settled(caller, one) for one in kept])

    async def get(self, caller: Caller, name: str) -> Provider:
        """One that the caller sees, by name or alias."""
        wanted = named(await self._shelf.directory(caller), name).name
        return next(one for one in await self.listed(caller) if one.name == wanted)

    async def set_active(self, caller: Caller, name: str, *, active: bool) -> Provider:
        """Have search look at a provider, or not."""
        head = await self._own(caller, name)
        await run_retrying(
            self._database,
            caller.tenant,
            lambda link: queries.set_provider(link, caller.tenant, head.id, active=active),
        )
        return await self.get(caller, head.name)

    async def remove(self, caller: Caller, name: str, version: str = "") -> None:
        """Forget a provider, or one of its versions; with its last version it goes itself."""
        head = await self._own(caller, name)
        chosen = [one.id for one in head.versions if version in ("", one.label)]
        if version and not chosen:
            raise _no_version(head.name, version, [one.label for one in head.versions])
        whole = len(chosen) == len(head.versions)

        async def write(link: AsyncConnection) -> list[int]:
            jobs = [job.id for one in chosen for job in await self._jobs.withdraw(link, caller.tenant, TASK, one)]
            for one in chosen:
                await queries.begin_version_removal(link, caller.tenant, one)
            if whole:
                await queries.begin_removal(link, caller.tenant, head.id)
            return jobs

        for job in await run_retrying(self._database, caller.tenant, write):
            with suppress(TimeoutError, NotFound):  # for one whose worker is gone not for ever
                await asyncio.wait_for(self._jobs.follow(caller, job), _ENDING_SECONDS)
        await self._syncing.remove_left(caller.tenant)
        for one in chosen:
            self._shelf.forget(caller.tenant, one)

    async def _own(self, caller: Caller, name: str) -> ProviderHead:
        """A provider that the caller may change."""
        head = named(await self._shelf.directory(caller), name)
        if head.owner != caller.user:
            raise NotAllowed(f"The API '{head.name}' is the tenant's.", hint="Ask who set it up to change it.")
        return head

    def _check(self, seen: Sequence[ProviderHead], caller: Caller, wanted: Wanted) -> None:
        """Refuse names that others go by, before anything is read."""
        mine = any(head.name == wanted.name and head.owner == caller.user for head in seen)
        check_free((wanted.name, *wanted.aliases), seen, beside=wanted.name if mine else "")

    async def _own_or_new(
        self, link: AsyncConnection, caller: Caller, wanted: Wanted, labels: Sequence[str], *, replace: bool
    ) -> int:
        """The provider's row; while it is looked for, nobody else names one."""
        await queries.lock_names(link, caller.tenant)
        seen = await queries.providers(link, caller)
        for one in seen:
            mine = one.name == wanted.name and one.owner == caller.user
            words = {one.name, *one.aliases}
            if not mine and (clash := next((w for w in (wanted.name, *wanted.aliases) if w in words), None)):
                raise Conflict(f"The provider '{one.name}' goes by '{clash}' already.", hint="Choose another word.")
        known = next((one for one in seen if one.name == wanted.name), None)
        if known is None:
            values = {"name": wanted.name, "display_name": wanted.display_name or wanted.name}
            return await queries.add_provider(link, caller, {**values, **wanted.values})
        taken = [one for one in known.versions if one.label in labels]
        if taken and not replace:
            raise Conflict(
                f"'{known.name}' has a version '{taken[0].label}' already, of {taken[0].source}.",
                hint="Sync it to read it again, replace it, or add this one with another --version.",
            )
        if wanted.values:
            await queries.set_provider(link, caller.tenant, known.id, **wanted.values)
        return known.id

    async def _wanted(self, link: AsyncConnection, caller: Caller, provider: int, new: Packed) -> int:
        """Keep new bytes, and have them taken over."""
        values = {"source": new.source, "etag": new.seen.etag, "modified": new.seen.modified, "wanted": new.digest}
        number, _ = await queries.put_version(link, caller.tenant, provider, new.label, **values)
        await queries.put_document(link, caller.tenant, number, new.digest, size=new.size, body=new.body)
        await self._deferred(link, caller, number)
        return number

    async def _same(self, link: AsyncConnection, caller: Caller, one: Standing, packed: Packed | None) -> None:
        """Note that a source was read and says what it said; what is not through goes on."""
        values: dict[str, Any] = {"synced_at": queries.NOW}
        if packed is not None:
            values |= {"etag": packed.seen.etag, "modified": packed.seen.modified}
        if one.state == "failed" and not one.wanted:
            values |= {"state": "ready", "failure": ""}
        await queries.set_version(link, caller.tenant, one.id, **values)
        if one.wanted or self._syncing.is_due(one):
            await self._deferred(link, caller, one.id)

    async def _deferred(self, link: AsyncConnection, caller: Caller, version: int) -> None:
        job = await self._jobs.defer(link, caller.tenant, TASK, version, owner=caller.user)
        await queries.set_version(
            link, caller.tenant, version, job=job.id, state="waiting", failure="", synced_at=queries.NOW
        )

    async def _take_small(self, tenant: Tenant, versions: Sequence[int], packed: Sequence[Packed]) -> None:
        """Have small descriptions found by their words at once; the job that does the rest may do it too."""
        for version, one in zip(versions, packed, strict=True):
            if one.size > _TAKEN_HERE:
                continue
            try:
                await self._syncing.take(tenant, version)
                await self._syncing.put(tenant, version)
            except InvalidInput as error:
                await self._syncing.fail(tenant, version, str(error))
                raise

    async def _settled(self, caller: Caller, provider: Provider) -> Provider:
        """The provider with what is true just now: how much is embedded, and jobs that were given up."""
        heads = {one.label: one for one in provider.versions}
        ids = await self._version_ids(caller, provider)
        versions = tuple([await self._stands(caller, heads[label], number) for label, number in ids.items()])
        return replace(provider, versions=versions)

    async def _version_ids(self, caller: Caller, provider: Provider) -> dict[str, int]:
        async with self._database.transaction(caller.tenant) as link:
            standing = await queries.standing(link, caller.tenant, provider=provider.id)
        known = {one.label for one in provider.versions}
        return {one.label: one.id for one in standing if one.label in known}

    async def _stands(self, caller: Caller, version: Version, number: int) -> Version:
        embedded = await self._index.embedded(caller.tenant, KIND, Filter(facets_of([number])))
        found = replace(version, embedded=min(embedded, version.operations))
        if found.state not in ("waiting", "indexing") or not found.job:
            return found
        try:
            job = await self._jobs.find(caller, found.job)
        except NotFound:
            return found
        if job.state not in ("failed", "cancelled"):
            return found
        return replace(found, state="failed", failure=job.error or "The sync was ended; sync again to go on.")


def named(seen: Sequence[ProviderHead], name: str) -> ProviderHead:
    """A provider by its name or another word for it.

    Raises:
        NotFound: There is none; the hint offers near ones.
    """
    word = " ".join(name.lower().split())
    for head in seen:
        if word == head.name:
            return head
    for head in seen:
        if word in head.aliases or word == head.display_name.lower():
            return head
    raise unknown(name, seen)


def wanted_of(name: str, display_name: str, aliases: Sequence[str], base_url: str) -> Wanted:
    """What a person says of a provider, checked.

    Raises:
        InvalidInput: A word is none, or the address.
    """
    checked_name(name)
    return Wanted(name, checked_title(display_name), checked_aliases(name, aliases), checked_base(base_url))


async def _all_read(sources: Sequence[Source]) -> list[Read]:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def read(source: Source) -> Read:
        async with gate:
            return await read_source(source)

    return list(await asyncio.gather(*map(read, sources)))


def _packed(label: str, source: Source, read: Read) -> Packed:
    data = read.data or b""
    if not data.strip():
        raise InvalidInput(f"{source.location} is empty.", hint="Give the file or the address of a description.")
    digest = hashlib.sha256(data).hexdigest()
    return Packed(label, source.location, read.seen, digest, len(data), zlib.compress(data, 6))


def _no_version(name: str, version: str, known: Sequence[str]) -> NotFound:
    return NotFound(f"'{name}' has no version '{version[:80]}'.", hint=f"There are: {', '.join(known) or 'none'}.")
