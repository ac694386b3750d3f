"""Failures of one request to a service, between sender and retry.

Invariant: neither leaves this package; a service's own words are in none of Thresher's messages.
"""

from __future__ import annotations


class RequestLost(Exception):
    """It failed, and another try may succeed.

    Args:
        why: Such as `HTTP 503` or `ReadError`.
        wait: Seconds to wait, according to the service; None if it does not say.
    """

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.wait = wait


class RequestRefused(Exception):
    """The service answered with an unsuccessful status.

    Args:
        status: The status.
        body: Its text, which may quote the request.
        wait: As for `RequestLost`.
    """

    def __init__(self, status: int, body: bytes, wait: float | None) -> None:
        super().__init__(str(status))
        self.status = status
        self.body = body
        self.wait = wait
