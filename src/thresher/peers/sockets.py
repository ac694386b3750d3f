"""The two ends of a TCP connection as comparable values, and the user of a socket from the Linux kernel's TCP tables.

Invariant: an IPv4 address has the same value whether a socket of IPv4 or of IPv6 holds it. A socket that its process
has closed belongs to no user, although the kernel lists such rows as root's. A user who is unknown in this
process's user namespace is not its own user.

Source: Linux, Documentation/networking/proc_net_tcp.rst; user_namespaces(7) on unmapped users.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Iterable
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import TypeAlias

IP: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
End: TypeAlias = tuple[IP, int]
"""Address and port."""


def end(host: str, port: int) -> End:
    """Read an end from a socket's address.

    Raises:
        ValueError: The host is not an address.
    """
    return plain(ipaddress.ip_address(host)), port


def plain(ip: IP) -> IP:
    """Return the IPv4 address of one that is mapped into IPv6, other addresses unchanged."""
    return getattr(ip, "ipv4_mapped", None) or ip


_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_UNMAPPED = Path("/proc/sys/kernel/overflowuid")
_ESTABLISHED = "01"
_READS = 3
"""A table is read in parts: a row may be missing from it, or stand in it twice, if sockets open and close meanwhile."""


def is_own_socket(theirs: End, ours: End) -> bool:
    """Return whether the socket that connects from there to here belongs to the user of this process."""
    try:
        for _ in range(_READS):
            rows = chain.from_iterable(table.read_text("ascii").splitlines()[1:] for table in _TABLES if table.exists())
            if (user := _user(rows, theirs, ours)) is not None:
                return user == os.geteuid() and user != int(_UNMAPPED.read_text("ascii"))
        return False
    except (OSError, ValueError, IndexError):  # the tables are unreadable or have another format
        return False


def user_name() -> str:
    """Return the name of the user that this process runs as, or the number if there is no name."""
    import pwd  # noqa: PLC0415 - Windows, where this module only compares ends, does not have it

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _user(rows: Iterable[str], theirs: End, ours: End) -> int | None:
    """The user of the open socket; None unless exactly one row matches."""
    ports = f":{theirs[1]:04X}", f":{ours[1]:04X}"
    users: list[int] = []
    for row in rows:
        if ports[0] not in row or ports[1] not in row:
            continue
        _, local, remote, state, _, _, _, user, _, inode, *_ = row.split()
        if (local[-5:], remote[-5:]) != ports or state != _ESTABLISHED or inode == "0":
            continue
        if _written(local) == theirs and _written(remote) == ours:
            users.append(int(user))
    return users[0] if len(users) == 1 else None


def _written(text: str) -> End:
    """Read an end in the tables' notation: the address as 32-bit words in the machine's byte order."""
    digits, port = text.split(":")
    words = (int(digits[at : at + 8], 16) for at in range(0, len(digits), 8))
    return plain(ip_address(b"".join(struct.pack("=I", word) for word in words))), int(port, 16)
