"""The demo's folder and settings.

Invariant: the user's own data is neither read nor written; after a run only the database and a log remain.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from thresher.core import Settings

CONNECT_SECONDS = 20.0
"""Servers from npm are downloaded at their first start; one that takes longer than this is left out."""


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The demo's folder."""

    root: Path

    @property
    def database(self) -> Path:
        """The database. It remains, so that a second run embeds nothing."""
        return self.root / "data"

    @property
    def world(self) -> Path:
        """The files that the servers work on; created for each run and removed after it."""
        return self.root / "world"

    @property
    def log(self) -> Path:
        """The log of all runs."""
        return self.root / "demo.log"

    def prepare(self, *, fresh: bool) -> None:
        """Create the folder, and delete the database first if `fresh`.

        Raises:
            OSError: The folder cannot be written.
        """
        # Root's database runs under another account, which must be able to enter the folder.
        mode = 0o711 if sys.platform != "win32" and os.geteuid() == 0 else 0o700
        for folder in (*reversed(self.root.parents), self.root):
            if not folder.exists():
                folder.mkdir(mode=mode)
        if fresh:
            shutil.rmtree(self.database, ignore_errors=True)


def demo_folder(settings: Settings) -> DemoFolder:
    """The demo's folder: `demo` in the user's data folder."""
    return DemoFolder(settings.data_dir.expanduser().absolute() / "demo")


def demo_settings(settings: Settings, folder: DemoFolder) -> Settings:
    """The settings of the demo: an embedded database of its own, and enough time for downloads."""
    own = {"data_dir": folder.database, "database_url": None, "migration_url": None}
    return settings.model_copy(update={**own, "upstream_connect_seconds": CONNECT_SECONDS})
