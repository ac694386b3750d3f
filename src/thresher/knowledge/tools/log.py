"""The logs of discoveries, calls and uses: writing them, the figures of a period, and their removal.

Invariant: no answer and no call waits for its row. The text of a message is in a row only if the setting says so,
without its secrets. Counts are of one tenant; a share is None if there was nothing to count. No transaction of a
removal is long, however much there is to remove; the next run finishes one that was cut off, and two at once (replicas
sweep independently) only share the work.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Final

from cachetools import LRUCache

from thresher.core import Caller, Settings, Tenant
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue
from thresher.knowledge.tools.composition import copy_keys, is_copy
from thresher.knowledge.tools.learning import Learning, OfferedAnswer
from thresher.knowledge.tools.models import FoundTool, Use
from thresher.knowledge.tools.queries import Discovery, Invocation
from thresher.knowledge.tools.queries.log import (
    CallCounts,
    DiscoveryCounts,
    call_counts,
    chosen_counts,
    discovery_counts,
    prune_embeddings,
    purge_some_of_all,
)
from thresher.store import Database, LogQueue, age_limit, clean, message_of, period_start, purge_rows, run_retrying

_CLIENTS = 4_096
"""Clients whose last discovery is remembered; the least recently used one is dropped first."""
RULES_FIRST: Final = "rules first"
"""The state of a call that was answered with the rules of its pack; it was not run."""
SIGNATURE_FIRST: Final = "signature first"
"""The state of a call of a writing tool that was listed by name only, answered with its signature; it was not run."""
_SHOWN = 1_024
"""Tools of which a client is known to have been shown more than the name."""


@dataclass(frozen=True, slots=True)
class _PendingDiscovery:
    """A discovery to be written, with the snapshot that its writing confirms."""

    caller: Caller
    catalogue: ToolCatalogue
    row: Discovery


class ToolLog:
    """Both logs of one process."""

    def __init__(self, database: Database, catalogues: CatalogueCache, learning: Learning, settings: Settings) -> None:
        self._database = database
        self._catalogues = catalogues
        self._learning = learning
        self._queue: LogQueue[_PendingDiscovery | Invocation | Use] = LogQueue(self._write)
        self._last = LastDiscoveries()
        learning.write_pending = self._queue.settle
        self.calls = CallLog(self._queue, self._last, learning, settings)

    @property
    def lost(self) -> int:
        """Rows that this process could not write."""
        return self._queue.lost

    def describe(self, caller: Caller, names: Sequence[str]) -> None:
        """Record that a client was shown the definitions of some tools."""
        self._last.describe(caller, names)

    def add(
        self,
        caller: Caller,
        catalogue: ToolCatalogue,
        row: Discovery,
        chosen: Sequence[FoundTool],
        answer: OfferedAnswer | None,
    ) -> None:
        """Log a discovery; calls after it are uses of its answer, if it can be learned from."""
        self._last.remember(caller, chosen)
        if answer is not None:
            self._learning.offered(caller, answer)
        self._queue.add(caller.tenant, _PendingDiscovery(caller, catalogue, row))

    async def settle(self) -> None:
        """Wait until every row is written, or given up with a warning."""
        await self._queue.settle()

    async def _write(self, tenant: Tenant, rows: Sequence[_PendingDiscovery | Invocation | Use]) -> None:
        asked = [row for row in rows if isinstance(row, _PendingDiscovery)]
        calls = [row for row in rows if isinstance(row, Invocation)]
        uses = [row for row in rows if isinstance(row, Use)]
        versions = await queries.write_logs(self._database, tenant, [row.row for row in asked], calls, uses)
        if versions is not None:
            for row in asked:
                self._catalogues.confirm(row.caller, row.catalogue, versions.catalogue)
            self._learning.written(tenant, versions.uses, versions.removals, len(uses))


class CallLog:
    """The log of calls of upstream tools."""

    def __init__(
        self,
        queue: LogQueue[_PendingDiscovery | Invocation | Use],
        last: LastDiscoveries,
        learning: Learning,
        settings: Settings,
    ) -> None:
        self._queue = queue
        self._last = last
        self._learning = learning
        self._settings = settings

    def add(
        self,
        caller: Caller,
        *,
        name: str,
        tool_id: int | None,
        state: str,
        duration_ms: float,
        trace_id: str,
    ) -> None:
        """Log a call, without its arguments; never waits.

        Args:
            caller: The caller of the tool.
            name: The name that it called.
            tool_id: The tool's row; None if no tool has the name, which is then arbitrary text.
            state: How it ended: `ok`, `tool error`, `failed`, ...
            duration_ms: The time from the arguments to the answer.
            trace_id: The id in the log lines of the call.
        """
        kept = name if tool_id is not None else message_of([name], self._settings) or ""
        row = Invocation(
            at=now(),
            owner=caller.user,
            client=clean(caller.client),
            trace_id=trace_id,
            selection=self._settings.selection,
            tool_id=tool_id,
            name=clean(kept),
            state=state,
            duration_ms=duration_ms,
            rank=None if caller.assisted or state == SIGNATURE_FIRST else self._last.rank(caller, name),
        )
        self._queue.add(caller.tenant, row)
        if tool_id is not None:
            for use in self._learning.called(caller, tool_id, state, row.at):
                self._queue.add(caller.tenant, use)

    def show_signature(self, caller: Caller, name: str, started: float) -> bool:
        """Return whether a client called a tool that it knows by name alone, and record that it is now told more.

        Args:
            caller: The client.
            name: The name that it called.
            started: `time.perf_counter()` when the call arrived: a call sent beside the one that is told knows no more.
        """
        return self._last.show_signature(caller, name, started)


@dataclass(slots=True)
class _ClientView:
    """What a client knows of tools.

    Attributes:
        number: The number of its last discovery; 0 before the first one.
        names: For each tool of that its names, copies included.
        named: The names of those that were listed by name only.
        shown: The tools of which it was ever shown more, with the time of the call that was answered so; 0 for others.
    """

    number: int = 0
    names: tuple[tuple[str, ...], ...] = ()
    named: frozenset[str] = frozenset()
    shown: LRUCache[str, float] = field(default_factory=lambda: LRUCache(_SHOWN))


class LastDiscoveries:
    """What each client was last offered, so that a call can log its tool's rank in it, and what it was shown of tools.

    Connections are told apart by `Caller.client`. Without one (a request without a session) only the user is known, so
    such a discovery counts for every connection of that user without a later one of its own.
    """

    def __init__(self, clients: int = _CLIENTS) -> None:
        self._count = 0
        self._views: LRUCache[tuple[int, str | None, str], _ClientView] = LRUCache(clients)

    def remember(self, caller: Caller, chosen: Sequence[FoundTool]) -> None:
        """Record what a client was offered; earlier offers no longer count."""
        self._count += 1
        view = self._own(caller)
        view.number, view.names = self._count, tuple((tool.name, *tool.also) for tool in chosen)
        forms = [(name, tool.form) for tool in chosen for name in (tool.name, *tool.also)]
        view.named = frozenset(name for name, form in forms if form == "name")
        view.shown.update((name, 0.0) for name, form in forms if form == "full")

    def describe(self, caller: Caller, names: Sequence[str]) -> None:
        """Record that a client was shown the definitions of some tools."""
        self._own(caller).shown.update((name, 0.0) for name in names)

    def show_signature(self, caller: Caller, name: str, started: float) -> bool:
        """See `CallLog.show_signature`."""
        views = self._seen(caller)
        shown = [view.shown[name] for view in views if name in view.shown]
        if shown:
            return min(shown) > started
        if all(name not in view.named for view in views):
            return False
        self._own(caller).shown[name] = time.perf_counter()
        return True

    def rank(self, caller: Caller, name: str) -> int | None:
        """Return a tool's rank, from 1, in the client's last discovery; 0 outside it, None if there was none."""
        newest = max(self._seen(caller), key=lambda view: view.number, default=None)
        if newest is None or not newest.number:
            return None
        return next((place for place, names in enumerate(newest.names, 1) if name in names), 0)

    def _own(self, caller: Caller) -> _ClientView:
        """What this very client knows."""
        return self._views.setdefault((caller.tenant.id, caller.user, caller.client), _ClientView())

    def _seen(self, caller: Caller) -> list[_ClientView]:
        """What it knows, and what its user's requests without a session do."""
        keys = {(caller.tenant.id, caller.user, client) for client in (caller.client, "")}
        return [view for key in keys if (view := self._views.get(key)) is not None]


def now() -> dt.datetime:
    """Return the current time with its zone."""
    return dt.datetime.now(dt.UTC)


_NOBODY: Final = Tenant(0, "")
"""Sees no tenant's rows; the functions of the sweep go through all tenants themselves."""


@dataclass(frozen=True, slots=True)
class Purged:
    """How much was removed.

    Attributes:
        rows: Log rows, and words and rewrites of tools that are gone.
        embeddings: Cached vectors.
    """

    rows: int
    embeddings: int


async def purge(database: Database, caller: Caller, days: float) -> int:
    """Remove the caller's log rows that are at least this many days old; returns how many.

    An adapter none of whose uses is newer goes with them.

    Raises:
        InvalidInput: The age is negative or too large.
    """
    moment = age_limit(days)
    removed = await purge_rows(database, caller, ("discovery", "invocation"), moment)
    uses = await purge_rows(database, caller, ("tool_use",), moment, queries.note_removal)
    if uses or caller.user is None:
        await run_retrying(database, caller.tenant, lambda run: queries.delete_adapter(run, caller.tenant, moment))
    return removed + uses


async def purge_logs(database: Database, days: float) -> Purged:
    """Run the daily sweep: old log rows of all tenants, and embeddings unused for as long."""
    moment, removed = age_limit(days), 0
    while some := await run_retrying(database, _NOBODY, lambda run: purge_some_of_all(run, moment)):
        removed += some
    return Purged(removed, await prune(database, days))


async def prune(database: Database, days: float) -> int:
    """Record which embeddings are unused, and remove those unused for this many days; returns how many.

    An embedding is old enough if no index row of any tenant used it at any sweep for as long as logs are kept. Each
    sweep records since when a vector has been unused, so that neither searching nor indexing pays for a date of last
    use. A tool that returns within that time is embedded from the cache.
    """
    moment = age_limit(days)
    return await run_retrying(database, _NOBODY, lambda run: prune_embeddings(run, moment))


_MOST_CHOSEN = 20


@dataclass(frozen=True, slots=True)
class ToolCount:
    """A tool and a count."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a period.

    Attributes:
        since: Its beginning; it ends now.
        discoveries: Answers of `find_tools`.
        shadow: Those whose choice was only recorded.
        latency_p50_ms: Half of them took at most this long; null without any, like all shares and times below.
        latency_p95_ms: 95 in 100 of them.
        latency_p99_ms: 99 in 100 of them.
        embedding_p50_ms: Time in the encoder, for those that used it.
        embedded_share: Those that also searched by meaning.
        fallback_rate: Those that could not search and returned the first tools.
        abstained_share: Those that found nothing likely enough.
        degraded_share: Those that ran with less than both arms, fallbacks included.
        sources: How many were answered by which arm.
        calls: Calls of upstream tools.
        error_rate: Those that neither succeeded nor were cancelled.
        asked_calls: Those of clients that had searched for tools before.
        chosen_share: Of these, those whose tool was among the last chosen.
        shadow_chosen_share: The same for calls whose choice was only recorded.
        mean_rank: The mean rank of the called tool among the chosen, from 1.
        tools: Enabled tools now.
        never_chosen: Those of them that no discovery chose, by name.
        most_chosen: The tools chosen most often.
        called_unchosen: Tools that were called although no discovery chose them, most calls first.
        lost_rows: Log rows that the running process gave up because the database did not accept them.
    """

    since: dt.datetime
    discoveries: int
    shadow: int
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    embedding_p50_ms: float | None
    embedded_share: float | None
    fallback_rate: float | None
    abstained_share: float | None
    degraded_share: float | None
    sources: Mapping[str, int]
    calls: int
    error_rate: float | None
    asked_calls: int
    chosen_share: float | None
    shadow_chosen_share: float | None
    mean_rank: float | None
    tools: int
    never_chosen: Sequence[str]
    most_chosen: Sequence[ToolCount]
    called_unchosen: Sequence[ToolCount]
    lost_rows: int


async def measure(
    database: Database, caller: Caller, catalogue: ToolCatalogue, days: float, lost_rows: int
) -> Statistics:
    """Count a period that ends now.

    Args:
        database: Where the logs are.
        caller: The tenant, or one of its users, whose rows are counted.
        catalogue: The current tools.
        days: The length of the period.
        lost_rows: The number of rows that the running process could not log.

    Raises:
        InvalidInput: The length is out of bounds.
    """
    start = period_start(days)
    async with database.transaction(caller.tenant) as connection:
        found = await discovery_counts(connection, caller, start)
        chosen = await chosen_counts(connection, caller, start)
        calls = await call_counts(connection, caller, start)
    return statistics(start, catalogue, found, chosen, calls, lost_rows)


def statistics(
    since: dt.datetime,
    catalogue: ToolCatalogue,
    found: DiscoveryCounts,
    chosen: Mapping[int, int],
    calls: Sequence[CallCounts],
    lost_rows: int,
) -> Statistics:
    """Compute the figures from the counts."""
    offered = _Offered(catalogue, chosen)
    called, asked = sum(tool.calls for tool in calls), sum(tool.asked for tool in calls)
    met = sum(tool.chosen for tool in calls)
    return Statistics(
        since=since,
        discoveries=found.total,
        shadow=found.shadow,
        latency_p50_ms=found.p50_ms,
        latency_p95_ms=found.p95_ms,
        latency_p99_ms=found.p99_ms,
        embedding_p50_ms=found.embedding_p50_ms,
        embedded_share=_share(found.embedded, found.total),
        fallback_rate=_share(found.fallback, found.total),
        abstained_share=_share(found.abstained, found.total),
        degraded_share=_share(found.degraded, found.total),
        sources={name: getattr(found, name) for name in _SOURCES},
        calls=called,
        error_rate=_share(sum(tool.errors for tool in calls), called),
        asked_calls=asked,
        chosen_share=_share(met, asked),
        shadow_chosen_share=_share(sum(tool.shadow_chosen for tool in calls), sum(tool.shadow_asked for tool in calls)),
        mean_rank=_share(sum(tool.ranks for tool in calls), met),
        tools=len(catalogue.by_id),
        never_chosen=sorted(tool.name for tool in catalogue.by_id.values() if tool not in offered),
        most_chosen=_most_chosen(catalogue, chosen),
        called_unchosen=_called_unchosen(catalogue, calls, offered),
        lost_rows=lost_rows,
    )


_SOURCES = ("semantic", "lexical", "hybrid", "written", "core", "fallback", "none")


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None


class _Offered:
    """The tools that answers have held; a copy beside one of them counts as held, too."""

    def __init__(self, catalogue: ToolCatalogue, chosen: Mapping[int, int]) -> None:
        self._by_key: defaultdict[tuple[object, ...], list[NamedTool]] = defaultdict(list)
        for tool in catalogue.tools:
            if tool.row.id in chosen:
                for key in copy_keys(tool):
                    self._by_key[key].append(tool)

    def __contains__(self, tool: NamedTool) -> bool:
        return any(is_copy(one, tool) for key in copy_keys(tool) for one in self._by_key.get(key, ()))


def _most_chosen(catalogue: ToolCatalogue, chosen: Mapping[int, int]) -> list[ToolCount]:
    named = [(tool.name, chosen[tool.row.id]) for tool in catalogue.tools if tool.row.id in chosen]
    return list(starmap(ToolCount, sorted(named, key=lambda entry: (-entry[1], entry[0]))[:_MOST_CHOSEN]))


def _called_unchosen(catalogue: ToolCatalogue, calls: Iterable[CallCounts], offered: _Offered) -> list[ToolCount]:
    known = {tool.row.id: tool for tool in catalogue.tools}
    missed = [
        ToolCount(known[call.tool_id].name, call.calls)
        for call in calls
        if call.tool_id in known and known[call.tool_id] not in offered
    ]
    return sorted(missed, key=lambda entry: (-entry.count, entry.name))
