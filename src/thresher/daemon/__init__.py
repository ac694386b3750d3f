"""The daemon of one user and data folder: this door is the light half, which finds, starts and talks to it.

Invariant: the standard library only on this side; the daemon itself is `thresher.daemon.server`.

Uses: api, app, core, evaluation, gateway, knowledge, store, upstream.
"""

from thresher.daemon.attach import attach
from thresher.daemon.bridge import run_bridge
from thresher.daemon.client import ask, request
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.hook import run_hook
from thresher.daemon.place import Place, here
from thresher.daemon.stop import stop_daemon

__all__ = ["DaemonFailure", "Place", "ask", "attach", "here", "request", "run_bridge", "run_hook", "stop_daemon"]
