"""The packs that come with Thresher: one folder for each intent, with its rules and training lines.

Invariant: data alone; a built-in pack has the form that every other pack has, and no right that others lack.

Uses: nothing.
"""

from importlib.resources import files
from pathlib import Path

BUILT_IN = Path(str(files(__name__)))
"""The folder whose subfolders are the built-in packs."""

__all__ = ["BUILT_IN"]
