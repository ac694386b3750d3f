"""What is said of a service that refuses, that does not answer, or that says nothing.

Invariant: pure; of an address nobody is told more than the host and the port.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import httpx

from thresher.core import ModelBusy, ModelError, ModelUnavailable
from thresher.llm.records import Finish

_PORTS: Final = {"http": 80, "https": 443}
_KEY: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_BUSY: Final = f"HTTP {HTTPStatus.TOO_MANY_REQUESTS:d}"
_UNREACHED: Final = {
    "ConnectError": ("nothing answers at {}", "Is it running?"),
    "ConnectTimeout": ("nothing answers at {}", "Is it running?"),
    "UnknownHost": ("the host of {} is not known", "Is its name right?"),
    "Unsecured": ("no secure connection to {} can be made", "Does it speak https, with a certificate to trust?"),
    "ProxyError": ("the proxy on the way to {} refuses", "Does the proxy know it?"),
}
"""What keeps a service from being reached, and what to ask oneself, by the kind of the failure."""


def host_and_port(url: str | httpx.URL) -> str:
    """Where a service is, without its path and its query."""
    address = httpx.URL(url)
    place = address.netloc.decode("ascii", "replace")
    return place if address.port or not place else f"{place}:{_PORTS.get(address.scheme, 80)}"


def reason(why: str, address: str) -> str:
    """Why there is no answer, such as `nothing answers at 127.0.0.1:11434`.

    Args:
        why: `HTTP 503`, or the kind of the failure, such as `ConnectError`.
        address: The service's host and port.
    """
    if why in _UNREACHED:
        return _UNREACHED[why][0].format(address)
    if why == _BUSY:
        return f"it is busy ({why})"
    return why if why.startswith("HTTP ") else "it broke off"


def unanswered(why: str, address: str, hint: str) -> ModelError:
    """What to say where the last try came to nothing.

    Args:
        why: As of `reason`, like the address.
        address: As said.
        hint: What to check where the service fails.
    """
    said = reason(why, address)
    if why in _UNREACHED:
        return ModelUnavailable(f"The chat model cannot be reached: {said}.", hint=f"{_UNREACHED[why][1]} {hint}")
    if why == _BUSY:
        return ModelBusy(f"The chat model is busy: {why}.", hint="Try again in a while, or take another model.")
    return ModelError(f"The chat model's service did not answer: {said}.", hint=hint)


def refusal(status: int, code: str, hint: str, *, keyed: bool, renew: str) -> ModelError:
    """What to say where a service refuses for good.

    Args:
        status: Its status.
        code: What it calls that, in brackets; empty where it does not.
        hint: What to check where the service fails.
        keyed: Whether it got a key.
        renew: How its key is set.
    """
    if status not in _KEY:
        return ModelError(f"The chat model's service refused: HTTP {status}{code}.", hint=hint)
    if not keyed:
        return ModelError(f"The chat model's service wants a key: HTTP {status}{code}.", hint=f"Set it {renew}.")
    return ModelError(f"The chat model's service refused the key: HTTP {status}{code}.", hint=f"Set it anew {renew}.")


def silence(finish: Finish) -> ModelError:
    """What to say of an answer without a word."""
    match finish:
        case "length":
            said = "The chat model reached the limit of its answer before it said anything."
            hint = "Ask for a longer answer, or take another model."
        case "content_filter":
            said = "The chat model's service withheld the answer."
            hint = "Word the question differently, or take another model."
        case _:
            said, hint = "The chat model's answer is empty.", "Ask again, or take another model."
    return ModelError(said, hint=hint)
