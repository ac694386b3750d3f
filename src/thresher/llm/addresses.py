"""Addresses of services.

Invariant: pure; no message repeats an address, which may hold a password.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

from thresher.core import InvalidInput, is_host


def service_address(url: str, what: str, instead: str) -> httpx.URL:
    """The base address of a service.

    Args:
        url: As somebody wrote it.
        what: Names it in a message.
        instead: Says where a key belongs.

    Raises:
        InvalidInput: It is none, or it holds a password.
    """
    try:
        address = httpx.URL(url)
        sound = address.scheme in ("http", "https") and is_host(address.host) and is_host(urlsplit(url).hostname or "")
        sound = sound and urlsplit(url).port != 0
    except (httpx.InvalidURL, ValueError):
        address, sound = httpx.URL(""), False
    if not sound:
        raise InvalidInput(f"{what} is no address of a service.", hint="Write it like http://127.0.0.1:11434/v1.")
    if address.userinfo:
        raise InvalidInput(f"{what} holds a password.", hint=instead)
    return address
