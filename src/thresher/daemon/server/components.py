"""Verbs of drop-in components, for the owner of the data folder alone: they tell of files on his machine.

Invariant: the same names and arguments as on every other face.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import NotAllowed, plain
from thresher.daemon.server.control import Progress, Verb


def component_verbs(app: App, *, is_owner: bool) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        is_owner: Whether the owner of the data folder asks, and not the holder of a key.
    """

    def owner_only() -> None:
        if not is_owner:
            raise NotAllowed(
                "Components are shown to the owner of the data folder, to nobody with a key.",
                hint="Unset THRESHER_KEY.",
            )

    async def list_components(_arguments: Mapping[str, Any], _tell: Progress) -> Any:
        owner_only()
        return plain(await app.components.report())

    async def refresh_components(_arguments: Mapping[str, Any], tell: Progress) -> Any:
        owner_only()
        if app.rehearsal:
            tell({"checked": "no module is run in a dry run; `thresher components list` shows how they stand"})
            return plain(await app.components.report())
        return plain(await app.components.load(again=True))

    return {"list_components": list_components, "refresh_components": refresh_components}
