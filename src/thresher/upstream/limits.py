"""Bounds and times of the sessions with upstream servers, in one place so that a test can shorten them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds, unless said otherwise.

    Attributes:
        servers: How many servers may have sessions at a time; the one that was idle longest gives way.
        leases: How many clients may have a session of their own with one server.
        lease_wait: How long a further client waits for one.
        lease_idle: After so long without a call a leased session is closed.
        shared_idle: After so long without use a shared session is closed, unless somebody has subscribed.
        tending: Between two looks at what is idle.
        ping_after: A session that was idle for so long is asked whether it still answers, and so often.
        ping: For that answer; after two misses the session is given up.
        probe: For a child to say that it speaks the newest revision, before the older handshake is tried beside it.
        web_probe: The same for an HTTP server, which is asked one after the other.
        failures: Attempts in a row that may fail before a server is left alone for a while.
        pause: For the first such while; it doubles each time.
        longest_pause: The longest such while.
        answer: For a person to answer what a server asks.
        rounds: How many times one call may ask for input (2026-07-28).
    """

    servers: int = 500
    leases: int = 16
    lease_wait: float = 10.0
    lease_idle: float = 300.0
    shared_idle: float = 3600.0
    tending: float = 5.0
    ping_after: float = 60.0
    ping: float = 10.0
    probe: float = 0.5
    web_probe: float = 5.0
    failures: int = 3
    pause: float = 1.0
    longest_pause: float = 60.0
    answer: float = 600.0
    rounds: int = 10
