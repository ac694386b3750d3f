"""The user of a socket from the processes that hold it, for systems whose TCP table does not name users.

Invariant: every process that holds the socket must belong to the daemon's own user; one that cannot be inspected does
not.

Source: psutil's documentation of `net_connections`: Windows lists the sockets of all processes; macOS lists those of
other users only for root, so otherwise only this user's processes are searched, one by one.
"""

from __future__ import annotations

import sys
from typing import Any

import psutil

from thresher.peers.sockets import End, end


def is_own_socket(theirs: End, ours: End) -> bool:
    """Return whether the socket that connects from there to here belongs to the user of this process."""
    try:
        return in_table(theirs, ours)
    except psutil.AccessDenied:
        return among_own(theirs, ours)
    except (psutil.Error, OSError, ValueError, NotImplementedError):  # a process that has ended, an unknown system
        return False


def in_table(theirs: End, ours: End) -> bool:
    """Look in the system's list of all sockets.

    Raises:
        psutil.AccessDenied: The system does not show the list to this user.
    """
    holders = [row.pid for row in psutil.net_connections("tcp") if _connects(row, theirs, ours)]
    return bool(holders) and all(pid is not None and _is_own(psutil.Process(pid)) for pid in holders)


def among_own(theirs: End, ours: End) -> bool:
    """Look among the sockets of this user's processes."""
    return any(_holds(process, theirs, ours) for process in psutil.process_iter())


def user_name() -> str:
    """Return the name of the user that this process runs as."""
    return psutil.Process().username()


def _holds(process: psutil.Process, theirs: End, ours: End) -> bool:
    try:
        return _is_own(process) and any(_connects(row, theirs, ours) for row in process.net_connections("tcp"))
    except psutil.Error:  # it has ended, or is a protected system process
        return False


def _connects(row: Any, theirs: End, ours: End) -> bool:
    if row.status != psutil.CONN_ESTABLISHED or not row.raddr:
        return False
    return end(*row.laddr) == theirs and end(*row.raddr) == ours


def _is_own(process: psutil.Process) -> bool:
    return _user(process) == _user(psutil.Process())


def _user(process: psutil.Process) -> str | int:
    """The user whose rights the process has; Windows only provides names."""
    return process.username() if sys.platform == "win32" else process.uids().effective
