"""Where the demo keeps its things, and with which settings it runs.

Invariant: nothing of the user's own data is read or written; only the database and a log stay after a run.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from thresher.core import Settings

CONNECT_SECONDS = 20.0
"""Servers from npm are downloaded at their first start; one that takes longer is left out."""


@dataclass(frozen=True, slots=True)
class Place:
    """The demo's folder."""

    root: Path

    @property
    def database(self) -> Path:
        """Stays, so that a second run embeds nothing."""
        return self.root / "data"

    @property
    def world(self) -> Path:
        """What the servers work on; made anew for each run and removed after it."""
        return self.root / "world"

    @property
    def log(self) -> Path:
        """What the runs logged."""
        return self.root / "demo.log"

    def prepare(self, *, fresh: bool) -> None:
        """Create the folder; `fresh` empties the database first.

        Raises:
            OSError: It cannot be written.
        """
        # Root's database runs under another account, which must pass through the folder.
        mode = 0o711 if sys.platform != "win32" and os.geteuid() == 0 else 0o700
        for folder in (*reversed(self.root.parents), self.root):
            if not folder.exists():
                folder.mkdir(mode=mode)
        if fresh:
            shutil.rmtree(self.database, ignore_errors=True)


def place_of(settings: Settings) -> Place:
    """The demo's folder: `demo` in the user's data folder."""
    return Place(settings.data_dir.expanduser().absolute() / "demo")


def demo_settings(settings: Settings, place: Place) -> Settings:
    """The settings of the demo: an embedded database of its own, and patience for downloads."""
    own = {"data_dir": place.database, "database_url": None, "migration_url": None}
    return settings.model_copy(update={**own, "upstream_connect_seconds": CONNECT_SECONDS})
