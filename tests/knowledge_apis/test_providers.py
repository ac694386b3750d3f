"""Providers: added, synced, switched off, removed; whose they are, and what is said where that fails."""

from __future__ import annotations

from pathlib import Path

from thresher.core import Caller
from thresher.knowledge.apis import ApiService


async def test_a_small_description_can_be_listed_at_once(service: ApiService, caller: Caller, shop: Path) -> None:
    """Its operations are counted when `add` returns; its version comes from what it says of itself."""
    added = await service.add(caller, "shop", [str(shop)], aliases=["The  Shop"])

    assert [(one.label, one.operations, one.failure) for one in added.versions] == [("v1", 5, "")]
    assert (added.operations, added.aliases, added.active) == (5, ("the shop",), True)
