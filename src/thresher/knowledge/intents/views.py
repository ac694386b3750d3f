"""What each caller sees: the packs on disk, those in use, the caller's thresholds, and the resulting training set.

A pack of a project does nothing until a person has approved exactly its content, and a pack that is not in use never
hides one that is.

Invariant: a view never changes; it is replaced when a file of a pack, a threshold or an approval has, at most
`FRESH_SECONDS` after another process's change and at once after one of this process. While nothing changes on disk,
`PackCache` returns the same object.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias
from weakref import WeakValueDictionary

from cachetools import LRUCache

from thresher.core import Caller, SourceUnavailable, StoreUnavailable, ThresherError
from thresher.knowledge.intents import queries
from thresher.knowledge.intents.discovery import FolderWatch, PackLocation, Sources, discover
from thresher.knowledge.intents.models import Decision, FoundPacks, Inert, Pack, PackProblem, Packs
from thresher.knowledge.intents.queries import StandingRow
from thresher.knowledge.intents.training import TrainingSet, training_set_of
from thresher.store import Database


def assemble(found: FoundPacks, approved: Mapping[str, str]) -> Packs:
    """Separate packs into those in use and the others.

    Args:
        found: All packs found, in the order of their origins.
        approved: The digest that a person has approved, by a pack's path.

    Returns:
        The packs in use by name, the others with the reason, and all problems.
    """
    winners: dict[str, Pack] = {}
    inert: list[Inert] = []
    problems = list(found.problems)
    for pack in found.packs:
        if (refused := _refused(pack, approved)) is not None:
            inert.append(refused)
            continue
        if (loser := winners.get(pack.name)) is not None:
            if pack.origin == loser.origin:  # the earlier one wins; of different origins the later one
                pack, loser = loser, pack
            inert.append(Inert(loser, "shadowed", f"Rename one of the two; '{pack.path}' is used."))
            if pack.digest != loser.digest:
                problems.append(_clash(pack, loser))
        winners[pack.name] = pack
    active = tuple(winners[name] for name in sorted(winners))
    return Packs(active, tuple(inert), tuple(problems), digest_of_packs(active))


def digest_of_packs(packs: Iterable[Pack]) -> str:
    """Return SHA-256 in hex over the names and digests of packs, in order: identifies what a router was fitted on."""
    digest = hashlib.sha256()
    for pack in packs:
        digest.update(f"{pack.name} {pack.form} {pack.digest}\n".encode())
    return digest.hexdigest()


def is_dangerous(pack: Pack) -> bool:
    """Return whether the scanner calls any text of the pack dangerous."""
    return any(finding.severity == "danger" for finding in pack.findings)


def _refused(pack: Pack, approved: Mapping[str, str]) -> Inert | None:
    """Return why a pack is not used; None if it is."""
    known = approved.get(str(pack.path))
    if known == pack.digest:
        return None
    if is_dangerous(pack):
        why = next(finding.why for finding in pack.findings if finding.severity == "danger")
        return Inert(pack, "poisoned", f"{why} Read it; if it is harmless: thresher packs trust {pack.name}.")
    if pack.origin != "project":
        return None
    if known is not None:
        return Inert(pack, "changed", f"Look at what changed, then: thresher packs trust {pack.name}.")
    return Inert(pack, "untrusted", f"Read it, then: thresher packs trust {pack.name}.")


def _clash(winner: Pack, loser: Pack) -> PackProblem:
    if winner.origin == loser.origin:
        message = f"It has the name '{loser.name}' of another pack, '{winner.path}', and is not used."
    else:
        message = f"It is not used: '{loser.name}' of the {winner.origin}, '{winner.path}', takes its place."
    return PackProblem(loser.path, message, "Rename one of the two.", severity="warning")


_EVERY: Final = 0.5
"""Least seconds between two looks at the same locations: many callers share those that belong to no user."""
_PROJECTS: Final = 64


@dataclass(slots=True)
class _CachedPacks:
    watch: FolderWatch
    found: FoundPacks | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class PackCache:
    """The packs on disk, read again when the file system shows a change.

    Args:
        sources: Where packs come from, apart from projects.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._seen: LRUCache[str | None, _CachedPacks] = LRUCache(_PROJECTS)

    def found(self, project: str | None) -> FoundPacks:
        """Return the packs on disk now. Blocks for files, so call it in a thread.

        Args:
            project: The owner's project folder, empty for none; None for callers who own neither user nor project.
        """
        seen = self._of(project)
        with seen.lock:
            if seen.found is None or (seen.watch.is_due() and seen.watch.changed()):
                if seen.found is None:
                    seen.watch.changed()  # before the reading, so that no change in between is missed
                found = discover(self._locations(project), seen.found)
                seen.found = replace(found, problems=(*self._sources.problems, *found.problems))
            return seen.found

    def forget(self, project: str | None) -> None:
        """Read everything again at the next call."""
        with self._lock:
            self._seen.pop(project, None)

    def _of(self, project: str | None) -> _CachedPacks:
        with self._lock:
            if (seen := self._seen.get(project)) is None:
                seen = self._seen[project] = _CachedPacks(FolderWatch(self._locations(project), every=_EVERY))
            return seen

    def _locations(self, project: str | None) -> tuple[PackLocation, ...]:
        if project is None:
            return replace(self._sources, home=None).locations()
        return self._sources.locations(project)


FRESH_SECONDS: Final = 2.0
"""How long a view is used without a look at files and database."""
_READ_SECONDS: Final = 1.0
"""Time limit of a look if there is a view to continue with."""
RELOAD_SECONDS: Final = 20.0
"""The same if a person asked for a new look."""
_DECISIONS: Final = 500
"""Decisions remembered for each view."""
_VIEWS: Final = 64
_NEVER: Final = float("-inf")
Key: TypeAlias = tuple[int, str | None, str, bool]


@dataclass(frozen=True, slots=True)
class View:
    """What one caller sees.

    Attributes:
        packs: The packs, used and not.
        by_name: The active ones by name.
        found: The packs found on disk.
        standing: Thresholds and approvals that people set.
        training_set: What the router is fitted on.
        decisions: Decisions made under this view; a bounded cache.
    """

    packs: Packs
    by_name: Mapping[str, Pack]
    found: FoundPacks
    standing: StandingRow
    training_set: TrainingSet
    decisions: LRUCache[Hashable, Decision] = field(default_factory=lambda: LRUCache(_DECISIONS))


@dataclass(slots=True)
class _CachedView:
    view: View
    checked: float
    changes: int
    reading: bool = False


class Views:
    """The views in use; the least recently used one is dropped first."""

    def __init__(self, database: Database, cache: PackCache, owner: Caller) -> None:
        self._database = database
        self._cache = cache
        self._owner = owner
        self._held: LRUCache[Key, _CachedView] = LRUCache(_VIEWS)
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self._changes: defaultdict[int, int] = defaultdict(int)
        self.followers: list[Callable[[Caller, Packs], object]] = []

    def owns(self, caller: Caller) -> bool:
        """Return whether the caller owns the packs of this machine's user and projects."""
        return caller == self._owner

    def key(self, caller: Caller) -> Key:
        """Return the key of a view; callers with equal keys see the same."""
        return caller.tenant.id, caller.user, caller.project if self.owns(caller) else "", caller.keyed

    def fresh(self, caller: Caller) -> View | None:
        """Return the view if it needs no look at files and database."""
        key = self.key(caller)
        held = self._held.get(key)
        if held is None or time.monotonic() - held.checked > FRESH_SECONDS:
            return None
        return held.view

    def is_reading(self, caller: Caller) -> bool:
        """Return whether files are still being read, so that the view is of an earlier look."""
        held = self._held.get(self.key(caller))
        return held is not None and held.reading

    async def current(self, caller: Caller, *, patience: float = _READ_SECONDS) -> View:
        """Return a view at most `FRESH_SECONDS` behind other processes and files, and never behind this process.

        If the database does not answer, or reading files takes longer, the former view is returned.

        Args:
            caller: The caller.
            patience: Time limit in seconds if there is a former view.

        Raises:
            StoreUnavailable: The database does not answer, and there is no former view, or this process changed
                something.
            SourceUnavailable: The same while files are read.
        """
        if (view := self.fresh(caller)) is not None:
            return view
        async with self._locks.setdefault(self.key(caller), asyncio.Lock()):
            return self.fresh(caller) or await self._renewed(caller, patience)

    def changed(self, tenant_id: int) -> None:
        """Note that this process changed thresholds or approvals of a tenant."""
        self._changes[tenant_id] += 1
        for key in self._held:
            if key[0] == tenant_id:
                self._held[key].checked = _NEVER

    def confirm(self, caller: Caller, view: View, version: int) -> None:
        """Compare the view's version with one that was just read; another one renews the view at the next request."""
        held = self._held.get(self.key(caller))
        if held is None or held.view is not view:
            return
        if view.standing.version != version:
            held.checked = _NEVER

    def forget(self, caller: Caller) -> None:
        """Look again before the next answer."""
        if (held := self._held.get(self.key(caller))) is not None:
            held.checked = _NEVER

    async def _renewed(self, caller: Caller, patience: float) -> View:
        key = self.key(caller)
        held = self._held.get(key)
        changes = self._changes[caller.tenant.id]
        project = caller.project if self.owns(caller) else None
        looking = asyncio.create_task(asyncio.to_thread(self._cache.found, project))
        try:
            async with asyncio.timeout(None if held is None else patience):
                standing = await queries.read_standing(self._database, caller)
                found = await asyncio.shield(looking)
        except (StoreUnavailable, TimeoutError) as error:
            is_reading = isinstance(error, TimeoutError) and not looking.done()
            if held is None or held.changes != changes:
                raise _behind(reading=is_reading) from None
            held.checked, held.reading = time.monotonic(), is_reading
            return held.view
        view = held.view if held is not None else None
        if view is None or view.found is not found or view.standing.version != standing.version:
            view = await asyncio.to_thread(_view, found, standing, view)
        checked = time.monotonic() if changes == self._changes[caller.tenant.id] else _NEVER
        self._held[key] = _CachedView(view, checked, changes)
        if held is None or held.view.packs.digest != view.packs.digest:
            for follower in self.followers:
                follower(caller, view.packs)
        return view


def _behind(*, reading: bool) -> ThresherError:
    """Return the error for a missing view."""
    if reading:
        return SourceUnavailable("The packs of this project are still being read.", hint="Try again in a moment.")
    return StoreUnavailable("The database does not answer.", hint="Try again in a moment.")


def _view(found: FoundPacks, standing: StandingRow, last: View | None) -> View:
    packs = assemble(found, standing.trusted)
    known = last is not None and last.packs.digest == packs.digest
    training_set = last.training_set if last is not None and known else training_set_of(packs)
    return View(packs, {pack.name: pack for pack in packs.active}, found, standing, training_set)
