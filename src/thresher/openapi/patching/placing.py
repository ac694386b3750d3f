"""At which place among a mapping's keys a new one reads best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_AFTER: Final[Mapping[str, tuple[str, ...]]] = {
    "summary": ("tags",),
    "description": ("tags", "summary", "title", "name", "in", "url"),
    "example": ("type", "format", "schema", "description", "enum", "items", "properties"),
    "examples": ("description", "schema"),
}
"""Keys behind which a reader looks for the new one."""


def place_of(key: str, keys: Sequence[str], *, ordered: bool) -> int:
    """Before which of the keys the new one goes, from 0; their number for the end.

    Args:
        key: The new one.
        keys: Those that are there.
        ordered: Whether the source keeps its keys in the order of the alphabet.
    """
    if ordered and list(keys) == sorted(keys):
        return next((index for index, each in enumerate(keys) if each > key), len(keys))
    places = [index for index, each in enumerate(keys) if each in _AFTER.get(key, ())]
    return places[-1] + 1 if places else 0
