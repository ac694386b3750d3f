"""What people do with providers: add, sync, switch off, remove.

Invariant: whoever does not own a provider changes nothing of it; of those that a caller sees no two go by one word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import Caller, Conflict, InvalidInput, NotAllowed, NotFound, Settings, ThresherError
from thresher.jobs import Jobs
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.fetching import Seen, read_source
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.intake import TAKEN_HERE, Intake, Packed
from thresher.knowledge.apis.listing import named
from thresher.knowledge.apis.models import Provider
from thresher.knowledge.apis.naming import (
    check_free,
    checked_aliases,
    checked_base,
    checked_label,
    checked_name,
    checked_title,
    labels_of,
)
from thresher.knowledge.apis.queries import Standing
from thresher.knowledge.apis.shelf import Shelf
from thresher.knowledge.apis.sources import Source, source_of
from thresher.knowledge.apis.syncing import Syncing
from thresher.knowledge.apis.task import TASK
from thresher.search import SearchIndex
from thresher.store import Database, run_retrying

_MOST_SOURCES: Final = 20
_ENDING_SECONDS: Final = 10.0


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
    display_name: str = ""
    aliases: tuple[str, ...] = ()
    base_url: str = ""

    @property
    def values(self) -> dict[str, Any]:
        """Column to value, of what was said."""
        said = {"display_name": self.display_name, "aliases": list(self.aliases), "base_url": self.base_url}
        return {name: value for name, value in said.items() if value}


def wanted_of(name: str, display_name: str, aliases: Sequence[str], base_url: str) -> Wanted:
    """What a person says of a provider, checked.

    Raises:
        InvalidInput: A word is none, or the address.
    """
    checked_name(name)
    return Wanted(name, checked_title(display_name), checked_aliases(name, aliases), checked_base(base_url))


class Providers:
    """The providers of all tenants.

    Args:
        database: Where they are.
        index: Where their operations are found.
        jobs: Take descriptions over.
        shelf: Knows who sees which.
        settings: Who may read what.
    """

    def __init__(self, database: Database, index: SearchIndex, jobs: Jobs, shelf: Shelf, settings: Settings) -> None:
        self._database = database
        self._jobs = jobs
        self._shelf = shelf
        self._settings = settings
        self._syncing = Syncing(database, index)
        self._intake = Intake(database, jobs, self._syncing)

    async def add(
        self, caller: Caller, wanted: Wanted, sources: Sequence[str], *, version: str = "", replace: bool = False
    ) -> None:
        """Add versions of a provider, which comes to be with its first one."""
        _check_sources(sources, version)
        found = [source_of(text, caller, self._settings) for text in sources]
        _check_words(wanted, caller, await self._shelf.directory(caller))
        packed = await self._read(found)
        told = [one.declared for one in packed]
        labels = [checked_label(version)] if version else labels_of([one.source for one in packed], told)

        async def write(link: AsyncConnection) -> list[int]:
            provider = await self._own_or_new(link, caller, wanted, labels, replace=replace)
            versions = [
                await queries.put_version(link, caller.tenant, provider, label, source=one.source)
                for label, one in zip(labels, packed, strict=True)
            ]
            for number, one in zip(versions, packed, strict=True):
                await self._intake.keep(link, caller, number, one)
            return versions

        versions = await run_retrying(self._database, caller.tenant, write)
        await self._intake.take_small(caller.tenant, versions, packed)

    async def _read(self, sources: Sequence[Source]) -> list[Packed]:
        """Read sources one by one; together they keep no more in memory than one that is read at once."""
        packed: list[Packed] = []
        for source in sources:
            one = await self._intake.pack(source.location, await read_source(source))
            room = sum(other.size for other in packed) + one.size <= TAKEN_HERE
            packed.append(one if room else one.bare)
        return packed

    async def sync(self, caller: Caller, name: str, version: str = "") -> ProviderHead:
        """Read the sources of a provider again, or of one of its versions."""
        head = await self._own(caller, name)
        async with self._database.transaction(caller.tenant) as link:
            standing = await queries.standing(link, caller.tenant, provider=head.id)
        chosen = _chosen(head.name, standing, version)
        failures = [await self._sync_one(caller, one) for one in chosen]
        if (first := failures[0]) is not None and all(failures):
            raise first
        return head

    async def _sync_one(self, caller: Caller, one: Standing) -> ThresherError | None:
        """Read one source again; what went wrong is noted and given back."""
        try:
            source = source_of(one.source, caller, self._settings)
            read = await read_source(source, Seen() if one.wanted else Seen(one.etag, one.modified))
            packed = await self._intake.pack(source.location, read) if read.data is not None else None
        except NotAllowed as error:  # another caller may
            return error
        except ThresherError as error:
            await self._syncing.fail(caller.tenant, one.id, str(error))
            return error
        same = packed is None or packed.digest == (one.wanted or one.digest)

        async def write(link: AsyncConnection) -> None:
            if packed is None or same:
                await self._intake.confirm(link, caller, one, packed)
            else:
                await self._intake.keep(link, caller, one.id, packed)

        await run_retrying(self._database, caller.tenant, write)
        if packed is not None and not same:
            await self._intake.take_small(caller.tenant, [one.id], [packed])
        return None

    async def index_here(self, caller: Caller, name: str, *, embed: bool = True) -> ProviderHead:
        """Do in this process what a worker would."""
        head = await self._own(caller, name)
        for version in head.versions:
            if await self._syncing.take(caller.tenant, version.id):
                await self._syncing.put(caller.tenant, version.id)
                if embed:
                    await self._syncing.embed(caller.tenant, version.id)
        return head

    async def catch_up(self, caller: Caller) -> list[str]:
        """Have those versions done again that were by another model, or in another form; their names."""
        if not self._syncing.runs:
            return []
        mine = [head for head in await self._shelf.directory(caller) if head.owner == caller.user]
        return [f"{head.name} {label}" for head in mine for label in await self._intake.catch_up(caller, head.id)]

    async def set_active(self, caller: Caller, name: str, *, active: bool) -> ProviderHead:
        """Have search look at a provider, or not."""
        head = await self._own(caller, name)
        await run_retrying(
            self._database,
            caller.tenant,
            lambda link: queries.set_provider(link, caller.tenant, head.id, active=active),
        )
        return head

    async def remove(self, caller: Caller, name: str, version: str = "") -> None:
        """Forget a provider, or one of its versions; with its last version it goes itself."""
        head = await self._own(caller, name)

        async def write(link: AsyncConnection) -> tuple[list[int], list[int]]:
            await queries.lock_names(link, caller.tenant)
            standing = await queries.standing(link, caller.tenant, provider=head.id)
            chosen = _chosen(head.name, standing, version) if version else standing
            jobs = [job for one in chosen for job in await self._jobs.withdraw(link, caller.tenant, TASK, one.id)]
            for one in chosen:
                await queries.begin_version_removal(link, caller.tenant, one.id)
            if len(chosen) == len(standing):
                await queries.begin_removal(link, caller.tenant, head.id)
            return [one.id for one in chosen], [job.id for job in jobs]

        versions, jobs = await run_retrying(self._database, caller.tenant, write)
        for job in jobs:
            with suppress(TimeoutError, NotFound):  # for one whose worker is gone not for ever
                await asyncio.wait_for(self._jobs.follow(caller, job), _ENDING_SECONDS)
        await self._syncing.remove_left(caller.tenant)
        for number in versions:
            self._shelf.forget(caller.tenant, number)

    async def _own(self, caller: Caller, name: str) -> ProviderHead:
        """A provider that the caller may change."""
        head = named(await self._shelf.directory(caller), name)
        if head.owner != caller.user:
            raise NotAllowed(f"The API '{head.name}' is the tenant's.", hint="Ask who set it up to change it.")
        return head

    async def _own_or_new(
        self, link: AsyncConnection, caller: Caller, wanted: Wanted, labels: Sequence[str], *, replace: bool
    ) -> int:
        """The provider's row; until the transaction ends nobody else names one."""
        await queries.lock_names(link, caller.tenant)
        seen = await queries.providers(link, caller)
        _check_words(wanted, caller, seen)
        known = next((one for one in seen if one.name == wanted.name), None)
        if known is None:
            values = {"name": wanted.name, "display_name": wanted.name}
            return await queries.add_provider(link, caller, {**values, **wanted.values})
        taken = [one for one in known.versions if one.label in labels and (one.digest or one.state != "failed")]
        if taken and not replace:
            raise Conflict(
                f"'{known.name}' has a version '{taken[0].label}' already, of {taken[0].source}.",
                hint="Sync it to read it again, replace it, or add this one with another --version.",
            )
        if wanted.values:
            await queries.set_provider(link, caller.tenant, known.id, **wanted.values)
        return known.id


def _check_sources(sources: Sequence[str], version: str) -> None:
    if isinstance(sources, str) or not 1 <= len(sources) <= _MOST_SOURCES:
        raise InvalidInput("Sources are needed.", hint=f"Give one to {_MOST_SOURCES} files or addresses.")
    if version and len(sources) > 1:
        raise InvalidInput("A version is one description.", hint="Add the sources one by one, each with a version.")


def _check_words(wanted: Wanted, caller: Caller, seen: Sequence[ProviderHead | Provider]) -> None:
    """Refuse words that others go by."""
    mine = any(one.name == wanted.name and one.owner == caller.user for one in seen)
    check_free((wanted.name, *wanted.aliases), seen, beside=wanted.name if mine else "")


def _chosen(name: str, standing: Sequence[Standing], version: str) -> list[Standing]:
    """All versions, or the one of a label."""
    chosen = [one for one in standing if version in ("", one.label)]
    if not chosen:
        known = ", ".join(one.label for one in standing) or "none"
        raise NotFound(f"'{name}' has no version '{version[:80]}'.", hint=f"There are: {known}.")
    return chosen
