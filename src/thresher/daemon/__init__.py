"""The daemon of one user and data folder: this door is the light half, which finds, starts and talks to it.

Invariant: the standard library only on this side; the daemon itself is `thresher.daemon.server`. A name is imported
when it is asked for: a prompt hook, whose time a person waits for, needs few of them.

Uses: agent, app, context, core, embedding, evaluation, knowledge, llm, peers, services, sqlguard, store, upstream,
verbs.
"""

from importlib import import_module

TYPE_CHECKING = False  # `typing` itself costs more than all of this side
if TYPE_CHECKING:
    from thresher.daemon.attaching import attach
    from thresher.daemon.bridge import run_bridge
    from thresher.daemon.client import ask, request
    from thresher.daemon.failure import DaemonFailure
    from thresher.daemon.hook import run_hook
    from thresher.daemon.memory import Importing
    from thresher.daemon.paths import DaemonPaths, here
    from thresher.daemon.process import later, stop_daemon

__all__ = [
    "DaemonFailure",
    "DaemonPaths",
    "Importing",
    "ask",
    "attach",
    "here",
    "later",
    "request",
    "run_bridge",
    "run_hook",
    "stop_daemon",
]

_HOMES = {
    "DaemonFailure": "failure",
    "Importing": "memory",
    "DaemonPaths": "paths",
    "ask": "client",
    "attach": "attaching",
    "here": "paths",
    "later": "process",
    "request": "client",
    "run_bridge": "bridge",
    "run_hook": "hook",
    "stop_daemon": "process",
}


def __getattr__(name: str) -> object:
    """Import a name of this door from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
