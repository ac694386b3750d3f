"""The user of a socket, from the TCP tables of the Linux kernel.

Invariant: a socket that its process has closed belongs to nobody, although the kernel lists such rows as root's. Nor is
a user whom this process's user namespace does not know its own user.

Source: Linux, Documentation/networking/proc_net_tcp.rst; user_namespaces(7) on unmapped users.
"""

from __future__ import annotations

import os
import pwd
import struct
from collections.abc import Iterable
from ipaddress import ip_address
from itertools import chain
from pathlib import Path

from thresher.peers.ends import End, plain

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_UNMAPPED = Path("/proc/sys/kernel/overflowuid")
_ESTABLISHED = "01"


def is_own_socket(theirs: End, ours: End) -> bool:
    """Return whether the socket that connects from there to here belongs to the user of this process."""
    try:
        rows = chain.from_iterable(table.read_text("ascii").splitlines()[1:] for table in _TABLES if table.exists())
        user = _user(rows, theirs, ours)
        return user == os.geteuid() and user != int(_UNMAPPED.read_text("ascii"))
    except (OSError, ValueError, IndexError):  # the tables cannot be read, or have another form
        return False


def user_name() -> str:
    """Return the name of the user that this process runs as; the number where there is no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _user(rows: Iterable[str], theirs: End, ours: End) -> int | None:
    """The user of the open socket; None if no row matches, or more than one."""
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
    """Read an end as the tables write it: the address in words of 32 bits, in the machine's own byte order."""
    digits, port = text.split(":")
    words = (int(digits[at : at + 8], 16) for at in range(0, len(digits), 8))
    return plain(ip_address(b"".join(struct.pack("=I", word) for word in words))), int(port, 16)
