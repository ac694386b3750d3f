"""Requests that reach only public addresses: whatever a name resolves to, the connection goes to what was checked.

Invariant: a guarded request is sent to an address that is public, under the name and certificate of its host.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Final, TypeAlias

import httpx2

from thresher.core import SourceUnavailable, ThresherError

_WORLD: Final = IPv6Network("2000::/3")
"""The part of IPv6 that is allocated for global use (RFC 4291)."""
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
"""Addresses that a gateway translates to IPv4 (RFC 6052)."""
_DENIED: Final = tuple(
    IPv4Network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments (RFC 6890), among them 192.0.0.192 of Oracle's cloud
        "192.88.99.0/24",  # 6to4 relays, deprecated (RFC 7526)
        "168.63.129.16/32",  # agent endpoint of Azure's virtual machines
    )
)
"""Addresses that count as public but are answered by the machine's own network or cloud."""


Refusal: TypeAlias = Callable[[str], ThresherError]
"""Makes the error for a host that is not public."""


async def guarded_request(
    client: httpx2.AsyncClient,
    method: str,
    address: str,
    *,
    headers: Mapping[str, str],
    refusal: Refusal | None,
    **content: Any,
) -> httpx2.Request:
    """Return a request to an address.

    Args:
        client: Sends it; must not use a proxy, which resolves names itself, if the request is guarded.
        method: Upper case.
        address: The whole address.
        headers: Names and values.
        refusal: Makes the error for a host that is not public; None if any host may be reached.
        content: The body, as `AsyncClient.build_request` takes it.

    Raises:
        ThresherError: The host is not public.
        SourceUnavailable: There is no such host.
    """
    url, extensions, sent = httpx2.URL(address), dict[str, Any](), dict(headers)
    if refusal is not None:
        # Connect to the address that was checked; name and certificate stay those of the host.
        sent["Host"] = url.netloc.decode("ascii")
        extensions = {"sni_hostname": url.raw_host.decode("ascii")}
        port = url.port or (443 if url.scheme == "https" else 80)
        url = url.copy_with(host=await _public_address(url.host, port, refusal))
    return client.build_request(method, url, headers=sent, extensions=extensions, **content)


async def _public_address(host: str, port: int, refusal: Refusal) -> str:
    """Return an address of a host whose addresses are all public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceUnavailable(f"There is no host {host}.", hint="Check the address.") from None
    addresses = sorted((str(entry[4][0]) for entry in found), key=lambda address: ":" in address)
    if not addresses or not all(is_public(address) for address in addresses):
        raise refusal(host)
    return addresses[0]


def is_private_host(host: str) -> bool:
    """Return whether a host shows by its name that it is not public: an address, or this machine."""
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal"))


def is_public(text: str) -> bool:
    """Return whether an address belongs to the public internet, however it is written."""
    address = ip_address(text.partition("%")[0])
    inner = _inner(address)
    if any(address in network for network in _DENIED):
        return False
    if isinstance(address, IPv6Address) and address not in _WORLD and inner is None:
        return False
    return address.is_global and not address.is_multicast and (inner is None or is_public(str(inner)))


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address embeds, if any."""
    if isinstance(address, IPv4Address):
        return None
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
