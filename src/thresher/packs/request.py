"""What the code of a pack can reach while it is run: the product, and for whom.

Invariant: a function of a pack acts for the caller of the very request that it is run for, in threads too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from thresher.core import Caller, ConfigurationError

if TYPE_CHECKING:  # the packs themselves are found without what a running product needs
    from thresher.llm import Chat
    from thresher.services import Services

Confirm: TypeAlias = Callable[[str], Awaitable[bool | None]]
"""Asks the person behind a client; whether he said yes, None where he cannot be asked. It may end the call: what asks
must have changed nothing yet, and is run again with the answer."""


async def nobody(_: str) -> bool | None:
    """A `Confirm` for where there is no person to ask."""
    return None


@dataclass(frozen=True, slots=True)
class Request:
    """What a pack's code is run for.

    Attributes:
        services: The running product.
        caller: Who asks.
        chat: The model of the caller's own client; None where it offers none.
        client: Name and version of the caller's client, as it says them; empty where it does not.
        confirm: Asks the person behind that client for a yes.
    """

    services: Services
    caller: Caller
    chat: Chat | None = None
    client: str = ""
    confirm: Confirm = nobody


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
