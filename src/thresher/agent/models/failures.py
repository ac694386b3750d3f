"""How one try of asking a service fails, between those who send and those who try again.

Invariant: neither leaves this package; what a service says of itself is in none of our messages.
"""

from __future__ import annotations


class RequestLost(Exception):
    """It came to nothing, and another try may not.

    Args:
        why: Such as `HTTP 503` or `ReadError`.
        wait: Seconds that the service wants us to wait; None where it does not say.
    """

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.wait = wait


class RequestRefused(Exception):
    """The service answered with a status that is no success.

    Args:
        status: The status.
        body: What it says, which may quote the request.
        wait: As of `Lost`.
    """

    def __init__(self, status: int, body: bytes, wait: float | None) -> None:
        super().__init__(str(status))
        self.status = status
        self.body = body
        self.wait = wait
