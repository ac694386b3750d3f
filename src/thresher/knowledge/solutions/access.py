"""Who may add which folder as a workspace.

A workspace is read and written from where this process stands. Its owner may do both anyway; somebody with a key may
only what the settings name.

Invariant: pure, but for links in paths, which are followed before a path is judged.
"""

from __future__ import annotations

from pathlib import Path

from thresher.core import Caller, NotAllowed, Settings
from thresher.knowledge.solutions.journal import Owner


def may_add(caller: Caller, folder: Path, settings: Settings) -> None:
    """Refuse a folder that a caller may not add.

    Args:
        caller: Who asks.
        folder: Absolute, without links.
        settings: Name the folders for callers with a key.

    Raises:
        NotAllowed: The caller has a key, and the settings name no folder at or above this one.
    """
    if not caller.keyed:
        return
    allowed = [one.expanduser().resolve() for one in settings.solution_folders]
    if not any(folder.is_relative_to(one) for one in allowed):
        raise NotAllowed(
            "With a key, workspaces can only be added below the folders that the server's owner named.",
            hint="Ask the owner to add the workspace, or to name its folder in THRESHER_SOLUTION_FOLDERS.",
        )


def owner_of(caller: Caller) -> Owner:
    """Whose a caller's changes are."""
    return Owner(caller.tenant.id, caller.user or "")
