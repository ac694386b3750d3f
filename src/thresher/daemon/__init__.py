"""The daemon of one user and data folder: this door is the light half, which finds, starts and talks to it.

Invariant: the standard library only on this side; the daemon itself is `thresher.daemon.server`.

Uses: app, core, services.
"""

from thresher.daemon.attach import attach
from thresher.daemon.bridge import run_bridge
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.place import Place, here

__all__ = ["DaemonFailure", "Place", "attach", "here", "run_bridge"]
