"""An HTTP connection with limits: a client that has shown no key neither keeps one for long nor takes many.

Invariant: a connection whose peer is not recognised has a deadline, or is being answered. The number of such
connections is bounded, and a newcomer that speaks at once is served, however many silent ones there are.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, Literal, TypeAlias

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from thresher.core import event
from thresher.peers import PEER, ConnectionPeer

logger = logging.getLogger("thresher.daemon")

_LONGEST_HEAD: Final = 16_384
"""Bytes of a head, as uvicorn bounds it by default."""
_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})

Awaited: TypeAlias = Literal["", "head", "body", "idle", "reader"]
"""What the client owes: the rest of a head, of a body, a next request, or to read what was sent; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how often clients may keep a connection open.

    Attributes:
        head_seconds: From the beginning of a connection, or of a next request, to the end of the request's head.
        body_seconds: From there to the end of the body, and for an answer that is not read.
        idle_seconds: Between two requests.
        kept_seconds: Between two requests, and between two parts of one, where the peer is recognised: longer than
            usual clients and proxies keep their connections (5 s in httpx, 60 in nginx), since the side that closes
            first loses no request.
        per_address: Silent connections of one address whose peers are not recognised.
        grace_seconds: How long more of them may stay: a client that opens hundreds at once has spoken by then.
        total: Connections of all addresses whose peers are not recognised.
    """

    head_seconds: float = 10.0
    body_seconds: float = 20.0
    idle_seconds: float = 10.0
    kept_seconds: float = 75.0
    per_address: int = 64
    grace_seconds: float = 1.0
    total: int = 512

    def seconds(self, awaited: Awaited, *, recognised: bool) -> float | None:
        """Return how long to wait for something; None: without limit, or until uvicorn's own limit."""
        if recognised:
            return self.kept_seconds if awaited in ("head", "body") else None
        newcomer = {"head": self.head_seconds, "idle": self.idle_seconds}
        return newcomer.get(awaited, self.body_seconds) if awaited else None


class Newcomers:
    """The open connections whose peers are not recognised, oldest first.

    Where there are too many, the oldest that keep us waiting are cut off.

    Args:
        limits: How many there may be.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._addresses: dict[Connection, str] = {}
        self._counts: Counter[str] = Counter()
        self._trimming: set[str] = set()

    def enter(self, connection: Connection, host: str) -> bool:
        """Take a connection in; return False if there is no room for it."""
        if len(self._addresses) >= self.limits.total and not self._evict(self._waiting()[:1]):
            return False
        address = self._addresses[connection] = network(host)
        self._counts[address] += 1
        if self._counts[address] > self.limits.per_address:
            self._trim_later(connection.loop, address)
        return True

    def leave(self, connection: Connection) -> None:
        """Count a connection no longer: it has ended, or its peer is recognised."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            self._counts[address] -= 1
            if not self._counts[address]:
                del self._counts[address]

    def _trim_later(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        if address not in self._trimming:
            self._trimming.add(address)
            loop.call_later(self.limits.grace_seconds, self._trim, loop, address)

    def _trim(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        """Cut off what one address has too much and has had its grace."""
        self._trimming.discard(address)
        waiting = self._waiting(address)
        surplus = waiting[: max(len(waiting) - self.limits.per_address, 0)]
        before = loop.time() - self.limits.grace_seconds
        silent = [connection for connection in surplus if connection.made_at <= before]
        if self._evict(silent):
            event(logger, "silent connections cut off", level=logging.WARNING, address=address, count=len(silent))
        if len(silent) < len(surplus):
            self._trim_later(loop, address)

    def _waiting(self, of_address: str = "") -> list[Connection]:
        return [
            connection
            for connection, address in self._addresses.items()
            if connection.keeps_us_waiting and of_address in ("", address)
        ]

    def _evict(self, connections: Sequence[Connection]) -> bool:
        for connection in connections:
            self.leave(connection)
            connection.transport.abort()
        return bool(connections)


class _Requests(h11.Connection):
    """Reads requests, and refuses one that gives two lengths: what forwarded it may have gone by the other one."""

    def next_event(self) -> Any:
        """See `h11.Connection`."""
        found = super().next_event()
        if isinstance(found, h11.Request) and {name for name, _ in found.headers} >= _LENGTHS:
            raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding in one request")
        return found


class Connection(H11Protocol):
    """uvicorn's connection with deadlines.

    Args:
        newcomers: The connections of this server whose peers are not recognised.
        given: What uvicorn gives its protocols.
    """

    def __init__(self, newcomers: Newcomers, **given: Any) -> None:
        super().__init__(**given)
        self.conn = _Requests(h11.SERVER, self.config.h11_max_incomplete_event_size or _LONGEST_HEAD)
        self._newcomers = newcomers
        self._limits = newcomers.limits
        self.made_at = self.loop.time()
        self._is_recognised = False
        self._awaited: Awaited = ""
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def keeps_us_waiting(self) -> bool:
        """Whether the next move is the client's."""
        return bool(self._awaited) or self.transport.is_closing()

    def connection_made(self, transport: Any) -> None:
        """Note both ends, and count the connection among the newcomers."""
        super().connection_made(transport)
        theirs, ours = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not theirs or not ours or not self._newcomers.enter(self, theirs[0]):
            transport.abort()  # it has gone already, or there are too many
            return
        peer = ConnectionPeer(theirs[:2], ours[:2], self._recognise)
        self.app_state: dict[str, Any] = {**self.app_state, PEER: peer}
        self._await("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._newcomers.leave(self)
        self._await("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read more of a request."""
        super().data_received(data)
        self._await(self._owed("head"))

    def on_response_complete(self) -> None:
        """Wait for the next request, and for the rest of one that was answered before its end."""
        super().on_response_complete()
        self._await(self._owed("idle"))

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._await("reader")

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._await(self._owed("idle"))

    def _owed(self, between: Awaited) -> Awaited:
        """Return what the client owes by the state of the exchange; `between` where that is a next request."""
        if self.flow.write_paused or self.transport.is_closing():
            return "reader"
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        return between if self.conn.their_state is h11.IDLE else ""

    def _recognise(self) -> None:
        self._is_recognised = True
        self._newcomers.leave(self)
        self._await(self._awaited)

    def _await(self, awaited: Awaited) -> None:
        """Set the deadline; more bytes of the same give a recognised peer more time, and others none."""
        if awaited == self._awaited and self._deadline is not None and not self._is_recognised:
            return
        self._awaited = awaited
        if self._deadline is not None:
            self._deadline.cancel()
        seconds = self._limits.seconds(awaited, recognised=self._is_recognised)
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._expire, seconds)

    def _expire(self, seconds: float) -> None:
        """Close a connection that is late; one that does not even read what was sent is cut off after the same time."""
        if self.transport.is_closing():
            self.transport.abort()
        elif not self.flow.read_paused:
            self.transport.close()
        self._deadline = self.loop.call_later(seconds, self._expire, seconds)


def network(host: str) -> str:
    """Return what counts as one address: this machine, an IPv4 address, or the network of an IPv6 address (64 bits)."""
    ip = ip_address(host.partition("%")[0])
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback:
        return "loopback"
    return str(ip) if ip.version == 4 else ip.exploded[:19]
