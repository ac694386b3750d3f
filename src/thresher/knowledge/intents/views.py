"""What each caller sees: its packs, its thresholds, and the training set that these make.

Invariant: a view never changes; it is replaced when a file of a pack, a threshold or an approval has, at most
`FRESH_SECONDS` after another process's change and at once after this one's.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from thresher.core import Caller, SourceUnavailable, StoreUnavailable, ThresherError
from thresher.knowledge.intents import queries
from thresher.knowledge.intents.assembly import assemble
from thresher.knowledge.intents.models import Decision, Found, Pack, Packs
from thresher.knowledge.intents.queries import StandingRow
from thresher.knowledge.intents.shelf import Shelf
from thresher.knowledge.intents.training import Lesson, lesson_of
from thresher.store import Database

FRESH_SECONDS: Final = 2.0
"""How long a view serves without a look at files and database."""
_READ_SECONDS: Final = 1.0
"""How long a look may take where there is a view to go on with."""
RELOAD_SECONDS: Final = 20.0
"""The same where a person has asked for a fresh look."""
_VIEWS: Final = 64
_NEVER: Final = float("-inf")
Key: TypeAlias = tuple[int, str | None, str, bool]


@dataclass(frozen=True, slots=True)
class View:
    """What one caller sees.

    Attributes:
        packs: The packs, used and not.
        by_name: The active ones by name.
        found: What they were assembled from.
        standing: What people have decided.
        lesson: What the router is fitted on.
        decisions: Decisions made under this view; a bounded cache.
    """

    packs: Packs
    by_name: Mapping[str, Pack]
    found: Found
    standing: StandingRow
    lesson: Lesson
    decisions: OrderedDict[Hashable, Decision] = field(default_factory=OrderedDict[Hashable, Decision])


@dataclass(slots=True)
class _Held:
    view: View
    checked: float
    changes: int
    reading: bool = False


class Views:
    """Holds the views in use, the least recently used one leaving first."""

    def __init__(self, database: Database, shelf: Shelf, owner: Caller) -> None:
        self._database = database
        self._shelf = shelf
        self._owner = owner
        self._held: OrderedDict[Key, _Held] = OrderedDict()
        self._locks: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._changes: defaultdict[int, int] = defaultdict(int)
        self.followers: list[Callable[[Caller, Packs], object]] = []

    def owns(self, caller: Caller) -> bool:
        """Whether the packs of this machine's user and projects are the caller's."""
        return caller == self._owner

    def key(self, caller: Caller) -> Key:
        """Callers with equal keys see the same."""
        return caller.tenant.id, caller.user, caller.project if self.owns(caller) else "", caller.keyed

    def fresh(self, caller: Caller) -> View | None:
        """The view, if it needs no look at files and database."""
        key = self.key(caller)
        held = self._held.get(key)
        if held is None or time.monotonic() - held.checked > FRESH_SECONDS:
            return None
        self._held.move_to_end(key)
        return held.view

    def is_reading(self, caller: Caller) -> bool:
        """Whether files are still being read, so that the view is of an earlier look."""
        held = self._held.get(self.key(caller))
        return held is not None and held.reading

    async def current(self, caller: Caller, *, patience: float = _READ_SECONDS) -> View:
        """A view at most `FRESH_SECONDS` behind other processes and files, and never behind this process.

        While the database does not answer, or files are read for longer than that, the last one serves.

        Args:
            caller: Who asks.
            patience: Seconds that a look may take where there is a last one.

        Raises:
            StoreUnavailable: The database does not answer, and there is none, or this process has changed something.
            SourceUnavailable: The same while files are read.
        """
        if (view := self.fresh(caller)) is not None:
            return view
        async with self._locks[self.key(caller)]:
            return self.fresh(caller) or await self._renewed(caller, patience)

    def changed(self, tenant_id: int) -> None:
        """Note that this process changed what a tenant's people have decided."""
        self._changes[tenant_id] += 1
        for key, held in self._held.items():
            if key[0] == tenant_id:
                held.checked = _NEVER

    def confirm(self, caller: Caller, view: View, version: int) -> None:
        """Take note of a version just read: if it is the view's, it need not be asked for soon.

        Unless this process has changed something since: the version may have been read before that. Files are not
        looked at here, so the next look is only put off by as long as they may go unseen.
        """
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
        looking = asyncio.create_task(asyncio.to_thread(self._shelf.found, project))
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
        self._held[key] = _Held(view, checked, changes)
        if held is None or held.view.packs.digest != view.packs.digest:
            for told in self.followers:
                told(caller, view.packs)
        while len(self._held) > _VIEWS:
            self._locks.pop(self._held.popitem(last=False)[0], None)
        return view


def _behind(*, reading: bool) -> ThresherError:
    """Why there is no view that is new enough."""
    if reading:
        return SourceUnavailable("The packs of this project are still being read.", hint="Try again in a moment.")
    return StoreUnavailable("The database does not answer.", hint="Try again in a moment.")


def _view(found: Found, standing: StandingRow, last: View | None) -> View:
    packs = assemble(found, standing.trusted)
    known = last is not None and last.packs.digest == packs.digest
    lesson = last.lesson if last is not None and known else lesson_of(packs)
    return View(packs, {pack.name: pack for pack in packs.active}, found, standing, lesson)
