"""What there is: providers with what is true of them just now.

Invariant: nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thresher.core import Caller, NotFound
from thresher.jobs import Jobs
from thresher.knowledge.apis import queries
from thresher.knowledge.apis.entries import KIND, facets_of
from thresher.knowledge.apis.heads import ProviderHead
from thresher.knowledge.apis.models import Provider, Version
from thresher.knowledge.apis.naming import unknown
from thresher.search import Filter, SearchIndex
from thresher.store import Database


class Listing:
    """Shows providers.

    Args:
        database: Where they are.
        index: Knows how many operations are embedded.
        jobs: Know which of them were given up.
    """

    def __init__(self, database: Database, index: SearchIndex, jobs: Jobs) -> None:
        self._database = database
        self._index = index
        self._jobs = jobs

    async def listed(self, caller: Caller, *, include_inactive: bool = True) -> tuple[Provider, ...]:
        """All that the caller sees, by name."""
        async with self._database.transaction(caller.tenant) as link:
            found = {one.name: one for one in await queries.providers(link, caller)}
        kept = [one for _, one in sorted(found.items()) if one.active or include_inactive]
        return tuple([await self._settled(caller, one) for one in kept])

    async def shown(self, caller: Caller, head: ProviderHead) -> Provider:
        """One that the caller sees.

        Raises:
            NotFound: It was removed meanwhile.
        """
        async with self._database.transaction(caller.tenant) as link:
            found = [one for one in await queries.providers(link, caller) if one.id == head.id]
        if not found:
            raise NotFound(f"The API '{head.name}' was removed meanwhile.", hint="List the providers.")
        return await self._settled(caller, found[0])

    async def _settled(self, caller: Caller, provider: Provider) -> Provider:
        return replace(provider, versions=tuple([await self._stands(caller, one) for one in provider.versions]))

    async def _stands(self, caller: Caller, version: Version) -> Version:
        """A version with how much of it is embedded; where its job was given up, that is what is wrong."""
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
        return replace(found, state="failed", failure=job.error or "The sync was ended; sync again to go on.")


def named(seen: Sequence[ProviderHead], name: str) -> ProviderHead:
    """A provider by its name or another word for it.

    Raises:
        NotFound: There is none; the hint offers near ones.
    """
    word = " ".join(name.lower().split())
    exact = next((head for head in seen if head.name == word), None)
    other = next((head for head in seen if word in (*head.aliases, head.display_name.lower())), None)
    if found := exact or other:
        return found
    raise unknown(name, seen)
