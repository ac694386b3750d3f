"""Follows the sources of all tenants: which are due, what they are followed by, and when they are indexed again.

A source is taken up for a while, by one daemon. A folder without a schedule of its own is watched from then on, and
the daemon renews its claim; any other source is checked once. Changes wait while the daemon is busy, and a source that
changes all the time is indexed less and less often.

Invariant: nothing here reads documents or fetches: a change defers the job of the repository, once.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from watchfiles import Change, watch

from thresher.core import Settings, Tenant, event
from thresher.jobs import Claim, ClaimedRows, ClaimLoop
from thresher.knowledge.documents import queries
from thresher.knowledge.documents.indexing.run import cache_of
from thresher.knowledge.documents.models import Repository
from thresher.knowledge.documents.sources import (
    SourceLimits,
    WatchedFolders,
    has_changed,
    is_remote,
    may_index,
    watched_folders,
)
from thresher.store import Database
from thresher.store.tables import repository

_logger = logging.getLogger("thresher.knowledge")

LOOK_SECONDS, RENEW_SECONDS = 5.0, 20.0
"""Pauses of a watch: before it has checked what changed earlier, and afterwards. Its claim is renewed after each."""
_SOURCES: Final = ClaimedRows(
    repository,
    "take_up_sources",
    "source",
    repository.c.check_seconds.is_distinct_from(0) & (repository.c.state != queries.REMOVING),
)
MOST_WATCHES: Final = 64
"""Sources that are watched at once, each with a thread; the others are checked on their schedule."""
_CHECKS: Final = 2
"""Checks at once; each takes a thread."""
_CHECK_SECONDS: Final = 60.0
"""Time limit of a check."""
FIRST_GAP, LONGEST_GAP = 1.0, 60.0
"""Seconds between two runs over a source; doubled while it goes on changing."""
LATE_SECONDS: Final = 0.1
"""How late the event loop is where changes wait: the daemon is busy with answers."""
BUSY_SECONDS: Final = 10.0
"""How long changes wait at most."""
_NAP_SECONDS: Final = 0.2
QUIET_MILLISECONDS: Final = 400
"""Changes are reported when nothing more has changed for this long: an editor writes a file in several steps."""
LONGEST_MILLISECONDS: Final = 3_000
"""Changes that never stop are reported after this long."""
_SETTLED: Final = ("ready", "failed")
"""States of a repository of which no job waits or runs."""

Defer = Callable[[Tenant, int], Awaitable[None]]
"""Defers the job of a repository."""


class FolderWatch:
    """A watch on the folders of one source, in a thread of its own, which ends soon after `close`.

    What it reports is handled on the event loop.

    Args:
        watched: The folders.
        changed: Called on the event loop after changes; True if other folders must be watched by now.
        failed: Called on the event loop if the system refuses the watch, with the reason.
    """

    def __init__(self, watched: WatchedFolders, changed: Callable[[bool], None], failed: Callable[[str], None]) -> None:
        self._watched, self._changed, self._failed = watched, changed, failed
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._begun = asyncio.Event()
        threading.Thread(target=self._run, name="watch of a source", daemon=True).start()

    async def begun(self) -> None:
        """Wait until changes are seen, or the watch has failed."""
        await self._begun.wait()

    def close(self) -> None:
        """End the watch; nothing is reported afterwards."""
        self._stop.set()

    def _run(self) -> None:
        try:
            self._look(self._watched.folders)
        except (OSError, RuntimeError) as error:  # the system's table of watches is full, or a folder is gone
            reason = str(error)
            self._tell(lambda: self._failed(reason))
        self._tell(self._begun.set)

    def _look(self, folders: tuple[Path, ...]) -> None:
        steps = watch(
            *folders, watch_filter=None, recursive=False, debounce=LONGEST_MILLISECONDS, step=QUIET_MILLISECONDS,
            stop_event=self._stop, rust_timeout=QUIET_MILLISECONDS, yield_on_timeout=True, raise_interrupt=False,
            ignore_permission_denied=True,
        )  # fmt: skip
        for changes in steps:
            if not self._begun.is_set():
                self._tell(self._begun.set)
            if changes and any(self._watched.matters(path) for _, path in changes):
                new = (path for change, path in changes if change is Change.added or path.endswith(".gitignore"))
                gone = (Change.deleted, str(folders[0])) in changes  # another one may be in its place
                reshaped = gone or any(map(self._watched.reshapes, new))
                self._tell(lambda reshaped=reshaped: self._changed(reshaped))

    def _tell(self, call: Callable[[], None]) -> None:
        def told() -> None:
            if not self._stop.is_set():
                call()

        try:
            self._loop.call_soon_threadsafe(told)
        except RuntimeError:  # the loop is closed: the process ends
            self._stop.set()


class Follower:
    """Follows sources for as long as it runs; one for each daemon.

    Args:
        database: The database of the repositories.
        settings: Whether and how often sources are checked; the data folder.
        defer: Defers the job of a repository.
    """

    def __init__(self, database: Database, settings: Settings, defer: Defer) -> None:
        self._database = database
        self._settings = settings
        self._defer = defer
        self._claims = ClaimLoop(database, _SOURCES, self._follow, float(settings.check_seconds))
        self._watches = 0
        self._checks = asyncio.Semaphore(_CHECKS)
        limits = SourceLimits.of(settings)
        self._limits = SourceLimits(
            limits.document_bytes, limits.repository_bytes, limits.files, min(limits.seconds, _CHECK_SECONDS)
        )

    async def run(self) -> None:
        """Follow sources until cancelled."""
        if self._settings.watch != "off":
            await self._claims.run()

    async def _follow(self, claim: Claim) -> None:
        """Watch a source, or check it once."""
        if (found := await self._read(claim.tenant, claim.row)) is not None:
            claim.after = float(found.check_seconds or self._settings.check_seconds)
            if (watched := await self._watchable(found)) is None:
                await self._check(claim.tenant, found)
            elif await self._watch(claim, found, watched):
                claim.after = 0.0  # it is taken up again

    async def _watchable(self, found: Repository) -> WatchedFolders | None:
        if found.check_seconds is not None or self._watches >= MOST_WATCHES:
            return None
        return await asyncio.to_thread(watched_folders, found.origin, self._limits, (self._settings.data_dir,))

    async def _check(self, tenant: Tenant, found: Repository) -> None:
        """Have a source indexed if it has another version than what is stored, or can be read again."""
        if found.version and found.state in _SETTLED:
            cache = cache_of(self._settings.data_dir, tenant, found.id)
            forbidden = (self._settings.data_dir,)
            async with self._checks:
                changed = await asyncio.to_thread(
                    has_changed, found.origin, found.version, cache, self._limits, forbidden
                )
            if changed or found.state == "failed":
                await self._defer(tenant, found.id)

    async def _watch(self, claim: Claim, found: Repository, watched: WatchedFolders) -> bool:
        """Watch a source until it is not followed any more; return whether it must be followed otherwise."""
        tenant, signs = claim.tenant, _Signs()
        identity = await asyncio.to_thread(watched.identity)
        watch = FolderWatch(watched, signs.changed, signs.failed)
        self._watches += 1
        gap, pause, checked = FIRST_GAP, 0.0, False
        try:
            await watch.begun()
            while not signs.failure:
                await signs.wait(pause)
                former_identity, identity = identity, await asyncio.to_thread(watched.identity)
                moved = identity != former_identity
                if signs.take() or moved:
                    if signs.reshaped or moved:
                        signs.reshaped = False
                        others = await self._watchable(found)
                        if others is not None:
                            former, watch = watch, FolderWatch(others, signs.changed, signs.failed)
                            await watch.begun()
                            former.close()
                        elif identity is not None:  # it has become too large
                            return False
                    await _until_calm()
                    await self._changed(tenant, found)
                    await asyncio.sleep(gap)
                    gap = min(gap * 2, LONGEST_GAP) if signs else FIRST_GAP
                current = await self._read(tenant, found.id)
                if current is None or not await claim.renew():
                    return False
                if (current.origin, current.check_seconds) != (found.origin, found.check_seconds):
                    return True
                if not checked and current.state in _SETTLED:  # what changed before it was watched
                    checked = True
                    await self._check(tenant, current)
                pause = RENEW_SECONDS if checked and identity else LOOK_SECONDS
        finally:
            watch.close()
            self._watches -= 1
        event(_logger, "source not watched", level=logging.WARNING, repository=found.id, reason=signs.failure)
        return False

    async def _changed(self, tenant: Tenant, found: Repository) -> None:
        if found.origin.kind == "git" and not is_remote(found.origin.location):
            current = await self._read(tenant, found.id)  # another branch may have moved
            if current is not None:
                await self._check(tenant, current)
        else:
            await self._defer(tenant, found.id)

    async def _read(self, tenant: Tenant, key: int) -> Repository | None:
        """The repository; None if it is gone.

        Raises:
            NotAllowed: The caller with a key who chose its source may not index it any more.
        """
        async with self._database.transaction(tenant) as connection:
            found = await queries.repository_by_id(connection, tenant, key)
            caller = await queries.source_caller(connection, tenant, key)
        if found is not None and caller is not None:
            may_index(caller, found.origin, self._settings)
        return found


class _Signs:
    """What a watch has reported."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.reshaped = False
        self.failure = ""

    def __bool__(self) -> bool:
        return self._event.is_set()

    def changed(self, reshaped: bool) -> None:
        """Note a change."""
        self.reshaped |= reshaped
        self._event.set()

    def failed(self, reason: str) -> None:
        """Note that nothing more will be reported."""
        self.failure = reason
        self._event.set()

    def take(self) -> bool:
        """Whether something has changed since the last call."""
        found = self._event.is_set() and not self.failure
        self._event.clear()
        return found

    async def wait(self, seconds: float) -> None:
        """Wait for a report, up to a limit."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()


async def _until_calm() -> None:
    """Wait while answers would wait, up to a limit: while the event loop is late."""
    loop = asyncio.get_running_loop()
    until = loop.time() + BUSY_SECONDS
    while (began := loop.time()) < until:
        await asyncio.sleep(_NAP_SECONDS)
        if loop.time() - began < _NAP_SECONDS + LATE_SECONDS:
            return
