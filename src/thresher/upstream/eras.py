"""Chooses the cheaper era for calls at a server over HTTP that speaks both: statelessly, or over a shared session.

A server of 2026-07-28 compares the headers of a call with the tool's schema before it runs the tool, and some list all
their tools to find that schema. A call then costs as much as a listing, while over a session it costs what a ping does.

Invariant: discovery, listings and pings alone are sent in order to measure, never a call; and only calls that need
nothing of the newest revision go over the session.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from hashlib import sha256
from math import inf
from time import monotonic, perf_counter
from typing import Any

from thresher.core import UpstreamError, event
from thresher.upstream.connection import ServerConnection, ServerContext
from thresher.upstream.link import ServerLink, ServerMemory
from thresher.upstream.listing import MAX_PAGES
from thresher.upstream.peer import Peer, can_be_asked
from thresher.upstream.records import Changed, Listing

_logger = logging.getLogger("thresher.upstream")
_CALLS = 3
"""Calls before the first measurement: the first call alone may be slow because the server warms up."""
_PATIENCE = 4
"""While the newest revision seems as cheap, the next measurement is made after this many times the calls."""
_MEASUREMENTS = 4
_LISTINGS = 2
_PINGS = 3
_WORTH = 1.5
"""A session is used from this ratio of a listing to a ping: below it the two eras cost about the same."""
_LISTS_EACH_TIME = 0.3
"""A call whose time beyond a ping is less than this share of a listing's shows that the server does not list its tools
for each call: one that does takes .6 to 1.2 of it, one that does not .0 to .1."""


def is_plain(peer: Peer | None) -> bool:
    """Whether a call for this peer needs nothing that only 2026-07-28 offers: questions, and the rest of a call.

    Progress, logs and cancelling belong to both. A session has no log level for each call, so it sends all messages of
    the call, and the peer takes those of its level.
    """
    return peer is None or not (can_be_asked(peer) or peer.rounds)


@dataclass(frozen=True, slots=True)
class EraCosts:
    """What was measured at a server, in seconds.

    Attributes:
        call: The quickest of the clients' own calls without a session.
        listing: The list of tools without a session.
        ping: A ping over a session; infinite if none was opened.
        settled: Whether a session cannot be used: the server has none, or lists other tools there.
    """

    call: float
    listing: float = inf
    ping: float = inf
    settled: bool = False

    @property
    def may_list_each_time(self) -> bool:
        """Whether the calls are slow enough for a server that lists its tools for each of them."""
        ping = 0.0 if self.ping == inf else self.ping
        return self.call - ping >= _LISTS_EACH_TIME * (self.listing - ping)

    @property
    def session(self) -> bool:
        """Whether calls cost less over a session."""
        return not self.settled and self.listing > _WORTH * self.ping and self.may_list_each_time

    def fields(self) -> dict[str, Any]:
        """The fields for the log, in milliseconds."""
        times = {"call_ms": self.call, "listing_ms": self.listing, "ping_ms": self.ping}
        shown = {name: round(1000 * seconds, 1) for name, seconds in times.items() if seconds < inf}
        return {"era": "session" if self.session else "stateless", **shown}


class CheaperEra:
    """The choice for one server, and the session over which its plain calls go if that is cheaper.

    It is made in the background after the first few calls, and remembered until the server lists other tools, has
    another version, or no longer accepts the session.

    Args:
        context: What all connections with the server share.
        memory: Of the session alone, so that a failure here does not count against the server.
    """

    def __init__(self, context: ServerContext, memory: ServerMemory) -> None:
        self._context = context
        self._memory = memory
        # Changes are reported over the other connection: hearing of them twice would list the tools twice.
        quiet = copy(context)
        quiet.changed = _ignore
        self._link = ServerLink(quiet, memory, None, self._opened)
        self._basis: tuple[str, tuple[str, ...]] | None = None
        self._session: bool | None = None
        self._fastest, self._calls, self._until, self._measurements = inf, 0, _CALLS, 0
        self._version = ""
        self._logged: ServerConnection | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._resting: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is under way over the session, or a measurement."""
        current = self._link.current
        return (current is not None and current.busy) or self._is_measuring()

    async def session(self) -> ServerLink | None:
        """The open session for a plain call; None while the newest revision is used."""
        if not self._session:
            return None
        try:
            connection = await self._link.connection()
        except UpstreamError:
            self.forget()
            return None
        if self._logged is not connection and connection.agreement.offers("logging"):
            self._logged = connection
            with suppress(UpstreamError):
                seconds = self._context.settings.upstream_call_seconds
                await connection.request("logging/setLevel", {"level": "debug"}, seconds=seconds)
        return self._link

    def listed(self, listing: Listing) -> None:
        """Forget the choice if the server's version or the names of its tools have changed."""
        basis = (listing.version, tuple(tool.name for tool in listing.tools))
        if self._basis not in (None, basis):
            self.forget()
        self._basis = basis

    def forget(self) -> None:
        """Choose again after the next few calls."""
        self._session = None
        self._fastest, self._calls, self._until, self._measurements = inf, 0, _CALLS, 0

    def called(self, connection: ServerConnection, seconds: float) -> None:
        """Take note of a call with arguments, and measure if nothing is known yet.

        Args:
            connection: The connection that it used.
            seconds: How long it took.
        """
        if self._context.config.transport != "http" or not connection.agreement.stateless:
            return
        self._fastest, self._calls = min(self._fastest, seconds), self._calls + 1
        if self._session is None and self._calls >= self._until and not self._is_measuring():
            self._measuring = asyncio.create_task(
                self._measure(connection), name=f"measure {self._context.config.name}"
            )

    async def _measure(self, connection: ServerConnection) -> None:
        costs = EraCosts(call=self._fastest)
        self._measurements += 1
        with suppress(UpstreamError, TimeoutError):
            async with asyncio.timeout(self._context.settings.upstream_call_seconds):
                costs = await self._costs_at(connection, costs)
        event(_logger, "upstream_era", server=self._context.config.name, **costs.fields())
        if costs.session:
            self._session = True
            return
        self._session = False if costs.settled or self._measurements >= _MEASUREMENTS else None
        self._until *= _PATIENCE
        await self._link.rest()
        self._memory.era = "session"

    async def _costs_at(self, connection: ServerConnection, costs: EraCosts) -> EraCosts:
        listings = [await _list_tools(connection) for _ in range(_LISTINGS)]
        costs = replace(costs, listing=min(taken for _, taken in listings))
        if not costs.may_list_each_time:
            return costs
        session = await self._link.connection()
        if session.agreement.stateless:
            return replace(costs, settled=True)
        self._version = session.agreement.server_version
        pings = [await _time_ping(session) for _ in range(_PINGS)]
        same = (await _list_tools(session))[0] == listings[-1][0]
        return replace(costs, ping=min(pings), settled=not same)

    def _opened(self, connection: ServerConnection, again: bool) -> None:
        agreement = connection.agreement
        if again and (agreement.stateless or agreement.server_version != self._version):
            self.forget()

    def _is_measuring(self) -> bool:
        return self._measuring is not None and not self._measuring.done()

    def rest(self, seconds: float) -> None:
        """Start to close the session if it was idle for longer than this; the next plain call opens another."""
        current = self._link.current
        if current is None or self.busy or monotonic() - max(current.used_at, current.opened_at) <= seconds:
            return
        self._resting = asyncio.create_task(self._link.rest(), name=f"rest {self._context.config.name}")

    async def retire(self) -> None:
        """Wait for calls under way, then close; the session accepts no new ones."""
        await self._link.retire()

    async def close(self) -> None:
        """End the session and the measurement at once."""
        if self._measuring is not None and not self._measuring.done():
            self._measuring.cancel()
            await asyncio.wait({self._measuring})
        if self._resting is not None:
            await asyncio.wait({self._resting})
        await self._link.close()


async def _list_tools(connection: ServerConnection) -> tuple[bytes, float]:
    """A digest of all pages of the list of tools, and the seconds that they took."""
    digest = sha256()
    cursor: Mapping[str, Any] = {}
    taken = 0.0
    for _ in range(MAX_PAGES):
        started = perf_counter()
        page = await connection.request("tools/list", cursor, seconds=None)
        taken += perf_counter() - started
        digest.update(json.dumps(page.get("tools"), sort_keys=True).encode())
        if not page.get("nextCursor"):
            break
        cursor = {"cursor": page["nextCursor"]}
    return digest.digest(), taken


async def _time_ping(connection: ServerConnection) -> float:
    started = perf_counter()
    await connection.request("ping", {}, seconds=None)
    return perf_counter() - started


def _ignore(_change: Changed) -> None:
    """Ignore changes."""
