"""What the code of a pack can reach while it runs: the request, with the product and its caller.

Invariant: a function of a pack acts for the caller of the request that it runs for, also in threads.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from thresher.core import ConfigurationError
from thresher.verbs import Request

_request: ContextVar[Request | None] = ContextVar("thresher_request", default=None)


@contextmanager
def serving(request: Request) -> Generator[None]:
    """Run code of packs inside the block for this request."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def current() -> Request:
    """Return the request that the code of a pack runs for; call it inside the pack's functions.

    Raises:
        ConfigurationError: There is no request.
    """
    if (request := _request.get()) is None:
        raise ConfigurationError("There is no request here.", hint="Call current() inside the function of a tool.")
    return request
