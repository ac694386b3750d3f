"""Reads descriptions over HTTP.

Invariant: nobody waits longer, and nothing takes more memory, than the limits say; for somebody with a key no address
is reached that is not public, whatever a name resolves to and wherever a redirect leads: what was judged is what is
connected to.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final

import httpx

from thresher.core import InvalidInput, NotAllowed, NotFound, SourceUnavailable, ThresherError
from thresher.knowledge.apis.sources import Source, checked_address, read_file, too_large
from thresher.openapi import LIMITS

SECONDS: Final = 60.0
"""For all of one description, redirects included."""
_TIMEOUT: Final = httpx.Timeout(15.0, connect=10.0)
_REDIRECTS: Final = 5
_ACCEPT: Final = "application/json, application/yaml, text/yaml, application/vnd.oai.openapi, */*;q=0.5"
_PACKED: Final = frozenset({"gzip", "x-gzip"})
_WORLD: Final = IPv6Network("2000::/3")
"""All of IPv6 that was ever given out to the internet at large (RFC 4291); what lies beside it stays at home."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""Addresses that a gateway translates to IPv4 (RFC 6052)."""
_DENIED: Final = tuple(
    IPv4Network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments, 192.0.0.192 of Oracle's cloud among them (RFC 6890)
        "192.88.99.0/24",  # relays that were taken out of service (RFC 7526)
        "168.63.129.16/32",  # the host of Azure's machines, for its agents
    )
)
"""What counts as public by its number, and is answered by the machine's own network or cloud."""
_MOVED: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Seen:
    """What a server said of the bytes that are known already."""

    etag: str = ""
    modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What asks for newer bytes only."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in asked.items() if value}


@dataclass(frozen=True, slots=True)
class Read:
    """A source as it was read.

    Attributes:
        data: Its bytes; None where they are those that are known.
        seen: What to ask with the next time.
    """

    data: bytes | None
    seen: Seen = Seen()


async def read_source(source: Source, seen: Seen = Seen()) -> Read:
    """Read a source.

    Args:
        source: Where.
        seen: What its server said of the bytes that are known.

    Raises:
        NotFound: There is nothing.
        NotAllowed: A redirect or a name leads to an address that the caller may not reach.
        InvalidInput: It cannot be read, is too large, or a page for people.
        SourceUnavailable: The server cannot be reached, breaks off, or is too slow; a retry may help.
    """
    if not source.remote:
        return Read(await read_file(source.location))
    try:
        async with asyncio.timeout(SECONDS):
            return await _fetch(source, seen)
    except TimeoutError:
        raise SourceUnavailable(
            f"{source.location} was not read in {SECONDS:.0f} seconds.", hint="Try again, or download the file."
        ) from None


async def _fetch(source: Source, seen: Seen) -> Read:
    address = source.location
    # A proxy resolves names by itself, so what is to be judged must not go through one.
    async with httpx.AsyncClient(timeout=_TIMEOUT, trust_env=not source.keyed) as client:
        for _ in range(_REDIRECTS + 1):
            request = await _request(client, address, seen, guarded=source.is_guarded(address))
            try:
                answer = await client.send(request, stream=True)
            except (httpx.TransportError, httpx.InvalidURL) as error:
                raise _unreachable(source.location, error) from None
            try:
                if answer.status_code not in _MOVED:
                    return await _taken(source.location, answer)
                address = _next(source.location, address, answer)
            finally:
                await answer.aclose()
    raise InvalidInput(f"{source.location} is redirected too often.", hint="Give the address that it ends at.")


async def _request(client: httpx.AsyncClient, address: str, seen: Seen, *, guarded: bool) -> httpx.Request:
    url = httpx.URL(address)
    headers = {"Accept": _ACCEPT, "Accept-Encoding": "gzip", **seen.headers}
    extensions: Mapping[str, Any] = {}
    if guarded:
        # The judged address itself is connected to; name and certificate stay the host's.
        headers["Host"] = url.netloc.decode("ascii")
        extensions = {"sni_hostname": url.raw_host.decode("ascii")}
        url = url.copy_with(host=await _public(url.host, url.port or (443 if url.scheme == "https" else 80)))
    return client.build_request("GET", url, headers=headers, extensions=dict(extensions))


async def _public(host: str, port: int) -> str:
    """An address of a host, every one of which is public.

    Raises:
        NotAllowed: One is not.
        SourceUnavailable: There is no such host.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceUnavailable(f"There is no host {host}.", hint="Check the address.") from None
    addresses = sorted((str(entry[4][0]) for entry in found), key=lambda address: ":" in address)
    if not addresses or not all(is_public(address) for address in addresses):
        raise NotAllowed(
            f"With a key, {host} may not be reached: it is not public.",
            hint="Who runs the server names what may be in THRESHER_API_SOURCES.",
        )
    return addresses[0]


def is_public(text: str) -> bool:
    """Whether an address is one of the internet at large, however it is written."""
    address = ip_address(text.partition("%")[0])
    inner = _inner(address)
    if any(address in network for network in _DENIED):
        return False
    if isinstance(address, IPv6Address) and address not in _WORLD and inner is None:
        return False
    return address.is_global and not address.is_multicast and (inner is None or is_public(str(inner)))


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The IPv4 address that one of IPv6 stands for."""
    if isinstance(address, IPv4Address):
        return None
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


def _next(source: str, address: str, answer: httpx.Response) -> str:
    """Where a redirect leads; its address may hold a credential of its own, for it is kept and shown nowhere."""
    try:
        following = str(httpx.URL(address).join(answer.headers["location"]))
    except (KeyError, httpx.InvalidURL):
        raise InvalidInput(f"{source} redirects to nowhere.", hint="Give the address that it ends at.") from None
    if address.startswith("https:") and not following.startswith("https:"):
        raise InvalidInput(
            f"{source} redirects to an address that is not encrypted.", hint="Give the address that it ends at."
        )
    return checked_address(following, kept=False)


async def _taken(address: str, answer: httpx.Response) -> Read:
    """What an answer holds."""
    if answer.status_code == HTTPStatus.NOT_MODIFIED:
        return Read(None)
    if answer.status_code != HTTPStatus.OK:
        raise _refused(address, answer.status_code)
    payload = await _payload(address, answer)
    _check_is_data(address, answer.headers.get("content-type", ""), payload)
    headers = answer.headers
    return Read(bytes(payload), Seen(headers.get("etag", "")[:500], headers.get("last-modified", "")[:100]))


async def _payload(address: str, answer: httpx.Response) -> bytearray:
    """The bytes of an answer, unpacked here: a client that unpacks by itself knows no limit."""
    packed = answer.headers.get("content-encoding", "identity").strip().lower()
    if packed not in {"", "identity", *_PACKED}:
        raise InvalidInput(
            f"{address} is packed in a way that was not asked for ({packed[:40]!r}).",
            hint="Download the description and add the file.",
        )
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if packed in _PACKED else None
    payload = bytearray()
    try:
        async for part in answer.aiter_raw():
            room = LIMITS.octets + 1 - len(payload)
            payload += part if unpacker is None else unpacker.decompress(part, room)
            if len(payload) > LIMITS.octets:
                raise too_large(address)
    except (httpx.TransportError, httpx.StreamError, zlib.error) as error:
        raise _unreachable(address, error) from None
    if unpacker is not None and not unpacker.eof:
        raise _unreachable(address, EOFError("it breaks off"))
    return payload


def _check_is_data(address: str, media: str, payload: bytearray) -> None:
    """Refuse a page for people, such as that of a sign-in."""
    begin = bytes(payload[:500]).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith(b"<") or (media.lower().startswith("text/html") and not begin.startswith((b"{", b"openapi"))):
        raise InvalidInput(
            f"{address} is a page for people, perhaps one to sign in, and no description.",
            hint="Give the address of the JSON or YAML itself, or download it and add the file.",
        )
    if not begin:
        raise InvalidInput(f"{address} is empty.", hint="Check the address.")


def _refused(address: str, status: int) -> ThresherError:
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return NotFound(f"There is nothing at {address} ({status}).", hint="Check the address.")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED):
        return InvalidInput(
            f"{address} wants a sign-in ({status}), which is not supported.",
            hint="Download the description and add the file.",
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        return SourceUnavailable(f"The server of {address} answered {status}.", hint="Try again later.")
    return InvalidInput(f"The server of {address} answered {status}.", hint="Check the address.")


def _unreachable(address: str, error: Exception) -> SourceUnavailable:
    said = str(error).strip() or type(error).__name__
    return SourceUnavailable(f"{address} cannot be read: {said[:200]}.", hint="Check the address, or try again.")
