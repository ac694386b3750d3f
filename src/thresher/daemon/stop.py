"""Ask the daemon to end, and see that it has.

Invariant: the standard library only; it works whatever the version of the daemon.
"""

from __future__ import annotations

import os
import signal
import time

from thresher.daemon.attaching import attach
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.lock import POLL_SECONDS, is_free
from thresher.daemon.place import Place

STOP_SECONDS = 30.0
"""The daemon bounds its own end to 20 seconds (`thresher.daemon.server.runtime`)."""


def stop_daemon(place: Place, *, force: bool = False, seconds: float = STOP_SECONDS) -> int | None:
    """End the daemon of a data folder and wait until it is gone.

    Args:
        place: The data folder's files.
        force: Kill it when it does not answer, or does not end in time.
        seconds: How long it may take.

    Returns:
        Its process number, 0 when it is not known; None when none ran.

    Raises:
        DaemonFailure: It still runs.
    """
    if not os.path.isdir(place.folder) or is_free(place.daemon_lock):
        return None
    found = (place.read() or {}).get("pid")
    pid = found if isinstance(found, int) else 0
    try:
        _ask_until_gone(place, seconds)
    except DaemonFailure as error:
        if not force or not pid:
            raise DaemonFailure(error.message, hint="Kill it: thresher stop --force.") from None
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        is_free(place.daemon_lock, seconds)
    return pid


def _ask_until_gone(place: Place, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            attach(place, "stop", start=False).close()
        except DaemonFailure as error:
            if error.code != "not_running":  # that is one that is still starting, or just ending
                raise
        if is_free(place.daemon_lock, POLL_SECONDS):
            return
        if time.monotonic() >= deadline:
            raise DaemonFailure(f"The daemon has not ended within {seconds:.0f} seconds.")
