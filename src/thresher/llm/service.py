"""Common parts of chat services: addresses, when a failed request is sent again, and errors.

Invariant: pure; no message repeats an address, which may hold a password, beyond its host and port.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import httpx2

from thresher.core import InvalidInput, ModelBusy, ModelError, ModelUnavailable, is_host
from thresher.llm.records import Finish


def service_address(url: str, what: str, instead: str) -> httpx2.URL:
    """Check the base address of a service.

    Args:
        url: The address.
        what: Its name in messages.
        instead: A hint that explains where a key belongs.

    Raises:
        InvalidInput: It is not valid, or it holds a password.
    """
    try:
        address = httpx2.URL(url)
        sound = address.scheme in ("http", "https") and is_host(address.host) and is_host(urlsplit(url).hostname or "")
        sound = sound and urlsplit(url).port != 0
    except (httpx2.InvalidURL, ValueError):
        address, sound = httpx2.URL(""), False
    if not sound:
        raise InvalidInput(f"{what} is not a valid service address.", hint="Write it like http://127.0.0.1:11434/v1.")
    if address.userinfo:
        raise InvalidInput(f"{what} holds a password.", hint=instead)
    return address


TRIES: Final = 3
FIRST_PAUSE: Final = 0.5
"""Seconds; the pause doubles after each attempt, and a server's Retry-After takes precedence."""
_WORTH_A_RETRY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_MISFITS: Final = frozenset({400, 422})


def worth_a_retry(status: int) -> bool:
    """Whether a request that failed with this status may succeed later."""
    return status in _WORTH_A_RETRY


def is_misfit(status: int) -> bool:
    """Whether services use this status to refuse unknown fields."""
    return status in _MISFITS


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds in a Retry-After header; None without one."""
    try:
        seconds = float(headers["retry-after"])
    except (KeyError, ValueError):  # the header may also be a date; then our own pause is used
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


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
"""Why a service cannot be reached, and what to check, by the kind of failure."""


def host_and_port(url: str | httpx2.URL) -> str:
    """A service's host and port."""
    address = httpx2.URL(url)
    place = address.netloc.decode("ascii", "replace")
    return place if address.port or not place else f"{place}:{_PORTS.get(address.scheme, 80)}"


def failure_text(why: str, address: str) -> str:
    """Why there is no answer, such as `nothing answers at 127.0.0.1:11434`.

    Args:
        why: `HTTP 503`, or the kind of failure, such as `ConnectError`.
        address: The service's host and port.
    """
    if why in _UNREACHED:
        return _UNREACHED[why][0].format(address)
    if why == _BUSY:
        return f"it is busy ({why})"
    return why if why.startswith("HTTP ") else "it broke off"


def no_answer(why: str, address: str, hint: str) -> ModelError:
    """The error after the last attempt has failed.

    Args:
        why: See `failure_text`.
        address: The service's host and port.
        hint: What to check if the service fails.
    """
    reason = failure_text(why, address)
    if why in _UNREACHED:
        return ModelUnavailable(f"The chat model cannot be reached: {reason}.", hint=f"{_UNREACHED[why][1]} {hint}")
    if why == _BUSY:
        return ModelBusy(f"The chat model is busy: {why}.", hint="Try again in a while, or take another model.")
    return ModelError(f"The chat model's service did not answer: {reason}.", hint=hint)


def refusal(status: int, code: str, hint: str, *, keyed: bool, renew: str) -> ModelError:
    """The error of a service that refuses permanently.

    Args:
        status: The HTTP status.
        code: The service's error code in brackets; empty without one.
        hint: What to check if the service fails.
        keyed: Whether a key was sent.
        renew: How its key is set.
    """
    if status not in _KEY:
        return ModelError(f"The chat model's service refused: HTTP {status}{code}.", hint=hint)
    if not keyed:
        return ModelError(f"The chat model's service wants a key: HTTP {status}{code}.", hint=f"Set it {renew}.")
    return ModelError(f"The chat model's service refused the key: HTTP {status}{code}.", hint=f"Set a new one {renew}.")


def empty_answer(finish: Finish) -> ModelError:
    """The error of an empty answer."""
    match finish:
        case "length":
            text = "The chat model reached the limit of its answer before it wrote anything."
            hint = "Ask for a longer answer, or take another model."
        case "content_filter":
            text = "The chat model's service withheld the answer."
            hint = "Word the question differently, or take another model."
        case _:
            text, hint = "The chat model's answer is empty.", "Ask again, or take another model."
    return ModelError(text, hint=hint)
