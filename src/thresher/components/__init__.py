"""Drop-in components: Python modules in a folder of the owner become tools, prompts, resources and servers.

`python -m thresher.components` is the process that runs them; what is here is light, for modules and for the daemon.
`Thread` alone is imported when it is asked for.

Invariant: code of a folder is never run in the daemon's own process, nor from a folder that others can write.

Uses: core.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.components.auth import Auth
from thresher.components.folder import Folder, look
from thresher.components.passing import THREAD_META, heard, told
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
    "heard",
    "look",
    "read_report",
    "report_of",
    "told",
]


def __getattr__(name: str) -> object:
    """Import the one name that is heavy."""
    if name != "Thread":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = import_module(f"{__name__}.thread").Thread
    globals()[name] = value
    return value
