"""Drop-in components: Python modules in a folder of the owner become tools, prompts, resources and servers.

`python -m thresher.components` is the process that runs them; this package is light, for modules and for the daemon.
Only `Thread` is imported when it is used.

Invariant: code of a folder is never run in the daemon's own process, nor from a folder that others can write to.

Uses: core.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.components.auth import Auth
from thresher.components.folder import Folder, look
from thresher.components.meta import THREAD_META, meta_of, talk_of
from thresher.components.proxies import add_server
from thresher.components.report import FileReport, Report, read_report, report_of

if TYPE_CHECKING:
    from thresher.components.thread import Thread

__all__ = [
    "THREAD_META",
    "Auth",
    "FileReport",
    "Folder",
    "Report",
    "Thread",
    "add_server",
    "look",
    "meta_of",
    "read_report",
    "report_of",
    "talk_of",
]


def __getattr__(name: str) -> object:
    """Import the one heavy name."""
    if name != "Thread":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = import_module(f"{__name__}.thread").Thread
    globals()[name] = value
    return value
