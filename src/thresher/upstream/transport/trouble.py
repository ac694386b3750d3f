"""What can go wrong below JSON-RPC.

    Trouble
    |-- Unreachable  no connection: the server never saw the request
    |-- Expired      the server does not know our session any more, and refused the request
    |-- Status       the server answered with an HTTP error status
    |-- Broken       the answer did not arrive whole: the request may have been carried out
    |-- Unusable     what arrived is no answer
    |-- TimedOut     no answer in time
    `-- Closed       the channel ended while the request was under way

Invariant: only after `Unreachable` and `Expired` is it certain that the server has not begun the request.
"""

from __future__ import annotations


class Trouble(Exception):
    """A request failed below JSON-RPC; the text is not yet freed of secrets."""


class Unreachable(Trouble):
    """The server never saw the request."""


class Expired(Trouble):
    """The server has forgotten our session."""


class Status(Trouble):
    """An HTTP error status.

    Attributes:
        status: The number.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Broken(Trouble):
    """The answer did not arrive whole."""


class Unusable(Trouble):
    """What arrived is no answer to the request."""


class TimedOut(Trouble):
    """No answer in time."""


class Closed(Trouble):
    """The channel ended."""
