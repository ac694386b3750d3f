"""The packs that come with Thresher: one folder for each intent, with its rules, training lines and tools.

Invariant: a built-in pack has the same form and rights as every other pack: `current()` gives the code of all packs
the same access.

Uses: audit, components, connectors, context, core, embedding, knowledge, openapi, servoy, verbs.
"""

from __future__ import annotations

from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from thresher.packs.request import current, serving
from thresher.verbs import Confirm, Request, nobody

if TYPE_CHECKING:
    from thresher.components import Thread

BUILT_IN = Path(str(files(__name__)))
"""The folder whose subfolders are the built-in packs."""

__all__ = [
    "BUILT_IN",
    "Confirm",
    "Request",
    "Thread",
    "current",
    "nobody",
    "serving",
]


def __getattr__(name: str) -> object:
    """Import the one name that needs FastMCP, which commands do without."""
    if name != "Thread":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = import_module("thresher.components").Thread
    globals()[name] = value
    return value
