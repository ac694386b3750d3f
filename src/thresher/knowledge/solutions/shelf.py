"""The workspaces that this process has opened; a workspace remembers what it has read.

Invariant: one for each folder, whichever tenants added it: what they may see was decided before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from thresher.knowledge.solutions.servoy_workspace import ServoyWorkspace
from thresher.knowledge.solutions.workspace import Workspace

_MOST: Final = 16
FORMAT: Final = "servoy"
"""Of the only implementation that there is."""


class Shelf:
    """Opened workspaces by folder."""

    def __init__(self) -> None:
        self._opened: OrderedDict[Path, Workspace] = OrderedDict()
        self._lock = threading.Lock()

    def workspace(self, root: Path) -> Workspace:
        """The workspace in a folder; may block on its file system."""
        with self._lock:
            if (found := self._opened.pop(root, None)) is None:
                found = ServoyWorkspace(root)
            self._opened[root] = found
            while len(self._opened) > _MOST:
                self._opened.popitem(last=False)
            return found
