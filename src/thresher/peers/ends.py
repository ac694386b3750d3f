"""The two ends of a TCP connection as comparable values.

Invariant: pure. An IPv4 address is the same value whether a socket of IPv4 or of IPv6 holds it.
"""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

IP: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
End: TypeAlias = tuple[IP, int]
"""Address and port."""


def end(host: str, port: int) -> End:
    """Read an end as sockets name it.

    Raises:
        ValueError: The host is not an address.
    """
    return plain(ipaddress.ip_address(host)), port


def plain(ip: IP) -> IP:
    """Return an IPv4 address as itself where it is mapped into IPv6."""
    return getattr(ip, "ipv4_mapped", None) or ip
