"""Whose process is at the other end of a connection, by the kernel's word and not by the request's.

Invariant: what cannot be told for certain is not ours. A socket that its process has closed belongs to nobody: the
kernel shows such rows as root's.

Source: Linux, Documentation/networking/proc_net_tcp.rst.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import struct
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TypeAlias

PEER = "thresher.peer"
"""Where the state of a connection holds its `Peer`."""

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
_IP: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_End: TypeAlias = tuple[_IP, int]


class Peer:
    """The other end of one connection; the kernel is asked once, when it first matters.

    Args:
        theirs: Address and port of the other end.
        ours: Address and port of this end.
    """

    def __init__(self, theirs: tuple[str, int], ours: tuple[str, int]) -> None:
        self._theirs = theirs
        self._ours = ours
        self._own: bool | None = None

    async def is_own_user(self) -> bool:
        """Whether its socket belongs to the user that this process runs as; systems other than Linux are not asked."""
        if self._own is None:
            self._own = sys.platform != "linux" or await asyncio.to_thread(self._look)
        return self._own

    def _look(self) -> bool:
        try:
            theirs, ours = _end(self._theirs), _end(self._ours)
            if not theirs[0].is_loopback:
                return False
            rows = chain.from_iterable(table.read_text("ascii").splitlines()[1:] for table in _TABLES if table.exists())
            return _user(rows, theirs, ours) == os.geteuid()
        except (OSError, ValueError, IndexError):
            return False


def _user(rows: Iterable[str], theirs: _End, ours: _End) -> int | None:
    """The user whose open socket goes from there to here; None when no row, or more than one, says so."""
    ports = f":{theirs[1]:04X}", f":{ours[1]:04X}"
    users: list[int] = []
    for row in rows:
        _, local, remote, state, _, _, _, user, _, inode, *_ = row.split()
        if (local[-5:], remote[-5:]) != ports or state != _ESTABLISHED or inode == "0":
            continue
        if _written(local) == theirs and _written(remote) == ours:
            users.append(int(user))
    return users[0] if len(users) == 1 else None


def _written(text: str) -> _End:
    """An address of the tables: words of 32 bits in the machine's own order."""
    digits, port = text.split(":")
    words = (int(digits[at : at + 8], 16) for at in range(0, len(digits), 8))
    return _plain(ipaddress.ip_address(b"".join(struct.pack("=I", word) for word in words))), int(port, 16)


def _end(pair: tuple[str, int]) -> _End:
    return _plain(ipaddress.ip_address(pair[0])), pair[1]


def _plain(ip: _IP) -> _IP:
    """An IPv4 address as itself where a socket of IPv6 holds it."""
    return getattr(ip, "ipv4_mapped", None) or ip
