"""Adds, lists, syncs, switches and removes providers.

Invariant: only the owner of a provider changes it; no two providers that a caller sees share a name or alias.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import (
    Caller,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Settings,
    SourceUnavailable,
    StoreUnavailable,
    ThresherError,
    check_schedule,
    event,
)
from thresher.jobs import Claim, ClaimedRows, ClaimLoop, Jobs
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.cache import DescriptionCache
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.ingestion.download import Validators, read_source
from thresher.knowledge.apis.ingestion.intake import INLINE_OCTETS, Intake, PackedDescription
from thresher.knowledge.apis.ingestion.rows import KIND, facets_of
from thresher.knowledge.apis.ingestion.sources import DescriptionSource, is_remote, resolve_source
from thresher.knowledge.apis.ingestion.sync import TASK, DescriptionSync
from thresher.knowledge.apis.models import Provider, Version
from thresher.knowledge.apis.naming import (
    check_free,
    checked_aliases,
    checked_base,
    checked_label,
    checked_name,
    checked_title,
    find_provider,
    free_name,
    labels_of,
    name_from,
    title_from,
)
from thresher.knowledge.apis.queries import SyncState
from thresher.search import Filter, SearchIndex
from thresher.store import Database, run_retrying
from thresher.store.tables import api_version

_logger = logging.getLogger("thresher.knowledge")

_MOST_SOURCES: Final = 20
_WITHOUT_VALIDATORS: Final = 3_600
"""Seconds between two checks, by default at least, of a server that sends the whole description each time."""
_ENDING_SECONDS: Final = 10.0
_CHECKS: Final = 4
"""Checks of sources at once."""
VERSIONS: Final = ClaimedRows(api_version, "take_up_descriptions", "description")
"""Versions, as those whose sources are checked for changes."""


@dataclass(frozen=True, slots=True)
class ProviderFields:
    """The fields of a provider that a user sets.

    Attributes:
        name: Its name; empty to take that of the description.
        display_name: Its name as people write it; empty to keep it, or to use the name.
        aliases: Other names for it; empty to keep them.
        base_url: Address of its operations; empty to keep it.
    """

    name: str
    display_name: str = ""
    aliases: tuple[str, ...] = ()
    base_url: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """Column to value, of the fields that are set."""
        values = {"display_name": self.display_name, "aliases": list(self.aliases), "base_url": self.base_url}
        return {name: value for name, value in values.items() if value}


def provider_fields(name: str, display_name: str, aliases: Sequence[str], base_url: str) -> ProviderFields:
    """Return the checked fields of a provider.

    Raises:
        InvalidInput: A name or the address is not valid.
    """
    if name:
        checked_name(name)
    return ProviderFields(name, checked_title(display_name), checked_aliases(name, aliases), checked_base(base_url))


class Providers:
    """The providers of all tenants.

    Args:
        database: Where providers are stored.
        index: Where their operations are found.
        jobs: Queue of the jobs that import descriptions.
        cache: Knows who sees which provider.
        settings: Names the sources that callers with a key may read.
    """

    def __init__(
        self, database: Database, index: SearchIndex, jobs: Jobs, cache: DescriptionCache, settings: Settings
    ) -> None:
        self._database = database
        self._index = index
        self._jobs = jobs
        self._cache = cache
        self._settings = settings
        self._checks = asyncio.Semaphore(_CHECKS)
        self._sync = DescriptionSync(database, index)
        self._intake = Intake(database, jobs, self._sync)

    async def add(
        self,
        caller: Caller,
        fields: ProviderFields,
        sources: Sequence[str],
        *,
        version: str = "",
        replace: bool = False,
    ) -> str:
        """Add versions to a provider, which is created with its first version; return the provider's name."""
        _check_sources(sources, version)
        found = [resolve_source(text, caller, self._settings) for text in sources]
        _check_words(fields, caller, await self._cache.directory(caller))
        packed = await self._read(found)
        declared = [one.declared for one in packed]
        labels = [checked_label(version)] if version else labels_of([one.source for one in packed], declared)
        if not fields.name:
            _check_same_api(packed)

        async def write(link: AsyncConnection) -> tuple[str, list[int]]:
            name, provider = await self._own_or_new(link, caller, fields, packed[0], labels, replace=replace)
            versions = [
                await queries.put_version(link, caller, provider, label, source=one.source)
                for label, one in zip(labels, packed, strict=True)
            ]
            for number, one in zip(versions, packed, strict=True):
                await self._intake.keep(link, caller, number, one)
            return name, versions

        name, versions = await run_retrying(self._database, caller.tenant, write)
        await self._intake.apply_small(caller.tenant, versions, packed)
        return name

    async def _read(self, sources: Sequence[DescriptionSource]) -> list[PackedDescription]:
        """Read sources one by one; keep no more parsed text in memory than one inline import may hold."""
        packed: list[PackedDescription] = []
        for source in sources:
            one = await self._intake.pack(source.location, await read_source(source))
            room = sum(other.size for other in packed) + one.size <= INLINE_OCTETS
            packed.append(one if room else one.bare)
        return packed

    async def sync(self, caller: Caller, name: str, version: str = "") -> ProviderHead:
        """Read the sources of a provider again, or the source of one version."""
        head = await self._own(caller, name)
        async with self._database.transaction(caller.tenant) as link:
            states = await queries.sync_states(link, caller.tenant, provider=head.id)
        chosen = _chosen(head.name, states, version)
        failures = [await self._sync_one(caller, one) for one in chosen]
        if (first := failures[0]) is not None and all(failures):
            raise first
        return head

    async def _sync_one(self, caller: Caller, one: SyncState) -> ThresherError | None:
        """Read one source again; record and return what went wrong."""
        try:
            source = resolve_source(one.source, caller, self._settings)
            anew = bool(one.wanted) or not source.remote
            read = await read_source(source, Validators() if anew else Validators(one.etag, one.modified))
            packed = await self._intake.pack(source.location, read) if read.data is not None else None
        except NotAllowed as error:  # another caller may be allowed
            return error
        except ThresherError as error:
            await self._sync.fail(caller.tenant, one.id, str(error))
            return error
        if packed is None or packed.digest == (one.wanted or one.digest):
            await run_retrying(
                self._database, caller.tenant, lambda link: self._intake.confirm(link, caller, one, packed)
            )
        else:
            await self._replace(caller, one, packed)
        return None

    async def _replace(self, caller: Caller, one: SyncState, packed: PackedDescription) -> None:
        """Answer from newer bytes as soon as they are imported."""
        await run_retrying(self._database, caller.tenant, lambda link: self._intake.keep(link, caller, one.id, packed))
        await self._intake.apply_small(caller.tenant, [one.id], [packed])

    async def follow_sources(self) -> None:
        """Check the sources of all tenants on their schedules until cancelled, and import what has changed.

        A server is asked with the validators of its last answer (`ETag`, `Last-Modified`): what has not changed is not
        sent.
        """
        if self._settings.watch != "off":
            await ClaimLoop(self._database, VERSIONS, self._check, float(self._settings.check_seconds)).run()

    async def _check(self, claim: Claim) -> None:
        """Check the source of a version, as the caller who added it."""
        async with self._checks:
            if not await claim.renew():  # it may have waited for longer
                return
            async with self._database.transaction(claim.tenant) as link:
                states = await queries.sync_states(link, claim.tenant, version=claim.row)
            if not states:
                return
            one = states[0]
            if one.state in ("ready", "failed"):
                try:
                    await self._read_again(Caller(claim.tenant, one.owner, keyed=one.keyed), one)
                except (SourceUnavailable, StoreUnavailable):
                    raise
                except ThresherError as error:  # it will not go away by itself, and the last good content stays
                    failure = str(error)[:2_000]
                    await run_retrying(
                        self._database,
                        claim.tenant,
                        lambda link: queries.set_version(link, claim.tenant, one.id, failure=failure),
                    )
            sends_all = is_remote(one.source) and not (one.etag or one.modified)
            least = _WITHOUT_VALIDATORS if sends_all else 0
            claim.after = float(one.check_seconds or max(self._settings.check_seconds, least))

    async def _read_again(self, caller: Caller, one: SyncState) -> None:
        source = resolve_source(one.source, caller, self._settings)
        read = await read_source(source, Validators(one.etag, one.modified))
        packed = await self._intake.pack(source.location, read) if read.data is not None else None
        if packed is not None and packed.digest != (one.wanted or one.digest):
            event(_logger, "description changed", tenant=caller.tenant.id, provider=one.name, version=one.label)
            await self._replace(caller, one, packed)
            return
        values: dict[str, Any] = {"synced_at": queries.NOW}
        if packed is not None:
            values |= {"etag": packed.validators.etag, "modified": packed.validators.modified}
        if one.state == "ready":
            values["failure"] = ""
        await run_retrying(
            self._database, caller.tenant, lambda link: queries.set_version(link, caller.tenant, one.id, **values)
        )

    async def set_schedule(self, caller: Caller, name: str, seconds: int | None) -> ProviderHead:
        """Set how often the sources of a provider are checked for changes."""
        check_schedule(seconds)
        head = await self._own(caller, name)
        await run_retrying(
            self._database, caller.tenant, lambda link: queries.set_schedule(link, caller.tenant, head.id, seconds)
        )
        return head

    async def index_here(self, caller: Caller, name: str, *, embed: bool = True) -> ProviderHead:
        """Do the work of a background job in this process."""
        head = await self._own(caller, name)
        for version in head.versions:
            if await self._sync.apply_newest(caller.tenant, version.id):
                await self._sync.put(caller.tenant, version.id)
                if embed:
                    await self._sync.embed(caller.tenant, version.id)
        return head

    async def catch_up(self, caller: Caller) -> list[str]:
        """Reindex the versions that another model or another format indexed; return their names."""
        if not self._sync.runs:
            return []
        mine = [head for head in await self._cache.directory(caller) if head.owner == caller.user]
        return [f"{head.name} {label}" for head in mine for label in await self._intake.catch_up(caller, head.id)]

    async def set_active(self, caller: Caller, name: str, *, active: bool) -> ProviderHead:
        """Include a provider in search, or exclude it."""
        head = await self._own(caller, name)
        await run_retrying(
            self._database,
            caller.tenant,
            lambda link: queries.set_provider(link, caller.tenant, head.id, active=active),
        )
        return head

    async def remove(self, caller: Caller, name: str, version: str = "") -> None:
        """Remove a provider, or one of its versions; a provider without versions is removed too."""
        head = await self._own(caller, name)

        async def write(link: AsyncConnection) -> tuple[list[int], list[int]]:
            await queries.lock_names(link, caller.tenant)
            states = await queries.sync_states(link, caller.tenant, provider=head.id)
            chosen = _chosen(head.name, states, version) if version else states
            jobs = [job for one in chosen for job in await self._jobs.withdraw(link, caller.tenant, TASK, one.id)]
            for one in chosen:
                await queries.begin_version_removal(link, caller.tenant, one.id)
            if len(chosen) == len(states):
                await queries.begin_removal(link, caller.tenant, head.id)
            return [one.id for one in chosen], [job.id for job in jobs]

        versions, jobs = await run_retrying(self._database, caller.tenant, write)
        for job in jobs:
            with suppress(TimeoutError, NotFound):  # do not wait for a worker that is gone
                await asyncio.wait_for(self._jobs.follow(caller, job), _ENDING_SECONDS)
        await self._sync.remove_left(caller.tenant)
        for number in versions:
            self._cache.forget(caller.tenant, number)

    async def list_providers(self, caller: Caller, *, include_inactive: bool = True) -> tuple[Provider, ...]:
        """Return the providers that the caller sees, by name."""
        async with self._database.transaction(caller.tenant) as link:
            found = {one.name: one for one in await queries.providers(link, caller)}
        kept = [one for _, one in sorted(found.items()) if one.active or include_inactive]
        return tuple([await self._with_current_versions(caller, one) for one in kept])

    async def show(self, caller: Caller, head: ProviderHead) -> Provider:
        """Return one provider that the caller sees.

        Raises:
            NotFound: It was removed in the meantime.
        """
        async with self._database.transaction(caller.tenant) as link:
            found = [one for one in await queries.providers(link, caller) if one.id == head.id]
        if not found:
            raise NotFound(f"The API '{head.name}' was removed in the meantime.", hint="List the providers.")
        return await self._with_current_versions(caller, found[0])

    async def _with_current_versions(self, caller: Caller, provider: Provider) -> Provider:
        return replace(
            provider, versions=tuple([await self._current_version(caller, one) for one in provider.versions])
        )

    async def _current_version(self, caller: Caller, version: Version) -> Version:
        """Return a version with its number of embedded operations, and as failed if its job was given up."""
        embedded = await self._index.embedded(caller.tenant, KIND, Filter(facets_of([version.id])))
        found = replace(version, embedded=min(embedded, version.operations))
        if found.state not in ("waiting", "indexing") or not found.job:
            return found
        try:
            job = await self._jobs.find(caller, found.job)
        except NotFound:
            return found
        if job.state not in ("failed", "cancelled"):
            return found
        return replace(found, state="failed", failure=job.error or "The sync was stopped; sync again to continue.")

    async def _own(self, caller: Caller, name: str) -> ProviderHead:
        """Return a provider that the caller may change."""
        head = find_provider(await self._cache.directory(caller), name)
        if head.owner != caller.user:
            raise NotAllowed(f"The API '{head.name}' belongs to the tenant.", hint="Ask its owner to change it.")
        return head

    async def _own_or_new(
        self,
        link: AsyncConnection,
        caller: Caller,
        fields: ProviderFields,
        first: PackedDescription,
        labels: Sequence[str],
        *,
        replace: bool,
    ) -> tuple[str, int]:
        """Return the provider's name and row id; no other provider is named until the transaction ends.

        Without a name, one of the caller's own with a description of the same title gets another version.
        """
        await queries.lock_names(link, caller.tenant)
        seen = await queries.providers(link, caller)
        display = fields.name or title_from(first.title)
        if not fields.name:
            name = _known_by_title(first.title, caller, seen) or free_name(name_from(first.title, first.source), seen)
            fields = dataclasses.replace(fields, name=name)
        _check_words(fields, caller, seen)
        known = next((one for one in seen if one.name == fields.name), None)
        if known is None:
            values = {"name": fields.name, "display_name": display or fields.name, **fields.values}
            return fields.name, await queries.add_provider(link, caller, values)
        taken = [one for one in known.versions if one.label in labels and (one.digest or one.state != "failed")]
        if taken and not replace:
            raise Conflict(
                f"'{known.name}' already has a version '{taken[0].label}', from {taken[0].source}.",
                hint="Sync it to read it again, replace it, or add this one with another --version.",
            )
        if fields.values:
            await queries.set_provider(link, caller.tenant, known.id, **fields.values)
        return known.name, known.id


def _check_sources(sources: Sequence[str], version: str) -> None:
    if isinstance(sources, str) or not 1 <= len(sources) <= _MOST_SOURCES:
        raise InvalidInput("No sources are given.", hint=f"Give one to {_MOST_SOURCES} files or addresses.")
    if version and len(sources) > 1:
        raise InvalidInput(
            "A version label needs exactly one source.", hint="Add the sources one by one, each with its own version."
        )


def _check_same_api(packed: Sequence[PackedDescription]) -> None:
    """Refuse descriptions of several APIs that are added without a name, as if they were versions of one."""
    names = list(dict.fromkeys(name_from(one.title, one.source) for one in packed))
    if len(names) > 1:
        raise InvalidInput(
            f"The sources describe several APIs: {', '.join(names[:5])}.",
            hint="Add them one by one, or give the name of the one API whose versions they are.",
        )


def _known_by_title(title: str, caller: Caller, seen: Sequence[Provider]) -> str:
    mine = (one for one in seen if one.owner == caller.user and title)
    return next((one.name for one in mine if any(version.title == title for version in one.versions)), "")


def _check_words(fields: ProviderFields, caller: Caller, seen: Sequence[ProviderHead | Provider]) -> None:
    """Refuse names that other providers use."""
    mine = any(one.name == fields.name and one.owner == caller.user for one in seen)
    check_free((fields.name, *fields.aliases), seen, beside=fields.name if mine else "")


def _chosen(name: str, states: Sequence[SyncState], version: str) -> list[SyncState]:
    """Return all versions, or the one with a label."""
    chosen = [one for one in states if version in ("", one.label)]
    if not chosen:
        known = ", ".join(one.label for one in states) or "none"
        raise NotFound(f"'{name}' has no version '{version[:80]}'.", hint=f"It has: {known}.")
    return chosen
