"""The logs of discoveries and calls: who asked and called what, how long it took, and whether the two met.

Invariant: no answer and no call waits for its row. The text of a message is in a row only where the setting says so,
without its secrets.
"""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from thresher.core import Caller, Settings, Tenant
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import Catalogue, Catalogues
from thresher.knowledge.tools.models import FoundTool
from thresher.knowledge.tools.queries import Discovery, Invocation
from thresher.store import Database, Journal, clean, message_of

_CLIENTS = 4_096
"""Clients whose last discovery is remembered: the least recently used one is forgotten first."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A discovery on its way, with the snapshot that its writing confirms."""

    caller: Caller
    catalogue: Catalogue
    row: Discovery


class ToolLog:
    """Both logs of one process."""

    def __init__(self, database: Database, catalogues: Catalogues, settings: Settings) -> None:
        self._database = database
        self._catalogues = catalogues
        self._journal: Journal[_Asked | Invocation] = Journal(self._write)
        self._last = LastDiscoveries()
        self.calls = CallLog(self._journal, self._last, settings)

    @property
    def lost(self) -> int:
        """Rows that this process could not write."""
        return self._journal.lost

    def add(self, caller: Caller, catalogue: Catalogue, row: Discovery, chosen: Sequence[FoundTool]) -> None:
        """Note a discovery."""
        self._last.remember(caller, chosen)
        self._journal.add(caller.tenant, _Asked(caller, catalogue, row))

    async def settle(self) -> None:
        """Wait until every row is written, or given up with a warning."""
        await self._journal.settle()

    async def _write(self, tenant: Tenant, rows: Sequence[_Asked | Invocation]) -> None:
        asked = [row for row in rows if isinstance(row, _Asked)]
        calls = [row for row in rows if isinstance(row, Invocation)]
        version = await queries.write_logs(self._database, tenant, [row.row for row in asked], calls)
        if version is not None:
            for row in asked:
                self._catalogues.confirm(row.caller, row.catalogue, version)


class CallLog:
    """The log of calls of upstream tools."""

    def __init__(self, journal: Journal[_Asked | Invocation], last: LastDiscoveries, settings: Settings) -> None:
        self._journal = journal
        self._last = last
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
        """Note a call, without its arguments; never waits.

        Args:
            caller: Who called.
            name: The name that it called.
            tool_id: The tool's row; None where no tool has the name, which is then whatever the caller wrote.
            state: How it ended: `ok`, `tool error`, `failed`, ...
            duration_ms: How long it took, from the arguments to the answer.
            trace_id: What the log lines of the call carry.
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
            rank=None if caller.assisted else self._last.rank(caller, name),
        )
        self._journal.add(caller.tenant, row)


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a discovery offered: which one it was, and of each tool the names, those of exact duplicates too."""

    number: int
    names: tuple[tuple[str, ...], ...]


class LastDiscoveries:
    """What each client was last offered, so that a call can tell its tool's place in it.

    Connections are told apart by `Caller.client`. Where there is none (a request without a session) the user is all
    that is known, so such a discovery counts for every connection of that user that has not asked since.
    """

    def __init__(self, clients: int = _CLIENTS) -> None:
        self._clients = clients
        self._count = 0
        self._offers: OrderedDict[tuple[int, str | None, str], _Offer] = OrderedDict()

    def remember(self, caller: Caller, chosen: Sequence[FoundTool]) -> None:
        """Note what a client was offered; what it was offered before no longer counts."""
        self._count += 1
        key = (caller.tenant.id, caller.user, caller.client)
        self._offers[key] = _Offer(self._count, tuple((tool.name, *tool.also) for tool in chosen))
        self._offers.move_to_end(key)
        if len(self._offers) > self._clients:
            self._offers.popitem(last=False)

    def rank(self, caller: Caller, name: str) -> int | None:
        """The place of a tool, from 1, in the client's last discovery; 0 outside it, None when there was none."""
        keys = {(caller.tenant.id, caller.user, client) for client in (caller.client, "")}
        offers = [offer for key in keys if (offer := self._offers.get(key)) is not None]
        if not offers:
            return None
        newest = max(offers, key=lambda offer: offer.number)
        return next((place for place, names in enumerate(newest.names, 1) if name in names), 0)


def now() -> dt.datetime:
    """The moment, with its zone."""
    return dt.datetime.now(dt.UTC)
