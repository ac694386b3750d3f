"""Which Host and Origin headers are accepted: a web page must not reach a server that only its user's machine can.

Invariant: pure. A Host is compared by name and never by pattern: DNS rebinding always shows a name that is not ours. A
request without an Origin comes from a program and not from a page.

Source: MCP 2025-11-25, transports, security warning; RFC 9110 on 421; W3C Fetch Metadata Request Headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import urlsplit

from starlette.types import Scope

from thresher.core import is_loopback

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?")
KEY_HEADERS = (b"x-api-key", b"api-key")
"""Headers in which clients of other services send a key that cannot be sent as `Authorization`."""
_FETCHED = (b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest")
"""Headers in which browsers say which page asks, and for what; no script can set them."""
_READ = frozenset({b"host", b"origin", b"authorization", b"accept", *KEY_HEADERS, *_FETCHED})
_FORWARDED = frozenset(
    {
        b"forwarded",
        b"via",
        b"cf-connecting-ip",
        b"true-client-ip",
        b"x-real-ip",
        b"x-client-ip",
    }
)
_FORWARDED_PREFIX = b"x-forwarded"
"""The prefix of a family of headers: `-For`, `-Host`, `-Proto`, `-Port`, `-Server`, `-Prefix` and others."""

Headers: TypeAlias = Mapping[bytes, Sequence[str]]
"""The headers that decide whether a request is accepted, by name."""


def read(scope: Scope) -> Headers:
    """Return the headers of a request that decide whether it is accepted."""
    headers: dict[bytes, list[str]] = {}
    for name, value in scope["headers"]:
        if name in _READ or _is_of_proxy(name):
            headers.setdefault(name, []).append(value.decode("latin-1"))
    return headers


@dataclass(frozen=True, slots=True)
class Origins:
    """What is allowed in addition to this machine's own names.

    Attributes:
        hosts: Names under which clients reach this server, lower case, without a port.
        origins: Origins of web pages that may use it, such as `https://chat.example.com`.
    """

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hosts: Sequence[str], origins: Sequence[str]) -> Origins:
        """Return those of the settings."""
        return cls(frozenset(name.lower() for name in hosts), frozenset(origin.lower() for origin in origins))

    def knows_host(self, headers: Headers, scope: Scope) -> bool:
        """Return whether the Host is this server: a loopback name, the address it listens on, or an allowed host."""
        hosts = headers.get(b"host", ())
        name = _name(hosts[0]) if len(hosts) == 1 else ""
        if not name:
            return False
        return is_loopback(name) or name in self.hosts or name == _server(scope)

    def knows_origin(self, headers: Headers, scope: Scope) -> bool:
        """Return whether the page that sent it, if any, is our own, allowed, or of this machine on this machine."""
        pages = headers.get(b"origin")
        if not pages:
            return True
        origin = pages[0].lower() if len(pages) == 1 else ""
        if origin in self.origins:
            return True
        parts = urlsplit(origin) if _is_origin(origin) else None
        host = headers.get(b"host", ("",))[0].lower()
        if parts is None:
            return False
        page, ours = _name(parts.netloc), _name(host)
        return (is_loopback(page) and is_loopback(ours)) or origin == f"{scope.get('scheme', 'http')}://{host}"


def is_embedded(headers: Headers) -> bool:
    """Return whether a page of another origin loads this itself, as an image or in a frame: nobody opened it."""
    site, mode, target = (headers.get(name, ("",))[0] for name in _FETCHED)
    return site in ("cross-site", "same-site") and (mode, target) != ("navigate", "document")


def was_forwarded(headers: Headers) -> bool:
    """Return whether a proxy forwarded the request: then it comes from elsewhere, whatever its address."""
    return any(_is_of_proxy(name) for name in headers)


def _is_of_proxy(header: bytes) -> bool:
    return header in _FORWARDED or header.startswith(_FORWARDED_PREFIX)


@lru_cache(maxsize=256)
def _name(host: str) -> str:
    """Return the name in a Host header, without brackets and port; empty if it is not valid."""
    found = _HOST.fullmatch(host.strip().lower())
    return found["name"].strip("[]") if found else ""


def _server(scope: Scope) -> str:
    server = scope.get("server")
    return str(server[0]).lower() if server else ""


def _is_origin(text: str) -> bool:
    return re.fullmatch(r"https?://[^/?#@\s]+", text) is not None
