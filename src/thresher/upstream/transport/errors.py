"""What can go wrong below JSON-RPC.

    TransportError
    |-- Unreachable     no connection: the server never saw the request
    |-- SessionExpired  the server no longer knows our session, and refused the request
    |-- ErrorStatus     the server answered with an HTTP error status
    |-- Broken          the answer did not arrive completely: the request may have been carried out
    |-- Unusable        what arrived is not an answer
    |-- TimedOut        no answer in time
    `-- Closed          the channel ended while the request was under way

Invariant: only after `Unreachable` and `SessionExpired` is it certain that the server has not begun the request.
"""

from __future__ import annotations


class TransportError(Exception):
    """A request failed below JSON-RPC; secrets in the text are not hidden yet."""


class Unreachable(TransportError):
    """The server never saw the request."""


class SessionExpired(TransportError):
    """The server has forgotten our session."""


class ErrorStatus(TransportError):
    """An HTTP error status.

    Attributes:
        status: The number.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Broken(TransportError):
    """The answer did not arrive completely."""


class Unusable(TransportError):
    """What arrived is not an answer to the request."""


class TimedOut(TransportError):
    """No answer in time."""


class Closed(TransportError):
    """The channel ended."""
