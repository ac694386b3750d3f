"""Says for whom the work under way is done; also to the tools of packs, which are called without being told.

Invariant: a task started inside a block acts for that block's caller, whatever happens elsewhere at the same time.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from thresher.core.errors import ConfigurationError
from thresher.core.records import Caller

_acting: ContextVar[Caller | None] = ContextVar("thresher_caller", default=None)


@contextmanager
def acting_for(caller: Caller) -> Generator[None]:
    """Everything inside the block, and every task and pack tool started there, is done for this caller."""
    token = _acting.set(caller)
    try:
        yield
    finally:
        _acting.reset(token)


def acting_caller() -> Caller:
    """Who asks: for a pack's tool the caller of this very call.

    Raises:
        ConfigurationError: Nobody does: the code does not run inside a request.
    """
    if (caller := _acting.get()) is None:
        raise ConfigurationError("There is no caller outside of a request.", hint="Ask inside the tool's function.")
    return caller


def acting_or(other: Caller) -> Caller:
    """Who asks; outside of a request, this other one."""
    return _acting.get() or other
