"""What the code of a pack can reach while it is run: the product, and for whom.

Invariant: a function of a pack acts for the caller of the very request that it is run for, in threads too.
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
    """Code of packs that is run inside the block is run for this request."""
    token = _request.set(request)
    try:
        yield
    finally:
        _request.reset(token)


def current() -> Request:
    """What the code of a pack is run for: to be asked inside its functions.

    Raises:
        ConfigurationError: It does not run inside a request.
    """
    if (request := _request.get()) is None:
        raise ConfigurationError("There is no request here.", hint="Ask inside the function of a tool.")
    return request
