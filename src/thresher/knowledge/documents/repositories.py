"""Managing repositories: index, refresh, list, remove, describe.

Invariant: a repository's row and the job that fills it are written in one transaction; a caller who does not own a
repository cannot change it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.core import (
    Caller,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Settings,
    Tenant,
    check_schedule,
    checked_name,
    did_you_mean,
    nearest,
)
from thresher.jobs import Jobs
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.answers.scoring import unknown_repository
from thresher.knowledge.documents.cache import DocumentCache
from thresher.knowledge.documents.entries import EDITION, KIND, facets_of
from thresher.knowledge.documents.following.webhooks import Webhooks
from thresher.knowledge.documents.indexing.job import TASK, RepositoryIndexer, remove
from thresher.knowledge.documents.indexing.run import Report, cache_of
from thresher.knowledge.documents.models import Origin, Repository, Skipped, Upload, Webhook
from thresher.knowledge.documents.sources import SourceLimits, may_index
from thresher.knowledge.documents.uploads import queries as uploads
from thresher.knowledge.documents.uploads.archives import checked_path, files_of, is_archive, total_of
from thresher.llm import Chat
from thresher.search import Filter, SearchIndex
from thresher.store import Database, clean, run_retrying

_ENDING_SECONDS: Final = 10.0
_LONGEST_GUIDE: Final = 40_000
UPLOADS: Final = Origin("upload", "uploads")


class Repositories:
    """The repositories of all tenants.

    Args:
        database: The database of the repositories.
        index: The search index of their chunks.
        jobs: The queue of the jobs that fill them.
        cache: Knows which repositories a caller sees.
        settings: Who may index what; the data folder.
        chat: The configured model; None for none.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        jobs: Jobs,
        cache: DocumentCache,
        settings: Settings,
        chat: Chat | None = None,
    ) -> None:
        self._database = database
        self._index = index
        self._jobs = jobs
        self._cache = cache
        self._settings = settings
        self.indexing = RepositoryIndexer(database, index, settings, chat)

    async def index(self, caller: Caller, name: str, origin: Origin, *, defer: bool = True) -> Repository:
        """Add a repository, or index an existing one with this name and location again with the new origin."""
        checked_name(name, "a repository")
        may_index(caller, origin, self._settings)

        async def write(connection: AsyncConnection) -> Repository:
            known = await queries.add_repository(connection, caller, name, origin)
            if known is None:
                known = self._same(await self._own(connection, caller, name), origin)
                await queries.try_origin(connection, caller, known, origin)
            return await self._deferred(connection, caller, known) if defer else await _read(connection, caller, known)

        return await run_retrying(self._database, caller.tenant, write)

    async def upload(self, caller: Caller, name: str, path: str, data: bytes) -> Upload:
        """Store a file, or the files of an archive, in a repository of uploads, and index what has changed."""
        checked_name(name, "a repository")
        limits = SourceLimits.of(self._settings)
        files, skipped = await asyncio.to_thread(files_of, path, data, limits)

        async def write(connection: AsyncConnection) -> Upload:
            seen = any(one.name == name for one in await queries.repositories_in(connection, caller))
            known = None if seen else await queries.add_repository(connection, caller, name, UPLOADS)
            if known is None:
                known = self._uploads(await self._own(connection, caller, name)).id
            await queries.lock_repository(connection, caller.tenant, known)
            there = {one.path: one for one in await uploads.uploaded_files(connection, caller.tenant, known)}
            former = await uploads.archives(connection, caller.tenant, known)
            archive = path if is_archive(path) else ""
            sent = {one.path for one in files}
            gone = [one for one, held in former.items() if archive and held == archive and one not in sent]
            new = [one for one in files if one.path not in there or there[one.path].blob != one.blob]
            kept = [one for one in there.values() if one.path not in sent and one.path not in gone]
            _check_room(limits, len(kept) + len(files), sum(one.size for one in kept) + total_of(files))
            moved = [one.path for one in files if one.path in former and former[one.path] != archive]
            await uploads.put_files(connection, caller.tenant, known, archive, new)
            await uploads.set_archive(connection, caller.tenant, known, archive, moved)
            removed = await uploads.delete_files(connection, caller.tenant, known, gone)
            job = (await self._deferred(connection, caller, known)).job if new or removed else 0
            stored = tuple(one.path for one in new)
            return Upload(name, stored, len(files) - len(new), tuple(removed), tuple(skipped), job)

        return await run_retrying(self._database, caller.tenant, write)

    async def remove_upload(self, caller: Caller, name: str, path: str) -> Upload:
        """Remove an uploaded file, the files of an archive, or those of a folder."""
        checked_path(path.rstrip("/"))

        async def write(connection: AsyncConnection) -> Upload:
            found = self._uploads(await self._own(connection, caller, name))
            removed = await uploads.delete_files(connection, caller.tenant, found.id, [path], whole=path)
            if not removed:
                known = [one.path for one in await uploads.uploaded_files(connection, caller.tenant, found.id)]
                hint = did_you_mean(nearest(path, known)) or f"thresher docs show {name}"
                raise NotFound(f"'{name}' has no upload {path!r}.", hint=hint)
            return Upload(
                name, (), removed=tuple(removed), job=(await self._deferred(connection, caller, found.id)).job
            )

        return await run_retrying(self._database, caller.tenant, write)

    def _uploads(self, found: Repository) -> Repository:
        if found.origin.kind == "upload":
            return found
        raise Conflict(
            f"The repository '{found.name}' is indexed from {found.origin.location}.",
            hint="Change its source and refresh it, or upload under another name.",
        )

    async def refresh(self, caller: Caller, name: str) -> Repository:
        """Index a repository again; with what worked last, if its source could not be read with what was said since."""

        async def write(connection: AsyncConnection) -> Repository:
            found = await self._own(connection, caller, name)
            await queries.restore_origin(connection, caller.tenant, found.id)
            may_index(caller, found.origin, self._settings)
            return await self._deferred(connection, caller, found.id)

        return await run_retrying(self._database, caller.tenant, write)

    async def read_again(self, tenant: Tenant, repository: int) -> None:
        """Defer the job of a repository whose source has changed; nothing happens if it is gone.

        Raises:
            NotAllowed: The caller with a key who chose the source may not index it any more.
        """

        async def write(connection: AsyncConnection) -> None:
            found = await queries.repository_by_id(connection, tenant, repository)
            caller = await queries.source_caller(connection, tenant, repository)
            if found is not None and caller is not None:
                may_index(caller, found.origin, self._settings)
                await self._deferred(connection, caller, repository)

        await run_retrying(self._database, tenant, write)

    async def catch_up(self, caller: Caller) -> list[str]:
        """Index repositories again that lack vectors of the current model, or whose words are stemmed otherwise.

        Returns:
            Their names.
        """
        if not self._index.edition(KIND):
            return []
        behind: list[str] = []
        async with self._database.transaction(caller.tenant) as connection:
            stemmed = await queries.stemmed_otherwise(connection, caller.tenant, EDITION)
        for head in (await self._cache.directory(caller)).values():
            if head.owner != caller.user or not head.chunks or head.state in ("waiting", "indexing"):
                continue
            found = await self._index.embedded(caller.tenant, KIND, Filter(facets_of([head.id])))
            if found < head.chunks or head.id in stemmed:
                await run_retrying(
                    self._database, caller.tenant, lambda run, key=head.id: self._deferred(run, caller, key)
                )
                behind.append(head.name)
        return behind

    async def index_here(self, caller: Caller, name: str, origin: Origin, report: Report) -> Repository:
        """Index a repository in this process and wait for it."""
        found = await self.index(caller, name, origin, defer=False)
        await self.indexing.run(caller.tenant, found.id, report)
        async with self._database.transaction(caller.tenant) as connection:
            return await _read(connection, caller, found.id)

    async def listed(self, caller: Caller) -> tuple[Repository, ...]:
        """All repositories that the caller sees; a user's own hides the tenant's of the same name."""
        found = {one.name: one for one in await queries.repositories(self._database, caller)}
        return tuple([await self._settled(caller, one) for _, one in sorted(found.items())])

    async def make_webhook(self, caller: Caller, name: str, webhooks: Webhooks) -> Webhook:
        """Give a repository a webhook."""

        async def write(connection: AsyncConnection) -> Webhook:
            found = await self._own(connection, caller, name)
            return Webhook(name, *await webhooks.make(connection, caller.tenant, found.id, name))

        return await run_retrying(self._database, caller.tenant, write)

    async def remove_webhook(self, caller: Caller, name: str, webhooks: Webhooks) -> None:
        """Take a repository's webhook away."""

        async def write(connection: AsyncConnection) -> None:
            found = await self._own(connection, caller, name)
            await webhooks.remove(connection, caller.tenant, found.id)

        await run_retrying(self._database, caller.tenant, write)

    async def set_schedule(self, caller: Caller, name: str, seconds: int | None) -> Repository:
        """Say how often the source of a repository is checked."""
        check_schedule(seconds)

        async def write(connection: AsyncConnection) -> Repository:
            found = await self._own(connection, caller, name)
            if found.check_seconds == seconds:  # whoever follows it goes on
                return found
            values = {"check_seconds": seconds, "check_at": func.now()}
            await queries.set_repository(connection, caller.tenant, found.id, **values)
            return await _read(connection, caller, found.id)

        return await run_retrying(self._database, caller.tenant, write)

    async def get(self, caller: Caller, name: str) -> Repository:
        """One repository by its name."""
        async with self._database.transaction(caller.tenant) as connection:
            found = await self._seen(connection, caller, name)
        return await self._settled(caller, found)

    async def skipped(self, caller: Caller, name: str) -> tuple[Skipped, ...]:
        """Files that the last run did not read."""
        async with self._database.transaction(caller.tenant) as connection:
            found = await self._seen(connection, caller, name)
            refused = await queries.refused_files(connection, caller.tenant, found.id)
        return tuple(Skipped(one.path, one.reason, one.detail) for one in refused)

    async def remove(self, caller: Caller, name: str) -> Repository:
        """Remove a repository with everything that was indexed of it."""

        async def write(connection: AsyncConnection) -> Repository:
            found = await self._own(connection, caller, name)
            await self._jobs.withdraw(connection, caller.tenant, TASK, found.id)
            await queries.begin_removal(connection, caller.tenant, found.id)
            return found

        found = await run_retrying(self._database, caller.tenant, write)
        await self._ended(caller, found.job)
        await remove(self._database, self._index, caller.tenant, found.id)
        folder = cache_of(self._settings.data_dir, caller.tenant, found.id)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        await self._cache.directory(caller)
        return found

    async def _ended(self, caller: Caller, job: int) -> None:
        """Wait until a withdrawn job has stopped writing, up to a limit in case its worker is gone."""
        if job:
            with suppress(TimeoutError, NotFound):
                await asyncio.wait_for(self._jobs.follow(caller, job), _ENDING_SECONDS)

    async def set_guide(self, caller: Caller, name: str, text: str | None) -> Repository:
        """Replace the guide that was built by a person's, or have it built again."""
        if text is not None and not 0 < len(text.strip()) <= _LONGEST_GUIDE:
            raise InvalidInput("The guide is empty or too long.", hint=f"Write up to {_LONGEST_GUIDE:,} characters.")

        async def write(connection: AsyncConnection) -> Repository:
            found = await self._own(connection, caller, name)
            values = {"guide": clean(text), "guide_by": "person"} if text is not None else {"guide_by": "structure"}
            await queries.set_repository(connection, caller.tenant, found.id, **values)
            if text is None:
                await self.indexing.guide(connection, caller.tenant, found.id)
            return await _read(connection, caller, found.id)

        return await run_retrying(self._database, caller.tenant, write)

    async def _deferred(self, connection: AsyncConnection, caller: Caller, repository: int) -> Repository:
        job = await self._jobs.defer(connection, caller.tenant, TASK, repository, owner=caller.user)
        await queries.set_repository(connection, caller.tenant, repository, job=job.id, state="waiting", problem="")
        return await _read(connection, caller, repository)

    async def _settled(self, caller: Caller, found: Repository) -> Repository:
        """The repository; if its job was given up while it was running, with that as its problem."""
        if found.state not in ("waiting", "indexing") or not found.job:
            return found
        try:
            job = await self._jobs.find(caller, found.job)
        except NotFound:
            return found
        if job.state not in ("failed", "cancelled"):
            return found
        problem = job.error or "The run ended before it was complete; refresh the repository to continue."
        return replace(found, state="failed", problem=problem)

    def _same(self, found: Repository, origin: Origin) -> int:
        if found.origin.location == origin.location:
            return found.id
        raise Conflict(
            f"The repository '{found.name}' already exists, for {found.origin.location}.",
            hint="Choose another name, or remove that repository first.",
        )

    async def _own(self, connection: AsyncConnection, caller: Caller, name: str) -> Repository:
        """A repository that the caller may change."""
        found = await self._seen(connection, caller, name)
        if found.owner != caller.user:
            raise NotAllowed(
                f"The repository '{name}' belongs to the tenant.", hint="Ask its administrator to change it."
            )
        return found

    async def _seen(self, connection: AsyncConnection, caller: Caller, name: str) -> Repository:
        found: Sequence[Repository] = await queries.repositories_in(connection, caller)
        named = [one for one in found if one.name == name]
        if not named:
            raise unknown_repository(name, sorted({one.name for one in found}))
        return named[-1]


def _check_room(limits: SourceLimits, files: int, size: int) -> None:
    if files > limits.files or size > limits.repository_bytes:
        raise InvalidInput(
            f"A repository has up to {limits.files:,} files and {limits.repository_bytes >> 20:,} MiB.",
            hint="Remove uploads, use another repository, or raise THRESHER_REPOSITORY_FILES or _MB.",
        )


async def _read(connection: AsyncConnection, caller: Caller, repository: int) -> Repository:
    found = await queries.repository_by_id(connection, caller.tenant, repository)
    if found is None:
        raise NotFound("The repository was removed meanwhile.", hint="List the repositories.")
    return found
