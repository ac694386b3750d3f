"""The labels under which the index files a server's tools.

Invariant: a tool that is held back and one that is not never share a label.
"""

from __future__ import annotations

from collections.abc import Iterable


def facet_of(server_id: int, *, held: bool = False) -> str:
    """The label of a server's tools, or of those that are held back."""
    return f"held:{server_id}" if held else f"server:{server_id}"


def facets_of(server_ids: Iterable[int], *, held: bool = False) -> frozenset[str]:
    """The labels of some servers' tools."""
    return frozenset(facet_of(server_id, held=held) for server_id in server_ids)
