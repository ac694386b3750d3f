"""Tells whether a process id belongs to PostgreSQL working on a given cluster.

Invariant: a number alone proves nothing. It may have been reused, it may be a zombie, or come from another container;
so the process itself is looked at, and only one of this cluster is ever signalled.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from thresher.store.account import child_environment

_PROC = Path("/proc")


def serves(pid: int, cluster: Path) -> bool:
    """Whether the process is a living PostgreSQL process of this cluster.

    Every process of a server keeps the cluster as its working folder, which Linux shows and nobody can fake from
    outside; elsewhere the command line must name the cluster.
    """
    if pid <= 0:
        return False
    if sys.platform == "linux" and _PROC.is_dir():
        return _serves_by_folder(_PROC / str(pid), cluster)
    return _serves_by_command(pid, cluster)


def _serves_by_folder(entry: Path, cluster: Path) -> bool:
    try:
        program = (entry / "exe").readlink().name.removesuffix(" (deleted)")
        return program == "postgres" and (entry / "cwd").readlink() == cluster.resolve()
    except OSError:  # gone, a zombie, or another user's
        return False


def _serves_by_command(pid: int, cluster: Path) -> bool:
    if sys.platform == "win32":
        return False  # PostgreSQL itself tells a reused number there: its signals go through a named pipe
    shown = subprocess.run(
        ["/bin/ps", "-p", str(pid), "-o", "stat=,command="],
        capture_output=True,
        text=True,
        check=False,
        env=child_environment(),
    ).stdout.strip()
    return bool(shown) and not shown.startswith("Z") and "postgres" in shown and str(cluster) in shown


def orphans(cluster: Path) -> list[int]:
    """Processes of this cluster, whoever started them (Linux only; elsewhere empty)."""
    if sys.platform != "linux":
        return []
    pids = [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if serves(pid, cluster)]


def tell(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that has gone meanwhile is fine."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
