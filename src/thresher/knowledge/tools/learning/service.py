"""Learning of one process: the uses that it knows, whether they rank tools, and what people see and decide of it.

Invariant: the setting bounds what a tenant may decide: with `off` nothing is recorded, and without `on` uses rank
nothing until somebody, or a replay where a setting allows it, has decided so. A search waits for the database only
before this process knows anything of the tenant, or after it has changed something itself; what other processes change
is read beside the searches.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from cachetools import LRUCache

from thresher.core import Caller, InvalidInput, NotAllowed, Settings, Tenant, ThresherError, event
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import FRESH_SECONDS, CatalogueCache, ToolCatalogue
from thresher.knowledge.tools.learning.evidence import Evidence, evidence_of, learned_scores
from thresher.knowledge.tools.learning.replay import Replay, replay
from thresher.knowledge.tools.learning.uses import OfferedAnswer, UseTracker, voter_of
from thresher.knowledge.tools.models import Use
from thresher.search import Adapter, Floats, LearnedScores, Learner
from thresher.store import Database, age_limit, run_retrying

logger = logging.getLogger("thresher.knowledge")

MODES: Final = ("off", "shadow", "on")
BY_REPLAY: Final = "replay"
"""Who decided, if nobody did."""
_REPLAY_EACH: Final = 100
"""New uses after which a replay may decide."""
_ROOM: Final = 40_000
"""Uses of all tenants in this process, some 2.5 kB each; a tenant without any takes the room of one."""
_READ_SECONDS: Final = 5.0
"""How long a search waits for the uses of a tenant that this process knows nothing of."""
_AGAIN_SECONDS: Final = 5.0
"""How long a tenant counts as without uses after they could not be read."""
_OVERLAP: Final = 200
"""Uses that are read a second time, since they are not written in the order of their numbers."""
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class UsedTool:
    """What uses say about one tool.

    Attributes:
        name: The name that clients see.
        uses: Successful calls after a search.
        again: Those of them that count for a message whose answer lacked the tool.
        passed: How often it was offered before a tool that was called.
        failed: How often its call failed and another tool was called.
        voters: Users and keys who used it.
        last: When it was used last; None if never.
        messages: Some messages, where the setting allows texts; with a key only the caller's own.
    """

    name: str
    uses: int
    again: int
    passed: int
    failed: int
    voters: int
    last: dt.datetime | None
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearningState:
    """What was learned, and whether it ranks tools.

    Attributes:
        mode: `off`: nothing is recorded; `shadow`: uses are recorded; `on`: they rank tools.
        setting: What THRESHER_LEARNING says.
        decided_by: Who chose another mode; `replay`: the figures did; empty: the setting holds.
        decided_at: When.
        uses: The uses that the caller may see, which count.
        tools: What they say, the most used tool first.
    """

    mode: str
    setting: str
    decided_by: str
    decided_at: dt.datetime | None
    uses: int
    tools: tuple[UsedTool, ...]


@dataclass(slots=True)
class _Known:
    """What this process knows of a tenant.

    Attributes:
        row: What was decided, and the version.
        uses: The uses by number; empty unless they rank.
        evidence: The same by model, as columns.
        lasts: Seconds after which it has to be read again.
        read_at: When it was read, on the monotonic clock.
        stale: Whether another version was seen.
        adapter: What training adds to the vectors of tools; None without any.
        adapted_at: When that was trained.
    """

    row: queries.LearningRow
    uses: dict[int, Use] = field(default_factory=dict[int, Use])
    evidence: Mapping[str, Evidence] = field(default_factory=dict[str, Evidence])
    lasts: float = float("inf")
    read_at: float = field(default_factory=time.monotonic)
    stale: bool = False
    adapter: Adapter | None = None
    adapted_at: dt.datetime | None = None


class Learning:
    """Learning from use. One per process."""

    def __init__(self, database: Database, catalogues: CatalogueCache, settings: Settings) -> None:
        self._database = database
        self._catalogues = catalogues
        self._settings = settings
        self._known: LRUCache[int, _Known] = LRUCache(_ROOM, getsizeof=lambda known: 1 + len(known.uses))
        self._tracker = UseTracker()
        self._locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changes: defaultdict[int, int] = defaultdict(int)
        self._new: defaultdict[int, int] = defaultdict(int)

        self.write_pending: Callable[[], Awaitable[None]] = _nothing
        """Writes the uses that wait in the log; the log sets it."""

    async def for_search(self, caller: Caller) -> tuple[Learner | None, Adapter | None]:
        """Return what a search adds: how uses rank tools for a caller, and what training adds to their vectors.

        Each is None where it has no effect. An adapter is returned whatever its model.
        """
        known = await self._current(caller.tenant)
        if self._mode(known.row) != "on" or not known.evidence:
            return None, known.adapter
        voter, now = voter_of(caller), time.time()

        def learned(model: str, vectors: Floats) -> LearnedScores | None:
            evidence = known.evidence.get(model)
            if evidence is None:
                return None
            return learned_scores(vectors, evidence, voter, now, self._settings.learning_days)

        return learned, known.adapter

    def offered(self, caller: Caller, answer: OfferedAnswer) -> None:
        """Record an answer to which calls may belong."""
        if self._records(caller):
            self._tracker.offered(caller, answer)

    def called(self, caller: Caller, tool_id: int, state: str, now: dt.datetime) -> list[Use]:
        """Record a call; returns its uses, to be written. See `UseTracker.called`."""
        return self._tracker.called(caller, tool_id, state, now) if self._records(caller) else []

    def written(self, tenant: Tenant, version: int, removals: int, uses: int) -> None:
        """Record that log rows, some of them uses, were written.

        Args:
            tenant: The tenant whose uses were written.
            version: The version of the uses then.
            removals: How often uses had been removed: after another process has, the next search reads all again.
            uses: How many of the rows are uses.
        """
        known = self._known.get(tenant.id)
        if known is not None and known.row.removals < removals:
            self._tracker.forget(Caller(tenant))
            self.changed(tenant)
        elif known is not None and known.row.version != version:
            known.stale = True
        if self._settings.learning_auto == "on" and uses:
            self._new[tenant.id] += uses
            if self._new[tenant.id] >= _REPLAY_EACH:
                self._new[tenant.id] = 0
                self._begin(self._decide_by_replay(tenant))

    async def state(self, caller: Caller) -> LearningState:
        """Return what was learned from the uses that a caller may see, and the mode in force."""
        row, uses = await self._read(caller)
        names = await self._names(caller)
        # Nobody with a key reads what others have asked.
        voter = voter_of(caller) if caller.keyed else None
        listed = await asyncio.to_thread(_used_tools, uses, names, voter)
        setting = self._settings.learning
        return LearningState(self._mode(row), setting, row.decided_by, row.decided_at, len(uses), listed)

    async def replay(self, caller: Caller) -> Replay:
        """Compute what learning would have changed for the uses that a caller may see."""
        row, uses = await self._read(caller)
        names = await self._names(caller)
        return await asyncio.to_thread(replay, uses, self._settings.learning_days, names, self._mode(row))

    async def decide(self, caller: Caller, mode: str) -> LearningState:
        """Switch learning for the caller's tenant.

        Raises:
            NotAllowed: The caller is one of the tenant's users, or the setting forbids this mode.
        """
        if caller.user is not None:
            raise NotAllowed(
                "Whether tools are ranked by use is decided for all users.", hint="Ask the tenant's owner."
            )
        if self._settings.learning == "off" and mode != "off":
            raise NotAllowed(
                "THRESHER_LEARNING is off: nothing is recorded.", hint="Set it to shadow or on, and start again."
            )
        by = "key" if caller.keyed else "owner"
        await run_retrying(
            self._database, caller.tenant, lambda run: queries.decide_learning(run, caller.tenant, mode, by)
        )
        self.changed(caller.tenant)
        if mode == "off":
            await self._current(caller.tenant)
            await self.prepare_removal(caller)
        return await self.state(caller)

    async def forget(self, caller: Caller, names: Sequence[str] | None) -> int:
        """Remove uses of some tools, or all, that a caller may see; returns how many.

        A tool may be held or gone, if the caller has called it by this name.

        Raises:
            InvalidInput: The list of names is empty.
            NotFound: No tool has this name.
        """
        if names is not None and not names:
            raise InvalidInput("No tool is named.", hint="Name tools, or forget the uses of all.")
        catalogue = await self._catalogues.current(caller)
        ids = None if names is None else await self._ids(caller, catalogue, names)
        await self.prepare_removal(caller)
        removed = await run_retrying(self._database, caller.tenant, lambda run: queries.forget_uses(run, caller, ids))
        self.changed(caller.tenant)
        return removed

    async def prepare_removal(self, caller: Caller) -> None:
        """Forget a caller's searches, and write what waits: else uses of before would be written after the removal."""
        self._tracker.forget(caller)
        await self.write_pending()

    def changed(self, tenant: Tenant) -> None:
        """Record that this process has changed a tenant's uses: they are read before the next search."""
        self._changes[tenant.id] += 1
        self._known.pop(tenant.id, None)

    async def settle(self) -> None:
        """Wait until nothing is being read or decided."""
        while self._tasks:
            await asyncio.wait([*self._tasks])

    def _records(self, caller: Caller) -> bool:
        """Whether uses of a caller are recorded; every search reads what was decided before it is."""
        if self._settings.learning == "off" or caller.assisted:
            return False
        known = self._known.get(caller.tenant.id)
        return known is None or self._mode(known.row) != "off"

    def _mode(self, row: queries.LearningRow) -> str:
        setting = self._settings.learning
        return setting if setting == "off" or row.mode is None else row.mode

    async def _current(self, tenant: Tenant) -> _Known:
        while True:
            known = self._known.get(tenant.id)
            if known is not None and time.monotonic() - known.read_at < known.lasts:
                if known.stale and time.monotonic() - known.read_at > FRESH_SECONDS:
                    known.stale = False
                    self._begin(self._renew(tenant))
                return known
            async with self._locks.setdefault(tenant.id, asyncio.Lock()):
                if self._known.get(tenant.id) is known:
                    await self._renew(tenant)
            if (known := self._known.get(tenant.id)) is not None:  # else something has changed meanwhile
                return known

    async def _renew(self, tenant: Tenant) -> None:
        """Read what is new of a tenant; while that is not possible, what is known serves."""
        before, changes = self._known.get(tenant.id), self._changes[tenant.id]
        try:
            async with asyncio.timeout(_READ_SECONDS), self._database.transaction(tenant) as connection:
                row = await queries.read_learning(connection, tenant)
                uses: dict[int, Use] = {}
                if self._mode(row) == "on":
                    if before is not None and before.row.removals == row.removals:
                        uses = before.uses
                    # Numbers are drawn before a transaction ends, so one that is smaller may come later.
                    after = max(uses, default=_OVERLAP) - _OVERLAP
                    new = await queries.read_uses(connection, Caller(tenant), after=after - 1, ranking=True)
                    oldest = age_limit(self._settings.log_days)
                    uses = {number: use for number, use in (uses | new).items() if use.at > oldest}
                trained = await queries.read_adapter(connection, tenant, before and before.adapted_at)
        except (ThresherError, TimeoutError) as error:
            reason = error.message if isinstance(error, ThresherError) else "no answer in time"
            event(logger, "uses not read", level=logging.WARNING, tenant=tenant.id, reason=reason)
            if before is None or before.lasts == _AGAIN_SECONDS:
                self._known[tenant.id] = _Known(queries.LearningRow(), lasts=_AGAIN_SECONDS)
            return
        uses = _newest(uses)
        evidence = await asyncio.to_thread(_evidence_by_model, [*uses.values()])
        if before is not None and before.row.removals < row.removals:
            self._tracker.forget(Caller(tenant))
        if self._changes[tenant.id] == changes:
            known = self._known[tenant.id] = _Known(row, uses, evidence)
            if trained is not None:
                known.adapted_at = trained.made_at
                known.adapter = adapter_of(trained) or (before and before.adapter)

    async def _decide_by_replay(self, tenant: Tenant) -> None:
        """Switch learning on if nobody has decided and a replay says that it helps."""
        try:
            row, uses = await self._read(Caller(tenant))
            if row.mode is not None or self._mode(row) != "shadow":
                return
            figures = await asyncio.to_thread(replay, uses, self._settings.learning_days, {}, "shadow")
            if figures.helps:
                await run_retrying(
                    self._database,
                    tenant,
                    lambda run: queries.decide_learning(run, tenant, "on", BY_REPLAY, undecided=True),
                )
                self.changed(tenant)
                event(logger, "learning switched on", tenant=tenant.id, uses=figures.uses, low=round(figures.low, 4))
        except ThresherError as error:
            event(logger, "learning not decided", level=logging.WARNING, tenant=tenant.id, reason=error.message)

    async def _read(self, caller: Caller) -> tuple[queries.LearningRow, list[Use]]:
        async with self._database.transaction(caller.tenant) as connection:
            row = await queries.read_learning(connection, caller.tenant)
            return row, [*(await queries.read_uses(connection, caller)).values()]

    async def _ids(self, caller: Caller, catalogue: ToolCatalogue, names: Sequence[str]) -> list[int]:
        """The rows of tools by name, of those that are held or gone too."""
        ids: set[int] = set()
        async with self._database.transaction(caller.tenant) as connection:
            for name in names:
                found = await queries.called_tools(connection, caller, name)
                if (held := catalogue.held.get(name)) is not None:
                    found.add(held.row.id)
                ids |= found if found and name not in catalogue.by_name else {catalogue.known(name).row.id}
        return sorted(ids)

    async def _names(self, caller: Caller) -> dict[int, str]:
        return {tool.row.id: tool.name for tool in (await self._catalogues.current(caller)).tools}

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def adapter_of(row: queries.AdapterRow) -> Adapter | None:
    """Return the adapter of a row; None if its offsets were not read."""
    if row.offsets is None:
        return None
    offsets = np.frombuffer(row.offsets, np.float16).astype(np.float32)
    return Adapter(row.model, np.array(row.tools, np.int64), offsets.reshape(len(row.tools), -1))


def _newest(uses: Mapping[int, Use]) -> dict[int, Use]:
    """Those that count, as a reading of all would return them."""
    counts: defaultdict[str, int] = defaultdict(int)
    kept: list[int] = []
    for number in sorted(uses, reverse=True):
        counts[uses[number].voter] += 1
        if counts[uses[number].voter] <= queries.MOST_EACH and len(kept) < queries.MOST_USES:
            kept.append(number)
    return {number: uses[number] for number in reversed(kept)}


def _evidence_by_model(uses: Sequence[Use]) -> dict[str, Evidence]:
    by_model: defaultdict[str, list[Use]] = defaultdict(list)
    for use in uses:
        by_model[use.model].append(use)
    return {model: evidence_of(same) for model, same in by_model.items()}


def _used_tools(uses: Sequence[Use], names: Mapping[int, str], voter: str | None) -> tuple[UsedTool, ...]:
    """What uses say about the tools that have a name, the most used tool first; messages are this voter's, or all."""
    own: defaultdict[int, list[Use]] = defaultdict(list)
    passed: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for use in uses:
        own[use.tool_id].append(use)
        passed.update(use.passed)
        failed.update(use.failed)
    listed: list[UsedTool] = []
    for tool in (own.keys() | passed.keys() | failed.keys()) & names.keys():
        those = own.get(tool, [])
        messages = dict.fromkeys(use.message for use in reversed(those) if use.message and voter in (None, use.voter))
        listed.append(
            UsedTool(
                name=names[tool],
                uses=len(those),
                again=sum(use.weight < 1 for use in those),
                passed=passed[tool],
                failed=failed[tool],
                voters=len({use.voter for use in those}),
                last=max((use.at for use in those), default=None),
                messages=tuple(messages)[:_EXAMPLES],
            )
        )
    return tuple(sorted(listed, key=lambda one: (-one.uses, one.name)))


async def _nothing() -> None:
    """Nothing waits in a log."""
